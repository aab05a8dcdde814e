"""Every warning there is, as its author reads it: forge x kind x how alike x how the other one ended.

The table is comments.md, to be read by people, with a whole comment of each kind: every part that one can have. `python tests/core/test_comments.py` writes it anew.
"""

import pathlib
import re

from forgelore.compare.calibration import Explanation, Fact
from forgelore.compare.evidence import Quote
from forgelore.triage.report import Report, ReportRow, build_report

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
    fix = row(forge, "change", 45, "Open the login page", state="merged")
    original = row(forge, kind, 3, "Login takes forever")
    closed = {"state": "closed", "state_reason": "completed"}
    duplicate = {"state": "closed", "state_reason": "duplicate"}
    declined = {"state": "closed", "state_reason": "not_planned"}
    found = {
        "open": {}, "closed": closed, "declined": declined, "duplicate": duplicate,
        "duplicate of an open one": {**duplicate, "original": original},
        "duplicate of a declined one": {**duplicate, "original": original._replace(**declined)},
    }  # fmt: skip
    if kind == "change":
        return {**found, "merged": {"state": "merged"}}
    fixed = {**closed, "fixed_by": fix}
    return {
        **found, "moved": {"state": "closed", "state_reason": "moved"}, "fixed since": fixed,
        "fixed before": {**fixed, "is_regression": True},
        "duplicate of one fixed before": {**duplicate, "original": original._replace(**fixed, is_regression=True)},
    }  # fmt: skip


def comments():
    for forge, kind in PAGES:
        for ending, how in endings(forge, kind).items():
            for sameness in SAMENESS:
                rows = (row(forge, kind, 12, "Login page hangs", sameness=sameness, **how),
                        row(forge, kind, 89, "Slow login", similarity=0.82))  # fmt: skip
                quotes = (Quote("error", "TypeError: x is  undefined", "TypeError: x is undefined"),)
                other_kind = "issue" if kind == "change" else "change"
                related = (row(forge, other_kind, 51, "Rework the login page", similarity=0.71),)
                report = Report(
                    rows, True, 0.08, 262, quotes, (("bug", 0.84),), related, forge, kind, 65_536, explanation=FACTS
                )
                yield (forge, kind, ending, sameness), build_report(report)


def warning_of(comment):
    """The words of the warning, without addresses."""
    lines = [line.lstrip("> ") for line in comment.splitlines() if line.startswith(">")]
    return re.sub(r"\]\([^)]*\)", "]", " ".join(lines).replace("[!WARNING] ", "").replace("⚠️ ", ""))


def build_table():
    parts = ["# What the triage comment warns of\n\nWritten by test_comments.py, to be read by people.\n"]
    last, all_comments = None, dict(comments())
    for (forge, kind, ending, sameness), comment in all_comments.items():
        if last != (forge, kind):
            whole = all_comments[forge, kind, ending, "similar"]
            parts.append(f"\n## {forge}, {kind}\n\nThe whole comment ({ending}, similar):\n\n~~~markdown\n{whole}~~~\n")
            parts.append("\n| the other one | text | what is said |\n|---|---|---|\n")
        last = (forge, kind)
        parts.append(f"| {ending} | {sameness} | {warning_of(comment)} |\n")
    return "".join(parts)


def test_the_table_shows_what_is_said():
    assert TABLE.read_text(encoding="utf-8") == build_table()


def test_nobody_is_sent_to_add_something_where_nothing_goes_on():
    for (_, _, ending, _), comment in comments():
        is_open = ending in ("open", "duplicate of an open one")
        assert ("add what is new there" in comment) == is_open, ending


def test_fixed_and_regression_need_a_merged_change():
    for (_, _, ending, _), comment in comments():
        assert ("regression" in comment) == ("fixed before" in ending)
        assert ("fixed" in comment) == ("fixed" in ending), ending


def test_the_same_text_is_told_without_any_measurement():
    for (_, kind, _, sameness), comment in comments():
        told, warning = comment.partition("<sub>")[2], warning_of(comment)
        assert ("marked as duplicates" in told) == (sameness == "similar")
        assert ("% similar" in warning) == (sameness == "similar")
        same = "the same title and description as" if kind == "change" else "the same text as"
        assert (same in warning) == (sameness != "similar")


if __name__ == "__main__":
    TABLE.write_text(build_table(), encoding="utf-8")
