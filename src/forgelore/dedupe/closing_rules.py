"""Rules of a closing: may it still happen, does somebody else wait with it, and has its judge been measured?

recheck     A plan is made from what was stored; until the write people edit, answer, reopen and assign. Whatever
they did counts more than any plan. The first rule that objects gives the reason.
waiting     An item in its grace period has a label and a comment; it is closed later, unless somebody takes
part. Runs remember that in the journal, the bot in a note on the forge.
proof       An audit has to show that a judge's accepted edges are right often enough. The lower end of the 95 %
interval of its precision decides: few labels prove little, and no number of them is asked for.
"""

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from forgelore.compare.scoring import Interval, wilson
from forgelore.dedupe.clusters import is_newer_by_another
from forgelore.dedupe.reasons import ReasonCode
from forgelore.records import EdgeJudge, GracePeriod
from forgelore.text.items import MARKER


class SeenItem(Struct, frozen=True):
    """What an item looked like when the plan was made. Kept as JSON."""

    content_hash: str
    assignees: tuple[str, ...]
    comment_count: int | None
    review_comment_count: int | None
    updated_at: int | None
    newest_comment: int | None = None  # ids grow; None: no comment was stored
    head_sha: str | None = None  # of a change
    milestone: str | None = None


class LiveItem(NamedTuple):
    """What an item looks like now. `own_comments`: those of ours that the count includes."""

    number: int
    author: str | None
    created_at: int | None
    is_open: bool
    content_hash: str
    assignees: tuple[str, ...]
    comment_count: int | None
    review_comment_count: int | None
    reopened_at: int | None
    is_duplicate: bool
    own_comments: int = 0
    newest_comment: int | None = None  # that is not ours; None: nobody looked
    is_confidential: bool = False
    head_sha: str | None = None
    labels: tuple[str, ...] = ()
    milestone: str | None = None
    is_locked: bool = False
    is_approved: bool = False  # or merges by itself; of a change


class RecheckCase(NamedTuple):
    """An item and its target, then and now. `accepted_at`: when a person accepted this very pair. `own_label`: the one
    that we gave it to announce its closing. `keep_open`: labels that speak against it.
    """

    seen: SeenItem
    live: LiveItem | None  # None: it is gone
    seen_target: SeenItem
    target: LiveItem | None
    accepted_at: int | None = None
    own_label: str = ""
    keep_open: Collection[str] = ()


def recheck(case: RecheckCase) -> ReasonCode | None:
    """Return what has happened since the plan that forbids the closing; None: nothing has."""
    return next((reason for rule, reason in _RULES if rule(case)), None)


def _is_closed(case: RecheckCase) -> bool:
    return case.live is None or not case.live.is_open


def _is_reopened(case: RecheckCase) -> bool:
    """A reopening stands however long ago it was, unless a person accepted this very pair since."""
    reopened_at = case.live.reopened_at if case.live else None
    return reopened_at is not None and reopened_at >= (case.accepted_at or 0)


def _is_confidential(case: RecheckCase) -> bool:
    """A public comment that names a confidential item gives it away, and a confidential item is never judged."""
    return any(one is not None and one.is_confidential for one in (case.live, case.target))


def _is_edited(case: RecheckCase) -> bool:
    pairs = ((case.live, case.seen), (case.target, case.seen_target))
    return any(live is not None and _differs(live, seen) for live, seen in pairs)


def _differs(live: LiveItem, seen: SeenItem) -> bool:
    has_new_commits = None not in (live.head_sha, seen.head_sha) and live.head_sha != seen.head_sha
    return has_new_commits or live.content_hash != seen.content_hash


def _is_assigned(case: RecheckCase) -> bool:
    return case.live is not None and bool(set(case.live.assignees) - set(case.seen.assignees))


def _is_discussed(case: RecheckCase) -> bool:
    live, seen = case.live, case.seen
    if live is None:
        return False
    counts = (
        (live.comment_count, (seen.comment_count or 0) + live.own_comments),
        (live.review_comment_count, seen.review_comment_count),
    )
    if any(now is not None and before is not None and now != before for now, before in counts):
        return True
    # One that was deleted and one that was written leave the count as it was.
    newest = seen.newest_comment if seen.comment_count else 0
    return newest is not None and live.newest_comment is not None and live.newest_comment > newest


def _is_target_closed(case: RecheckCase) -> bool:
    return case.target is None or not case.target.is_open


def _is_target_duplicate(case: RecheckCase) -> bool:
    return case.target is not None and case.target.is_duplicate


def _is_locked(case: RecheckCase) -> bool:
    """Nobody could object there."""
    return case.live is not None and case.live.is_locked


def _has_lost_label(case: RecheckCase) -> bool:
    return bool(case.own_label) and case.live is not None and case.own_label not in case.live.labels


def _is_labelled_against(case: RecheckCase) -> bool:
    return case.live is not None and speaks_against(case.live.labels, case.keep_open)


def speaks_against(labels: Iterable[str], keep_open: Iterable[str]) -> bool:
    """Tell whether one of the labels is among those that keep an item open; case, signs and a scope do not matter.

    "status: Keep-Open" speaks against closing where "keep open" does.
    """
    wanted = {_label_words(label) for label in keep_open}
    return any({_label_words(label), _label_words(re.split(r"[:/]", label)[-1])} & wanted for label in labels)


def _label_words(label: str) -> str:
    return " ".join(re.findall(r"[^\W_]+", label.lower()))


def _has_new_milestone(case: RecheckCase) -> bool:
    return case.live is not None and case.live.milestone not in (None, case.seen.milestone)


def _is_approved(case: RecheckCase) -> bool:
    return case.live is not None and case.live.is_approved


def _is_target_newer(case: RecheckCase) -> bool:
    has_both = case.live is not None and case.target is not None
    return has_both and case.accepted_at is None and is_newer_by_another(case.target, case.live)  # type: ignore[arg-type]


_RULES: tuple[tuple[Callable[[RecheckCase], bool], ReasonCode], ...] = (
    (_is_closed, ReasonCode.NOT_OPEN),
    (_is_confidential, ReasonCode.CONFIDENTIAL),
    (_is_reopened, ReasonCode.REOPENED_SINCE_PLAN),
    (_is_locked, ReasonCode.CONVERSATION_LOCKED),
    (_is_edited, ReasonCode.EDITED_SINCE_PLAN),
    (_is_assigned, ReasonCode.ASSIGNED_SINCE_PLAN),
    (_is_discussed, ReasonCode.DISCUSSED_SINCE_PLAN),
    (_has_lost_label, ReasonCode.LABEL_REMOVED),
    (_is_labelled_against, ReasonCode.LABELLED_AGAINST),
    (_has_new_milestone, ReasonCode.MILESTONE_SINCE_PLAN),
    (_is_approved, ReasonCode.CHANGE_APPROVED),
    (_is_target_closed, ReasonCode.TARGET_NOT_OPEN),
    (_is_target_duplicate, ReasonCode.TARGET_IS_DUPLICATE),
    (_is_target_newer, ReasonCode.TARGET_IS_NEWER),
)


_TOOK_PART = frozenset(
    (ReasonCode.DISCUSSED_SINCE_PLAN, ReasonCode.REOPENED_SINCE_PLAN, ReasonCode.ASSIGNED_SINCE_PLAN,
     ReasonCode.EDITED_SINCE_PLAN, ReasonCode.CONVERSATION_LOCKED, ReasonCode.CONFIDENTIAL, ReasonCode.LABEL_REMOVED,
     ReasonCode.LABELLED_AGAINST, ReasonCode.MILESTONE_SINCE_PLAN, ReasonCode.CHANGE_APPROVED)
)  # fmt: skip


def find_waiting(periods: Iterable[GracePeriod], accepted_at: Mapping[int, int]) -> dict[int, ReasonCode]:
    """Return item -> why no other plan may close it. `periods` are oldest first; `accepted_at`: when a person accepted
    that an item is a duplicate.

    The run that began an item's grace period closes it, or finds out why not. Every other plan waits for that, and
    respects it: what people objected to in that time is planned again only after somebody has accepted the pair.
    """
    found: dict[int, ReasonCode] = {}
    for grace in periods:
        is_overruled = grace.looked_at is not None and accepted_at.get(grace.item_id, -1) > grace.looked_at
        if grace.action == "wait":
            found[grace.item_id] = ReasonCode.IN_GRACE
        elif grace.reason in _TOOK_PART and not is_overruled:
            found.setdefault(grace.item_id, ReasonCode(grace.reason))
    return found


def why_waiting(periods: Mapping[int, ReasonCode], item_id: int, target_id: int | None) -> ReasonCode | None:
    """Return why an item may not be closed onto another: another run has announced that it will close one of them."""
    is_target_waiting = target_id is not None and periods.get(target_id) == ReasonCode.IN_GRACE
    return periods.get(item_id) or (ReasonCode.IN_GRACE if is_target_waiting else None)


NOTE_BEGIN, _END = "<!-- forgelore:waiting:v1 ", " -->"
HOUR_MS = 3_600_000


class WaitingNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the bot's report remembers of an item that waits for its closing, in the line below its marker:

        <!-- forgelore:waiting:v1 {"target": 7, "hours": 72, "at": 1700000000000, …} -->

    The forge alone remembers it, because the bot's index may be lost, or pushed by somebody else. `at`: on the forge's
    clock. `item` and `onto`: what the item and its target looked like. `is_ended`: the item stays open after all.
    """

    target: int
    hours: int
    at: int
    item: SeenItem
    onto: SeenItem
    is_ended: bool = False

    def is_over(self, now_ms: int) -> bool:
        return now_ms >= self.at + self.hours * HOUR_MS


def with_note(note: WaitingNote, report: str) -> str:
    """Return a report that remembers a note; nothing in it can end its line before its end."""
    text = msgspec.json.encode(note).decode().replace(">", "\\u003e")
    return f"{MARKER}\n{NOTE_BEGIN}{text}{_END}\n{report.removeprefix(MARKER).lstrip()}"


def parse_note(body: str | None) -> WaitingNote | None:
    """Return what a comment of ours remembers, in the line below its marker (older versions: in its first line); None
    for any other.
    """
    first, _, rest = (body or "").partition("\n")
    line = (rest.partition("\n")[0] if first.strip() == MARKER else first).strip()
    if not (line.startswith(NOTE_BEGIN) and line.endswith(_END)):
        return None
    try:
        return msgspec.json.decode(line[len(NOTE_BEGIN) : -len(_END)], type=WaitingNote)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None


# The least precision that must be shown, as the lower end of Wilson's 95 % interval: 16 right of 16 show it, 24 of 25,
# 88 of 100. Why not more: docs/decisions/0019-review-queue.md.
MIN_PROVEN = 0.80


class AuditResult(NamedTuple):
    """One audit: its reference, its judge, the thresholds, and how many edges of each class it found. A
    threshold that is None was not kept, and the audit covers nothing. `kinds` None: all of them.
    """

    run_id: int
    against: str  # history, human
    judge: str
    model: str
    policy: str
    classes: Mapping[str, int]
    min_edge: float | None = None
    min_gap: float | None = None
    kinds: frozenset[str] | None = None

    def covers(self, edges: EdgeJudge) -> bool:
        """Tell whether everything that a plan's edges passed was asked for here, or less."""
        is_of_kind = self.kinds is None or edges.kind in self.kinds
        return (
            is_of_kind
            and self.min_edge is not None and self.min_edge <= edges.min_edge
            and self.min_gap is not None and self.min_gap <= edges.min_gap
        )  # fmt: skip

    @property
    def labelled(self) -> int:
        return sum(self.classes.get(name, 0) for name in ("tp", "fp", "conflict"))

    @property
    def interval(self) -> Interval:
        """Where the precision lies with 95 % confidence; anywhere without labels."""
        right = self.classes.get("tp", 0)
        return wilson(right / self.labelled, self.labelled) if self.labelled else Interval(0.0, 1.0)

    def describe(self, name: str) -> str:
        """Return "judge builtin rules-1: 18 of 18 right, at least .82 with 95 % confidence (against human, run 7)"."""
        right, low = self.classes.get("tp", 0), math.floor(self.interval.low * 100) / 100
        shown = f"{low:.2f}".lstrip("0") if low else "0"
        return (
            f"judge {name}: {right:,} of {self.labelled:,} right, at least {shown} with 95 % confidence"
            f" (against {self.against}, run {self.run_id})"
        )


def find_gap(edges: Iterable[EdgeJudge], audits: Iterable[AuditResult], *, policy: str = "batch") -> str:
    """Return what is missing for a proof, in words; "" when every judge is proven. What people decided needs none.

    What counts is accepted edges that have a label: tp, fp, and conflict (accepted, onto another item than the label
    names, and so wrong). An audit speaks for what was accepted at its own thresholds: a plan whose edges passed the
    same or stricter ones is covered by it, one that lets more through is not, and neither is another kind of item.

    Of each judge the newest covering audit against history and the newest against people count: one of them must show
    at least MIN_PROVEN, and none may show less than that.
    """
    known = sorted((one for one in audits if one.policy == policy), key=lambda one: one.run_id)
    for one in _judges(edges):
        newest = _newest_covering(one, known)
        if not newest and any((audit.judge, audit.model) == (one.judge, one.model) for audit in known):
            return (
                f"no audit of the judge {one.name} covers {one.kind}s at confidence {one.min_edge:g} and"
                f" gap {one.min_gap:g}: it was measured with stricter thresholds or on another kind"
            )
        if gap := _gap(one.name, newest):
            return gap
    return ""


def find_proofs(edges: Iterable[EdgeJudge], audits: Iterable[AuditResult], *, policy: str = "batch") -> list[str]:
    """Return, in words, the best proof that there is of each judge: how many were right, and at least how often."""
    known = sorted((one for one in audits if one.policy == policy), key=lambda one: one.run_id)
    best = {
        one.name: max(newest, key=lambda audit: audit.interval.low).describe(one.name)
        for one in _judges(edges)
        if (newest := _newest_covering(one, known))
    }
    return list(best.values())


def _judges(edges: Iterable[EdgeJudge]) -> list[EdgeJudge]:
    """Return who needs a proof: everybody but people."""
    return [one for one in sorted(set(edges)) if one.judge != "human"]


def _newest_covering(edges: EdgeJudge, known: Iterable[AuditResult]) -> list[AuditResult]:
    measured = [audit for audit in known if (audit.judge, audit.model) == (edges.judge, edges.model)]
    return list({audit.against: audit for audit in measured if audit.covers(edges)}.values())


def _gap(name: str, audits: Sequence[AuditResult]) -> str:
    if not audits:
        return f"no audit has measured the judge {name}"
    best = max(audits, key=lambda one: one.interval.low)
    worst = min(audits, key=lambda one: one.interval.high)
    wanted = f"{MIN_PROVEN:.2f}".lstrip("0")
    if worst.interval.high < MIN_PROVEN:
        return f"{worst.describe(name)}, which is too rarely: {wanted} must be possible"
    if best.interval.low < MIN_PROVEN:
        return f"{best.describe(name)}, and {wanted} must be shown"
    return ""
