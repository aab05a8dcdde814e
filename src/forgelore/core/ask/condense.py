"""Condensing: an older result of a tool becomes one line when a conversation would not fit the model any more.

The line keeps what a citation needs: which item, which lines, and under which ids things were found. The text itself
can be read again. A model's own long words are cut. The question, and what was found last, stay as they are; where
even that is too much, the end of what was found last is cut off.
"""

from collections.abc import Sequence
from typing import NamedTuple

CHARS_PER_TOKEN = 4
CUT = "[...cut: the model takes no more at once; read a line further on...]"


class Spoken(NamedTuple):
    """A message of the conversation, with the calls in it. `gist`: what stands for it when room is short; "": it stays
    whole.
    """

    role: str
    text: str
    gist: str = ""


def count_tokens(messages: Sequence[Spoken]) -> int:
    """Return about how many tokens the messages have: a quarter of their characters, and a few for each."""
    return sum(len(one.text) // CHARS_PER_TOKEN + 4 for one in messages)


def choose_condensed(messages: Sequence[Spoken], most: int) -> set[int]:
    """Return which messages are shown by their gist alone, so that all fit into `most` tokens; the oldest first."""
    over = count_tokens(messages) - most
    chosen: set[int] = set()
    for at, message in enumerate(messages):
        if over <= 0:
            break
        saved = (len(message.text) - len(message.gist)) // CHARS_PER_TOKEN if message.gist else 0
        if saved > 0:
            over -= saved
            chosen.add(at)
    return chosen


def cut_text(text: str, most: int) -> str:
    """Return the beginning of a text, whole lines of it where it has some, and say so where it was cut."""
    if len(text) <= most:
        return text
    kept = text[:most]
    return (kept[: kept.rindex("\n")] if "\n" in kept else kept) + "\n" + CUT
