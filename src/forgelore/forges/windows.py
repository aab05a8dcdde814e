"""From which moment on a list is read again: the overlap under every cursor, and the wider net once a day."""

import math

from forgelore.model import Cursor

OVERLAP_MS = 5 * 60_000
DAY_MS = 86_400_000
WINDOW_DAYS = 14  # of the wider net, unless a setting says another number


def since(cursor: Cursor, now_ms: int, window_days: int) -> int | None:
    """Return the moment to read from, None for the beginning.

    `now_ms` is the forge's clock. Five minutes below the cursor always; `window_days` back when the last wide look is
    a day old.
    """
    if cursor.updated_at is None:
        return None
    start = min(cursor.updated_at, now_ms) - OVERLAP_MS
    if is_wide(cursor, now_ms):
        start = min(start, now_ms - window_days * DAY_MS)
    return max(start, 0)


def is_wide(cursor: Cursor, now_ms: int) -> bool:
    """True when the wider net is due. A look dated in the future was dated by another clock: due as well.

    A few minutes ahead are not the future: clocks are compared through answers that take their time.
    """
    if not cursor.is_complete:
        return False
    return cursor.swept_at is None or not -OVERLAP_MS <= now_ms - cursor.swept_at < DAY_MS


def looks_again(cursor: Cursor, now_ms: int) -> bool:
    """True when conversations are to be read again even where their item did not change.

    So it is in the wider net, and on a first walk: one after `--full` meets items it knows and distrusts all of them.
    """
    return not cursor.is_complete or is_wide(cursor, now_ms)


def distrusted_from(cursor: Cursor, now_ms: int, window_days: int) -> float:
    """Return the moment of an item's last change from which on its conversation is looked at again."""
    if not looks_again(cursor, now_ms):
        return math.inf
    return now_ms - window_days * DAY_MS if cursor.is_complete else 0


def advance(cursor: Cursor, updated_at: int | None, tie_id: int | None, *, is_last: bool, now_ms: int) -> Cursor:
    """Return the cursor after a page: it never moves back, and a finished walk remembers when it looked.

    It never passes the forge's clock either: behind a row dated 2031 nothing would be read until then.
    """
    position = (cursor.updated_at, cursor.tie_id)
    if updated_at is not None and (
        cursor.updated_at is None or (updated_at, tie_id or 0) > (position[0] or 0, position[1] or 0)
    ):
        position = (updated_at, tie_id)
    if position[0] is not None and position[0] > now_ms:
        position = (now_ms, None)
    looked = now_ms if is_last and (is_wide(cursor, now_ms) or not cursor.is_complete) else cursor.swept_at
    return Cursor(
        updated_at=position[0], tie_id=position[1], token=None, etag=cursor.etag, swept_at=looked,
        is_complete=cursor.is_complete or is_last,
    )  # fmt: skip
