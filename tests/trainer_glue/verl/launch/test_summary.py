"""The table of first against last, and the picture of the reward."""

import io
import math

import pytest
from rich.console import Console

from trainer_glue.verl.launch.metrics import Step
from trainer_glue.verl.launch.summary import draw, figure, rows, table, training_steps

FORMULA = "length(0.1) + ends_with('.?!')"


def steps(count: int) -> list[Step]:
    return [
        Step(
            n,
            {
                "training/global_step": n,
                "reward/total/mean": 0.1 * n,
                "reward/length/mean": 0.04 * n,
                "reward/ends_with/mean": 0.06 * n,
                "response_length/mean": 10.0 + n,
            },
        )
        for n in range(1, count + 1)
    ]


def test_rows_are_the_total_each_term_and_the_length():
    assert rows(steps(40)) == [
        ("reward", pytest.approx(0.1), pytest.approx(4.0)),
        ("length", pytest.approx(0.04), pytest.approx(1.6)),
        ("ends_with", pytest.approx(0.06), pytest.approx(2.4)),
        ("response tokens", 11.0, 50.0),
    ]


def test_a_term_that_one_end_lacks_is_still_a_row():
    first, last = Step(1, {"reward/total/mean": 1.0}), Step(2, {"reward/total/mean": 2.0, "reward/late/mean": 3.0})
    ((_, *total), (name, before, after), _) = rows([first, last])
    assert total == [1.0, 2.0] and name == "late" and math.isnan(before) and after == 3.0


def test_the_table_shows_steps_and_change():
    output = io.StringIO()
    Console(file=output, width=80).print(table(steps(40)))
    lines = [line.split() for line in output.getvalue().splitlines() if line.strip()]
    assert lines[0] == ["mean", "of", "the", "batch", "step", "1", "step", "40", "change"]
    assert ["length", "0.0400", "1.6000", "+1.5600"] in lines
    assert ["response", "tokens", "11.0", "50.0", "+39.0"] in lines


def test_validation_alone_is_no_training_step():
    assert training_steps([Step(0, {"val-core/x": 1.0}), *steps(2)]) == steps(2)


def test_the_curves_are_the_steps_values():
    (axes,) = figure(steps(12), FORMULA).axes
    lines = {line.get_label(): line for line in axes.get_lines()}
    assert set(lines) == {"total", "length", "ends_with"}
    assert list(lines["total"].get_xdata()) == list(range(1, 13))
    assert list(lines["total"].get_ydata()) == [s.total for s in steps(12)]
    assert list(lines["ends_with"].get_ydata()) == [s.terms["ends_with"] for s in steps(12)]
    assert [t.get_text() for t in axes.get_legend().get_texts()] == ["length", "ends_with", "total"]
    assert axes.get_title() == FORMULA and axes.get_xlabel() and axes.get_ylabel()


def test_a_formula_with_dollars_is_text_not_mathematics(tmp_path):
    draw(steps(1), r"matches('\$x^{') + matches('$')", tmp_path / "rewards.png")
    assert (tmp_path / "rewards.png").stat().st_size > 0


def test_the_file_is_a_picture_with_something_on_it(tmp_path):
    from matplotlib.image import imread

    path = tmp_path / "rewards.png"
    draw(steps(12), FORMULA, path)
    pixels = imread(path)
    height, width, _ = pixels.shape
    assert width >= 1000 and height >= 600
    ink = (pixels[..., :3] < 0.5).all(axis=-1)
    assert ink[: height // 2, width // 2 :].any(), "the total climbs to the upper right, in black"
    assert [p.name for p in tmp_path.iterdir()] == ["rewards.png"]


def test_validation_stands_in_the_table_and_in_the_picture():
    validated = [
        Step(s.number, {**s.values, **({"val-core/a/acc/mean@1": s.number / 100} if s.number % 20 == 0 else {})})
        for s in steps(40)
    ]
    assert rows(validated)[-1] == ("validation", 0.2, 0.4)
    drawn = {line.get_label(): line for line in figure(validated, FORMULA).axes[0].lines}
    assert drawn["validation"].get_xdata().tolist() == [20, 40]


def test_the_lines_of_the_picture_differ_without_their_colours():
    styles = [(line.get_linestyle(), line.get_linewidth()) for line in figure(steps(5), FORMULA).axes[0].lines]
    assert len(set(styles)) == len(styles)
