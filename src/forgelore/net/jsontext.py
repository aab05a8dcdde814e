r"""JSON that a forge sent, read twice: as raw rows (to keep) and as types (to use).

Bodies may hold lone surrogates (`\ud800`) and broken UTF-8. The strict, fast reader is tried first; a row that it
refuses goes through the lenient one, with what cannot be stored replaced by U+FFFD.
"""

import json
from typing import Annotated, TypeVar

import msgspec

from forgelore.core.text import storable
from forgelore.core.times import parse_ms
from forgelore.errors import InvalidValue, LostPage

T = TypeVar("T")
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # what SQLite holds: a larger one is no id of a forge
_BEFORE_A_LIST = "\ufeff \t\r\n"
_rows = msgspec.json.Decoder(list[msgspec.Raw])


class OddValueError(LostPage):
    """The shape is right, and one value in it makes no sense."""


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
    position = len(text) - len(text.lstrip(_BEFORE_A_LIST)) + 1
    if text[position - 1 : position] != "[":  # an object may hold a list: that is another answer, not this one
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


def read_ms(text: str | None) -> int | None:
    """`parse_ms`, for what a forge wrote: the reader cannot write it in another way."""
    try:
        return parse_ms(text)
    except InvalidValue as error:
        raise OddValueError(f"{error.message[:100]}", hint="please report this to the forge") from error


def read_last_number(url: str | None) -> int:
    """`https://api.github.com/repos/acme/web/issues/12` -> 12."""
    number = (url or "").rpartition("/")[2]
    if not (number.isascii() and number.isdecimal()):
        raise OddValueError(f"{(url or '')[:100]!r} names no item", hint="please report this to the forge")
    return int(number)


def _clean(value: object) -> bytes:
    return storable(json.dumps(value, ensure_ascii=False)).encode()
