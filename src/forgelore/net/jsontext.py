r"""JSON that a forge sent, read twice: as raw rows (to keep) and as types (to use).

Bodies may hold lone surrogates (`\ud800`) and broken UTF-8. The strict, fast reader is tried first; a row that it
refuses goes through the lenient one, with what cannot be stored replaced by U+FFFD. A row that neither can read is
left out with a warning, but only where a missing row means nothing: in an item's conversation it is an error.
"""

import json
from collections.abc import Callable
from typing import Annotated, Generic, NamedTuple, TypeVar

import msgspec

from forgelore.errors import InvalidValue, LostPage
from forgelore.text.dates import parse_ms
from forgelore.text.fence import storable

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
            raise LostPage(f"the forge's list cannot be read: {error}", hint="run the same command again") from error
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
        raise OddValueError(f"{(url or '')[:100]!r} is not an item", hint="please report this to the forge")
    return int(number)


def _clean(value: object) -> bytes:
    return storable(json.dumps(value, ensure_ascii=False)).encode()


_NAMES = ("number", "iid", "tag_name", "html_url", "name", "id")
_any = msgspec.json.Decoder(dict[str, object])


class ParsedRows(NamedTuple, Generic[T]):
    """What could be read of a page, how many rows it had, and a warning for each that could not."""

    values: list[T]
    total: int
    warnings: list[str]


def read_rows(body: bytes, parse: Callable[[bytes], T], what: str) -> ParsedRows[T]:
    """Return the rows of a page of `what` ("issues").

    Raises when not one has the right shape: that is another list, and nothing may pass it.
    """
    raws = split_rows(body)
    values: list[T] = []
    failed: list[tuple[bytes, LostPage]] = []
    for raw in raws:
        try:
            values.append(parse(raw))
        except LostPage as error:
            failed.append((raw, error))
    if failed and not values and not any(isinstance(error, OddValueError) for _, error in failed):
        raise failed[0][1]
    warnings = [f"a row of {what} could not be read: {_name_of(raw)}{error.message}" for raw, error in failed]
    return ParsedRows(values, len(raws), warnings)


def _name_of(raw: bytes) -> str:
    """Return "number 12: ", or whatever else people find the row by."""
    try:
        row, _ = read(raw, _any)
    except LostPage:
        return ""
    name = next((name for name in _NAMES if row.get(name) is not None), None)
    return f"{name} {str(row[name])[:100]}: " if name else ""
