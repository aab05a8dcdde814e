"""Questions in a text: the last sentence that asks something, outside of code, quotes and addresses."""

import re

from forgelore.core.links import code_spans

_LONGEST = 20_000  # characters that are looked at, from the end: what is asked last is what waits
_QUOTED = re.compile(r"^[ \t]{0,3}>[^\n]*|<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)
_WIDE = "\uff1f"  # how Chinese and Japanese ask
_ADDRESS = re.compile(r"https?://\S+")
_QUESTION = re.compile(r"[^.!?\n]*[?\uff1f](?=[\s)\]\"'*_?!\uff1f]|\Z)")


def question_in(text: str | None) -> str:
    """Return the last question of a text as it was written, "" when it asks nothing.

    "Thanks. Does it happen on `a?b` too?" -> "Does it happen on `a?b` too?"
    """
    if not text or ("?" not in text and _WIDE not in text):
        return ""
    spoken = _QUOTED.sub(" ", text[-_LONGEST:].replace("\r\n", "\n"))
    prose = _hide_code(spoken)
    asked = (match.span() for match in _QUESTION.finditer(prose) if re.search(r"\w", match[0]))
    start, end = max(asked, default=(0, 0))
    return spoken[start:end].strip()


def _hide_code(text: str) -> str:
    """Return a text of the same length in which nothing inside code or an address looks like prose. Spans within a
    line may be part of a question; blocks never are.
    """
    spans = [(start, end, "\n" if "\n" in text[start:end] else " ") for start, end in code_spans(text)]
    for start, end, blank in spans:
        text = text[:start] + blank * (end - start) + text[end:]
    return _ADDRESS.sub(lambda match: " " * len(match[0]), text)
