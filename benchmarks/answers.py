"""Answer checking against verl and math-verify: both sides in one process, on the same rows.

    python benchmarks/answers.py [--data FOLDER] [--rows 600] [--only gsm8k|math|hostile|peers]

``gsm8k``: solutions, filled up to about 300 tokens with other solutions' steps, ending in a marker, a sentence or a box
or none of these, half of them with a wrong number. Microseconds of CPU time a response.

``math``: (ground truth, answer, expected) triples, as they are and in responses of some 1,200 characters, graded as one
batch: ours by the compiled ``math_equal()``, math-verify by a pool of as many processes as ours has workers. Wall time,
and the CPU time of the whole process tree, workers that were killed included.

``hostile``: a batch of 1,024 rows, and the same batch with every tenth response one that is made to cost much. The
second may take twice the time of the first plus the deadlines that its own workers ran to.

``peers``: cases, triples and rows from reports on answer checking, one row at a time, by ours and by the graders of
math-verify, verl, TRL and inspect_ai, those that are installed. Each grader runs in a process of its own that is
stopped after ten seconds on a row; such a row counts as a wrong verdict, and its time doesn't count.

FOLDER holds ``gsm8k_test.jsonl``, ``answer_cases.jsonl``, ``answer_reports.jsonl`` and
``answer_triples.jsonl``; without it the repository's own cases are used.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import json
import multiprocessing
import os
import random
import re
import statistics
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from rewardkit import Batch, gsm8k, math_equal
from rewardkit import compile as compile_reward
from rewardkit.answers import grade_gsm8k, grade_math, grade_math_many, math_grade, shared_pool
from rewardkit.answers.math_extract import has_words
from rewardkit.batch import Status

Row = tuple[str, Any, bool]
ENDS = {
    "####": "{body}\n#### {n}",
    "sentence": "{body}\nThe answer is ${n}.",
    "box": "{body}\nSo the final answer is $\\boxed{{{n}}}$.",
    "no marker": "{body}\nSo altogether that makes {n} dollars.",
}
STEPS = [
    "We have $f(x) = x^2 - 5x + 6$, and setting it to zero gives $(x-2)(x-3) = 0$, so $x = 2$ or $x = 3$.",
    "By the Pythagorean theorem, $c = \\sqrt{a^2 + b^2} = \\sqrt{25 + 144} = 13$.",
    "The number of ways is $\\binom{8}{3} = \\frac{8 \\cdot 7 \\cdot 6}{3!} = 56$.",
    "\\[ \\sum_{k=1}^{n} k = \\frac{n(n+1)}{2} \\]",
    "Since $\\gcd(12, 18) = 6$, we can divide both sides of the equation by $6$.",
    "Substituting $y = 2x + 1$ into the second equation, we find that $3x + 2(2x+1) = 16$, hence $x = 2$.",
    "The discriminant is $b^2 - 4ac = 49 - 40 = 9$, which is a perfect square.",
    "Let $\\theta$ be the angle; then $\\sin \\theta = \\frac{3}{5}$ and $\\cos \\theta = \\frac{4}{5}$.",
]
HOSTILE = [
    r"\boxed{9^{9^{9^9}}}",
    r"\boxed{((9!)!)!}",
    r"\boxed{(\sin^2 x + \cos^2 x)(a+b+c+d)^{60}}",
    "#### " + "9" * 1_000_000,
    r"\boxed{" + "(" * 1_900 + "}",
    r"\boxed{x^{99999999}}",
    r"\boxed{\binom{99999999}{5000000}}",
    "The answer is " * 70_000,
    "1 or " * 200_000,
    r"\frac{" * 150_000,
]


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def gsm8k_rows(folder: Path | None, n: int) -> dict[str, list[Row]]:
    """Responses of about 1,200 characters for each way to end; every second one is wrong."""
    rng = random.Random(0)
    if folder is not None:
        solutions = [str(row["answer"]) for row in _lines(folder / "gsm8k_test.jsonl")]
    else:
        solutions = [f"She has {i} eggs and sells {i} * 2 = {2 * i} of them.\n#### {2 * i}" for i in range(1, 400)]
    solutions = [re.sub(r"<<.*?>>", "", solution) for solution in solutions]  # annotations, which models don't write
    bodies, truths = [], []
    for solution in solutions[:n]:
        body, _, truth = solution.rpartition("\n#### ")
        while len(body) < 1_000:
            body = rng.choice(solutions).rpartition("\n#### ")[0] + "\n" + body
        bodies.append(body[-1_200:])
        truths.append(truth.strip())
    rows: dict[str, list[Row]] = {}
    for name, end in ENDS.items():
        rows[name] = []
        for i, (body, truth) in enumerate(zip(bodies, truths, strict=True)):
            said = truth if i % 2 else str(int(truth.replace(",", "")) + 1)
            rows[name].append((end.format(body=body, n=said), truth, bool(i % 2)))
    return rows


def math_rows(folder: Path | None, *, long: bool) -> list[Row]:
    """Mathematics with a label; ``long``: answers that stand alone become the box at the end of a worked solution."""
    if folder is None:
        cases = _lines(Path(__file__).parents[1] / "tests" / "data" / "answers_math.jsonl")
        rows = [(str(c["response"]), c["gold"], bool(c["expect"]), False) for c in cases if c["expect"] is not None]
    else:
        triples = [r for r in _lines(folder / "answer_triples.jsonl") if r["category"] == "semantic"]
        rows = [(str(r["pred"]), r["gold"], bool(r["expected"]), r["level"] == "answer") for r in triples]
    if not long:
        return [(text, truth, right) for text, truth, right, _ in rows]
    rng = random.Random(0)
    made = []
    for text, truth, right, alone in rows:
        body = " ".join(rng.choice(STEPS) for _ in range(14))
        inner = text.strip().strip("$")
        boxed = alone and "\\boxed" not in text and "$" not in inner and not has_words(inner)
        end = f"Therefore, the answer is $\\boxed{{{inner}}}$." if boxed else text
        made.append((f"{body}\n\n{end}", truth, right))
    return made


def tree_cpu() -> float:
    """CPU seconds that this process and all below it have used, those that ended and were waited for included."""
    parents: dict[int, int] = {}
    spent: dict[int, float] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(entry.name)] = int(fields[1])
            spent[int(entry.name)] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    waited = os.times()
    total, level = time.process_time() + waited.children_user + waited.children_system, {os.getpid()}
    while level := {pid for pid, parent in parents.items() if parent in level}:
        total += sum(spent[pid] for pid in level)
    return total


def measured(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Wall seconds, CPU seconds of the process tree, and the result."""
    cpu, wall = tree_cpu(), time.perf_counter()
    result = work()
    wall = time.perf_counter() - wall
    return wall, tree_cpu() - cpu, result


def forget() -> None:
    """Empty the caches of parsed texts: every batch of a run brings new ones."""
    math_grade._parsed.cache_clear()
    math_grade._truth_text.cache_clear()


def timed(grade: Callable[[str, Any], float], rows: list[Row], repeats: int) -> tuple[float, float]:
    """Best microseconds of CPU time a response over the repeats, and agreement with the labels."""
    best = float("inf")
    agree = 0
    for _ in range(repeats):
        started = time.thread_time()
        values = [grade(response, truth) for response, truth, _ in rows]
        best = min(best, time.thread_time() - started)
        agree = sum((value == 1) == right for value, (_, _, right) in zip(values, rows, strict=True))
    return 1e6 * best / len(rows), agree / len(rows)


def by_math_verify(response: str, truth: Any) -> float:
    """math-verify as its README uses it; a ground truth without delimiters is put between dollars."""
    from math_verify import parse, verify

    truth = str(truth[0] if isinstance(truth, list) else truth)
    target = truth if "$" in truth or "\\boxed" in truth else f"${truth}$"
    return float(verify(parse(target), parse(response)))


def _each(row: tuple[str, Any]) -> float:
    return by_math_verify(*row)


def math_verify() -> Callable[[str, Any], float] | None:
    """The peer's grader, where it is installed."""
    try:
        import math_verify  # noqa: F401
    except ImportError:
        return None
    return by_math_verify


def verl() -> Callable[[str, Any], float] | None:
    """verl's scorer in its strict mode, on a ground truth as its preprocessing leaves it."""
    try:
        from verl.utils.reward_score.gsm8k import compute_score
    except ImportError:
        return None
    return lambda response, truth: float(compute_score(response, truth.replace(",", "")))


def run_gsm8k(folder: Path | None, n: int) -> None:
    others = {"verl strict": verl(), "math-verify": math_verify()}
    for name, rows in gsm8k_rows(folder, n).items():
        ours, agreement = timed(lambda r, g: grade_gsm8k(r, g).value, rows, 15)
        print(f"gsm8k, {name}: {len(rows)} rows of {sum(len(r) for r, _, _ in rows) // len(rows)} characters")
        print(f"  rewardkit    {ours:9.1f} us  agrees {agreement:.3f}")
        for other, grade in others.items():
            if grade is not None:
                some = rows[:100] if other == "math-verify" else rows
                theirs, their_agreement = timed(grade, some, 1 if other == "math-verify" else 15)
                print(f"  {other:12} {theirs:9.1f} us  agrees {their_agreement:.3f}  {theirs / ours:6.1f} times ours")


def run_math(folder: Path | None) -> None:
    program = compile_reward(math_equal())
    workers = shared_pool().size
    # Workers start and import sympy before the clock runs; no row has been seen by any of them.
    grade_math_many([rf"\boxed{{\sin^2 {v} + \cos^2 {v}}}" for v in "abcdefgh"], ["1"] * 8)
    for name, long in (("as they are", False), ("at the end of worked solutions", True)):
        rows = math_rows(folder, long=long)
        texts, truths = [r for r, _, _ in rows], [g for _, g, _ in rows]
        forget()
        wall, cpu, scores = measured(lambda t=texts, g=truths: program(Batch(t, ground_truths=g)))
        agree = [(v == 1) == right for v, (_, _, right) in zip(scores.total, rows, strict=True)]
        characters = sum(map(len, texts)) // len(texts)
        print(f"math, {name}: {len(rows)} rows of {characters} characters, {workers} workers")
        print(f"  rewardkit    {_per_row(wall, rows)} wall  {_per_row(cpu, rows)} CPU  agrees {_share(agree)}")
        if math_verify() is not None:
            with multiprocessing.get_context("fork").Pool(workers) as pool:
                pool.map(_each, [(r"$\sin^2 x + \cos^2 x$", "1")] * (2 * workers))  # imports, before the clock runs
                theirs, their_cpu, values = measured(
                    lambda t=texts, g=truths, p=pool: p.map(_each, zip(t, g, strict=True))
                )
            agree = [(v == 1) == right for v, (_, _, right) in zip(values, rows, strict=True)]
            print(
                f"  math-verify  {_per_row(theirs, rows)} wall  {_per_row(their_cpu, rows)} CPU  agrees {_share(agree)}"
            )
            print(f"  ratio        {theirs / wall:9.1f} wall  {their_cpu / cpu:12.1f} CPU")


def peer_rows(folder: Path | None) -> dict[str, list[tuple[str, Row]]]:
    """Rows by their source, each with the term that grades it here; short answers are put into a box."""
    if folder is None:
        return {"cases": [("math_equal", row) for row in math_rows(None, long=False)]}
    triples = [r for r in _lines(folder / "answer_triples.jsonl") if r["category"] == "semantic"]
    reports = [r for r in _lines(folder / "answer_reports.jsonl") if r["formula"] in ("math_equal()", "gsm8k()")]
    cases = [r for r in _lines(folder / "answer_cases.jsonl") if r["expect"] in ("accept", "reject")]
    return {
        "triples": [
            ("math_equal", (_as_response(str(r["pred"]), r["level"] == "answer"), r["gold"], bool(r["expected"])))
            for r in triples
        ],
        "reports": [
            (str(r["formula"])[:-2], (str(r["response"]), r["ground_truth"], r["expect"] == 1)) for r in reports
        ],
        "cases": [
            ("gsm8k" if r["kind"] == "gsm8k" else "math_equal", (_whole(r), r["gold"], r["expect"] == "accept"))
            for r in cases
        ],
    }


def _as_response(text: str, alone: bool) -> str:
    inner = text.strip().strip("$")
    is_formula = alone and "\\boxed" not in text and "$" not in inner and not has_words(inner)
    return f"So it is $\\boxed{{{inner}}}$." if is_formula else text


def _whole(row: dict[str, Any]) -> str:
    return row["response"] or "".join(text * times for text, times in row["response_gen"])


Graded = Callable[[str, str, Any], float]


def _ours() -> Graded:
    grade_math(r"\boxed{\sin^2 x + \cos^2 x}", "1")
    return lambda term, response, truth: (grade_gsm8k if term == "gsm8k" else grade_math)(response, truth).value


def _by_math_verify() -> Graded:
    by_math_verify(r"$\sin^2 x + \cos^2 x$", "1")
    return lambda term, response, truth: by_math_verify(response, truth)


def _by_verl(module: str) -> Graded:
    scorer = importlib.import_module(f"verl.utils.reward_score.{module}")

    def grade(term: str, response: str, truth: Any) -> float:
        score = scorer.compute_score(response, _one(truth))
        return float(score[0] if isinstance(score, tuple) else score)

    grade("", r"\boxed{x}", "x")
    return grade


def _by_trl() -> Graded:
    from trl.rewards import accuracy_reward

    def grade(term: str, response: str, truth: Any) -> float:
        truth = _one(truth)
        solution = truth if "$" in truth or "\\boxed" in truth else f"${truth}$"
        return accuracy_reward([[{"role": "assistant", "content": response}]], [solution])[0] or 0.0

    return grade


def _by_inspect_ai() -> Graded:
    import asyncio

    from inspect_ai.model import ModelOutput
    from inspect_ai.scorer import CORRECT, Target, math
    from inspect_ai.solver import TaskState

    score = math()

    def grade(term: str, response: str, truth: Any) -> float:
        output = ModelOutput.from_content("mock", response)
        state = TaskState(model="mock/model", sample_id=0, epoch=0, input="", messages=[], output=output)
        return float(asyncio.run(score(state, Target(_one(truth)))).value == CORRECT)

    return grade


def _one(truth: Any) -> str:
    return str(truth[0] if isinstance(truth, list) else truth)


PEERS: dict[str, Callable[[], Graded]] = {
    "rewardkit": _ours,
    "math-verify": _by_math_verify,
    "verl math_reward": functools.partial(_by_verl, "math_reward"),
    "verl math_verify": functools.partial(_by_verl, "math_verify"),
    "verl prime_math": functools.partial(_by_verl, "prime_math"),
    "TRL": _by_trl,
    "inspect_ai": _by_inspect_ai,
}
ROW_SECONDS = 10.0


def _serve(name: str, ends: Any) -> None:
    """Grade the rows that come through a pipe; before them, say whether the grader is installed."""
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere), contextlib.redirect_stderr(nowhere):
        try:
            grade = PEERS[name]()
        except ImportError as missing:
            ends.send(str(missing))
            return
        ends.send("")
        while True:
            try:
                row = ends.recv()
            except EOFError:
                return
            started = time.perf_counter()
            try:
                value = grade(*row)
            except Exception:
                value = float("nan")
            ends.send((time.perf_counter() - started, value))


class Contained:
    """A grader in a process of its own, started anew when a row stops it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.missing = self._start()

    def _start(self) -> str:
        context = multiprocessing.get_context("spawn")
        self.ends, theirs = context.Pipe()
        self.process = context.Process(target=_serve, args=(self.name, theirs))
        self.process.start()
        theirs.close()
        return str(self.ends.recv()) if self.ends.poll(120) else "did not start"

    def grade(self, row: tuple[str, str, Any]) -> tuple[float, float] | None:
        """Seconds and verdict; None for a row that was stopped."""
        self.ends.send(row)
        try:
            if self.ends.poll(ROW_SECONDS):
                return self.ends.recv()  # type: ignore[no-any-return]
        except EOFError:
            pass
        self.stop()
        self._start()
        return None

    def stop(self) -> None:
        """End the process and those that it started."""
        for child in psutil.Process(self.process.pid).children(recursive=True) if self.process.is_alive() else ():
            child.kill()
        self.process.kill()
        self.process.join()


def run_peers(folder: Path | None) -> None:
    sources = peer_rows(folder)
    print(f"peers: {', '.join(f'{len(rows)} {name}' for name, rows in sources.items())}")
    for name in PEERS:
        grader = Contained(name)
        if grader.missing:
            print(f"  {name:17} not installed: {grader.missing}")
            grader.stop()
            continue
        said = []
        for source, rows in sources.items():
            results = [(grader.grade((term, text, truth)), right) for term, (text, truth, right) in rows]
            seconds = [outcome[0] for outcome, _ in results if outcome is not None]
            right = sum(outcome is not None and (outcome[1] == 1) == right for outcome, right in results)
            stopped = len(results) - len(seconds)
            mean, median = 1e6 * statistics.mean(seconds), 1e6 * statistics.median(seconds)
            share = f"{source} {right}/{len(rows)} {100 * right / len(rows):5.1f} %"
            said.append(f"{share}  {mean:9.0f} us, median {median:7.0f}" + (f", {stopped} stopped" * bool(stopped)))
        print(f"  {name:17} " + "\n                    ".join(said))
        grader.stop()


def _per_row(seconds: float, rows: Sequence[Any]) -> str:
    return f"{1e6 * seconds / len(rows):9.1f} us"


def _share(agree: Sequence[bool]) -> str:
    return f"{sum(agree) / len(agree):.3f}"


def run_hostile(folder: Path | None) -> None:
    clean: dict[str, list[Row]] = {"gsm8k()": [], "math_equal()": []}
    clean["gsm8k()"] = [row for rows in gsm8k_rows(folder, 256).values() for row in rows][:1_024]
    mathematics = math_rows(folder, long=True)
    clean["math_equal()"] = [
        (f"Attempt {i}. {text}", truth, right)
        for i, (text, truth, right) in enumerate(mathematics[k % len(mathematics)] for k in range(1_024))
    ]
    for name, node in (("gsm8k()", gsm8k()), ("math_equal()", math_equal())):
        program, rows = compile_reward(node), clean[name]
        texts, truths = [r for r, _, _ in rows], [g for _, g, _ in rows]
        mixed, mixed_truths = list(texts), list(truths)
        for k, i in enumerate(range(5, len(rows), 10)):
            mixed[i] = f"{HOSTILE[k % len(HOSTILE)]} {i}" if k % 2 else HOSTILE[k % len(HOSTILE)]
            if "a+b+c+d" in mixed[i]:
                mixed[i] = mixed[i].replace("^{60}", f"^{{{40 + k}}}")
                mixed_truths[i] = f"(a+b+c+d)^{{{40 + k}}}"
        program(Batch(texts, ground_truths=truths))  # starts the workers
        best: dict[str, float] = {}
        for _ in range(5 if name == "gsm8k()" else 2):
            for side, responses, targets in (("clean", texts, truths), ("hostile", mixed, mixed_truths)):
                forget()
                wall, cpu, scores = measured(lambda p=program, t=responses, g=targets: p(Batch(t, ground_truths=g)))
                best[side] = min(wall, best.get(side, wall))
                best[f"{side} cpu"] = min(cpu, best.get(f"{side} cpu", cpu))
                if side == "hostile":
                    statuses = scores.statuses[program.names[0]]
        hostile = range(5, len(rows), 10)
        counts = Counter(Status(statuses[i]).name for i in hostile)
        deadlines, workers = counts["TIMEOUT"] * math_grade.CPU_SECONDS, shared_pool().size
        print(f"{name}: {len(rows)} rows, {len(hostile)} hostile: {dict(counts)}")
        for kind, key, shared in (("wall", "", workers), ("CPU ", " cpu", 1)):
            allowed = 2 * best["clean" + key] + deadlines / shared
            print(
                f"  {kind} clean {best['clean' + key]:8.3f} s  with hostile {best['hostile' + key]:8.3f} s  allowed "
                f"{allowed:8.3f} s (2 times clean + {deadlines / shared:.1f} s of deadlines)"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=None)
    parser.add_argument("--rows", type=int, default=600)
    parser.add_argument("--only", choices=("gsm8k", "math", "hostile", "peers"), default=None)
    options = parser.parse_args()
    folder = options.data
    if folder is None and (Path(__file__).parents[2] / "shared" / "data").is_dir():
        folder = Path(__file__).parents[2] / "shared" / "data"
    if options.only in (None, "gsm8k"):
        run_gsm8k(folder, options.rows)
    if options.only in (None, "math"):
        run_math(folder)
    if options.only in (None, "hostile"):
        run_hostile(folder)
    if options.only in (None, "peers"):
        run_peers(folder)
    shared_pool().close()


if __name__ == "__main__":
    main()
