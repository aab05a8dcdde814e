r"""JSON that a forge sent, read twice: as raw rows (to keep) and as types (to use).

Bodies may hold lone surrogates (`\ud800`) and broken UTF-8. The strict, fast reader is tried first; a row that it
refuses goes through the lenient one, with what cannot be stored replaced by U+FFFD.
"""

import json
from typing import TypeVar

import msgspec

from forgelore.core.text import storable
from forgelore.errors import LostPage

T = TypeVar("T")
_rows = msgspec.json.Decoder(list[msgspec.Raw])


def split_rows(body: bytes) -> list[bytes]:
    """Return each element of a JSON array as its own bytes, unchanged."""
    try:
        return [bytes(row) for row in _rows.decode(body)]
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        rows = _slices(body.decode("utf-8", "replace"))
        if rows is None:
            raise LostPage(f"the forge's list is not readable: {error}", hint="run the same command again") from error
        return rows


def _slices(text: str) -> list[bytes] | None:
    """Split with the lenient reader: the strict one refuses a whole page for one lone surrogate."""
    position = text.find("[") + 1
    if position == 0:
        return None
    reader = json.JSONDecoder()
    rows: list[bytes] = []
    while True:
        while text[position : position + 1] in (" ", "\n", "\r", "\t", ","):
            position += 1
        if text[position : position + 1] == "]":
            return rows
        try:
            _, end = reader.raw_decode(text, position)
        except ValueError:
            return None
        rows.append(text[position:end].encode())
        position = end


def read(raw: bytes, decoder: "msgspec.json.Decoder[T]") -> tuple[T, bytes]:
    """Return the typed value and the bytes that are safe to keep."""
    try:
        return decoder.decode(raw), raw
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        try:
            cleaned = _clean(json.loads(raw.decode("utf-8", "replace")))
            return decoder.decode(cleaned), cleaned
        except (ValueError, msgspec.DecodeError):
            raise LostPage(f"the forge's answer has an unexpected shape: {error}", hint="please report this") from error


def _clean(value: object) -> bytes:
    return storable(json.dumps(value, ensure_ascii=False)).encode()
