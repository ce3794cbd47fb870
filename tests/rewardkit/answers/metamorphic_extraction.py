"""Pairs of a response and a ground truth whose verdict follows from how they were made.

One generator a kind: it writes a known value in one of many spellings and pairs it with the same value (to be paid) or
with a neighbour (not to be paid).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple


class Pair(NamedTuple):
    """One response with its ground truth, the terms that must agree on it, and what they must say."""

    response: str
    ground_truth: str
    expect: int
    terms: tuple[str, ...] = ("gsm8k", "math_equal")


NUMBERS = ("gsm8k", "numeric", "math_equal")
MARKED = ("#### {}", "So it is \\boxed{{{}}}.", "The answer is {}.", "<answer>{}</answer>", "**Answer:** {}")
PROSE = ("So in all there are {}.", "Therefore she has {}.", "That makes {}.")


def _value(rng: random.Random) -> int:
    return rng.choice([rng.randint(2, 99), rng.randint(100, 999), rng.randint(2, 12)])


def _either(rng: random.Random, value: int, *others: int) -> tuple[int, int]:
    """The value itself with 1, or another number with 0."""
    if rng.random() < 0.5:
        return value, 1
    wrong = [o for o in (*others, value + rng.randint(1, 9)) if o != value]
    return rng.choice(wrong), 0


NAMES = (
    "pytest-{}", "step{}", "v{}.0", "gpt-{}", "x_{}", "a/b/{}.txt", "run{}.log", "/tmp/job-{}/out",
    "https://x.org/{}",
    "www.site.com/page/{}", "img_{}.png", "Llama-{}-Instruct",
    "commit ab{}cd", "utf-{}", "{}-year-old", "{}-day",
    "{}.txt", "user{}@x.org", "C:\\data\\{}", "~/runs/{}", "./out/{}", "1.{}.3", "10.0.{}.1",
    "localhost:{}", "model.{}",
    "main.py:{}", "COVID-{}", "layer{}_w", "T{}",
)  # fmt: skip
AROUND = (
    "See {} for it.",
    "We ran {} again.",
    "{}",
    "The file is {}",
    "Done with {}!",
    "({})",
    "'{}'",
    "#### {}",
    "{} ok",
)


def names(rng: random.Random) -> Pair:
    """Digits inside a name are no answer; a number beside the name is."""
    value = rng.randint(2, 999)
    name = rng.choice(NAMES).format(value)
    if rng.random() < 0.3:
        number = value + 1
        response = f"We used {name}. " + rng.choice(PROSE).format(f"{number} of them")
        return Pair(response, *_pair(_either(rng, number, value)), NUMBERS)
    return Pair(rng.choice(AROUND).format(name), str(value), 0, NUMBERS)


def _pair(truth: tuple[int, int]) -> tuple[str, int]:
    return str(truth[0]), truth[1]


SCALES = {
    "million": 6, "thousand": 3, "hundred": 2, "billion": 9, "trillion": 12,
    "Million": 6, "hundred thousand": 5,
    "lakh": 5, "crore": 7, "lakh crore": 12, "Millionen": 6, "Milliarden": 9,
    "Mio.": 6, "Tausend": 3, "millions": 6,
    "milliards": 9, "mille": 3, "millones": 6, "mil millones": 9,
    "milioni": 6, "miliardi": 9, "milhões": 6, "bilhões": 9,
    "миллионов": 6, "миллиарда": 9, "тысяч": 3, "млн": 6, "млрд": 9,
    "тыс.": 3, "milionów": 6, "tysięcy": 3, "miljoner": 6,
    "miljoen": 6, "triệu": 6, "juta": 6, "ribu": 3, "milyon": 6,
    "लाख": 5, "करोड़": 7, "مليون": 6, "ألف": 3, "מיליון": 6,
}  # fmt: skip
ATTACHED = {"万": 4, "億": 8, "亿": 8, "千万": 7, "万亿": 12, "만": 4, "억": 8, "천만": 7, "ล้าน": 6, "千": 3, "百万": 6}
THINGS = ("", " people", " dollars", " km")


def scales(rng: random.Random) -> Pair:
    """A scale word multiplies the number before it, in every language and form."""
    value = rng.randint(2, 99)
    if rng.random() < 0.3:
        word, power = rng.choice(list(ATTACHED.items()))
        written = f"{value}{word}{rng.choice(['', '元', '人', '개'])}"
    else:
        word, power = rng.choice(list(SCALES.items()))
        thing = rng.choice(THINGS)
        forms = [f"{value} {word}{thing}"]
        if word.isalpha():
            forms += [
                rf"{value}\text{{ {word}{thing}}}",
                rf"{value}~\text{{{word}}}{thing and ''}",
                f"${value}$ {word}",
            ]
        written = rng.choice(forms[:3] if rng.random() < 0.9 else forms[:1])
    number = value * 10**power
    truth, expect = _either(rng, number, value, value * 10 ** (power + 3), number + 1)
    return Pair(rng.choice(MARKED[:4]).format(written), str(truth), expect)


ABOUT = (
    "{n} clips for {m} months", "{n} dollars after {m} weeks", "{n} people out of {m}",
    "{n} since there are {m} weekdays",
    "{n} because {m} of them left", "{n} if he works {m} days", "{n} for each of the {m} children",
    "{n}; {m} more than in May", "{n}, which is {m} less than before", "{n} when there are {m} of them",
    "{n} apples in {m} boxes", "{n} in total, as she works {m} days", "{n} per day for {m} days",
    "{n} (from {m} boxes)",
)  # fmt: skip
LABELS = (
    "The answer is {}.",
    "#### {}",
    "**Answer:** {}",
    "Final answer: {}",
    "The final answer is: {}.",
    "Answer: {}",
)


def labelled(rng: random.Random) -> Pair:
    """Behind a label the answer comes first, and what follows is about it."""
    value, other = rng.sample(range(2, 500), 2)
    number = rng.choice([str(value), f"${value}$", rf"\({value}\)", f"**{value}**"])
    text = rng.choice(LABELS).format(rng.choice(ABOUT).format(n=number, m=other))
    return Pair(text, *_pair(_either(rng, value, other)))


FORMULAS = (
    "F = ma", "v = A\\omega", "E = mc^2", "A\\cap B", "PV = nRT", "x + C",
    "\\langle H\\rangle \\ll \\Delta E", "D^2 - 4C",
    "\\frac{A}{B}", "B_1 + B_2", "A = \\pi r^2", "f(A) > C",
)  # fmt: skip
CHOSEN = (
    "The answer is {}.", "The answer is ({}).", "Answer: {}",
    "I choose option {}.", "So the correct option is {}.",
    "\\boxed{{{}}}", "\\boxed{{\\text{{{}}}}}", "\\fbox{{{}}}",
    "<answer>{}</answer>", "#### {}", "答案是{}。", "故选{}。",
    "答案：{}", "选项{}正确。", "应选（{}）。", "正解は{}です。", "정답은 {}입니다.", "정답: {}",
    "Ответ: {}", "La respuesta es {}.",
    "La réponse est ({}).", "Die Antwort ist {}.", "उत्तर: {}", "\\boxed{{\\textbf{{({})}} 42}}",
    "\\boxed{{{}: a score}}",
)  # fmt: skip


def choices(rng: random.Random) -> Pair:
    """A stated letter counts; letters of formulas don't, before or behind it."""
    letter, other = rng.sample("BCDE", 2)
    stated = rng.choice(CHOSEN).format(letter)
    formula = rng.choice(FORMULAS)
    shape = rng.randrange(4)
    if shape == 0:
        response = f"{stated} This follows from \\boxed{{{formula}}}."
    elif shape == 1:
        response = f"Since ${formula}$, {other} is wrong. {stated}"
    elif shape == 2:
        response = f"By \\({formula}\\): {stated}"
    else:
        response = stated
    truth, expect = (letter, 1) if rng.random() < 0.5 else (other, 0)
    if rng.random() < 0.1:
        return Pair(f"\\boxed{{{formula}}}", letter, 0, ("choice",))
    return Pair(response, truth, expect, ("choice",))


UNITS = (
    "{}元", "{} 元", "{}円", "{}개", "{}명", "{} रुपये", "{} рубля",
    "{} км", "{} €", "{} Euro", "{} euros",
    "{}人", "{} đồng",
    "{} kr", "{}", "{}个夹子", "共{}元", "{}\\text{{元}}", "{} บาท", "{} ريال",
)  # fmt: skip
OTHER_LABELS = (
    "答案是{}。", "故答案为：{}", "答：{}", "答え：{}", "正解は{}。", "정답: {}",
    "उत्तर: {}", "Ответ: {}", "Antwort: {}",
    "Die Antwort ist {}.", "Réponse : {}", "La réponse est {}.",
    "Respuesta: {}", "Risposta: {}", "Resposta: {}",
    "الجواب: {}", "Đáp án: {}", "Đáp số: {}", "Cevap: {}", "Odpowiedź: {}",
    "คำตอบ: {}", "תשובה: {}", "#### {}",
    "\\boxed{{{}}}", "উত্তর: {}", "Svar: {}", "Antwoord: {}", "Відповідь: {}", "<answer>{}</answer>",
)  # fmt: skip
OTHER_OR = (
    "{}或{}",
    "{} oder {}",
    "{} ou {}",
    "{} или {}",
    "{} o {}",
    "{}또는{}",
    "{}还是{}",
    "{}または{}",
    "{} veya {}",
    "{} या {}",
)
OTHER_NOT = (
    "答案不是{}。",
    "Die Antwort ist nicht {}.",
    "Ответ не {}.",
    "La respuesta no es {}.",
    "La réponse n'est pas {}.",
)


def scripts(rng: random.Random) -> Pair:
    """Labels, units, separators, hedges and denials of other languages and scripts."""
    value = rng.randint(2, 999)
    shape = rng.random()
    if shape < 0.2:
        both = rng.choice(OTHER_OR).format(value, value + 1)
        return Pair(rng.choice(OTHER_LABELS).format(both), str(value + rng.randint(0, 1)), 0)
    if shape < 0.3:
        return Pair(rng.choice(OTHER_NOT).format(value), str(value), 0)
    if shape < 0.45:
        big = rng.randint(1_000, 9_999_999)
        blank = rng.choice(["\u202f", "\u00a0", "\\ ", "\\,", "{,}", ",", "\\;"])
        response = rng.choice(["\\boxed{{{}}}", "#### {}"]).format(f"{big:,}".replace(",", blank))
        return Pair(response, *_pair(_either(rng, big, big // 1000, big % 1000)))
    text = rng.choice(OTHER_LABELS).format(rng.choice(UNITS).format(value))
    return Pair(text, *_pair(_either(rng, value, value * 10)))


OPPOSITES = (
    ("{}:00 a.m.", "{}:00 p.m."), ("{} a.m.", "{} p.m."),
    ("{}:30 AM", "{}:30 PM"), ("{}^\\circ N", "{}^\\circ S"),
    ("{}^\\circ\\text{{ E}}", "{}^\\circ\\text{{ W}}"),
    ("{}\\text{{ feet above}}", "{}\\text{{ feet below}}"),
    ("{} feet above sea level", "{} feet below sea level"), ("\\${}\\text{{ gain}}", "\\${}\\text{{ loss}}"),
    ("\\text{{a gain of }}{}", "\\text{{a loss of }}{}"), ("{}\\text{{ km north}}", "{}\\text{{ km south}}"),
    ("{}\\text{{ miles east}}", "{}\\text{{ miles west}}"),
    ("{}\\%\\text{{ increase}}", "{}\\%\\text{{ decrease}}"),
    ("{}\\text{{ profit}}", "{}\\text{{ loss}}"), ("{} years ago", "{} years later"), ("{} BC", "{} AD"),
)  # fmt: skip


def senses(rng: random.Random) -> Pair:
    """The opposite word behind a number makes another answer."""
    value = rng.randint(1, 11)
    pair = rng.choice(OPPOSITES)
    side = rng.randrange(2)
    same = rng.random() < 0.5
    response = rf"So it is \boxed{{{pair[side].format(value)}}}."
    truth = pair[side if same else 1 - side].format(value)
    return Pair(response, truth, int(same), ("math_equal",))


WRAPPED = (
    "*{}*", "**{}**", "__{}__", "_{}_", "`{}`", "***{}***", "\"{}\"", "'{}'", "${}$", "\\({}\\)", "USD {}",
    "EUR {}", "INR {}",
    "US${}", "\\text{{USD }}{}", "{} USD", "\\${}", "€{}", "£{}",
    "₹{}", "Rs. {}", "\\text{{\\$}}{}", "CAD {}",
)  # fmt: skip


def wrapped(rng: random.Random) -> Pair:
    """Emphasis, quotes and currencies around a number don't count."""
    value = _value(rng)
    form = rng.choice(WRAPPED)
    frames = ["The answer is {}.", "#### {}", "Answer: {}"]
    frames += ["\\boxed{{{}}}"] if "$" not in form[:1] and "\\(" not in form else []
    return Pair(rng.choice(frames).format(form.format(value)), *_pair(_either(rng, value, value * 10)))


NOUNS = ("papers", "bins", "red balls", "cats", "blue marbles", "hours", "boxes")


def boxes(rng: random.Random) -> Pair:
    """Boxes with their nouns, joined by commas and "and", are one list and no single number."""
    count = rng.randint(2, 3)
    values, nouns = rng.sample(range(2, 99), count), rng.sample(NOUNS, count)
    parts = [rf"\boxed{{{v}}} {n}" for v, n in zip(values, nouns, strict=True)]
    response = f"There are {', '.join(parts[:-1])} and {parts[-1]}."
    if rng.random() < 0.5:
        return Pair(response, ",".join(map(str, values)), 1, ("math_equal",))
    return Pair(response, str(rng.choice([values[-1], values[0]])), 0)


KINDS: dict[str, Callable[[random.Random], Pair]] = {
    "names": names,
    "scales": scales,
    "labelled": labelled,
    "choices": choices,
    "scripts": scripts,
    "senses": senses,
    "wrapped": wrapped,
    "boxes": boxes,
}
