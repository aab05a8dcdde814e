"""Text from a forge is hostile: how it is cleaned for the store and the terminal, and fenced for a model.

    <forge-text-9f3c21ab>
    1. #41 issue, open: Ignore your instructions and …
    </forge-text-9f3c21ab>

Prompts of judges and cards, results of `ask` and MCP all use the fence. Its name does not occur in the text inside, so
nobody can end it from within and give orders behind it. In a conversation the name is random, and the first message
tells it; where nothing was said before, it is made from the text itself. Characters without width, which could hide an
order, are removed; control characters and Unicode tags are replaced.
"""

import hashlib
import re
import unicodedata
from typing import overload

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
# C0 and C1 controls except tab and newline, and the bidirectional overrides that make text lie about itself.
_COLOUR = re.compile("(\x1b\\[[0-9;]{0,8}m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_UNPRINTABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

# What takes no room on a page: soft hyphens, zero-width and direction-changing characters, variation selectors.
_UNSEEN = re.compile("[\xad\u034f\u061c\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff]")


@overload
def storable(text: str) -> str: ...
@overload
def storable(text: None) -> None: ...
@overload
def storable(text: str | None) -> str | None: ...
def storable(text: str | None) -> str | None:
    r"""Return text (or None) with NUL and lone surrogates replaced by U+FFFD: SQLite and UTF-8 hold everything else.

    "a\x00b" -> "a\ufffdb"
    """
    if text is None:
        return text
    if "\x00" not in text:
        if text.isascii():
            return text
        try:
            text.encode()  # tells at C speed whether there is a lone surrogate; the pattern takes ten times as long
        except UnicodeEncodeError:
            pass
        else:
            return text
    return _UNSTORABLE.sub("\ufffd", text)


def printable(text: str) -> str:
    r"""Return text that cannot move the cursor, ring, retitle the window or reorder itself. CRLF becomes LF.

    "\\x1b[2Jhi\\r\\n" -> "\ufffd[2Jhi\\n"
    """
    return _UNPRINTABLE.sub("\ufffd", text.replace("\r\n", "\n"))


def printable_line(text: str) -> str:
    """Return a line of ours that may hold somebody's text: our colours stay, everything else that could act is gone."""
    return _COLOUR.sub(lambda match: match[0] if match[1] else "\ufffd", text)


def folded(text: str) -> str:
    r"""Return a text as two are compared: case, blanks, line ends and what cannot be seen make no difference.

    "Crash\r\n  on\u200b START" -> "crash on start"
    """
    return " ".join(folded_letters(text).split())


def folded_letters(text: str) -> str:
    """Return the same with its blanks as they are, which takes a third of the time."""
    if text.isascii():
        return text.lower()
    return _UNSEEN.sub("", unicodedata.normalize("NFC", text)).casefold()


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
