"""People of a project at the moment of a closing: maintainers are asked for once a run, because somebody may have
become one since the plan.
"""

from collections.abc import Sequence

from forgelore.core.dedupe.closings import protects
from forgelore.core.dedupe.maintainers import is_associated
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.flows.closing.journal import WriteContext
from forgelore.flows.dedupe.maintainers import find_maintainers
from forgelore.flows.sync.stored import KnownStore
from forgelore.model import Cursor, Item
from forgelore.store.project_rows import save_members


class LivePeople:
    """Who maintains a project now. `named`: by the settings, which are then taken as complete."""

    def __init__(self, context: WriteContext, named: Sequence[str]) -> None:
        self._context, self._named = context, tuple(named)
        self._is_listed = bool(named) or _refresh(context)

    def protects(self, item: Item) -> ReasonCode | None:
        """Return why an item is nobody's to close: a maintainer's, or perhaps one's."""
        context = self._context
        logins = [login for login in (item.author, *item.assignees) if login]
        found = find_maintainers(context.store, context.stored, logins, named=self._named)
        if item.author and not self._is_listed and is_associated(item.author_role):
            found[item.author] = True
        return protects(item.author, item.assignees, found)


def _refresh(context: WriteContext) -> bool:
    """Read the list of people anew and keep it; False where the forge refuses it, and what is stored has to do."""
    known, is_listed = KnownStore(context.store, context.project_id), False
    for page in context.forge.pages(context.project, "members", Cursor(), known, context.now_ms()):
        if page.members is not None:
            with context.store.transaction():
                context.lock.confirm(context.now_ms())
                save_members(context.store, context.project_id, page.members)
            is_listed = True
    return is_listed
