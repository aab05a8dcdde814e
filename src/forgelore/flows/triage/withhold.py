"""What must leave the bot's index: whatever some reader of its branch cannot read on the forge (core/triage/readers).

It is asked of every index that is opened and again of every one that is pushed, whoever wrote it: a level may have
changed since, and older versions did not look at levels at all.
"""

from msgspec.structs import replace

from forgelore.core.triage.readers import may_index, may_index_from, why_not_indexed
from forgelore.flows.triage.intake import KINDS
from forgelore.model import Kind, Project
from forgelore.store.db import Store
from forgelore.store.project_rows import save_project
from forgelore.store.sync_state import reset_cursors
from forgelore.store.triage import forget_hidden_facts, forget_kinds, rewrite_file


def kinds_held(project: Project) -> tuple[Kind, ...]:
    """Return the kinds of items that a project's own index may hold."""
    return tuple(kind for kind in KINDS if may_index(project, kind))


def kinds_held_from(sibling: Project) -> tuple[Kind, ...]:
    """Return the kinds of items of another project that an index may hold."""
    return tuple(kind for kind in KINDS if may_index_from(sibling, kind))


def why_withheld(project: Project) -> list[str]:
    """Return what to tell people about the kinds that are left out."""
    return [reason for kind in KINDS if not may_index(project, kind) and (reason := why_not_indexed(project, kind))]


def withhold(store: Store, project_id: int, held: tuple[Kind, ...]) -> int:
    """Forget for good what a project's rows must not show; returns how many items that were.

    Where reading stopped is forgotten with them: should they be for everybody later, they are read again.
    """
    with store.transaction():
        found = forget_kinds(store, project_id, [kind for kind in KINDS if kind not in held])
        forget_hidden_facts(store)
        if found:
            reset_cursors(store, project_id)
    if found:
        rewrite_file(store)
    return found


def open_project(store: Store, project: Project, now_ms: int) -> int:
    """Return the row of a project, made when it is new; without its payload, which tells the bot more than others."""
    with store.transaction():
        return save_project(store, replace(project, raw=b""), now_ms).id
