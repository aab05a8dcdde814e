"""Graces of a project: which items wait for their closing by an earlier run, or were spoken for while they did."""

from forgelore.core.closing.grace import find_graces
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.store.db import Store
from forgelore.store.decisions import each_override
from forgelore.store.graces import list_graces


def load_graces(store: Store, project_id: int, *, except_run: int | None = None) -> dict[int, ReasonCode]:
    """Return item -> why no other run than the one that gave it hours of grace may close it."""
    accepted_at = {one.item_id: one.said_at for one in each_override(store, project_id) if one.action == "accept"}
    graces = [one for one in list_graces(store, project_id) if one.run_id != except_run]
    return find_graces(graces, accepted_at)
