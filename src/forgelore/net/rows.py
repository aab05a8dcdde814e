"""The rows of a list, one by one: a row that cannot be read is left out with a warning, and its neighbours are kept.

Only for lists where a missing row means nothing. Where it would mean that something is gone (the conversation of an
item, read whole), an unreadable row is an error.
"""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

import msgspec

from forgelore.errors import LostPage
from forgelore.net.jsontext import OddValueError, read, split_rows

T = TypeVar("T")
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
