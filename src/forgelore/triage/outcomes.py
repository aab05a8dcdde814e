"""Outcomes: what came of what the bot said of an item, by what people did afterwards.

    success    its author closed it as a duplicate of something that was listed
    assist     somebody else did
    missed     it was closed as a duplicate of an earlier item that was not listed
    noise      people said no (a suggestion dismissed, 👎, the comment deleted, "not a duplicate"), or closed it for
               another reason
    open       nobody has decided yet
    quiet      nothing was said, and nobody found a duplicate

"A duplicate of what was listed" includes two items that were closed in favour of the same third one.

A scheduled run asks the forge about items that were closed since (who closed it, what it is marked as a duplicate of),
and whether the comments on open ones are still there and liked. The marks stay in the index as links, so that
`calibrate` learns from them.
"""

from collections.abc import Collection, Iterable
from typing import Literal, NamedTuple

from forgelore.errors import NotFound
from forgelore.model import ItemKey, Link
from forgelore.ports.forge import Forge
from forgelore.store.calibration import load_duplicates
from forgelore.store.database import Store
from forgelore.store.decisions import load_refused_pairs
from forgelore.store.items import load_ids
from forgelore.store.links import LinkRow, LinkTargets, restore_links
from forgelore.store.triage import PendingReport, load_pending_reports, save_outcome
from forgelore.triage.intake import Budget
from forgelore.triage.item import TriageContext
from forgelore.triage.posting import is_dismissed, list_own

ReportOutcome = Literal["success", "assist", "missed", "noise", "open", "quiet"]
RIGHT: tuple[ReportOutcome, ...] = ("success", "assist")
MAX_CHECKED = 60  # reports in a run, up to five requests each
_EVERY_DUPLICATE = 1_000_000
_AGAIN_MS = 86_400_000  # until the comment on an open item is looked at again
_YOUNG_MS = 60 * 86_400_000  # after that nobody reacts to it any more


class Aftermath(NamedTuple):
    """What is known of an item some time after the bot looked at it."""

    is_open: bool
    originals: Collection[object] = ()  # earlier items that it was marked as a duplicate of, with theirs
    matching: Collection[int] = ()  # of those that were listed, which the marks say are the same
    is_closed_by_author: bool = False
    is_rejected: bool = False


def judge_outcome(listed: Collection[int], after: Aftermath) -> ReportOutcome:
    """Return what came of a report that named these items; without any, of silence."""
    if after.originals:
        if not after.matching:
            return "missed"
        return "success" if after.is_closed_by_author else "assist"
    if listed and after.is_rejected:
        return "noise"
    if after.is_open:
        return "open" if listed else "quiet"
    return "noise" if listed else "quiet"


class KnownDuplicates:
    """The duplicates of one kind that people have marked in a project, by ids of items."""

    def __init__(self, store: Store, project_id: int, kind: str) -> None:
        self._targets = load_duplicates(store, project_id, kind, limit=_EVERY_DUPLICATE)

    def originals(self, item_id: int) -> set[int]:
        """Return the earlier items that it was marked as a duplicate of, and what those were marked as."""
        found: set[int] = set()
        waiting = [item_id]
        while waiting:
            new = self._targets.get(waiting.pop(), set()) - found
            found |= new
            waiting += new
        return found - {item_id}

    def matching(self, item_id: int, listed: Iterable[int]) -> set[int]:
        """Return those of the listed items that the marks say are the same as an item."""
        originals = self.originals(item_id)
        return {one for one in listed if one in originals or originals & self.originals(one)}


def collect_outcomes(context: TriageContext, forge: Forge, *, budget: Budget, now_ms: int) -> int:
    """Ask the forge what came of reports that nobody has decided yet, and keep it; returns how many were decided.
    `now_ms` is on the forge's clock, as the times of reports are.
    """
    store, project_id = context.store, context.project_id
    asked: list[tuple[PendingReport, _Signs]] = []
    with store.transaction():
        pending = load_pending_reports(
            store, project_id, checked_before=now_ms - _AGAIN_MS, looked_after=now_ms - _YOUNG_MS, limit=MAX_CHECKED,
            suggests=_suggests(context),
        )  # fmt: skip
    for one in pending:
        if budget.spent():
            break
        try:
            asked.append((one, _ask(context, forge, one)))
        except NotFound:
            continue  # it leaves the index
    with store.transaction():
        for one, signs in asked:
            if not signs.is_open:
                _save_marks(store, project_id, one, signs.originals)
    return _decide(context, asked, now_ms)


class _Signs(NamedTuple):
    """What the forge says of a report that was made."""

    is_open: bool
    originals: tuple[int, ...] = ()
    is_closed_by_author: bool = False
    is_unwanted: bool = False  # the comment is gone, or somebody has put 👎 below it; the suggestion was dismissed


def _ask(context: TriageContext, forge: Forge, one: PendingReport) -> _Signs:
    is_open = one.state == "open"
    is_unwanted = _is_said(context, one) and _is_unwanted(context, forge, one)
    if is_open or one.state == "merged" or (one.kind == "change" and not one.is_commented):
        return _Signs(is_open, is_unwanted=is_unwanted)
    facts = forge.fetch_closing_facts(context.project, forge.fetch_item(context.project, one.key))
    by_author = bool(one.author) and (facts.closed_by or "").lower() == (one.author or "").lower()
    return _Signs(is_open, facts.duplicate_of, by_author, is_unwanted)


def _suggests(context: TriageContext) -> bool:
    return context.inputs.report != "comment"


def _is_said(context: TriageContext, one: PendingReport) -> bool:
    """Tell whether a report was shown to people, as a comment or as a suggestion."""
    return one.is_commented or (_suggests(context) and one.outcome == "duplicate" and one.kind == "issue")


def _is_unwanted(context: TriageContext, forge: Forge, one: PendingReport) -> bool:
    if not one.is_commented:
        return is_dismissed(forge, context.project, one.key)
    mine = list_own(forge, context.project, one.key)
    return not mine or forge.count_reactions(context.project, one.key, mine[0].id, only="down") > 0


def _save_marks(store: Store, project_id: int, one: PendingReport, originals: tuple[int, ...]) -> None:
    links = [Link("duplicate_of", number, one.kind, source="event") for number in originals]
    row = LinkRow(one.item_id, one.key, None, None, links)
    restore_links(store, project_id, row, ("event",), LinkTargets(store, project_id))


def _decide(context: TriageContext, asked: list[tuple[PendingReport, _Signs]], now_ms: int) -> int:
    store, project_id = context.store, context.project_id
    duplicates = {kind: KnownDuplicates(store, project_id, kind) for kind in {one.kind for one, _ in asked}}
    refused = load_refused_pairs(store, project_id)
    decided = 0
    with store.transaction():
        for one, signs in asked:
            listed = load_ids(store, project_id, [ItemKey(one.kind, number) for number in one.shown])
            originals = duplicates[one.kind].originals(one.item_id)
            matching = duplicates[one.kind].matching(one.item_id, listed.values())
            is_refused = any(frozenset((one.item_id, each)) in refused for each in listed.values())
            after = Aftermath(
                signs.is_open, frozenset(originals), frozenset(matching), signs.is_closed_by_author,
                signs.is_unwanted or is_refused,
            )  # fmt: skip
            outcome = judge_outcome(one.shown if _is_said(context, one) else (), after)
            rejected = one.shown if signs.is_unwanted and not originals else ()
            save_outcome(store, one.item_id, None if outcome == "open" else outcome, now_ms=now_ms, rejected=rejected)
            decided += outcome != "open"
    return decided
