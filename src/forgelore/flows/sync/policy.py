"""The policy of a reader: what it keeps of a forge's pages, how it fetches them, and when it stops.

`sync` keeps everything and reads to the end. Who needs something else hands in another policy: the page loop (lists)
and the saving of a page (page) are the same for all.
"""

from collections.abc import Callable
from typing import NamedTuple

from forgelore.model import Item, ItemKey, Kind
from forgelore.store.db import Store


class ReadPolicy(NamedTuple):
    """The default is that of `sync`."""

    kinds: tuple[Kind, ...] | None = None  # items of other kinds are left out; None: all are kept
    # What becomes of items that only some people may see, given their keys; None: they are kept like the others.
    forget_hidden: Callable[[Store, int, list[ItemKey]], int] | None = None
    keeps_payloads: bool = True
    queues_files: bool = False  # changes that are new or changed wait for their files as jobs
    is_items_only: bool = False  # no conversations and no details, neither from a page nor as jobs
    is_in_turn: bool = False  # one list after the other, and no page is fetched before the last one is saved
    why_stop: Callable[[], str] = lambda: ""  # asked after each page; empty: go on
    is_stopped_by_limits: bool = False  # a rate limit ends the reading as `why_stop` does; else it is raised
    is_wanted: Callable[[Item], bool] | None = None  # other items are left out, too; None: all are wanted
    since: int | None = None  # lists begin there instead of at their cursors
    moves_cursors: bool = True  # False: what is left out now is for the next sync to read

    def keeps(self, item: Item) -> bool:
        is_hidden = item.is_confidential and self.forget_hidden is not None
        is_wanted = self.is_wanted is None or self.is_wanted(item)
        return not is_hidden and is_wanted and (self.kinds is None or item.key.kind in self.kinds)
