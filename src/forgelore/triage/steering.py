"""Steering: what people with write access tell the bot in a comment that begins with `/forgelore`.

    not-duplicate [#N]   never name N here again; without a number, nothing that the comment names now
    duplicate #N         close this one as a duplicate of N
    look again           forget what was said before, and look at the item as it is now
    ignore               take the comment back, and never comment here again

A command is answered by a reaction, never by chatter: a thumb up when it was done, a confused face when it makes no
sense. What anybody else writes is ignored, and nobody is told.
"""

import re
from typing import NamedTuple

from forgelore.dedupe.maintainers import is_maintainer, people_of
from forgelore.errors import NotFound
from forgelore.model import Cursor, Item, ItemKey, Project
from forgelore.ports.closing import TellsAccess
from forgelore.ports.forge import Forge
from forgelore.store.items import load_ids
from forgelore.store.triage import EVERYTHING, forget_rejected, load_report, reject
from forgelore.sync.pages import KnownStore
from forgelore.triage.events import Command
from forgelore.triage.item import TriageContext
from forgelore.triage.posting import write_patiently

_ORDER = re.compile(r"(not-duplicate|duplicate|look again|ignore)(?:\s+[#!]?(\d{1,15}))?\s*\Z", re.IGNORECASE)
STAFF = frozenset(["OWNER", "MEMBER", "COLLABORATOR"])


class Order(NamedTuple):
    """A command that was understood."""

    verb: str
    number: int | None = None


def parse_order(words: str) -> Order | None:
    """Return the order in the words of a command ("not-duplicate #12"), None for what is none."""
    found = _ORDER.match(" ".join(words.split()))
    if found is None:
        return None
    order = Order(found[1].lower(), int(found[2]) if found[2] else None)
    takes_number = order.verb in ("duplicate", "not-duplicate")
    is_complete = order.number is not None or order.verb != "duplicate"
    return order if is_complete and (takes_number or order.number is None) else None


class Writers:
    """Who may write to a project, asked of the forge once a run and only where its answers do not say it."""

    def __init__(self, forge: Forge, project: Project, context: TriageContext, now_ms: int) -> None:
        self._forge, self._project, self._context, self._now_ms = forge, project, context, now_ms
        self._roles: dict[str, str] | None = None

    def has(self, login: str) -> bool:
        """Tell whether somebody may write; what nobody can tell is no."""
        if isinstance(self._forge, TellsAccess):
            return self._forge.may_write(self._project, login)
        if self._roles is None:
            self._roles = self._fetch()
        return is_maintainer(people_of(self._project.name, self._roles, {}), login) is True

    def wrote(self, item: Item) -> bool:
        """Tell whether somebody who may write filed an item. Where the forge says who they are, nothing is asked."""
        if not item.author:
            return False
        return item.author_role in STAFF if item.author_role else self.has(item.author)

    def _fetch(self) -> dict[str, str]:
        known = KnownStore(self._context.store, self._context.project_id)
        pages = self._forge.pages(self._project, "members", Cursor(), known, self._now_ms)
        return {one.login.lower(): one.role for page in pages for one in page.members or ()}


def obey(forge: Forge, project: Project, context: TriageContext, key: ItemKey, command: Command) -> Order | None:
    """Do what somebody with write access says, and react to it; returns what was done, None for nothing. What the
    comment says now is the caller's to write.
    """
    order = parse_order(command.words)
    if order is not None and order.verb == "duplicate":
        order = order if _close(forge, project, key, order.number or 0) else None
    elif order is not None:
        remember(context, key, order)
    is_good = order is not None
    write_patiently(lambda: forge.react(project, key, command.comment_id, is_good=is_good))
    return order


def remember(context: TriageContext, key: ItemKey, order: Order) -> None:
    """Keep an order in the index; a second time nothing changes."""
    store = context.store
    item_id = load_ids(store, context.project_id, [key]).get(key)
    if item_id is None:
        return
    with store.transaction():
        if order.verb == "look again":
            forget_rejected(store, item_id)
        elif order.verb == "ignore":
            reject(store, context.project_id, item_id, [EVERYTHING])
        elif order.verb == "not-duplicate":
            before = load_report(store, item_id)
            shown = before.shown if before else ()
            reject(store, context.project_id, item_id, [order.number] if order.number else shown)


def _close(forge: Forge, project: Project, key: ItemKey, number: int) -> bool:
    """Close an item as a duplicate of another; False where the two make no sense, or it is closed."""
    if number == key.number:
        return False
    try:
        item, target = (forge.fetch_item(project, each) for each in (key, ItemKey(key.kind, number)))
    except NotFound:
        return False
    if item.state == "open":
        forge.close_as_duplicate(project, item, target)
    return item.state == "open"
