"""Pages are read in a terminal and in a diff as well: no line of prose is wider than 120 characters."""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).parents[2]
WIDTH = 120
PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "training").glob("*.md"),
        *(ROOT / "packages").rglob("*.md"),
    ]
)


def prose(text):
    """Lines of paragraphs, lists and headings; tables, code and what cannot be broken (an address) may be wide."""
    outside = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    lines = [line for line in outside.splitlines() if not re.match(r" {4}|\||<!--", line)]
    return [
        line for line in lines if len(re.sub(r"`[^`]*`", "code", re.sub(r"^\s*(- |\d+\. |> )", "", line)).split()) > 1
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_no_line_of_prose_is_wider_than_a_screen(page):
    assert [line for line in prose(page.read_text(encoding="utf-8")) if len(line) > WIDTH] == []


def test_a_wide_line_would_be_seen():
    word = "word " * 30
    assert prose(f"{word}\n\n- {word}\n") == [word, f"- {word}"]
    assert prose(f"| {word} |\n\n```\n{word}\n```\n\n    {word}\n- https://{'a' * 130}\n") == []
