"""The warning of the triage comment: what an item repeats, and what its author can do about it.

The claim follows how alike the texts are, the advice follows how the other item ended. Only where a discussion goes on
is its author sent there: nobody is asked to add something to what was closed as a duplicate or declined.

    same text              This issue has the same text as issue 12 (open).
    nearly the same text   This issue has nearly the same text as issue 12: … (open).
    similar                Related or duplicate: issue 12: … (open, 95% similar).
    ... and likely         Possible duplicate: issue 12: … (open, 95% similar).
    fixed before           Possible regression: this issue looks very similar to issue 12: … (95% similar), which was
                           fixed by pull request 45 before this issue was filed.
"""

from forgelore.core.compare.sameness import Sameness
from forgelore.core.triage.report_rows import Ending, ReportRow, ending_of, linked, noun_of, percent
from forgelore.profiles import profile_of

_CLAIMS: dict[tuple[Sameness, bool], str] = {  # of an issue, and of a change, whose text is more than what it says
    ("same_text", False): "has the same text as",
    ("same_text", True): "has the same title and description as",
    ("nearly_same_text", False): "has nearly the same text as",
    ("nearly_same_text", True): "has nearly the same title and description as",
    ("similar", False): "looks very similar to",
    ("similar", True): "looks very similar to",
}
_SAME = "If it is the same, please add what is new there and close this {noun}; if not, ignore this note."
_TWICE = (
    "If it is about the same thing, please add what is new there and close this {noun}; if not, please say here what is"
    " different."
)
_ADVICE: dict[Ending | None, str] = {
    None: _SAME,
    "open": _SAME,
    "merged": "It is merged already. If this {noun} does the same, please close it; if not, please say what it adds.",
    "fixed": "It was fixed by {fix}. Please check whether that solves this {noun} too.",
    "duplicate": "It was closed as a duplicate. Please look there for the original before you go on here.",
    "declined": "It was declined (closed as not planned). Please read there why; if your case differs, please say here"
    " how.",
    "moved": "It was moved. Please follow it there before you go on here.",
    "unmerged": "It was closed without being merged. Please read there why; if this {noun} takes its place, please say"
    " so.",
    "closed": "It is closed. Please read there how it ended; if that does not help, please say so here.",
}
_BACK = "If the same problem is back, please say so there and leave this {noun} open."


def build_warning(first: ReportRow, *, forge: str, kind: str, is_likely: bool, chance: str) -> str:
    """Return the warning, the block that is seen first."""
    opening = profile_of(forge).alert
    noun = noun_of(forge, kind)
    if is_regression(first):
        return f"{opening} {_regression(first, forge, noun)}\n> {_BACK.format(noun=noun)}"
    is_same = first.sameness != "similar"
    claim = _CLAIMS[first.sameness, kind == "change"]
    found = "Possible duplicate" if is_likely else "Related or duplicate"
    said = f"**This {noun} {claim}**" if is_same else f"**{found}:**"
    facts = _facts(_open(first), "" if is_same else f"{percent(first.similarity)} similar")
    measured = "" if is_same else chance
    return f"{opening} {said} {_link(first, forge)}{facts}.\n> {measured}{_advice(first, forge, noun)}"


def is_regression(row: ReportRow) -> bool:
    """Tell whether the item, or what it was closed in favour of, was fixed before this report."""
    return row.is_regression or bool(row.original and row.original.is_regression)


def _regression(first: ReportRow, forge: str, noun: str) -> str:
    claim = _CLAIMS[first.sameness, first.kind == "change"]
    near = "" if first.sameness != "similar" else f" ({percent(first.similarity)} similar)"
    said = f"**Possible regression:** this {noun} {claim} {_link(first, forge)}{near}"
    if first.is_regression:
        return f"{said}, which was fixed by {_fix(first, forge)} before this {noun} was filed."
    assert first.original is not None
    original = linked(forge, first.original, is_first=False)
    return (
        f"{said}, which was closed as a duplicate; the original, {original}, was fixed by"
        f" {_fix(first.original, forge)} before this {noun} was filed."
    )


def _advice(row: ReportRow, forge: str, noun: str) -> str:
    ending = ending_of(row)
    if ending == "duplicate" and row.original is not None:
        named = f"{linked(forge, row.original, is_first=False)}{_facts(_open(row.original))}"
        rest = _advice(row.original._replace(original=None), forge, noun)
        return f"It was closed as a duplicate; the original is {named}. {rest}"
    advice = _TWICE if ending == "open" and row.sameness != "similar" else _ADVICE[ending]
    return advice.format(noun=noun, fix=_fix(row, forge))


def _fix(row: ReportRow, forge: str) -> str:
    """Name the change that fixed a row; its title may be for fewer eyes than this comment."""
    return linked(forge, row.fixed_by, is_first=False, has_title=False) if row.fixed_by else "a merged change"


def _link(row: ReportRow, forge: str) -> str:
    """Of an item with the same text the title is known already."""
    return linked(forge, row, is_first=True, has_title=row.sameness != "same_text")


def _open(row: ReportRow) -> str:
    """How else it ended is told by the advice."""
    return "open" if ending_of(row) == "open" else ""


def _facts(*parts: str) -> str:
    described = ", ".join(part for part in parts if part)
    return f" ({described})" if described else ""
