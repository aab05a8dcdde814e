"""Rows of the triage comment: an earlier item, how it ended, and how it is named, linked and shown there.

Closed is not fixed: GitHub's default reason is `completed`, whatever the reason was. Only a merged change that closed
an item says that it was fixed.
"""

import math
import re
from typing import Literal, NamedTuple

from forgelore.core.compare.sameness import Sameness
from forgelore.core.triage.markdown import link, plain, quiet_url, safe_url
from forgelore.profiles import profile_of

Ending = Literal["open", "merged", "fixed", "duplicate", "declined", "moved", "unmerged", "closed"]

TITLE_CHARS = 120
NAME_CHARS = 60
_REASONS: dict[str, Ending] = {"duplicate": "duplicate", "not_planned": "declined", "moved": "moved"}
_STATUS: dict[Ending, str] = {
    "open": "🟢 open", "merged": "🟣 merged", "fixed": "✅ closed as fixed", "duplicate": "🔁 closed as duplicate",
    "declined": "⚪ closed as not planned", "moved": "⚫ moved", "unmerged": "⚫ closed, not merged",
    "closed": "⚫ closed",
}  # fmt: skip
_LIKENESS: dict[Sameness, str] = {"same_text": "same text", "nearly_same_text": "nearly the same text"}
_NUMBER = re.compile(r"[#!](\d+)\Z")


class ReportRow(NamedTuple):
    """One earlier item. `project` is empty for items of the same project; `is_regression`: fixed before this report;
    `fixed_by`: the merged change that closed it, `has_hidden_fix` where readers of the page may not see that change;
    `original`: what it was closed in favour of, at the end of the chain.
    """

    ref: str
    title: str
    url: str
    similarity: float
    state: str | None
    state_reason: str | None
    kind: str
    is_regression: bool = False
    project: str = ""
    sameness: Sameness = "similar"
    fixed_by: "ReportRow | None" = None
    has_hidden_fix: bool = False
    original: "ReportRow | None" = None


def percent(share: float) -> str:
    """0.9999 -> "99%": never more than was measured, and 100 only for what is the same."""
    share = 0.0 if math.isnan(share) else min(max(share, 0.0), 1.0)
    return f"{math.floor(share * 100 + 1e-9)}%"  # 0.29 * 100 is a hair below 29


def ending_of(row: ReportRow) -> Ending | None:
    """Return how an item ended, None where nobody knows its state."""
    if row.state == "closed":
        if row.state_reason in _REASONS:
            return _REASONS[row.state_reason]
        return "fixed" if row.fixed_by or row.has_hidden_fix else "unmerged" if row.kind == "change" else "closed"
    return "open" if row.state == "open" else "merged" if row.state == "merged" else None


def status_of(row: ReportRow) -> str:
    """Return "🟢 open", "✅ closed as fixed" …; "" where nobody knows."""
    ending = ending_of(row)
    return _STATUS[ending] if ending else ""


def likeness_of(row: ReportRow) -> str:
    """Return how near a row is: in words where the text is the same, else its position."""
    return _LIKENESS.get(row.sameness) or percent(row.similarity)


def noun_of(forge: str, kind: str) -> str:
    return profile_of(forge).nouns.get(kind, "item")


def name_of(forge: str, row: ReportRow) -> str:
    """`issue 12`: in words, because `#12` would be a reference."""
    place = f"{plain(row.project, limit=NAME_CHARS)} " if row.project else ""
    return f"{place}{noun_of(forge, row.kind)} {number_of(row)}"


def number_of(row: ReportRow) -> str:
    """`#12` -> `12`: a number alone refers to nothing."""
    found = _NUMBER.search(row.ref)
    return found[1] if found else plain(row.ref, limit=NAME_CHARS) or "?"


def title_of(row: ReportRow) -> str:
    return plain(row.title, limit=TITLE_CHARS) or "(no title)"


def linked(forge: str, row: ReportRow, *, is_first: bool, has_title: bool = True) -> str:
    """`[issue 12: Title](address)`."""
    name = name_of(forge, row)
    return link(f"{name}: {title_of(row)}" if has_title else name, address_of(forge, row, is_first=is_first))


def address_of(forge: str, row: ReportRow, *, is_first: bool) -> str | None:
    """Return where a row's link leads. Servers that offer no quiet way get one plain link, to the best match."""
    return quiet_url(row.url, forge) or (safe_url(row.url) if is_first else None)
