"""Objections: everything that keeps a planned closing from being done now, asked right before it.

The forge's state, people of the project, what people or a judge said since, circles, hours of grace of other runs.
"""

import json

import msgspec

from forgelore.core.closing.messages import closing_marker
from forgelore.core.closing.recheck import RecheckCase, SeenItem, recheck
from forgelore.core.dedupe.closings import reaches
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.flows.closing.journal import WriteContext
from forgelore.flows.closing.live_state import LiveState, as_live, find_newest_comment
from forgelore.flows.closing.people import LivePeople
from forgelore.flows.dedupe.canonicalize import load_edges
from forgelore.flows.dedupe.graces import load_graces
from forgelore.store.closings import PlannedClosing
from forgelore.store.write_journal import load_closed_onto


def find_objection(
    context: WriteContext, people: LivePeople, line: PlannedClosing, state: LiveState | None, target: LiveState | None,
    *, own_comments: int,
) -> ReasonCode | None:  # fmt: skip
    """Return what forbids a closing now; None: nothing does, and both items are there and open.

    Hours of grace come before the recheck: the comment that told of them is no discussion.
    """
    if state is not None and state.is_open and (reason := _find_grace(context, line)):
        return reason
    if reason := _recheck(context, line, state, target, own_comments=own_comments):
        return reason
    assert state is not None
    return people.protects(state.item) or _overruled(context, line, state.item.key.kind) or _circle(context, line)


def _recheck(
    context: WriteContext, line: PlannedClosing, state: LiveState | None, target: LiveState | None, *, own_comments: int
) -> ReasonCode | None:
    seen = json.loads(line.seen)
    newest = find_newest_comment(context, state, closing_marker(context.run_id, line.item_id))
    case = RecheckCase(
        msgspec.convert(seen["item"], SeenItem),
        as_live(state, own_comments=own_comments, newest_comment=newest),
        msgspec.convert(seen["target"], SeenItem), as_live(target),
    )  # fmt: skip
    return recheck(case)


def _overruled(context: WriteContext, line: PlannedClosing, kind: str) -> ReasonCode | None:
    """Return what was said since the plan, by people or a judge: the edge must stand, the item in its place."""
    standing = load_edges(context.store, context.project_id, kind)
    if {line.item_id, line.target_id} & standing.alone or line.item_id in standing.chosen:
        return ReasonCode.SAID_OTHERWISE
    pair = (line.item_id, line.target_id)
    edge = next((one for one in standing.edges if (one.source, one.target) == pair), None)
    if edge is None:
        return ReasonCode.MISSING_ACCEPTED_EDGE
    return ReasonCode.LOW_CONFIDENCE if edge.confidence < (line.confidence or 0.0) else None


def _circle(context: WriteContext, line: PlannedClosing) -> ReasonCode | None:
    closed_onto = load_closed_onto(context.store, context.project_id)
    is_circle = line.target_id is not None and reaches(closed_onto, line.target_id, line.item_id)
    return ReasonCode.WOULD_CYCLE if is_circle else None


def _find_grace(context: WriteContext, line: PlannedClosing) -> ReasonCode | None:
    """Another run has told people that it will close the item, or its target: that one goes on with it."""
    graces = load_graces(context.store, context.project_id, except_run=context.run_id)
    is_target_waiting = graces.get(line.target_id or 0) == ReasonCode.IN_GRACE
    return graces.get(line.item_id) or (ReasonCode.IN_GRACE if is_target_waiting else None)
