"""A user's YAML: its values as verl's loader reads them, and the line of every key."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from trainer_glue.verl.config.yaml_file import YamlFile, read_yaml


def read(text: str, tmp_path: Path) -> YamlFile:
    path = tmp_path / "a.yaml"
    path.write_text(text)
    return read_yaml(path)


def test_lines_of_keys(tmp_path: Path) -> None:
    file = read("a:\n  b: 1\n\n  c: {d: 2,\n      e: 3}\nf: [1, 2]\n", tmp_path)
    assert file.lines == {"a": 1, "a.b": 2, "a.c": 4, "a.c.d": 4, "a.c.e": 5, "f": 6}
    assert file.where("a.c.e") == f"{file.path}:5"


@pytest.mark.parametrize(
    "value",
    [
        "1e-6",
        "5e-7",
        "1.0e-6",
        "-1e3",
        ".5",
        "1.",
        "1_000",
        ".inf",
        "true",
        "on",
        "null",
        "2024-01-01",
        "'1e-6'",
        "0x10",
    ],
)
def test_values_are_read_as_verls_loader_reads_them(value: str, tmp_path: Path) -> None:
    text = f"a: {value}\n"
    ours, theirs = read(text, tmp_path).data["a"], OmegaConf.create(text).a
    assert ours == theirs
    assert type(ours) is type(theirs)


def test_anchors_and_merges(tmp_path: Path) -> None:
    file = read("a: &x {b: 1}\nc:\n  <<: *x\n  d: 2\n", tmp_path)
    assert file.data == {"a": {"b": 1}, "c": {"b": 1, "d": 2}}
    assert file.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "code", "line", "says"),
    [
        ("a:\n  b: 1\n  b: 2\n", "duplicate-key", 3, "written twice, first on line 2"),
        ("a: 1\n2: b\n", "bad-key", 2, "expected a name"),
        ("a: [1\nb: 2\n", "yaml-syntax", 2, "not valid YAML"),
        ("a: !!python/object:os.system {}\n", "yaml-syntax", 1, "not valid YAML"),
    ],
)
def test_what_is_wrong_is_found_with_its_line(text: str, code: str, line: int, says: str, tmp_path: Path) -> None:
    file = read(text, tmp_path)
    (diagnostic,) = file.diagnostics
    assert (diagnostic.code, diagnostic.where) == (code, f"{file.path}:{line}")
    assert says in diagnostic.message


def test_a_file_that_holds_no_keys(tmp_path: Path) -> None:
    assert read("- a\n- b\n", tmp_path).diagnostics[0].code == "not-a-mapping"
    assert read("just text\n", tmp_path).diagnostics[0].code == "not-a-mapping"
    empty = read("# nothing\n", tmp_path)
    assert (empty.data, empty.diagnostics) == ({}, ())


def test_a_file_that_can_t_be_read(tmp_path: Path) -> None:
    assert read_yaml(tmp_path).diagnostics[0].code == "unreadable-file"
    (tmp_path / "latin.yaml").write_bytes(b"a: \xff\n")
    assert read_yaml(tmp_path / "latin.yaml").diagnostics[0].code == "unreadable-file"


@pytest.mark.parametrize(
    ("text", "value"),
    [("1e-6", 1e-6), ("5.0E-7", 5e-7), ("1_000.5", 1000.5), ("0.9.1", "0.9.1"), ("1.5B", "1.5B"), ("1e", "1e")],
)
def test_what_only_begins_like_a_number_is_text(text: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(f"a: {text}\n")
    assert read_yaml(path).data == {"a": value}
