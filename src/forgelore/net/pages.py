r"""Pages of a forge's lists: rows read twice, as bytes to keep and as types to use; walking a list that moves.

Bodies may hold lone surrogates (`\ud800`) and broken UTF-8. The strict, fast reader is tried first; a row that it
refuses goes through the lenient one, with what cannot be stored replaced by U+FFFD. A row that neither can read is
left out with a warning, but only where a missing row means nothing: in an item's conversation it is an error.

Lists come oldest update first. Offset pages of such a list are treacherous: a row that is updated during the walk
moves to the end, everything behind it moves up, and the row at the seam is skipped for ever. So each page starts where
the last one ended *in time* (`since` = the newest update seen), repeating the rows of that instant; page numbers
hardly matter, and the deep pages that forges refuse (GitHub 422, GitLab 405) are never asked for. The forge's own
`Link` is followed only inside one instant that fills a page, or when a server ignores `since`; where there is no
`Link` either, pages are counted from the instant on.

The end is a page without a `Link` that is not full. A full page without one (a proxy ate it, or the list ends just
there) is looked behind once more.
"""

import json
from collections.abc import Callable, Iterator
from typing import Annotated, Any, Generic, NamedTuple, TypeVar
from urllib.parse import parse_qs, urlsplit

import msgspec

from forgelore.errors import InvalidValue, LostPage
from forgelore.net.client import Client, HttpAnswer
from forgelore.text.dates import format_ms, parse_ms
from forgelore.text.fence import storable

T = TypeVar("T")
PER_PAGE = 100
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]  # as large as SQLite allows: no forge has larger ids
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


class WalkedRow(NamedTuple, Generic[T]):
    updated_at: int
    id: int
    value: T


class Slice(NamedTuple, Generic[T]):
    """One page of a walk. `updated_at`/`tie_id` name its last row; both None when it is empty."""

    values: list[T]
    updated_at: int | None
    tie_id: int | None
    is_last: bool
    answer: HttpAnswer
    warnings: list[str]


def walk(
    client: Client, path: str, params: dict[str, Any], *, since_name: str, since_ms: int | None,
    parse: Callable[[HttpAnswer], ParsedRows[WalkedRow[T]]], per_page: int = PER_PAGE,
) -> Iterator[Slice[T]]:  # fmt: skip
    """Yield pages from `since_ms` on (inclusive), oldest update first."""
    anchor = since_ms
    page = 1  # of what follows the anchor, where no `Link` says how to go on
    follow: str | None = None
    can_anchor = True
    seen: set[int] = set()
    while True:
        if follow:
            answer = client.get(follow)
        else:
            since = {since_name: format_ms(anchor)} if anchor is not None else {}
            number = {"page": page} if page > 1 else {}
            answer = client.get(path, {**params, **since, **number, "per_page": per_page})
        rows, total, warnings = parse(answer)
        times = [row.updated_at for row in rows]
        # A server that ignores `since` or the order shows older rows than asked for: trust only its links from then on.
        if times != sorted(times) or (anchor is not None and times and times[0] < anchor):
            can_anchor = False
        before, seen = seen, {row.id for row in rows}
        # A server that ignores page numbers repeats itself, and one that gave links has said where they end.
        can_count = follow is None and not (page > 1 and seen == before)
        has_more = answer.next_url is not None or (total >= per_page and (can_anchor or can_count))
        last = max(rows, key=lambda row: (row.updated_at, row.id)) if rows else None
        values = [row.value for row in rows]
        yield Slice(values, last and last.updated_at, last and last.id, not has_more, answer, warnings)
        if not has_more:
            return
        if can_anchor and times and times[-1] > (anchor if anchor is not None else -1):
            anchor, follow, page = times[-1], None, 1
        elif answer.next_url:
            follow = answer.next_url
        elif can_count:  # one instant fills the page and nothing says where it goes on
            page += 1
        else:
            anchor, follow, page = (anchor or 0) + 1, None, 1


def walk_links(client: Client, path: str, params: dict[str, Any], *, etag: str | None = None) -> Iterator[HttpAnswer]:
    """Yield the answers of a list that has no times: first page (perhaps a 304), then each `Link` as given."""
    answer = client.get(path, {**params, "per_page": PER_PAGE}, etag=etag)
    yield answer
    page = 1
    while answer.status == 200:
        page += 1
        if answer.next_url:
            answer = client.get(answer.next_url)
        elif _may_hide_more(answer):
            before = answer
            answer = client.get(path, {**params, "per_page": PER_PAGE, "page": page})
            if answer.body == before.body:  # a server that ignores page numbers would say the same for ever
                return
        else:
            return
        yield answer


def _may_hide_more(answer: HttpAnswer) -> bool:
    """True for a full page without a `Link`, unless it was reached by the forge's own position: a number means nothing
    there.
    """
    asked = parse_qs(urlsplit(answer.url).query)
    if "link" in answer.headers or "after" in asked or "cursor" in asked:
        return False
    return len(answer.body) > 2 * PER_PAGE and len(split_rows(answer.body)) >= PER_PAGE
