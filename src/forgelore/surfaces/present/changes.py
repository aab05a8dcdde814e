"""`changes overlap` as data, and the sentences that say what two changes both do."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.present.text import format_ms

if TYPE_CHECKING:
    from forgelore.api import Overlap, OverlapAnswer, OverlapFact, StoredItem


class ChangeData(NamedTuple):
    """A change. `closed_at`: of a merged one, when it was merged."""

    ref: str
    title: str
    url: str | None
    state: str | None
    author: str | None
    created_at: str | None
    closed_at: str | None


class OverlapPairData(NamedTuple):
    """Two changes by their refs, and the facts, the strongest first. `ref` null: the change does not exist yet.
    `is_same_author`: both are by one person, so that nobody is warned.
    """

    ref: str | None
    other: str
    facts: "list[OverlapFact]"
    is_same_author: bool
    sentence: str


class OverlapGroupData(NamedTuple):
    """Changes that do the same, and the pairs among them, strongest first."""

    changes: list[ChangeData]
    pairs: list[OverlapPairData]


class OverlapData(NamedTuple):
    """The groups of a project; of one change (`ref`), or of one that does not exist yet, a single group with its
    pairs, or none. `total`: groups, or pairs of the one change, before the limit. `compared`: of the `open_changes`
    those whose lines are known. `on_default`: in words, whether the default branch has the lines of the one change
    already, or those that it removes are gone from there.
    """

    project: str
    ref: str | None
    total: int
    open_changes: int
    compared: int
    on_default: str
    groups: list[OverlapGroupData]


def present_overlaps(answer: "OverlapAnswer") -> OverlapData:
    own = answer.ref(answer.change) if answer.change else None
    if answer.overlaps:
        rows = [*([answer.change] if answer.change else []), *(one.change for one in answer.overlaps)]
        pairs = [_present_pair(answer, own, one) for one in answer.overlaps]
        groups = [OverlapGroupData([_present_change(answer, row) for row in rows], pairs)]
    else:
        groups = [
            OverlapGroupData(
                [_present_change(answer, row) for row in group.changes],
                [_present_pair(answer, answer.ref(change), overlap) for change, overlap in group.pairs],
            )
            for group in answer.groups
        ]
    return OverlapData(
        answer.project, own, answer.total, answer.open_changes, answer.compared, answer.on_default, groups
    )


def _present_change(answer: "OverlapAnswer", row: "StoredItem") -> ChangeData:
    ended = format_ms(row.ended_ms)
    return ChangeData(answer.ref(row), row.title, row.url, row.state, row.author, format_ms(row.created_ms), ended)


def _present_pair(answer: "OverlapAnswer", ref: str | None, one: "Overlap") -> OverlapPairData:
    other = answer.ref(one.change)
    return OverlapPairData(ref, other, list(one.facts), one.is_same_author, say_overlap(one, other))


def say_overlap(one: "Overlap", other: str) -> str:
    """Return "changes the same 3 lines as #12, which also closes issue 5 and touches the same 4 files"."""
    rest = " and ".join(fact.says for fact in one.facts[1:])
    return f"{one.facts[0].lead} {other}{f', which also {rest}' if rest else ''}"
