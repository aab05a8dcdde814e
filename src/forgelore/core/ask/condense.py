"""Condensing: an older result of a tool becomes one line when a conversation would not fit the model any more.

The line keeps what a citation needs: which item, which lines, and under which ids things were found. The text itself
can be read again. Questions, calls, observations and the newest results stay as they are.
"""

from collections.abc import Sequence
from typing import NamedTuple

CHARS_PER_TOKEN = 4


class Spoken(NamedTuple):
    """A message of the conversation. `gist`: what stands for it when room is short; "": it always stays whole."""

    role: str
    text: str
    gist: str = ""
    calls_chars: int = 0  # of calls that travel beside the text


def count_tokens(messages: Sequence[Spoken]) -> int:
    """Return about how many tokens the messages have: a quarter of their characters, and a few for each."""
    return sum((len(one.text) + one.calls_chars) // CHARS_PER_TOKEN + 4 for one in messages)


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
