"""Item history: what was known of an item at some time, for judging it by what its reader could know.

What nobody recorded is None and never zero: a tracker without comments does not say that nobody commented.

- Nobody records when an item was opened again. One that is open now counts as open all along, one that was closed
  twice as open until the last time. On bitcoin 184 of 185 originals agree with the forge's own list of events.
- A text has the time of its item or note. What was added to it later cannot be told apart.
- What a forge or a file says of an item as a whole ("duplicate of 7") has no time. It counts where nothing happened to
  the item since the time that is asked about, and is unknown elsewhere.
"""

from typing import NamedTuple


class ItemHistory(NamedTuple):
    """An item as it was at a time, in milliseconds; None: nobody knows."""

    item_id: int
    author: str | None = None
    is_open: bool | None = None
    ended_at: int | None = None  # when it was closed or merged; None also for an open one
    is_marked: bool | None = None  # somebody had called it a duplicate
    comments: int | None = None
    active_at: int | None = None  # the last comment, or the creation
    mentions: int | None = None  # other items that had named it, in their text or below it
    duplicates: int | None = None  # of them, those that were said to repeat it
    participants: frozenset[str] | None = None  # its author and everybody who had commented
