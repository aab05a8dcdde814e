"""What the three forges share: addresses, refusals, diffs, cursors of lists, stored answers, and the meter.

What a refusal means, each forge says in its own words (`AnswerChecker.refusal`). Lists that have no times (labels,
members, releases) are read to their end each time; the others from five minutes below their cursor, and from
`WINDOW_DAYS` back once a day.
"""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from forgelore.errors import AuthError, ForgeError, LoreError, LostPage
from forgelore.model import Cursor, Item, ItemKey, Kind, Label, Project
from forgelore.net.client import Client, HttpAnswer
from forgelore.net.pages import Int64, OddValueError, read
from forgelore.ports.closing import ClosingFacts
from forgelore.ports.forge import Page, WriteRefused
from forgelore.records import QuotaLeft
from forgelore.text.dates import parse_ms
from forgelore.text.fence import storable

T = TypeVar("T")


# What GitHub sends, and Forgejo in its words; every field that one of them may leave out or null has a default.
class Account(Struct):
    id: Int64 | None = None
    login: str | None = None


class Named(Struct):
    name: str | None = None


class Titled(Struct):
    title: str | None = None


class ChangedFile(Struct):
    filename: str
    status: str | None = None
    previous_filename: str | None = None
    patch: str | None = None  # absent for binary files and for large ones


class Release(Struct):
    id: Int64
    tag_name: str | None = None
    name: str | None = None
    body: str | None = None
    author: Account | None = None
    created_at: str | None = None
    published_at: str | None = None
    updated_at: str | None = None
    html_url: str | None = None
    node_id: str | None = None
    draft: bool | None = False


class Repository(Struct):
    id: Int64
    full_name: str
    html_url: str | None = None
    default_branch: str | None = None
    description: str | None = None
    private: bool | None = None
    visibility: str | None = None
    internal: bool | None = False
    archived: bool | None = False
    has_issues: bool | None = True
    has_pull_requests: bool | None = True
    has_discussions: bool | None = False


def below(home: str | None, url: str | None, rest: str) -> str | None:
    """Return the page `rest` of the project whose pages are below `home`; the `url` itself when it is another server's.

    `https://host/acme/new`, `https://host/acme/old/issues/1`, `issues/1` -> `https://host/acme/new/issues/1`
    """
    if not home or not url or not rest or url.startswith(f"{home}/") or urlsplit(home)[:2] != urlsplit(url)[:2]:
        return url
    return f"{home}/{rest}"


class TokenAccess(NamedTuple):
    """Whether a token is sent, and what to do when it is refused or missing: where it is kept, how to get one."""

    has_token: bool
    advice: str


class AnswerChecker(ABC):
    """The client, with the words for what went wrong. `host` is what people call the server."""

    def __init__(self, client: Client, host: str, access: TokenAccess) -> None:
        self.client, self.host, self.access = client, host, access

    def rejected(self, what: str = "") -> AuthError:
        """Return what a 401 means."""
        did = "rejected the token" if self.access.has_token else "wants a token"
        return AuthError(f"{self.host} {did} (HTTP 401{what})", hint=self.access.advice, is_rejected=True)

    def checked(self, answer: HttpAnswer, what: str) -> HttpAnswer:
        """Return a good answer, or raise what the status means to a person."""
        if answer.status in (200, 304):
            return answer
        if answer.status == 451:
            raise _blocked(answer, self.host, what)
        raise self.refusal(answer, what)

    def first_answer(self, read_answer: Callable[[bytes], T], body: bytes) -> T:
        """Read what a run asks for first. JSON of another shape means that the server is not a forge of this kind."""
        try:
            return read_answer(body)
        except LostPage as error:
            raise LostPage(
                f"{self.host} does not answer like the API of this forge", hint="check the address of its API"
            ) from error

    @abstractmethod
    def refusal(self, answer: HttpAnswer, what: str) -> LoreError:
        """Return what a refused answer means."""


def _blocked(answer: HttpAnswer, host: str, what: str) -> AuthError:
    """Return what a 451 says: `{"message": "Repository access blocked", "block": {"reason": "dmca", "html_url": …}}`"""
    try:
        said = msgspec.json.decode(answer.body, type=dict[str, Any])
    except (msgspec.DecodeError, UnicodeDecodeError):
        said = {}
    block = said.get("block") if isinstance(said.get("block"), dict) else {}
    assert isinstance(block, dict)
    reason = str(block.get("reason") or said.get("message") or "no reason given")[:200]
    more = f"the notice: {block['html_url']}" if block.get("html_url") else "only its owner can do something about it"
    return AuthError(f"{host} blocks {what} for legal reasons (HTTP 451: {reason})", hint=more)


def as_refused_write(error: LoreError, status: int) -> LoreError:
    """Return what a refusal of a write means: what one item does not take, another may."""
    is_final = type(error) is ForgeError and 400 <= status < 500
    return WriteRefused(error.message, hint=error.hint) if is_final else error


def page_at_home(url: str | None, project: Project) -> str | None:
    """`https://host/owner/name/issues/1` of whatever name -> the same page of the project as it is called now."""
    parts = (url or "").split("/", 5)
    return below(project.url, url, parts[5] if len(parts) == 6 else "")


def checked_shape(read_stored: Callable[[], T]) -> T:
    """Return what a stored answer says. Raises OddValueError where it has a shape that no forge sent."""
    try:
        return read_stored()
    except (KeyError, TypeError, ValueError) as error:
        raise OddValueError(f"a stored answer has an unexpected shape: {error!r}", hint="please report this") from error


class LabelRow(Struct):
    """A label as every forge sends it."""

    name: str
    color: str | None = None
    description: str | None = None


_label = msgspec.json.Decoder(LabelRow)


def parse_label(raw: bytes) -> Label:
    label, _ = read(raw, _label)
    description = None if label.description is None else storable(label.description)
    return Label(storable(label.name), label.color, description)


def read_closing_events(
    events: Iterable[dict[str, Any]], *, kind: str, closed: str, reopened: str, by: str, login: str
) -> ClosingFacts:
    """Return who closed an item last, when, and when it was reopened last. The names of fields and kinds of events are
    each forge's own.
    """
    last: dict[str, dict[str, Any]] = {str(event.get(kind)): event for event in events}
    closing, reopening = last.get(closed, {}), last.get(reopened, {})
    user = closing.get(by)
    return ClosingFacts(
        closed_by=user.get(login) if isinstance(user, dict) else None,
        closed_at=parse_ms(closing.get("created_at")), reopened_at=parse_ms(reopening.get("created_at")),
    )  # fmt: skip


def is_last_word_approval(reviews: Iterable[dict[str, Any]]) -> bool:
    """Tell whether the last verdict of any reviewer of a change is an approval; rows as GitHub and Forgejo send them,
    oldest first.
    """
    last: dict[object, str] = {}
    for review in reviews:
        user, state = review.get("user"), str(review.get("state"))
        if state in ("APPROVED", "CHANGES_REQUESTED", "REQUEST_CHANGES", "DISMISSED"):
            is_dismissed = bool(review.get("dismissed"))
            last[user.get("login") if isinstance(user, dict) else None] = "DISMISSED" if is_dismissed else state
    return "APPROVED" in last.values()


# A diff may have ten megabytes; for comparing changes the first few thousand characters do. GitHub sends plain text,
# GitLab JSON rows with a file each: of a page that was left half-way, what came of its last row is used too.
BYTES_PER_CHAR = 4  # of UTF-8, at most


def first_chars(body: bytes, max_chars: int) -> str:
    """Return the beginning of a plain diff; "" when no file in it has lines (binary files, renames)."""
    return _with_lines(body.decode("utf-8", "replace"), max_chars)


def join_files(rows: list[dict[str, Any]], max_chars: int) -> str:
    """Return GitLab's rows as one plain diff, as GitHub would write it."""
    parts = []
    for row in rows:
        text, old, new = row.get("diff") or "", row.get("old_path") or "", row.get("new_path") or ""
        if row.get("too_large") or row.get("collapsed") or "@@" not in text:
            continue  # no lines in it: the path says all there is, and paths have a list of their own
        before = "/dev/null" if row.get("new_file") else f"a/{old}"
        after = "/dev/null" if row.get("deleted_file") else f"b/{new}"
        parts.append(f"diff --git a/{old} b/{new}\n--- {before}\n+++ {after}\n{text.rstrip()}\n")
    return _with_lines("".join(parts), max_chars)


def read_partial_rows(body: bytes) -> list[dict[str, Any]]:
    r"""Return the objects at the beginning of a JSON list that may end anywhere.

    b'[{"a": 1}, {"b": "x' -> [{"a": 1}, {"b": "x"}]
    """
    text = body.decode("utf-8", "ignore")
    reader, rows = json.JSONDecoder(), []
    position = text.find("{")
    while position >= 0:
        try:
            row, end = reader.raw_decode(text, position)
        except ValueError:
            row, end = _mended(text[position:]), len(text)
        if isinstance(row, dict):
            rows.append(row)
        position = text.find("{", end)
    return rows


def _mended(text: str) -> object:
    """Close an object that broke off: inside a value's text, else before its last member; None when neither helps."""
    tails = [text[: len(text) - cut] + '"}' for cut in range(7)]  # an escape has at most six characters: \u20ac
    for candidate in (*tails, text[: text.rfind(',"')] + "}"):
        try:
            return json.loads(candidate)
        except ValueError:
            continue
    return None


def _with_lines(text: str, max_chars: int) -> str:
    return storable(text[:max_chars]) if "\n@@" in text else ""


OVERLAP_MS = 5 * 60_000
DAY_MS = 86_400_000
WINDOW_DAYS = 14  # of the wider net, unless a setting says another number


def since(cursor: Cursor, now_ms: int, window_days: int) -> int | None:
    """Return the moment to read from, None for the beginning.

    `now_ms` is the forge's clock. Five minutes below the cursor always; `window_days` back when the last wide look is
    a day old.
    """
    if cursor.updated_at is None:
        return None
    start = min(cursor.updated_at, now_ms) - OVERLAP_MS
    if is_wide(cursor, now_ms):
        start = min(start, now_ms - window_days * DAY_MS)
    return max(start, 0)


def is_wide(cursor: Cursor, now_ms: int) -> bool:
    """True when the wider net is due. A look dated in the future was dated by another clock: due as well.

    A few minutes ahead are not the future: clocks are compared through answers that take their time.
    """
    if not cursor.is_complete:
        return False
    return cursor.swept_at is None or not -OVERLAP_MS <= now_ms - cursor.swept_at < DAY_MS


def looks_again(cursor: Cursor, now_ms: int) -> bool:
    """True when conversations are to be read again even where their item did not change.

    So it is in the wider net, and on a first walk: one after `--full` meets items it knows and distrusts all of them.
    """
    return not cursor.is_complete or is_wide(cursor, now_ms)


def distrusted_from(cursor: Cursor, now_ms: int, window_days: int) -> float:
    """Return the moment of an item's last change from which on its conversation is looked at again."""
    if not looks_again(cursor, now_ms):
        return math.inf
    return now_ms - window_days * DAY_MS if cursor.is_complete else 0


def advance(cursor: Cursor, updated_at: int | None, tie_id: int | None, *, is_last: bool, now_ms: int) -> Cursor:
    """Return the cursor after a page: it never moves back, and a finished walk remembers when it looked.

    It never passes the forge's clock either: behind a row dated 2031 nothing would be read until then.
    """
    position = (cursor.updated_at, cursor.tie_id)
    if updated_at is not None and (
        cursor.updated_at is None or (updated_at, tie_id or 0) > (position[0] or 0, position[1] or 0)
    ):
        position = (updated_at, tie_id)
    if position[0] is not None and position[0] > now_ms:
        position = (now_ms, None)
    looked = now_ms if is_last and (is_wide(cursor, now_ms) or not cursor.is_complete) else cursor.swept_at
    return Cursor(
        updated_at=position[0], tie_id=position[1], token=None, etag=cursor.etag, swept_at=looked,
        is_complete=cursor.is_complete or is_last,
    )  # fmt: skip


def full_list_end(cursor: Cursor, etags: list[str | None], now_ms: int) -> Cursor:
    """Return the cursor after a list that is read in full, with the ETag of each of its pages.

    The first page's says nothing of the others: it is kept only where there are none.
    """
    looked = now_ms if is_wide(cursor, now_ms) or not cursor.is_complete else cursor.swept_at
    return Cursor(etag=etags[0] if len(etags) == 1 else None, swept_at=looked, is_complete=True)


def full_list_page(resource: str, rows: list[Any], end: Cursor, warnings: list[str]) -> Page:
    """Return labels, members or releases as the page that ends their list."""
    if resource == "labels":
        return Page(cursor=end, labels=rows, warnings=warnings)
    if resource == "members":
        return Page(cursor=end, members=rows, warnings=warnings)
    seen = {item.key for item in rows}
    return Page(cursor=end, items=rows, seen=seen, seen_kinds=("release",), warnings=warnings)


class Sample:
    """Items of a page or two of a list, from which the others are estimated."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.items = list(items)

    def of_kind(self, kind: Kind) -> list[Item]:
        return [item for item in self.items if item.key.kind == kind]

    def mean(self, kind: Kind, measure: Callable[[Item], float]) -> float:
        """Return the mean over items of a kind; over all of them where it has none."""
        found = self.of_kind(kind) or self.items
        return sum(map(measure, found)) / len(found) if found else 0.0

    def total(self, missing: dict[Kind, int], measure: Callable[[Item], float]) -> float:
        return sum(number * self.mean(kind, measure) for kind, number in missing.items())


def body_chars(item: Item) -> int:
    return len(item.title) + len(item.body or "")


def pages_of(rows: float, size: int) -> int:
    return -(-int(rows) // size)


def in_batches(keys: Sequence[ItemKey], size: int) -> Iterator[list[ItemKey]]:
    return (list(keys[start : start + size]) for start in range(0, len(keys), size))


class MeteredForge:
    """`ForgeMeter` of ports, for every forge that talks through one client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def close(self) -> None:
        self._client.close()

    def requests(self) -> int:
        return self._client.requests

    def requests_left(self) -> int | None:
        return self._client.requests_left

    def let_wait(self, on_wait: Callable[[float, str], None] | None, max_wait_s: float) -> None:
        self._client.on_wait, self._client.max_wait_s = on_wait, max_wait_s

    def begin_run(self, down: Mapping[str, str], on_wait: Callable[[float, str], None]) -> None:
        self._client.breaker.begin_run(down)
        self._client.on_wait = on_wait

    def quotas(self) -> list[QuotaLeft]:
        return self._client.open_quotas()

    def down_endpoints(self) -> dict[str, str]:
        return self._client.breaker.down()

    def server_ms(self) -> int | None:
        return self._client.server_ms
