"""Small checks and computations on values: required values, suggestions for misspelt names, safe branch names, the
content hash of an item (equal for equal versions), and back-off for failed jobs (exponential, capped at an hour, with
jitter that the caller supplies).

Vectors: which are fit to be stored, and how they are packed. A vector is stored as signed bytes and one scale: a
quarter of the space, and the cosine of two packed vectors differs from the true one by less than 0.005. numpy is
imported when the first vector comes.
"""

import hashlib
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import EmbeddingFailed, InvalidValue

if TYPE_CHECKING:
    import numpy as np

    Vector = np.ndarray[tuple[int], np.dtype[np.float32]]


def check_whole(name: str, value: object, most: int, *, least: int = 1) -> int:
    """Return a number from `least` to `most`. Raises InvalidValue for any other, and for anything but a whole number:
    from Python anything may come, and True is not 1.
    """
    hint = f"use {least} to {most:,}"
    number = check_number(name, value, hint)
    if not least <= number <= most:
        raise InvalidValue(f"{name} is out of range: {value}", hint=hint)
    return number


def check_number(name: str, value: object, hint: str = "give a whole number") -> int:
    """Return a whole number, in whatever range."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise InvalidValue(f"{name} is not a whole number: {str(value)[:60]!r}", hint=hint)
    return value


def check_text(name: str, value: object) -> str:
    """Return a text, empty or not. Raises InvalidValue for anything else that comes from Python."""
    if not isinstance(value, str):
        raise InvalidValue(f"{name} must be text, not: {str(value)[:60]}", hint="use a string, or leave it out")
    return value


def check_filled(name: str, value: object) -> str:
    """Return the value. Raises InvalidValue for an empty one: it comes from an unset variable, and taking it for
    "nothing was said" would answer another question.
    """
    text = check_text(name, value)
    if not text.strip():
        raise InvalidValue(f"{name} is empty", hint="give it a value or leave it out; perhaps a variable is unset")
    return text


def check_ref(value: object) -> str:
    """Return an item's ref as text; from Python its number will do. Raises InvalidValue for what is neither."""
    if isinstance(value, str):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise InvalidValue(f"{str(value)[:60]} is not an item", hint="use its number, or a string such as '#12'")


_CUTOFF = 0.7  # of difflib's ratio: one letter of three may differ


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to this one, however it is capitalised; None when none is near.

    "I-ICEE" -> "I-ICE"
    """
    from difflib import get_close_matches  # few commands have anything to suggest

    by_key: dict[str, str] = {}
    for one in known:
        by_key.setdefault(one.lower().removeprefix("@"), one)
    near = get_close_matches(name.lower().removeprefix("@"), by_key, n=1, cutoff=_CUTOFF)
    return by_key[near[0]] if near else None


_NAME = re.compile(r"[A-Za-z0-9_][\w.\-]*(?:/[A-Za-z0-9_][\w.\-]*)*\Z", re.ASCII)
_MAX_CHARS = 200


def is_branch_name(name: str) -> bool:
    """True for a name like "triage-index" or "bots/index"."""
    parts = name.split("/")
    return (
        len(name) <= _MAX_CHARS
        and _NAME.match(name) is not None
        and ".." not in name
        and parts[0] != "refs"
        and not any(part.endswith((".lock", ".")) for part in parts)
    )


def content_hash(kind: str, title: str, body: str | None) -> str:
    """Return the SHA-256 of what makes an item's content: kind, title and body, line endings aside."""
    text = f"{kind}\0{title}\0{body or ''}"
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return hashlib.sha256(text.encode()).hexdigest()


CAP_MS = 3_600_000


def next_attempt_at(now_ms: int, attempt_count: int, jitter: float) -> int:
    """Return now + min(1 h, 1 s * 2^attempts) * jitter; `jitter` is drawn from 0.9 to 1.1.

    next_attempt_at(0, 3, 1.0) -> 8000
    """
    delay = min(CAP_MS, 1000 << min(attempt_count, 30))
    return now_ms + int(delay * jitter)


class PackedVector(NamedTuple):
    scale: float
    data: bytes


def check_vector(raw: "Sequence[float] | EmbeddingFailed", dimension: int | None) -> "Vector | str":
    """Return the vector at length 1, or why it cannot be used. `dimension` None: any."""
    if isinstance(raw, EmbeddingFailed):
        return raw.message
    import numpy as np

    try:
        vector = np.asarray(raw, dtype=np.float32)
    except (TypeError, ValueError):
        vector = np.empty(0, np.float32)
    if vector.ndim != 1 or not vector.size:
        return "the embedder returned something that is not a vector"
    if dimension is not None and vector.size != dimension:
        return f"the vector has {vector.size} dimensions instead of {dimension}"
    if not np.isfinite(vector).all():
        return "the vector holds NaN or infinity"
    length = float(np.linalg.norm(vector.astype(np.float64)))
    if length < 1e-12:
        return "the vector is zero: the text has nothing to embed"
    return (vector / length).astype(np.float32)


def pack_vector(vector: "Vector") -> PackedVector:
    """Return a vector of length 1 as signed bytes; `scale` restores it (and its length) as well as bytes can."""
    import numpy as np

    largest = float(np.abs(vector).max())
    data = np.rint(vector * (127.0 / largest)).astype(np.int8)
    return PackedVector(1.0 / float(np.linalg.norm(data.astype(np.float64))), data.tobytes())


def unpack_vector(packed: PackedVector) -> "Vector":
    import numpy as np

    return np.frombuffer(packed.data, dtype=np.int8).astype(np.float32) * np.float32(packed.scale)
