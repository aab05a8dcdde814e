"""Questions in a text: the last sentence that asks something, outside of code, quotes and addresses."""

import re

from forgelore.core.links import code_spans

_LONGEST = 20_000  # characters that are looked at, from the end: what is asked last is what waits
_QUOTED = re.compile(r"^[ \t]{0,3}>[^\n]*|<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)
_WIDE = "\uff1f"  # how Chinese and Japanese ask
_ADDRESS = re.compile(r"https?://\S+")
_QUESTION = re.compile(r"[^.!?\n]*[?\uff1f](?=[\s)\]\"'*_?!\uff1f]|\Z)")


def question_in(text: str | None) -> str:
    """Return the last question of a text, "" when it asks nothing.

    "Thanks. Does it happen on `a?b` too?" -> "Does it happen on  too?"
    """
    if not text or ("?" not in text and _WIDE not in text):
        return ""
    spoken = _QUOTED.sub(" ", text[-_LONGEST:].replace("\r\n", "\n"))
    for start, end in reversed(code_spans(spoken)):
        spoken = f"{spoken[:start]} {spoken[end:]}"
    asked = [match[0].strip() for match in _QUESTION.finditer(_ADDRESS.sub(" ", spoken))]
    return next((one for one in reversed(asked) if re.search(r"\w", one)), "")
