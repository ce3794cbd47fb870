"""The reading of pages: what is a command, and when an output is the one that is shown."""

from __future__ import annotations

from pathlib import Path

from tests.pages.blocks import blocks, shows

PAGE = """# A page

```console
A=1 B=x/y rewardkit score "a b" \\
    file.jsonl   # a comment
# a line of its own

make train
```

```text
2 rows ...
```

Save this as `a.json`, or so:

```json
{}
```

Words.

```text
not an output
```
"""


def test_commands_are_lines_without_comments_and_with_their_variables(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    console, shown, saved, alone = blocks(page)
    first, second = console.commands
    assert first.words == ("rewardkit", "score", "a b", "file.jsonl")
    assert first.variables == {"A": "1", "B": "x/y"}
    assert (first.line, second.line, second.words) == (4, 8, ("make", "train"))
    assert (console.shown, shown.kind, alone.shown) == ("2 rows ...\n", "text", None)
    assert [(b.file, b.body) for b in (console, saved, alone)][1] == ("a.json", "{}\n")
    assert console.file is None and alone.file is None


def test_an_output_may_be_cut_at_both_ends_and_at_its_ellipses() -> None:
    came = "before\n2 rows, 0.31 s  \nx\ny\nafter\n"
    assert shows("2 rows, ... s\n", came) is None
    assert shows("2 rows, ...\ny\n", came) is None
    assert shows("rows\n", came) is not None
    assert shows("3 rows, ...\n", came) is not None
