"""Waiting notes: the comment by which the bot tells that it will close an item, and by which a later run knows it.

The forge alone remembers, because the bot's index may be lost or pushed by somebody else: the first line holds what the
item and its target looked like, and when that was. It counts only in a comment of the bot's own.

    <!-- forgelore:waiting:v1 {"target": 7, "hours": 72, "at": 1700000000000, …} -->
"""

import msgspec

from forgelore.core.closing.messages import GRACE, build_message
from forgelore.core.closing.recheck import SeenItem

_BEGIN, _END = "<!-- forgelore:waiting:v1 ", " -->"
_HOUR_MS = 3_600_000


class WaitingNote(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`at`: on the forge's clock. `item` and `onto`: what the item and its target looked like."""

    target: int
    hours: int
    at: int
    item: SeenItem
    onto: SeenItem

    def is_over(self, now_ms: int) -> bool:
        return now_ms >= self.at + self.hours * _HOUR_MS


def build_note(note: WaitingNote, target: str) -> str:
    """Return the comment; nothing in it can end its first line before its end."""
    text = msgspec.json.encode(note).decode().replace(">", "\\u003e")
    return build_message(GRACE, marker=f"{_BEGIN}{text}{_END}", target=target, hours=note.hours)


def parse_note(body: str | None) -> WaitingNote | None:
    """Return what a comment of ours remembers; None for any other."""
    line = (body or "").partition("\n")[0].strip()
    if not (line.startswith(_BEGIN) and line.endswith(_END)):
        return None
    try:
        return msgspec.json.decode(line[len(_BEGIN) : -len(_END)], type=WaitingNote)
    except (msgspec.ValidationError, msgspec.DecodeError):
        return None
