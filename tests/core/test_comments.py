"""Every comment there is, as its author reads it: forge x kind x how alike x how the other one ended, warned or listed.

The table is comments.md, to be read by people, with a whole comment of each kind: every part that one can have. `python tests/core/test_comments.py` writes it anew.
"""

import pathlib
import re

import pytest
from rendering import render

from forgelore.compare.calibration import Explanation, Fact
from forgelore.compare.evidence import Quote
from forgelore.triage.report import WORDS, Report, ReportRow, RivalRow, build_report

LONG = "Login page hangs for ever and a day after the third attempt to type a password with `two words` in Firefox on Linux"

FACTS = Explanation(
    -5.0,
    (
        Fact("meaning", "what the texts mean", 2.1),
        Fact("author", "the same author", -0.4),
        Fact("state", "it was open", 0.3),
    ),
)
TABLE = pathlib.Path(__file__).parent / "comments.md"
SAMENESS = ("same_text", "nearly_same_text", "similar")
PAGES = {
    ("github", "issue"): "https://github.com/acme/web/issues/", ("github", "change"): "https://github.com/acme/web/pull/",
    ("gitlab", "issue"): "https://gitlab.com/g/p/-/issues/",
    ("gitlab", "change"): "https://gitlab.com/g/p/-/merge_requests/",
}  # fmt: skip


def row(forge, kind, number, title, **more):
    mark = "!" if (forge, kind) == ("gitlab", "change") else "#"
    given = {"similarity": 0.957, "state": "open", "state_reason": None, **more}
    return ReportRow(f"{mark}{number}", title, f"{PAGES[forge, kind]}{number}", kind=kind, **given)


def endings(forge, kind):
    """How the other item ended, by name."""
    fix = row(forge, "change", 45, "Open the login page", state="merged", milestone="v0.9")
    original = row(forge, kind, 3, "Login takes forever")
    closed = {"state": "closed", "state_reason": "completed"}
    duplicate = {"state": "closed", "state_reason": "duplicate"}
    declined = {"state": "closed", "state_reason": "not_planned"}
    found = {
        "open": {}, "closed": closed, "declined": declined, "duplicate": duplicate, "three copies": {"copies": 2},
        "duplicate of an open one": {**duplicate, "original": original},
        "duplicate of a declined one": {**duplicate, "original": original._replace(**declined)},
    }  # fmt: skip
    if kind == "change":
        return {**found, "merged": {"state": "merged"}}
    fixed = {**closed, "fixed_by": fix}
    return {
        **found, "moved": {"state": "closed", "state_reason": "moved"}, "fixed since": fixed,
        "fixed out of sight": {**closed, "has_hidden_fix": True},
        "fixed before": {**fixed, "is_regression": True},
        "duplicate of one fixed before": {**duplicate, "original": original._replace(**fixed, is_regression=True)},
    }  # fmt: skip


def comments(title="Login page hangs"):
    for forge, kind in PAGES:
        for ending, how in endings(forge, kind).items():
            for sameness in SAMENESS:
                rows = (row(forge, kind, 12, title, sameness=sameness, **how),
                        row(forge, kind, 89, "Slow login", similarity=0.82))  # fmt: skip
                quotes = (Quote("error", "TypeError: x is  undefined", "TypeError: x is undefined"),)
                other_kind = "issue" if kind == "change" else "change"
                related = (row(forge, other_kind, 51, "Rework the login page", similarity=0.71),)
                report = Report(
                    rows, True, 0.08, 262, quotes, (("bug", 0.84),), related, forge, kind, 65_536, explanation=FACTS,
                    about="https://example.org/about",
                )  # fmt: skip
                yield (forge, kind, ending, f"{sameness}, warned"), build_report(report)
                yield (forge, kind, ending, f"{sameness}, listed"), build_report(report._replace(is_duplicate=False))
                if sameness == "same_text" and ending in ("open", "three copies"):
                    yield (forge, kind, ending, "same_text, closing"), build_report(report._replace(closes_in=72))
                if kind == "change":
                    rival = RivalRow(row(forge, kind, 7, title), "changes the same 3 lines as", ("closes issue 5",))
                    mine = report._replace(rivals=(rival, rival._replace(row=rows[0])))
                    yield (forge, kind, ending, f"{sameness}, rival"), build_report(mine)


def opening_of(comment):
    """What stands above the fold, without addresses."""
    return re.sub(r"\]\([^)]*\)", "]", comment.splitlines()[1])


def build_table():
    parts = ["# What the triage comment says\n\nWritten by test_comments.py, to be read by people.\n"]
    last, all_comments = None, dict(comments())
    for (forge, kind, ending, how), comment in all_comments.items():
        if last != (forge, kind):
            whole = all_comments[forge, kind, ending, "similar, warned"]
            parts.append(f"\n## {forge}, {kind}\n\nThe whole comment ({ending}, similar):\n\n~~~markdown\n{whole}~~~\n")
            parts.append("\n| the other one | how | what is said |\n|---|---|---|\n")
        last = (forge, kind)
        parts.append(f"| {ending} | {how} | {opening_of(comment)} |\n")
    return "".join(parts)


def seen_before_a_click(comment):
    """The lines that a reader sees: of a fold its summary alone."""
    seen = re.sub(r"(?s)</summary>.*?</details>", "</summary></details>", comment)
    return [line for line in render(seen).text.splitlines() if line.strip()]


def test_the_table_shows_what_is_said():
    assert TABLE.read_text(encoding="utf-8") == build_table()


@pytest.mark.parametrize("title", ["Login page hangs", LONG, "x" * 400, "字" * 200, "a " * 200, "` " * 90])
def test_every_comment_is_three_lines_and_few_words_before_a_click_and_links_what_it_names(title):
    for key, comment in comments(title):
        lines = seen_before_a_click(comment)
        assert len(lines) <= 3, key
        assert sum(len(line.split()) for line in lines) <= WORDS == 45, (key, lines)
        number = {"rival": 7}.get(key[3].rpartition(" ")[2], 12)
        assert re.search(rf"\[\w+(?: request)? {number}\b.*?\]\(https://", comment.splitlines()[1]), key


def test_no_comment_has_a_heading_a_table_an_alert_a_percentage_or_an_emoji_but_one():
    for key, comment in comments():
        assert not re.search(r"^#|^>|^\||%|\[!", comment, re.MULTILINE), key
        assert re.findall(r"[\u2600-\u27bf\U0001f000-\U0001faff]", comment) == ["👎"], key
        assert not re.search("[\u200b-\u200f]", comment), key


def test_nobody_is_sent_to_add_something_where_nothing_goes_on():
    for (_, kind, ending, how), comment in comments():
        is_open = kind == "issue" and ending in ("open", "three copies", "duplicate of an open one")
        assert ("add anything new there" in comment) == (is_open and how.endswith("warned")), (ending, how)


def test_fixed_and_again_need_a_merged_change():
    for (_, _, ending, how), comment in comments():
        opening = opening_of(comment)
        assert (" again" in opening) == ("fixed before" in ending and how.endswith("warned"))
        assert ("fixed" in opening) == ("fixed" in ending), (ending, how)
        assert ("in v0.9" in opening) == ("fixed" in ending and "sight" not in ending), opening


def test_the_same_text_is_told_without_any_measurement():
    for (_, kind, ending, how), comment in comments():
        said = comment if "same_text, warned" in how and "similar" not in how else ""
        if said and "before" not in ending:
            same = "the same title and description as" if kind == "change" else "the same text as"
            assert same in opening_of(said)
            assert "Of matches this close" not in said


if __name__ == "__main__":
    TABLE.write_text(build_table(), encoding="utf-8")
