"""Overrides: what a person says of a pair or a cluster. It outlives every rerun, and the last word counts."""

from typing import Literal

from forgelore.errors import InvalidValue
from forgelore.records import HumanDecision
from forgelore.store.closings import load_plan_items
from forgelore.store.database import Store
from forgelore.store.decisions import save_override

OverrideAction = Literal["accept", "reject", "split", "canonical"]


def override(
    store: Store, project_id: int, action: OverrideAction, item_id: int, target_id: int | None, *, said_by: str,
    now_ms: int,
) -> HumanDecision:  # fmt: skip
    """Keep what somebody said. Raises InvalidValue for a pair that cannot be one."""
    items = load_plan_items(store, [item_id, *([target_id] if target_id else [])])
    if target_id is not None:
        check_pair(items[item_id].kind, items[target_id].kind, is_same=item_id == target_id)
    said = HumanDecision(item_id, target_id or 0, action, said_by, now_ms)
    with store.transaction():
        save_override(store, project_id, said)
    return said


def check_pair(kind: str, other: str, *, is_same: bool) -> None:
    """Refuse two items that cannot be duplicates."""
    if is_same:
        raise InvalidValue("an item cannot repeat itself", hint="name two different items")
    if kind != other:
        raise InvalidValue(f"{kind}s can only repeat {kind}s, not {other}s", hint="name two items of the same kind")
