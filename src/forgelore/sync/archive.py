"""`import`: lines of a file into the store, some thousand at a time, each batch whole or not at all.

Reading a file twice writes nothing the second time. The format is `text/jsonl`.

`export`: a project as lines, sorted by number, notes by time: equal stores give equal bytes.

A thousand items at a time are in memory. The format is `text/jsonl`.

Files that are written whole or not at all: a reader never sees half of one.
"""

import contextlib
import errno
import gc
import gzip
import io
import itertools
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO, NamedTuple

from msgspec import Struct

from forgelore.errors import InvalidValue, LoreError, NotFound, Refused, Stopped, StoreError
from forgelore.model import Cursor, Item, ItemKey, Kind, Project, ProjectName, Thread
from forgelore.ports.forge import Page
from forgelore.store.database import Store
from forgelore.store.item_lists import (
    count_internal,
    load_files_of,
    load_labels_of,
    load_stated_links,
    load_threads,
    next_exported,
)
from forgelore.store.items import load_update_times_of, save_files, save_items
from forgelore.store.jobs import queue_jobs
from forgelore.store.notes import count_plain_comments, drop_threads, load_note_times, save_threads, sum_comment_counts
from forgelore.store.projects import StoredProject, save_project
from forgelore.store.sync import acquire_lock, finish_run, has_cursors, save_cursor, start_run, was_fetched
from forgelore.text.jsonl import Parsed, numbered_lines, parse_line, write_line
from forgelore.words import KINDS, JobKind

IMPORT_BATCH = 3000
MOST_UNKNOWN, MOST_CHARS = 100, 80  # keys to name, and characters of one


class BadLine(Struct, frozen=True):
    """A line that was skipped, and why."""

    number: int
    reason: str

    @staticmethod
    def json_key(name: str) -> str:
        return "line" if name == "number" else name


class ImportResult(Struct):
    """What an import did. `read` = `items` + `repeated` + bad lines; `written` counts items that are new or changed."""

    project: str
    read: int = 0
    items: int = 0
    repeated: int = 0
    written: int = 0
    notes: int = 0
    bad: list[BadLine] = []
    unknown: dict[str, int] = {}  # a key that means nothing here -> the first line that has it


class _Tally:
    """Which items a file has shown so far, and which of them were written: an item may come again, with other words."""

    def __init__(self) -> None:
        self._written: dict[Kind, dict[int, bool]] = {kind: {} for kind in KINDS}

    def is_new(self, key: ItemKey) -> bool:
        """True for an item that has not come before; from now on it has."""
        numbers = self._written[key.kind]
        if key.number in numbers:
            return False
        numbers[key.number] = False
        return True

    def count_written(self, keys: Iterable[ItemKey]) -> int:
        """Return how many of these are written for the first time."""
        count = 0
        for kind, number in keys:
            count += not self._written[kind][number]
            self._written[kind][number] = True
        return count


@contextlib.contextmanager
def open_source(path: str) -> Iterator[BinaryIO]:
    """Give the bytes of a plain or gzipped file, or of standard input for "-"."""
    if path == "-" and sys.stdin is None:
        raise InvalidValue("standard input is closed", hint="name a file, or pipe one in")
    try:
        raw = sys.stdin.buffer if path == "-" else open(path, "rb")  # noqa: SIM115 - closed below
    except FileNotFoundError as error:
        raise NotFound(f"file not found: {path}", hint="check the path; - reads standard input") from error
    except OSError as error:
        hint = "give a .jsonl or .jsonl.gz file"
        raise InvalidValue(f"{path} cannot be read: {error.strerror}", hint=hint) from error
    buffered: Any = raw if hasattr(raw, "peek") else io.BufferedReader(raw)
    with contextlib.ExitStack() as stack:
        if path != "-":
            stack.enter_context(buffered)
        is_zipped = buffered.peek(2)[:2] == b"\x1f\x8b"
        unzipped: Any = io.BufferedReader(gzip.GzipFile(fileobj=buffered), 1 << 18) if is_zipped else buffered
        yield unzipped


def import_lines(
    store: Store | Callable[[], Store], name: ProjectName, source: BinaryIO, now_ms: int, *, is_strict: bool = False,
    on_batch: Callable[[int], None] | None = None,
) -> ImportResult:  # fmt: skip
    """Read every line into the store and return what happened, bad lines with their numbers.

    A file without one good line changes nothing. `store` may be what makes a new one: it is called with the first
    good lines in hand.
    """
    result, tally = ImportResult(str(name)), _Tally()
    with _no_cycles():
        batches = _batches(_parsed(source, result, tally, is_strict=is_strict))
        first = next(batches, None)
        if first is not None:
            store = store if isinstance(store, Store) else store()
            _write(store, name, itertools.chain([first], batches), result, tally, now_ms, on_batch)
    return result


def _write(
    store: Store, name: ProjectName, batches: Iterable[list[Parsed]], result: ImportResult, tally: _Tally, now_ms: int,
    on_batch: Callable[[int], None] | None,
) -> None:  # fmt: skip
    with store.transaction():
        project = save_project(store, Project(name), now_ms)
        _refuse_a_synced_project(store, project)
    lock = acquire_lock(store, f"project {project.id}", now_ms, shown=str(project.name))
    run_id = start_run(store, project.id, "import", now_ms)
    result.project = str(project.name)
    error: BaseException | None = None
    try:
        with store.without_check_constraints():  # `parse_line` lets no other words through
            for batch in batches:
                with store.transaction():
                    lock.confirm(now_ms)
                    _save(store, project.id, batch, result, tally)
                if on_batch:
                    on_batch(result.read)
    except BaseException as caught:
        error = caught
        raise
    finally:
        _finish(store, run_id, now_ms, result, error)
        lock.release()


@contextlib.contextmanager
def _no_cycles() -> Iterator[None]:
    """Switch the cycle collector off inside: rows form no cycles, and looking for some takes 10 % of an import."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def _refuse_a_synced_project(store: Store, project: StoredProject) -> None:
    """What a forge said and what a file says of the same project cannot live in one place: notes would stand twice."""
    if project.forge_id is not None or has_cursors(store, project.id):
        hint = f"import under another name, for example {project.name.path.replace('/', '-')}-archive"
        raise Refused(f"{project.name} is synced from its forge; an import would mix with that data", hint=hint)


def _finish(store: Store, run_id: int, now_ms: int, result: ImportResult, error: BaseException | None) -> None:
    status = (
        "succeeded" if error is None else "interrupted" if isinstance(error, KeyboardInterrupt | Stopped) else "failed"
    )
    # A disk that just filled up refuses this row too; the first error is the one to tell.
    with contextlib.suppress(LoreError) if error else contextlib.nullcontext(), store.transaction():
        finish_run(
            store, run_id, now_ms, status=status, rows_written=result.written,
            summary={"read": result.read, "bad": len(result.bad)}, error_code=getattr(error, "code", None),
            error=getattr(error, "message", type(error).__name__) if error else None,
        )  # fmt: skip


def _parsed(source: BinaryIO, result: ImportResult, tally: _Tally, *, is_strict: bool) -> Iterator[Parsed]:
    for number, line in numbered_lines(source, hint="everything before that is saved; get a complete copy"):
        if not line or line.isspace():
            continue
        result.read += 1
        try:
            parsed = parse_line(line)
        except LoreError as error:
            if is_strict:
                hint = "fix the line (docs/import.md has the format); only a strict import stops at it"
                raise InvalidValue(f"line {number}: {error.message}", hint=hint) from error
            result.bad.append(BadLine(number, error.message))
            continue
        is_new = tally.is_new(parsed.item.key)
        result.items += is_new
        result.repeated += not is_new
        for key in parsed.unknown:
            if len(result.unknown) < MOST_UNKNOWN:
                result.unknown.setdefault(key[:MOST_CHARS], number)
        yield parsed


def _batches(rows: Iterable[Parsed]) -> Iterator[list[Parsed]]:
    batch: list[Parsed] = []
    try:
        for row in rows:
            batch.append(row)
            if len(batch) >= IMPORT_BATCH:
                yield batch
                batch = []
    except InvalidValue:
        if batch:  # the lines before a bad end are good
            yield batch
        raise
    if batch:
        yield batch


def _save(store: Store, project_id: int, batch: list[Parsed], result: ImportResult, tally: _Tally) -> None:
    """Save a batch. A line that changed is told by its hash; then everything below the item is written anew."""
    saved = save_items(store, project_id, [parsed.item for parsed in batch], keep_raw=False)
    result.written += tally.count_written((*saved.new, *saved.changed))
    by_key = {parsed.item.key: parsed for parsed in batch}  # of two lines with one key the last wins, as with the item
    drop_threads(store, [saved.ids[key] for key in saved.changed])
    touched = {key: saved.ids[key] for key in (*saved.new, *saved.changed)}
    threads = [thread for key in touched for thread in by_key[key].threads]
    result.notes += save_threads(store, project_id, threads, fresh=touched, keep_raw=False).written
    changed = set(saved.changed)
    for key, item_id in touched.items():
        if by_key[key].files or key in changed:
            save_files(store, project_id, item_id, by_key[key].files, None)


ALMOST = 0.9  # of all numbers, of all comments: the rest is found by comparing totals


class _Newest(Struct):
    """What an archive has shown: the newest item and the newest comment, and how much of all there is."""

    item_at: int = 0
    note_at: int = 0
    numbers: set[int] = set()


def import_pages(
    store: Store | Callable[[], Store], name: ProjectName, pages: Iterable[Page], lists: tuple[str, str], now_ms: int,
    *, result: ImportResult, on_batch: Callable[[int], None] | None = None,
) -> ImportResult:  # fmt: skip
    """Save what an archive of a forge says, as if the forge had said it; what is newer already stays. `result` grows,
    and has the bad lines. Where nearly everything is there, the next sync reads only what is newer.
    """
    batches = _page_batches(pages)
    first = next(batches, None)
    if first is None:
        return result
    store = store if isinstance(store, Store) else store()
    with store.transaction():
        project = save_project(store, Project(name), now_ms)
        if was_fetched(store, project.id):
            hint = "run forgelore sync: it brings what is newer, and an archive holds nothing else"
            raise Refused(f"{project.name} is synced already", hint=hint)
    lock = acquire_lock(store, f"project {project.id}", now_ms, shown=str(project.name))
    run_id = start_run(store, project.id, "import", now_ms)
    result.project, newest, error = str(project.name), _Newest(), None
    try:
        for batch in itertools.chain([first], batches):
            with store.transaction():
                lock.confirm(now_ms)
                _save_pages(store, project.id, batch, result, newest, now_ms)
            if on_batch:
                on_batch(result.read)
        with store.transaction():
            _move_cursors(store, project.id, lists, newest)
    except BaseException as caught:
        error = caught
        raise
    finally:
        _finish(store, run_id, now_ms, result, error)
        lock.release()
    return result


def _page_batches(pages: Iterable[Page]) -> Iterator[list[Page]]:
    pages = iter(pages)
    while batch := list(itertools.islice(pages, IMPORT_BATCH)):
        yield batch


def _save_pages(
    store: Store, project_id: int, batch: list[Page], result: ImportResult, newest: _Newest, now_ms: int
) -> None:
    """Save the newest state of each item and note in a batch, unless a newer one is stored."""
    items: dict[ItemKey, Item] = {}
    for item in (item for page in batch for item in page.items):
        if item.key not in items or (item.updated_at or 0) >= (items[item.key].updated_at or 0):
            items[item.key] = item
    known = dict(load_update_times_of(store, project_id, items))
    fresh = [item for key, item in items.items() if (item.updated_at or 0) >= known.get(key, 0)]
    saved = save_items(store, project_id, fresh)
    notes: dict[tuple[ItemKey, str], tuple[int, Thread]] = {}
    for thread in (thread for page in batch for thread in page.threads):
        place, updated_at = (thread.item, thread.notes[0].key), thread.notes[0].updated_at or 0
        if updated_at >= notes.get(place, (0, thread))[0]:
            notes[place] = (updated_at, thread)
    stored = load_note_times(store, project_id, {key for key, _ in notes})
    threads = [thread for place, (at, thread) in notes.items() if at >= stored.get(place, 0)]
    done = save_threads(store, project_id, threads)
    missing = {key for page in batch for key in page.missing if key not in items and key not in known}
    unknown = [f"{key.kind}:{key.number}" for key in {*missing, *done.unknown}]
    for kind in (JobKind.ITEM, JobKind.THREADS):
        queue_jobs(store, project_id, kind, unknown, now_ms)
    result.read += len(batch)
    result.written += len(saved.new) + len(saved.changed)
    result.items += len(saved.new)
    result.notes += done.written
    newest.item_at = max([newest.item_at, *(item.updated_at or 0 for item in fresh)])
    newest.note_at = max([newest.note_at, *(at for at, _ in notes.values())])
    newest.numbers |= {key.number for key in items if key.kind != "release"}


def _move_cursors(store: Store, project_id: int, lists: tuple[str, str], newest: _Newest) -> None:
    if not newest.numbers or len(newest.numbers) < ALMOST * max(newest.numbers):
        return
    save_cursor(store, project_id, lists[0], Cursor(newest.item_at, is_complete=True))
    counted = sum_comment_counts(store, project_id)
    if newest.note_at and count_plain_comments(store, project_id) >= ALMOST * counted:
        save_cursor(store, project_id, lists[1], Cursor(newest.note_at, is_complete=True))


# Full, over a quota, larger than allowed, broken, read-only: the machine's part of what can go wrong.
_MACHINE = {errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC), errno.EFBIG, errno.EIO, errno.EROFS}


def write_lines(stream: BinaryIO, lines: Iterable[bytes]) -> int:
    """Write every line and return how many there were."""
    count = 0
    for line in lines:
        stream.write(line)
        count += 1
    stream.flush()
    return count


@contextlib.contextmanager
def open_target(path: str) -> Iterator[BinaryIO]:
    """Open a file beside the target, which it replaces in the end. A device or pipe is written to as it is."""
    target = os.path.realpath(path)
    is_plain = os.path.isfile(target) or not os.path.exists(target)
    partial = f"{target}.part" if is_plain else target
    try:
        with open(partial, "wb") as file:
            yield file
        if is_plain:
            os.replace(partial, target)
    except BaseException as error:
        if is_plain and os.path.exists(partial):
            os.unlink(partial)
        if isinstance(error, OSError) and not isinstance(error, BrokenPipeError):
            raise _refusal(path, error) from error
        raise


def _refusal(path: str, error: OSError) -> LoreError:
    """Return whose fault it is: the machine's, or that of a path that nobody could write to."""
    message = f"cannot write {path}: {error.strerror}"
    if error.errno in _MACHINE:
        return StoreError(message, hint="free some space, or write elsewhere; no partial file was left")
    return InvalidValue(message, hint="check the folder and its permissions")


EXPORT_BATCH = 1000


class Exported(NamedTuple):
    """What an export wrote: items, one per line; and how many internal notes and confidential items it left out."""

    project: str
    items: int
    left_out: int


def export_file(store: Store, project: StoredProject, path: str) -> Exported:
    """Write a project to a file, whole or not at all. Raises InvalidValue or StoreError where that cannot be done."""
    with open_target(path) as stream:
        return export_to(store, project, stream)


def export_to(store: Store, project: StoredProject, stream: BinaryIO) -> Exported:
    """Write a project to an open stream."""
    count = write_lines(stream, export_lines(store, project))
    hidden = 0 if store.viewer.includes_internal else count_internal(store, project.id)
    return Exported(str(project.name), count, hidden)


def export_lines(store: Store, project: StoredProject) -> Iterator[bytes]:
    """Yield the items that the viewer of the store may see, as lines."""
    last: tuple[int, str] = (-1, "")
    while items := next_exported(store, project.id, last, EXPORT_BATCH):
        last = (items[-1].number, items[-1].kind)
        ids = [item.id for item in items]
        labels, files, links = load_labels_of(store, ids), load_files_of(store, ids), load_stated_links(store, ids)
        threads = load_threads(store, ids)
        for item in items:
            parts = (labels.get(item.id, ()), files.get(item.id, ()), threads.get(item.id, ()), links.get(item.id, ()))
            yield write_line(item.with_parts(*parts))
