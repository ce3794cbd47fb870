"""Write docs/errors.md: `python docs/make_errors.py`. A test fails when the page is stale.

What an error, a status or a diagnostic is, its severity and its example come from the code; what to do about it stands
here. A code without a fix, or a fix without a code, is an error.
"""

from __future__ import annotations

import ast
import inspect
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import rewardkit
from rewardkit import Batch, Status, compile, errors, gsm8k, length, parse
from rewardkit.analysis import diagnostics as _explain  # noqa: F401  # registers its codes
from rewardkit.audit import diagnostics as _audit  # noqa: F401  # registers its codes
from rewardkit.batch import FAULTS, POLICY_CAUSED
from rewardkit.data import check as _check  # noqa: F401  # registers its codes
from rewardkit.diagnostics import CODES
from rewardkit.errors import RewardKitError
from rewardkit.scoring import score_file
from trainer_glue.verl.config import codes as _config  # noqa: F401  # registers its codes

PAGE = Path(__file__).with_name("errors.md")
HEAD = """# Errors, statuses, diagnostics

```pycon
>>> from rewardkit import parse
>>> from rewardkit.errors import RewardKitError
>>> try:
...     parse("lenght(0.1)")
... except RewardKitError as e:
...     print(e.code, "|", e.message.splitlines()[0], "|", e.hint)
unknown-name | 'lenght' is not in the vocabulary | did you mean 'length'?

```

Written by `docs/make_errors.py` from the code. Every message says what came, what was expected, and the likely fix.
"""
EXIT_CODES = """## Exit codes

| code | means |
|---|---|
| 0 | done; of a check: nothing was found |
| 1 | a check found something: `audit` a hole (see `--fail-on`), `test` a broken law, a failing example or a slip that no example notices, `data check` rows that can't be scored, `compare --fail-on-difference` a difference; or a run that started died |
| 2 | bad input, or an output that can't be written: a command or option that is none, an error below, a config that would not run (`config validate`, `config migrate`, `doctor`, `train`) |
| 130, 143, 129, 131 | stopped by Ctrl-C, by SIGTERM, SIGHUP, SIGQUIT |
| 141 | whoever read standard output went away, as `head` does |

An error is one message on standard error, never a traceback. A traceback is a bug in rewardkit: please report it.
"""

DIAGNOSTICS = """## Diagnostics

What a check says has a code, a place, a message, a hint, and a severity: `error` has to be mended, `warning` should be
looked at, `note` is worth knowing. They come in this order. `--json` has the same keys for all commands (`code`,
`severity`, `where`, `message`, `hint`), and beside them what the check alone knows. Those of `rewardkit doctor` (RKD101
to RKD903) are on [its own page](doctor.md).
"""


def _no_weights() -> object:
    return gsm8k() + length("long")  # type: ignore[arg-type]


def _no_verdict() -> object:
    return gsm8k() & length()  # type: ignore[operator]


def _no_such_file() -> object:
    return score_file(compile("length()"), Path("answers.jsonl"), lambda text: None)


def _token_level() -> object:
    from trainer_glue.adapters.compute_score import compute_score_of

    return compute_score_of("length(0.01).spread()")


def _no_checkpoint() -> object:
    from trainer_glue.checkpoint.layout import find

    Path("runs").mkdir()
    return find(Path("runs"))


def _no_recipe() -> object:
    from trainer_glue.verl.config.recipes import recipe

    return recipe("llama3-8b")


def _unscored() -> object:
    from trainer_glue.adapters.unscored import check_unscored

    scores = compile("gsm8k()")(Batch(["#### 4"] * 3, ground_truths=["4", None, None]))
    return check_unscored(scores, 0.2)


ERRORS: Mapping[str, tuple[str, Callable[[], object] | None]] = {
    "FormulaError": (
        "The base of the next four: catch it to catch them all. By itself it says that a formula can't be used as a whole: "
        "two parts of one name, or more operations than are allowed.",
        lambda: compile("gsm8k().named('right') + length(0.1).named('right')"),
    ),
    "ParseError": (
        "Mend it where the message points. Only numbers, texts, lists, names of the vocabulary, operators and calls may "
        "stand there: a formula's text is read, never evaluated.",
        lambda: parse("length(0.1) + "),
    ),
    "KindError": (
        "`&`, `|` and `~` want verdicts or conditions, `+` and `*` want rewards; `and`, `or`, `not`, `if` and `0 < x < 1` "
        "can't see a formula's rows. Compare a reward with a number, and use `when(condition, then, otherwise)`.",
        _no_verdict,
    ),
    "ParameterError": (
        "`rewardkit terms NAME` shows the parameters of a term. A term of your own that reads what it did not declare gets "
        "this one too: add it to `needs`.",
        _no_weights,
    ),
    "UnknownNameError": (
        "A slip, or a term of your own in a formula that is given as text: give the file that defines it "
        "(`--reward my_reward.py`), or `parse(text, terms=[...])`.",
        lambda: parse("lenght(0.1)"),
    ),
    "CompileError": (
        "It has token-level parts where one number a response is asked for, or group-relative ones where rows come one by "
        "one. Use the trainer or verl version that the hint names: "
        "[which carries what](statuses.md#what-each-trainer-does-with-an-unscored-row).",
        _token_level,
    ),
    "UnscoredError": (
        "Golds that can't be used, a judge that is down, a term that fails: the first reason is in the message. Golds are "
        "found before a run by `rewardkit data check`.",
        _unscored,
    ),
    "DataError": (
        "The message names the file and, where there is one, the line. Columns are those of `rewardkit score --help`, or "
        "verl's.",
        _no_such_file,
    ),
    "ConfigError": (
        "`rewardkit config validate` lists everything that is wrong with a config, `rewardkit config migrate` rewrites one of an older "
        "verl. A recipe that is none and a file that would be replaced are such errors too.",
        _no_recipe,
    ),
    "MissingDependencyError": (
        "The hint is the `pip install` to run.",
        None,
    ),
    "CheckpointError": (
        "Nothing was left behind. [What is read](converting.md#what-it-reads); a rank's missing file has to be copied from "
        "its node. A result that can't be written is such an error too.",
        _no_checkpoint,
    ),
    "RunError": (
        "The message shows the first error of verl's log, which is the cause, and then the last. The same command goes on "
        "from the last checkpoint. [Memory, and other causes](llama3.md#when-it-goes-wrong).",
        None,
    ),
}
"""By class: cause and fix, and what raises one as an example."""

STATUSES: Mapping[str, str] = {
    "SCORED": "nothing",
    "NOT_APPLICABLE": "nothing, if it is meant: a route that a row does not take, a term that answers None",
    "NO_ANSWER": "ask for the format in the prompt; a share that grows in training is a policy that loses the format",
    "AMBIGUOUS": "the same: of several different answers none counts",
    "BAD_GOLD": "`rewardkit data check FILE --reward FORMULA` lists the rows; mend or drop them",
    "LIMIT": "look at the texts (`rewardkit report`): most are loops; `max_response_length` bounds them",
    "TIMEOUT": "the same; `cpu_seconds=` of the term, if answers are long and right",
    "ERROR": "read the reason: `reasons` of the scores, the row of `rewardkit score`, or the run's log",
}

EXPLAIN: Mapping[str, str] = {
    "unbounded-total": "Cap it: the term's own `cap`, `clip(x, low, high)`; for a term of your own `@term(bounds=(low, high))`.",
    "verdict-outweighed": "Pay the rest to right answers only: `when(gsm8k(), 1 + ..., 0)`.",
    "verdict-dominates": "Nothing: that is how it should be.",
    "dead-branch": "Compare with a number inside the bounds of both sides.",
    "no-effect": "Leave it out; or `observe(...)`, if it is there for the logs.",
    "never-decides": "Leave it out, or scale it into the other's bounds.",
    "weight-zero": "Nothing, if it is meant.",
    "group-relative": "Use a trainer that hands over whole groups (its page has the table); give `rewardkit score` the column `group`.",
    "schedule-without-step": "`--step N` of `rewardkit score` and `explain`; else the first value counts.",
}

DATA: Mapping[str, str] = {
    "bad-ground-truth": "Correct it, or take the row out.",
    "no-route": "Add the route, or `otherwise=...`.",
    "no-prompts": "Fill the column `prompt`; `rewardkit data from FILE --prompt COLUMN` does.",
    "reward-model-text": "Write it as an object; `rewardkit data from` does.",
    "two-ground-truths": "One of the two is wrong: correct it.",
    "repeated-row": "Nothing, if it is meant; else take the repeats out.",
}

AUDIT: Mapping[str, str] = {
    "outscores-right": "Pay shaping to right answers only; the report's `instead` is such a formula, tried by the same attacks.",
    "paid-as-right": "Make the verdict stricter (`exactly_one_answer()`, a form with a marker), or grade with `math_equal`.",
    "last-counts": "`gsm8k() & exactly_one_answer()`, if hedging should not be free.",
    "part-paid": "Lower the shaping's share, or gate it by the verdict.",
    "no-signal": "The reward pays every text the same: a ground truth column that is not read, or a form that no answer has.",
    "others-paid": "Read the policy's own turns only: `turn.own` in a term, the role in a function of messages; in verl, "
    "the reward manager, which cuts a trajectory by its mask. A note where the function doesn't look made for tools.",
    "gold-blind": "The reward looks at no gold: add a verdict, or read it as the style term that it is.",
    "padding-pays": "A `cap` on the length, or `brevity(...)`, `overlong(...)`.",
    "length-outweighs": "A smaller weight on the length, so that the verdict outweighs all of it.",
    "right-unpaid": "`mode='flexible'`, or ask for the form in the prompt.",
    "tail-matters": "Read the text's end without blanks: `ends_with` does; in a function, `strip()` first.",
    "cut-off-paid": "Pay the ending only below the length limit, or let the term read `truncated`.",
    "repetition-unseen": "A smaller n in `repetition(...)`, or a cap on the length beside it.",
    "no-variance": "A finer reward, or harder prompts: groups that are paid the same teach nothing.",
    "fails": "Mend the function for the text that is shown; in a formula such a row is unscored.",
    "slow": "Bound what the function searches, or use the formula's terms, which have limits.",
    "not-deterministic": "Take the randomness or the clock out; a judge needs temperature 0.",
}


def page() -> str:
    """The whole page.

    Raises:
        AssertionError: a code without a fix, or a fix without a code.
    """
    parts = [
        HEAD,
        EXIT_CODES,
        "## Errors",
        *_errors(),
        "## Statuses",
        _statuses(),
        DIAGNOSTICS,
        "### `rewardkit explain`",
        "*Proved* holds whatever the terms do, or a pair of texts shows it; *possible* is what the bounds allow.",
        _codes("explain", EXPLAIN),
        "### `rewardkit data check`",
        _codes("data check", DATA),
        "### `rewardkit audit`",
        "Each is shown with the smallest text that does it. [Severities](auditing.md#severity-and-exit-codes).",
        _codes("audit", AUDIT),
        "### `rewardkit config validate`",
        "The message says what came and what was expected, and the hint what to do.",
        _codes("config validate"),
    ]
    return "\n\n".join(part.strip() for part in parts) + "\n"


def _errors() -> Iterator[str]:
    classes = [c for c in vars(errors).values() if inspect.isclass(c) and issubclass(c, RewardKitError)]
    classes.remove(RewardKitError)
    assert {c.__name__ for c in classes} == set(ERRORS)
    yield f"All are a `RewardKitError`. {_line(RewardKitError)}"
    for c in classes:
        fix, example = ERRORS[c.__name__]
        code = f"Its `code` is `{c.code}`; exit code {1 if c is errors.RunError else 2}."
        shown = "" if example is None else f"```text\n{_message(c, example)}\n```\n\n"
        yield f"### {c.__name__}\n\n{shown}{_line(c)}\n\n{fix} {code}"


def _message(expected: type[RewardKitError], example: Callable[[], object]) -> str:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        try:
            example()
        except expected as e:
            return str(e).replace(os.path.realpath(scratch), "/home/me")
        finally:
            os.chdir(before)
    raise AssertionError(f"the example of {expected.__name__} raises none")


def _statuses() -> str:
    assert {s.name for s in Status} == set(STATUSES)
    meanings = _below_members(rewardkit.batch.Status)
    lines = [
        "What each is worth is on [a page of its own](statuses.md).\n",
        "| status | means | the row | what to do |",
    ]
    lines.append("|---|---|---|---|")
    for status in Status:
        row = "is paid at the term's worst end" if status in POLICY_CAUSED else "is unscored"
        row = (
            row
            if status in POLICY_CAUSED | FAULTS
            else "has a value"
            if status is Status.SCORED
            else "steps out of sums"
        )
        lines.append(f"| `{status.name}` | {meanings[status.name]} | {row} | {STATUSES[status.name]} |")
    return "\n".join(lines)


def _below_members(enum: type) -> dict[str, str]:
    """The texts that stand below an enum's members."""
    (tree,) = ast.parse(inspect.getsource(enum)).body
    assert isinstance(tree, ast.ClassDef)
    docs = {}
    for member, text in zip(tree.body, tree.body[1:], strict=False):
        if isinstance(member, ast.Assign) and isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant):
            (name,) = (target.id for target in member.targets if isinstance(target, ast.Name))
            docs[name] = " ".join(str(text.value.value).split())
    return docs


def _codes(producer: str, fixes: Mapping[str, str] | None = None) -> str:
    """The registry's codes of one check; fixes are for all of them, or left out where each message says its own."""
    codes = {code: known for code, known in CODES.items() if known.producer == producer}
    assert fixes is None or set(codes) == set(fixes)
    columns = ["code", "usually", "means", *([] if fixes is None else ["what to do"])]
    lines = [f"| {' | '.join(columns)} |", f"|{'---|' * len(columns)}"]
    for code, known in codes.items():
        fix = "" if fixes is None else f" {fixes[code]} |"
        lines.append(f"| `{code}` | {known.severity} | {known.line} |{fix}")
    return "\n".join(lines)


def _line(thing: object) -> str:
    return " ".join((inspect.getdoc(thing) or "").split())


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
