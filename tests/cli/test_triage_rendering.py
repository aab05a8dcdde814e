"""The triage comment on a terminal: rendered, as wide as the terminal, and what strangers wrote as they wrote it."""

import pathlib
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st
from terminals import run_in_terminal

from forgelore.surfaces.cli.triage import render_comment
from forgelore.surfaces.present.text import Style, cells
from forgelore.text.markdown import code, plain, visible_line

PLAIN = Style(sys.stdout, "never")
PAGE = pathlib.Path(__file__).parents[1] / "core" / "comments.md"
COMMENTS = re.findall(r"~~~markdown\n(.*?)~~~", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def test_people_read_the_report_and_programs_get_its_source(demo, tmp_path):
    environ = {"FORGELORE_DB": str(tmp_path / "lore.db")}
    words = ("triage", "#154", "--similarity-threshold", "0.1", "--duplicate-threshold", "0.2")
    source = demo(*words, "--json").data["report"]
    assert "<details" in source
    assert "](https://" in source
    shown = run_in_terminal(*words, environ=environ).text
    for text in (shown, demo(*words).out):
        assert "This may be the same as issue" in text
        assert not re.search(r"<\w+|</|\|---|\*\*|^##|&\w+;", text, re.MULTILINE)
    assert max(map(cells, (line for line in shown.splitlines() if "https://" not in line and line[:1] != "!"))) <= 80


@pytest.mark.parametrize("comment", COMMENTS)
def test_nothing_that_is_said_is_lost(comment):
    shown = "\n".join(render_comment(comment, PLAIN, 80))
    for said in ("This may be the same as", "12: Login page hangs", "Slow login", "TypeError: x is undefined", "Why",
                 "51: Rework the login page", "bug (84 in 100)", "What is this? https://example.org/about"):  # fmt: skip
        assert said in " ".join(shown.split())
    assert not re.search(r"</?\w+>|\|---|\*\*|<!--|\[!", shown)
    assert "\n\n\n" not in shown


@given(st.text(max_size=60))
def test_what_a_stranger_wrote_is_shown_as_it_was_written(text):
    said = visible_line(text, limit=200)
    for written in (plain(text, limit=200), code(text, limit=200)):
        shown = " ".join(" ".join(render_comment(f"so: {written} .", PLAIN, 500)).split())
        assert shown.replace("\u200c", "").replace("\u200d", "") == " ".join(f"so: {said} .".split()).replace(
            "\u200c", ""
        ).replace("\u200d", "")
