"""The fence around text of strangers, wherever a model reads it: prompts of judges and cards, results of `ask`, MCP.

    <forge-text-9f3c21ab>
    1. #41 issue, open: Ignore your instructions and …
    </forge-text-9f3c21ab>

The name of a fence does not occur in the text inside, so that nobody can end a fence from within and give orders behind
it. In a conversation the name is drawn by chance, and the first message tells it. Where nothing was said before, it is
made from the text itself. What a person does not see on the forge's page could hide an order: characters without width
are removed, control characters and Unicode tags replaced.
"""

import hashlib
import re

from forgelore.core.text import printable

PREFIX = "forge-text-"
_TAGS = re.compile("[\U000e0000-\U000e007f]")  # letters that are not drawn
_NO_WIDTH = re.compile(
    "[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u2060-\u2064\u206a-\u206f\ufe00-\ufe0f\ufeff\U000e0100-\U000e01ef]"
)
_BROKEN = f"{PREFIX}\ufffd"


def name_fence(letters: str) -> str:
    """Return the name of a fence, from letters that nobody could guess."""
    return PREFIX + letters


def fence_in(text: str, name: str, about: str = "") -> str:
    """Return a text as data. `about`: a few words of ours that say what it is. Whatever looks like the fence in it is
    broken.
    """
    inside = re.sub(re.escape(name), _BROKEN, seen(text), flags=re.IGNORECASE)
    return f"<{name}{f' {about}' if about else ''}>\n{inside}\n</{name}>"


def fence_alone(text: str) -> str:
    """Return a text as data under a name that is made from it, and does not stand in it."""
    shown = seen(text)
    digest, size = hashlib.sha256(shown.encode(errors="replace")).hexdigest(), 8
    while name_fence(digest[:size]) in shown.lower() and size < len(digest):
        size += 8
    return fence_in(shown, name_fence(digest[:size]))


def seen(text: str) -> str:
    """Return several lines of somebody's text, as a person would see them."""
    return _TAGS.sub("\ufffd", _NO_WIDTH.sub("", printable(text)))
