"""Queries: what is the same result, and what no query may do to the file, the machine or the run."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from rewardkit import Batch, Status, compile, parse
from rewardkit.errors import ParameterError
from rewardkit.terms.databases.worker import is_ordered


@pytest.fixture
def database(tmp_path: Path) -> Path:
    path = tmp_path / "shop.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE goods (name TEXT, price REAL, kind TEXT)")
        rows = [("pen", 1.5, "desk"), ("ink", 3.0, "desk"), ("pot", 9.0, "home"), ("cup", 3.0, "home")]
        connection.executemany("INSERT INTO goods VALUES (?, ?, ?)", rows)
    connection.close()
    return path


def verdict(path: Path, response: str, truth: Any, **parameters: Any) -> float | Status:
    given = "".join(f", {name}={value!r}" for name, value in parameters.items())
    scores = compile(f"sql_result({str(path)!r}{given})")(Batch([response], ground_truths=[truth]))
    status = Status(int(scores.status[0]))
    return float(scores.total[0]) if status is Status.SCORED else status


ALL = "SELECT name, price FROM goods"
SORTED = f"{ALL} ORDER BY price, name"


@pytest.mark.parametrize(
    ("response", "truth", "right"),
    [
        ("SELECT name, price FROM goods ORDER BY name DESC", ALL, 1),
        ("```sql\nSELECT name, price FROM goods;\n```", ALL, 1),
        ("<think>```sql\nSELECT 1\n```</think><answer>select g.name, g.price from goods g</answer>", {"sql": ALL}, 1),
        ("SELECT price, name FROM goods", ALL, 0),
        ("SELECT name FROM goods", ALL, 0),
        ("SELECT name, price FROM goods UNION ALL SELECT 'pen', 1.5", ALL, 0),
        ("SELECT name, price FROM goods WHERE name <> 'pen' UNION ALL SELECT 'ink', 3", ALL, 0),
        ("SELECT name, CAST(price AS TEXT) FROM goods", ALL, 0),
        ("SELECT price, name FROM goods WHERE price = 3", "SELECT 3, name FROM goods WHERE price = 3", 1),
        (SORTED, SORTED, 1),
        (f"{SORTED} DESC", SORTED, 0),
        ("SELECT sum(price) * 0.1 FROM goods", "SELECT sum(price / 10) FROM goods", 1),
        ("SELECT count(*) FROM goods", "SELECT 4.0", 1),
        ("I don't know", ALL, 0),
        ("SELECT 1; SELECT 2", ALL, 0),
        ("SELECT ?", "SELECT 1", 0),
        ("SELECT nothing FROM goods", ALL, 0),
        ("SELECT name, price FROM goods\x00", ALL, 0),
    ],
)  # fmt: skip
def test_verdicts(database: Path, response: str, truth: Any, right: int) -> None:
    assert verdict(database, response, truth) == right


@pytest.mark.parametrize(
    "query",
    [
        "DROP TABLE goods", "DELETE FROM goods", "INSERT INTO goods VALUES ('a', 1, 'b')", "UPDATE goods SET price = 0",
        "CREATE TABLE other (a)", "ATTACH DATABASE 'FILE' AS other", "VACUUM INTO 'FILE'", "PRAGMA writable_schema = 1",
        "SELECT * FROM pragma_table_info('goods')", "SELECT load_extension('FILE')", "BEGIN EXCLUSIVE", "REINDEX",
        "CREATE TEMP TABLE t AS SELECT 1", "EXPLAIN DELETE FROM goods", "ANALYZE",
    ],
)  # fmt: skip
def test_nothing_but_reading_passes(database: Path, tmp_path: Path, query: str) -> None:
    before = hashlib.sha256(database.read_bytes()).hexdigest()
    assert verdict(database, query.replace("FILE", str(tmp_path / "made")), ALL) == 0
    assert hashlib.sha256(database.read_bytes()).hexdigest() == before
    assert [path.name for path in tmp_path.iterdir()] == ["shop.sqlite"]


ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT "


def test_queries_without_end_are_bounded(database: Path) -> None:
    assert verdict(database, f"{ENDLESS} count(*) FROM n", ALL, steps=100_000) is Status.LIMIT
    assert verdict(database, f"{ENDLESS} i FROM n", ALL) is Status.LIMIT
    assert verdict(database, "SELECT zeroblob(2000000000)", ALL) == 0
    assert verdict(database, f"{ENDLESS} count(*) FROM n", ALL, steps=10**10, cpu_seconds=0.5) is Status.TIMEOUT
    assert verdict(database, ALL, f"{ENDLESS} count(*) FROM n", steps=10**10, cpu_seconds=0.5) is Status.BAD_GOLD
    assert verdict(database, ALL, f"{ENDLESS} count(*) FROM n", steps=100_000) is Status.BAD_GOLD
    assert verdict(database, "SELECT " + "1+" * 15_000, ALL) is Status.LIMIT
    assert verdict(database, "SELECT " + "(" * 9_000 + "1" + ")" * 9_000, ALL) == 0
    assert verdict(database, "", ALL) is Status.NO_ANSWER


@pytest.mark.parametrize(
    "truth", ["", 4, {}, "SELEC", "SELECT * FROM none", "DROP TABLE goods", f"{ALL} WHERE 0", "SELECT 1\0"]
)
def test_a_ground_truth_that_fails_or_finds_nothing_is_none(database: Path, truth: Any) -> None:
    assert verdict(database, ALL, truth) is Status.BAD_GOLD


def test_the_file_is_named_by_the_row_and_its_folder_is_not(database: Path) -> None:
    program = compile(f"sql_result({str(database.parent / '{db_id}.sqlite')!r})")
    names = ["shop", "other", "../shop", "", None, 4, "/etc/passwd"]
    scores = program(
        Batch([ALL] * len(names), ground_truths=[ALL] * len(names), extra_infos=[{"db_id": name} for name in names])
    )
    assert scores.total[0] == 1
    assert [Status(int(s)) for s in scores.status[1:]] == [Status.BAD_GOLD] * 6
    with pytest.raises(ParameterError, match="SQLite file"):
        parse("sql_result('{')")


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT 1 ORDER BY 1", True), ("select 1 order\nby 1", True), ("SELECT 'order by'", False),
        ("SELECT (SELECT 1 ORDER BY 1)", False), ("SELECT 1 -- order by 1", False), ("SELECT 1 /* order by */", False),
        ("SELECT ((1)) FROM (SELECT 2 ORDER BY (1)) ORDER BY (2)", True), ('SELECT "order by" FROM a', False),
        ("SELECT row_number() OVER (ORDER BY a) FROM b", False),
    ],
)  # fmt: skip
def test_which_queries_sort(query: str, ordered: bool) -> None:
    assert is_ordered(query) is ordered
