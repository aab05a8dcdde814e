"""GitHub's history out of files: what others recorded, read as if GitHub had answered it.

    gharchive       GH Archive's hours, `2026-03-01-12.json.gz`: one public event of all of GitHub in a line; an issue
                    or a comment stands in it whole. https://www.gharchive.org
    github-backup   a folder of JSON files: what python-github-backup writes (an issue or pull request in a file, with
                    its comments as `comment_data`, `comment_regular_data` and `review_data`), and what
                    `gh api --paginate` prints (lists of issues, pulls or comments, one behind the other)

Since October 2025 events have no title and text of pull requests: of such a one only the number counts, and the next
sync asks for it.
"""

import gzip
import json
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from forgelore.errors import InvalidValue, LostPage, NotFound
from forgelore.forges.github import wire
from forgelore.forges.github.rest import review_thread
from forgelore.model import ItemKey, Kind, Thread
from forgelore.ports.forge import MissingPart, Page
from forgelore.words import JobKind

# The lists whose cursors move to the newest row where an archive has nearly all of it.
ITEMS, COMMENTS = "items", "comments"
OnBad = Callable[[str, int, str], None]  # a file, a line in it, and why it was skipped
_OF_PULLS = {"PullRequestEvent", "PullRequestReviewEvent", "PullRequestReviewCommentEvent"}
_EVENTS = {"IssuesEvent", "IssueCommentEvent", *_OF_PULLS}
_NESTED = ("comment_data", "comment_regular_data", "review_data", "event_data", "commit_data", "pull_details")


def read_events(paths: Iterable[str], project_path: str, on_bad: OnBad) -> Iterator[Page]:
    """Yield what the events of one project say, in the order of the files."""
    wanted = f'"{project_path}"'.lower().encode()
    for path in paths:
        for number, line in _lines(path, on_bad):
            if wanted not in line.lower():  # one of millions of projects: not worth decoding
                continue
            try:
                page = _read_event(json.loads(line), project_path)
            except _BROKEN as error:
                on_bad(path, number, f"not an event: {_reason(error)}")
            else:
                if page is not None:
                    yield page


# What a row that is not GitHub's may raise, however it is broken: numbers beyond all bounds, a million brackets.
_BROKEN = (ValueError, KeyError, TypeError, AttributeError, ArithmeticError, RecursionError, LostPage)
_DAMAGED = (gzip.BadGzipFile, zlib.error)
MAX_LINE = 32_000_000  # bytes; an event has a few thousand, and GitHub takes 65,536 characters for a text


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "nested too deeply"
    if isinstance(error, KeyError):
        return f"{error} is missing"
    if isinstance(error, TypeError | AttributeError):
        return "it has another shape"
    return error.message if isinstance(error, LostPage) else str(error)


def _lines(path: str, on_bad: OnBad) -> Iterator[tuple[int, bytes]]:
    number, ended = 0, True
    try:
        with _open(path) as file:
            while line := file.readline(MAX_LINE):
                begins, ended = ended, len(line) < MAX_LINE or line.endswith(b"\n")
                number += begins
                if begins and ended:
                    yield number, line
                elif begins:
                    on_bad(path, number, f"longer than {MAX_LINE // 1_000_000} MB")
    except EOFError:
        on_bad(path, number + 1, "the file ends unexpectedly; get a complete copy")
    except _DAMAGED as error:
        on_bad(path, number + 1, f"damaged: {error}; get a complete copy")


def _open(path: str) -> "gzip.GzipFile | BinaryIO":
    try:
        with open(path, "rb") as file:
            is_zipped = file.read(2) == b"\x1f\x8b"
        return gzip.open(path, "rb") if is_zipped else open(path, "rb")
    except FileNotFoundError as error:
        raise NotFound(f"file not found: {path}", hint="check the path") from error
    except OSError as error:
        raise InvalidValue(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error


def _read_event(event: dict[str, Any], project_path: str) -> Page | None:
    kind, payload = event["type"], event["payload"]
    if kind not in _EVENTS or event["repo"]["name"].lower() != project_path.lower():
        return None
    page = Page()
    item = payload["pull_request" if kind in _OF_PULLS else "issue"]
    key = _add_item(page, item, is_change=kind in _OF_PULLS or item.get("pull_request") is not None)
    if payload.get("action") != "deleted":
        for name in ("comment", "review"):
            if isinstance(payload.get(name), dict):
                _add_note(page, key, payload[name])
    return page


def _add_item(page: Page, row: dict[str, Any], *, is_change: bool) -> ItemKey:
    kind: Kind = "change" if is_change else "issue"
    key = ItemKey(kind, _number(row["number"]))
    if row.get("title") is None:
        page.missing[key] = MissingPart(JobKind.ITEM, "the archive has no more than its number")
        return key
    plain = {name: value for name, value in row.items() if name not in _NESTED}
    page.items.append(wire.parse_item(_dump(plain), is_change=is_change))
    return key


def _dump(row: dict[str, Any]) -> bytes:
    """Half of a character, escaped, is no text: it stays escaped, as in an answer of GitHub."""
    try:
        return wire.dump(row)
    except UnicodeEncodeError:
        return json.dumps(row).encode()


def _number(value: Any) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 53:
        return value
    raise ValueError("its number is not one")


def _add_note(page: Page, key: ItemKey, row: dict[str, Any]) -> None:
    raw = _dump(row)
    if "diff_hunk" in row or "pull_request_review_id" in row:
        found = wire.parse_review_comment(_dump({"pull_request_url": f"/pulls/{key.number}", **row}))
        found.number = key.number
        page.threads.append(review_thread(found))
    elif "submitted_at" in row:
        review = wire.parse_review(raw)
        page.threads += [Thread(key, "reviews", [review])] if review is not None else []
    elif "id" in row and "body" in row:
        found = wire.parse_comment(_dump({"issue_url": f"/issues/{key.number}", **row}))
        page.threads.append(Thread(key, "comments", [found.note]))


def read_backup(paths: Iterable[str], project_path: str, on_bad: OnBad) -> Iterator[Page]:
    """Yield what the JSON files of folders say: issues and changes first, then comments that stand by themselves."""
    del project_path
    files = sorted(file for path in paths for file in _json_files(path))
    kinds: dict[int, Kind] = {}
    for file in files:
        for page in _pages_of(file, _read_item, on_bad):
            kinds |= {item.key.number: item.key.kind for item in page.items}
            yield page
    for file in files:
        yield from _pages_of(file, lambda row: _read_loose_note(row, kinds), on_bad, is_second=True)


def _json_files(path: str) -> Iterator[str]:
    if os.path.isfile(path):
        yield path
        return
    if not os.path.isdir(path):
        raise NotFound(f"no such folder: {path}", hint="check the path")
    for folder, _, names in os.walk(path):
        yield from (os.path.join(folder, name) for name in names if name.endswith((".json", ".json.gz", ".jsonl")))


def _pages_of(
    path: str, read: Callable[[dict[str, Any]], Page | None], on_bad: OnBad, *, is_second: bool = False
) -> Iterator[Page]:
    """Yield what is read of each row. What keeps the whole file from being read is told the first time."""
    number = 0
    try:
        for number, row in enumerate(_rows(path), 1):
            try:
                page = read(row) if isinstance(row, dict) else None
            except _BROKEN as error:
                on_bad(path, number, f"not an answer of GitHub: {_reason(error)}")
            else:
                if page is not None:
                    yield page
    except (ValueError, EOFError, RecursionError, *_DAMAGED) as error:
        if not is_second:
            on_bad(path, number + 1, f"not JSON: {_reason(error)}")


def _rows(path: str) -> Iterator[Any]:
    """Yield each object of a file: it may hold one, a list of them, or several of either, one behind the other."""
    with _open(path) as file:
        text = file.read().decode("utf-8", "replace")
    reader, at = json.JSONDecoder(), 0
    while at < len(text):
        if text[at] in " \r\n\t\ufeff,":
            at += 1
            continue
        value, at = reader.raw_decode(text, at)
        yield from value if isinstance(value, list) else [value]


def _read_item(row: dict[str, Any]) -> Page | None:
    page = Page()
    if "tag_name" in row and "number" not in row:
        return Page(items=[wire.parse_release(_dump(row))])
    if "number" not in row or "title" not in row or "createdAt" in row or row.get("title") is None or "user" not in row:
        return None  # a label, a milestone, a discussion, a comment by itself
    is_change = row.get("pull_request") is not None or "head" in row
    key = _add_item(page, row, is_change=is_change)
    for name in _NESTED[:3]:
        for note in row.get(name) or ():
            _add_note(page, key, note)
    return page


def _read_loose_note(row: dict[str, Any], kinds: dict[int, Kind]) -> Page | None:
    """Return a comment that names its item by an address."""
    address = row.get("issue_url") or row.get("pull_request_url")
    if not address or "title" in row or "number" in row:
        return None
    number = _number(int(str(address).rpartition("/")[2]))
    page = Page()
    _add_note(page, ItemKey(kinds.get(number, "issue"), number), row)
    return page
