"""What a run that is dying is said to die of, and that a healthy one is left alone."""

from trainer_glue.verl.launch.metrics import Step
from trainer_glue.verl.launch.vital_signs import VitalSigns

HEALTHY = {"critic/advantages/max": 1.2, "critic/advantages/min": -0.8, "response_length/clip_ratio": 0.1}


def told(*steps: dict[str, float]) -> list[str]:
    signs = VitalSigns()
    return [text for number, values in enumerate(steps) for text in signs.add(Step(number, {**HEALTHY, **values}))]


def test_a_healthy_run_and_a_bad_step_say_nothing() -> None:
    dead = {"critic/advantages/max": 0.0, "critic/advantages/min": 0.0}
    cut = {"response_length/clip_ratio": 0.9}
    assert told({}, {}, {}, {}) == []
    assert told({}, dead, dead, {}, cut, {}, dead) == []
    assert told({"reward/unscored": 0.1}, {"reward/unscored": 0.1}, {"reward/unscored": 0.1}) == []


def test_each_sign_is_said_once() -> None:
    (said,) = told(*[{"critic/advantages/max": 0.0, "critic/advantages/min": 0.0}] * 6)
    assert said.startswith("all advantages are 0")
    (said,) = told(*[{"response_length/clip_ratio": 0.75}] * 6)
    assert said.startswith("75% of the responses are cut off")
    (said,) = told(*({"reward/unscored": n / 50} for n in range(6)))
    assert said.startswith("unscored rows rise, 2% to 6%")


def test_metrics_that_are_not_there_say_nothing() -> None:
    signs = VitalSigns()
    assert [text for n in range(5) for text in signs.add(Step(n, {}))] == []
