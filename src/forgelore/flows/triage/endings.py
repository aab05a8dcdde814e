"""Rows of a report from ranked matches: which copy comes first, and how each item ended.

Copies of one text come before what is merely similar: open ones first, of those the earliest, because that is where
the discussion is. What was closed as a duplicate leads to the original at the end of its chain.
"""

from collections.abc import Iterable

from forgelore.core.names import shown_ref
from forgelore.core.triage.report import ReportRow
from forgelore.flows.compare.rank import Match, Ranking
from forgelore.model import Project
from forgelore.store.db import Store
from forgelore.store.endings import Ended, load_ended, load_fix, load_original
from forgelore.store.hits import Subject

_LONGEST_CHAIN = 10  # of duplicates of duplicates


def order_matches(ranking: Ranking) -> list[Match]:
    """Return copies of the text first, the earliest open one before the others; then the rest as it was ranked."""
    copies = sorted(ranking.copies, key=lambda one: one.hit.row.state != "open")  # they come oldest first
    known = {one.hit.row.item_id for one in copies}
    return [*copies, *(one for one in ranking.matches if one.hit.row.item_id not in known)]


def is_closed_for(store: Store, item_id: int, match: Match) -> bool:
    """Tell whether a match was closed as a duplicate of this very item: then it repeats the item, not the reverse."""
    at: Ended | None = load_ended(store, match.hit.row.item_id)
    for _ in range(_LONGEST_CHAIN):
        if at is None or at.state != "closed" or at.item_id == item_id:
            break
        at = load_original(store, at.item_id, is_marked=at.state_reason == "duplicate")
    return at is not None and at.item_id == item_id


def build_row(
    store: Store, project: Project, subject: Subject, match: Match, *, names_changes: bool = True
) -> ReportRow:
    """Return a match as a report tells it, with what became of it.

    `names_changes` False: the forge shows issues to people who may not see changes, and none is named below an issue.
    """
    row = match.hit.row
    is_here = row.path == project.name.path and row.host == project.name.host
    ended = load_ended(store, row.item_id)
    ending = _Endings(store, row.forge, subject, names_changes=names_changes).row(ended) if ended else None
    return ReportRow(
        ref=shown_ref(row.forge, row.kind, row.number), title=row.title, url=row.url or "",
        similarity=match.similarity, state=row.state, state_reason=ending.state_reason if ending else row.state_reason,
        kind=row.kind, is_regression=is_here and ending is not None and ending.is_regression,
        project="" if is_here else row.path, sameness=match.evidence.sameness,
        fixed_by=ending.fixed_by if ending else None, has_hidden_fix=ending is not None and ending.has_hidden_fix,
        original=ending.original if ending and is_here else None,
    )  # fmt: skip


class _Endings:
    """What became of items, as far as the store knows."""

    def __init__(self, store: Store, forge: str, subject: Subject, *, names_changes: bool) -> None:
        self._store, self._forge, self._subject, self._names_changes = store, forge, subject, names_changes

    def row(self, ended: Ended, seen: Iterable[int] = ()) -> ReportRow:
        fix, original = self._fix(ended), None
        if ended.state == "closed" and not fix and ended.state_reason in (None, "completed", "duplicate"):
            original = load_original(self._store, ended.item_id, is_marked=ended.state_reason == "duplicate")
        # GitHub keeps `completed` for most of what was marked as a duplicate.
        reason = "duplicate" if original else ended.state_reason
        return self._plain_row(ended)._replace(
            state_reason=reason, is_regression=self._is_regression(ended, fix),
            fixed_by=self._plain_row(fix) if fix and self._names_changes else None,
            has_hidden_fix=fix is not None and not self._names_changes,
            original=self._original(original, {*seen, ended.item_id}) if original else None,
        )  # fmt: skip

    def _fix(self, ended: Ended) -> Ended | None:
        """Return the merged change that closed it. What was closed for another reason was not fixed by it."""
        is_done = ended.state == "closed" and ended.state_reason in (None, "completed")
        return load_fix(self._store, ended.item_id) if is_done and ended.kind == "issue" else None

    def _original(self, original: Ended, seen: set[int]) -> ReportRow | None:
        """Return the end of a chain of duplicates; None for one that leads in a circle or whose end nobody knows."""
        if original.item_id in seen or len(seen) > _LONGEST_CHAIN:
            return None
        row = self.row(original, seen)
        return row.original if row.state == "closed" and row.state_reason == "duplicate" else row

    def _is_regression(self, ended: Ended, fix: Ended | None) -> bool:
        """True when it was fixed before the item came."""
        came_at = self._subject.created_at
        if fix is None or came_at is None or ended.closed_at is None or self._subject.kind != ended.kind:
            return False
        return max(ended.closed_at, fix.merged_at or 0) < came_at

    def _plain_row(self, ended: Ended) -> ReportRow:
        ref = shown_ref(self._forge, ended.kind, ended.number)
        return ReportRow(ref, ended.title, ended.url or "", 0.0, ended.state, ended.state_reason, ended.kind)
