"""Instructions that a program can check: each of them followed and not, in every shape, and against Google's code."""

from __future__ import annotations

import json
import random
import re
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rewardkit import Batch, Status, compile
from rewardkit.terms.instructions import counting
from rewardkit.terms.instructions.ifeval import IFEVAL
from rewardkit.terms.instructions.rlvr import RLVR

ALL, SHARE, LOOSE = (compile(f"follows({arguments})") for arguments in ("", "pay='share'", "strict=False"))
FRENCH = "Bonjour, je vais vous raconter une histoire sur mon village au bord de la rivière."
ENGLISH = "Hello, I am going to tell you a story about my village by the river."

CASES: list[tuple[str, dict[str, Any], list[str], list[str]]] = [
    # instruction, arguments, texts that follow it, texts that don't
    ("keywords:existence", {"keywords": ["Fox", "den"]}, ["a fox in its DEN"], ["a fox", "den"]),
    ("keywords:frequency", {"keyword": "a", "frequency": 2, "relation": "less than"}, ["a b"], ["a a"]),
    ("keywords:frequency", {"keyword": "c++", "frequency": 1, "relation": "at least"}, ["C++ it is"], ["ccc"]),
    ("keywords:forbidden_words", {"forbidden_words": ["cat"]}, ["category"], ["the Cat."]),
    ("keywords:letter_frequency", {"letter": "B", "let_frequency": 2, "let_relation": "at least"}, ["bB"], ["b"]),
    ("language:response_language", {"language": "fr"}, [FRENCH, FRENCH * 30], [ENGLISH, "1234", FRENCH + ENGLISH * 9]),
    ("language:response_language", {"language": "zh-cn"}, ["你好，我会给你讲一个关于我们村子的故事。"], [ENGLISH]),
    ("length_constraints:number_sentences", {"num_sentences": 3, "relation": "at least"},
     ["One. Two! Three?"], ["Dr. Wu is Mr. Smith. It is 3.5 of them, e.g. two."]),
    ("length_constraints:number_paragraphs", {"num_paragraphs": 2},
     ["a\n***\nb", "***\na *** b\n***"], ["a", "a***b***c"]),
    ("length_constraints:number_words", {"num_words": 3, "relation": "less than"}, ["well-known"], ["a b-c"]),
    ("length_constraints:nth_paragraph_first_word",
     {"num_paragraphs": 2, "nth_paragraph": 2, "first_word": "Yes"},
     ["No.\n\n'yes, sir"], ["Yes.\n\nNo", "a\n\nyes\n\nb"]),
    ("detectable_content:number_placeholders", {"num_placeholders": 2}, ["[a] and [b]"], ["[a\n]", "[[a]", "[a]"]),
    ("detectable_content:postscript", {"postscript_marker": "P.S."}, ["Bye.\n\np. s. me"], ["Bye. PS"]),
    ("detectable_content:postscript", {"postscript_marker": "P.P.S"}, ["P.P.S me"], ["P.S. me"]),
    ("detectable_content:postscript", {"postscript_marker": "(Note)"}, ["Bye (note) me"], ["Note: me"]),
    ("detectable_format:number_bullet_lists", {"num_bullets": 2}, ["* a\n - b\n**c**"], ["* a", "- a\n- b\n- c"]),
    ("detectable_format:constrained_response", {}, ["So: My answer is maybe."], ["my answer is no"]),
    ("detectable_format:number_highlighted_sections", {"num_highlights": 2},
     ["*a* and *b*", "**a** *b*"], ["*a* * *", "*a\nb* c", "** **"]),
    ("detectable_format:multiple_sections", {"section_spliter": "PART", "num_sections": 2},
     ["PART 1\na\nPART2\nb"], ["PART 1", "PART a PART b"]),
    ("detectable_format:json_format", {}, ['{"a": 1}', "```json\n[1]\n```"], ["So: {}", "{'a': 1}"]),
    ("detectable_format:title", {}, ["<<A poem>>\nof joy"], ["<<>>", "<<a\n>>", "<< >>"]),
    ("combination:two_responses", {}, ["a\n******\nb"], ["a******a", "a******b******c", "a", "a************b"]),
    ("combination:repeat_prompt", {"prompt_to_repeat": "Write a poem."}, ["write a poem. So be it"], ["A poem."]),
    ("startend:end_checker", {"end_phrase": "That is all."}, ['"So. that is all."'], ["That is all. Bye"]),
    ("startend:quotation", {}, ['"Yes."'], ['"', '"Yes".', "Yes"]),
    ("change_case:capital_word_frequency", {"capital_frequency": 2, "capital_relation": "at least"},
     ["NASA and ESA", "I'M"], ["NASA", "Nasa Esa", "A-B", "U.S."]),
    ("change_case:english_capital", {}, [ENGLISH.upper()], [ENGLISH, FRENCH.upper(), "123"]),
    ("change_case:english_lowercase", {}, [ENGLISH.lower()], [ENGLISH, FRENCH.lower(), "123"]),
    ("punctuation:no_comma", {}, ["a; b"], ["a, b"]),
    ("verify_keywords", {"keyword_list": ["Fox"]}, ["foxes"], ["hen"]),
    ("verify_keyword_frequency", {"word": "fox", "N": 1}, ["A Fox; foxes"], ["fox fox", "hen"]),
    ("validate_forbidden_words", {"forbidden_words": ["cat"]}, ["dog"], ["category"]),
    ("verify_letter_frequency", {"letter": "b", "N": 1}, ["bB"], ["bb"]),
    ("validate_response_language", {"language": "en"}, [ENGLISH], [FRENCH]),
    ("verify_paragraph_count", {"N": 2}, ["a\n* * *\nb"], ["a\n***\nb", "a\n* * *"]),
    ("validate_word_constraint", {"N": 20, "quantifier": "around"}, ["a " * 18, "a " * 22], ["a " * 17, "a " * 23]),
    ("validate_word_constraint", {"N": 2, "quantifier": "at most"}, ["a b-c"], ["a b c"]),
    ("verify_sentence_constraint", {"N": 2, "quantifier": "at least"}, ["Yes. No."], ["Mr. X", "Yes"]),
    ("validate_paragraphs", {"N": 2, "first_word": "So", "i": 2}, ["a\n\nSo it is"], ["So\n\na", "a\n\nSo\n\nb"]),
    ("verify_postscript", {"postscript_marker": "P.S."}, ["a P.S. b"], ["a P.S.", "p.s. b"]),
    ("validate_placeholders", {"N": 1}, ["[a]"], ["(a)"]),
    ("verify_bullet_points", {"N": 2}, ["* a\n** b"], ["* a"]),
    ("validate_title", {}, ["a <<b>>"], ["a << b"]),
    ("validate_choice", {"options": ["red", "blue"]}, ["a blue one"], ["green"]),
    ("validate_highlighted_sections", {"N": 2}, ["*a* *b*"], ["*a* *b", "*a*\n*b"]),
    ("validate_sections", {"N": 2, "section_splitter": "Section"}, ["section 1 a SECTION 2"], ["Section 1"]),
    ("validate_json_format", {}, ["[1]"], ["```json\n[1]\n```", "[NaN]"]),
    ("validate_repeat_prompt", {"original_prompt": "Do it."}, ["Do it. Done"], ["do it."]),
    ("validate_two_responses", {}, ["a ****** b"], ["a ****** a", "a"]),
    ("validate_uppercase", {}, ["ABC 1"], ["Abc"]),
    ("validate_lowercase", {}, ["abc 1"], ["Abc"]),
    ("validate_frequency_capital_words", {"N": 2, "quantifier": "around"}, ["A", "A B C"], ["a", "A B C D"]),
    ("validate_end", {"end_phrase": "Bye."}, ["So. Bye."], ["So. bye."]),
    ("validate_quotation", {}, ['"a"'], ['"a']),
    ("validate_no_commas", {}, ["a"], ["a,"]),
]  # fmt: skip


def shapes(name: str, arguments: dict[str, Any]) -> list[Any]:
    """A ground truth of one instruction as data sets write it."""
    if name in RLVR:
        row = {"func_name": name, "N": None, "options": None, **arguments}
        return [row, json.dumps(row)]
    google = {"instruction_id_list": [name], "kwargs": [{**arguments, "relation": arguments.get("relation")}]}
    multi = [{"instruction_id": [name], "kwargs": [arguments or None]}]
    arrays = {"instruction_id_list": np.array([name]), "kwargs": np.array([arguments], dtype=object)}
    return [google, json.dumps(google), arrays, multi, json.dumps(multi), str(multi)]


@pytest.mark.parametrize(("name", "arguments", "yes", "no"), CASES, ids=[f"{i}-{c[0]}" for i, c in enumerate(CASES)])
def test_an_instruction_is_followed_or_not(name: str, arguments: Any, yes: list[str], no: list[str]) -> None:
    for truth in shapes(name, arguments):
        for texts, expected in ((yes, 1), (no, 0)):
            scores = ALL(Batch([f"<think>so, *[,]</think>{t}" for t in texts], ground_truths=[truth] * len(texts)))
            assert (scores.status == Status.SCORED).all(), (truth, scores.first_reason())
            assert scores.total.tolist() == [expected] * len(texts), (truth, texts)


def test_every_instruction_has_a_case() -> None:
    assert {c[0] for c in CASES} == {*IFEVAL, *RLVR}
    assert len(IFEVAL) == len(RLVR) == 25


@pytest.mark.parametrize(("name", "arguments"), [(c[0], c[1]) for c in CASES if c[1]])
def test_an_argument_that_is_missing_or_odd_is_no_ground_truth(name: str, arguments: dict[str, Any]) -> None:
    for argument, value in arguments.items():
        for odd in (None, [], -1, True, 1.5, "often", ""):
            if isinstance(value, str) and isinstance(odd, str) and odd:
                continue  # a text is a text
            (truth, *_) = shapes(name, {**arguments, argument: odd})
            scores = ALL(Batch(["Yes."], ground_truths=[truth]))
            assert Status(int(scores.status[0])) is Status.BAD_GOLD, truth
            assert argument in (scores.first_reason() or "")


@pytest.mark.parametrize(
    ("truth", "word"),
    [
        ({"instruction_id_list": ["punctuation:no_commas"], "kwargs": [{}]}, "did you mean 'punctuation:no_comma'"),
        ({"func_name": "validate_all"}, "unknown instruction"),
        ({"instruction_id_list": [], "kwargs": []}, "no instructions"),
        ({"instruction_id_list": ["punctuation:no_comma"], "kwargs": [{}, {}]}, "1 instructions and 2 kwargs"),
        ({"instruction_id_list": ["language:response_language"], "kwargs": [{"language": "klingon"}]}, "klingon"),
        ({}, "no instructions"), ([], "no instructions"), ("", "neither"), ("no commas", "neither"), (4, "no mapping"),
        ("[" * 90, "levels"), (["4"], "no mapping"),
    ],
)  # fmt: skip
def test_what_names_no_instruction_is_no_ground_truth(truth: Any, word: str) -> None:
    scores = SHARE(Batch(["Yes."], ground_truths=[truth]))
    assert Status(int(scores.status[0])) is Status.BAD_GOLD
    assert word in (scores.first_reason() or "")


def test_the_share_and_the_loose_rule() -> None:
    truth = {
        "instruction_id_list": ["punctuation:no_comma", "startend:end_checker", "change_case:english_lowercase"],
        "kwargs": [{}, {"end_phrase": "bye"}, {}],
    }
    text = "Sure, here it is:\nthis is a story about my village by the river bye"
    batch = Batch([text, "", "<think>so"], ground_truths=[truth] * 3)
    assert SHARE(batch).total.tolist() == pytest.approx([1 / 3, 0, 0])
    assert SHARE(batch).status.tolist() == [Status.SCORED, Status.NO_ANSWER, Status.NO_ANSWER]
    assert ALL(batch).total[0] == 0
    assert LOOSE(batch).total[0] == 1  # without its first line it follows all


def test_threads_and_reruns_agree() -> None:
    """langdetect, which Google's code asks, draws random numbers: the same text gets several languages."""
    texts = [ENGLISH[:n] for n in range(1, 40, 3)] + [FRENCH[:n] for n in range(1, 40, 3)] + ["ok", "no si", "123 a"]
    truths = [shapes("language:response_language", {"language": language})[0] for language in ("en", "fr", "it")]
    batch = Batch([t for t in texts for _ in truths], ground_truths=truths * len(texts))
    first = ALL(batch).total
    with ThreadPoolExecutor(8) as threads:
        for again in threads.map(lambda _: ALL(batch).total, range(100)):
            np.testing.assert_array_equal(again, first)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0), ("No end", 1), ("One. Two. Three", 3), ("Dr. Smith met Mrs. Jones.", 1), ("It is 3.5 m. It fits.", 2),
        ("He said (twice). Then he left.", 2), ("Really?! Yes!", 2), ("In the U.S. He left.", 2),
        ("J. K. Rowling wrote it.", 1), ("Wait... what? Yes", 2),
        ("See e.g. the list. Bye", 2), ("1. Eggs\n2. Milk", 3),
        ("Line\nbreaks are no ends", 1),
    ],
)  # fmt: skip
def test_sentences(text: str, count: int) -> None:
    assert counting.sentences(text) == count


# Against the package if-verifiable, which is Google's code.

PAGES = [*(Path(__file__).parents[3] / "docs").glob("*.md"), Path(__file__).parents[3] / "README.md"]
WORDS = "the total of is he she answer step file reward formula time price response groups".split()  # noqa: SIM905


def oracle() -> Callable[[str, str, dict[str, Any]], tuple[bool, bool]]:
    why = "needs Google's code: pip install if-verifiable; python -m nltk.downloader punkt_tab"
    langdetect = pytest.importorskip("langdetect", reason=why)
    common = pytest.importorskip("if_verifiable.common", reason=why)
    registry = pytest.importorskip("if_verifiable.ifeval.instructions_registry", reason=why).INSTRUCTION_DICT
    langdetect.DetectorFactory.seed = 0
    try:
        pytest.importorskip("nltk", reason=why).word_tokenize("a")
    except LookupError:
        pytest.skip(why)

    def verdicts(text: str, name: str, arguments: dict[str, Any]) -> tuple[bool, bool]:
        (result,), _ = common.evaluate_instructions(text, [name], [arguments], "", registry)
        return result.strict_pass, result.loose_pass

    return verdicts


def response(rng: random.Random, passages: list[str]) -> str:
    """Some passages, and things done to them that instructions ask for."""
    foreign = [
        FRENCH,
        "Guten Tag, ich erzähle eine Geschichte über mein Dorf.",
        "Здравствуйте, я расскажу вам историю.",
    ]
    text = "\n\n".join(rng.sample(passages, rng.randint(1, 3))) if rng.random() < 0.9 else rng.choice(foreign)
    done: list[Callable[[str], str]] = [
        str.upper, str.lower, lambda t: t.replace(",", ""), lambda t: f'"{t}"', lambda t: f"<<A title>>\n{t}",
        lambda t: t + "\n\nP.S. I like it", lambda t: t + "\n* one\n* two\n- three", lambda t: f"*A part* **bold** {t}",
        lambda t: f"Section 1\n{t}\nSection 2\nmore", lambda t: f"{t}\n***\n{rng.choice(passages)}",
        lambda t: f"{t}\n******\n{rng.choice(passages)}", lambda t: f"```json\n{json.dumps({'a': t})}\n```",
        lambda t: t + " Is there anything else I can help with?", lambda t: t + " [name] and [address]",
    ]  # fmt: skip
    for change in rng.choices(done, k=rng.randint(0, 3)):
        text = change(text)
    return text


def instruction(rng: random.Random, text: str) -> tuple[str, dict[str, Any]]:
    """One of the 25, with arguments near what the text has."""
    relation, n = rng.choice(["less than", "at least"]), rng.randint(1, 4)

    def near(count: int) -> int:
        return max(1, count + rng.randint(-3, 3))

    name = rng.choice([*IFEVAL])
    arguments: dict[str, Any] = {
        "keywords:existence": {"keywords": rng.sample(WORDS, 2)},
        "keywords:frequency": {"keyword": rng.choice(WORDS), "frequency": n, "relation": relation},
        "keywords:forbidden_words": {"forbidden_words": rng.sample(WORDS, 2)},
        "keywords:letter_frequency": {"letter": rng.choice("abeqz"), "let_frequency": 6 * n, "let_relation": relation},
        "language:response_language": {"language": rng.choice(["en", "fr", "de", "ru", "es"])},
        "length_constraints:number_sentences": {
            "num_sentences": near(len(re.findall(r"[.?!]\s", text))), "relation": relation,
        },
        "length_constraints:number_paragraphs": {"num_paragraphs": n},
        "length_constraints:number_words": {"num_words": near(len(re.findall(r"\w+", text))), "relation": relation},
        "length_constraints:nth_paragraph_first_word": {
            "num_paragraphs": text.count("\n\n") + 1, "nth_paragraph": 1, "first_word": (text.split() or ["a"])[0],
        },
        "detectable_content:number_placeholders": {"num_placeholders": n},
        "detectable_content:postscript": {"postscript_marker": rng.choice(["P.S.", "P.P.S"])},
        "detectable_format:number_bullet_lists": {"num_bullets": n},
        "detectable_format:number_highlighted_sections": {"num_highlights": n},
        "detectable_format:multiple_sections": {"section_spliter": "Section", "num_sections": n},
        "combination:repeat_prompt": {"prompt_to_repeat": text[:30] + "." if n < 2 else text[:30].strip() or "a"},
        "startend:end_checker": {"end_phrase": rng.choice(["else I can help with?", "bye"])},
        "change_case:capital_word_frequency": {
            "capital_frequency": near(sum(map(str.isupper, text.split()))), "capital_relation": relation,
        },
    }.get(name, {})  # fmt: skip
    return name, arguments


@pytest.mark.long
def test_google_s_code_agrees_on_random_responses() -> None:
    """Of what differs, most are sentences and words of computer code, then languages of a few words."""
    verdicts, rng = oracle(), random.Random(19)
    passages = [p for page in PAGES for p in page.read_text().split("\n\n") if len(p) > 60 and "<" not in p]
    strict, loose = (compile(f"follows(strict={strict})") for strict in (True, False))
    wrong, followed, n = Counter(), 0, 5000
    for _ in range(n):
        text = response(rng, passages)
        name, arguments = instruction(rng, text)
        batch = Batch([text], ground_truths=[{"instruction_id_list": [name], "kwargs": [arguments]}])
        theirs = verdicts(text, name, arguments)
        ours = bool(strict(batch).total[0]), bool(loose(batch).total[0])
        wrong.update(f"{kind} {name}" for kind, a, b in zip(("strict", "loose"), ours, theirs, strict=True) if a != b)
        followed += theirs[0]
    print(wrong, followed)
    assert followed > n / 5
    for kind in ("strict", "loose"):
        assert sum(count for name, count in wrong.items() if name.startswith(kind)) <= 0.005 * n, wrong
