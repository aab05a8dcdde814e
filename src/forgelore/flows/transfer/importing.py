"""`import`: lines of a file into the store, some thousand at a time, each batch whole or not at all.

Reading a file twice writes nothing the second time. The format is `core/jsonl`.
"""

import contextlib
import gc
import gzip
import io
import itertools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, BinaryIO

from msgspec import Struct

from forgelore.core.jsonl import Parsed, numbered_lines, parse_line
from forgelore.errors import InvalidValue, LoreError, NotFound, Refused
from forgelore.model import ItemKey, Kind, Project, ProjectName
from forgelore.store.db import Store
from forgelore.store.items import save_files, save_items
from forgelore.store.project_rows import save_project
from forgelore.store.projects import StoredProject
from forgelore.store.sync_history import has_cursors
from forgelore.store.sync_state import acquire_lock, finish_run, start_run
from forgelore.store.threads import drop_threads, save_threads
from forgelore.words import KINDS

BATCH = 3000
MOST_UNKNOWN, MOST_CHARS = 100, 80  # keys to name, and characters of one


class BadLine(Struct, frozen=True):
    """A line that was skipped, and why."""

    number: int
    reason: str


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
        raise NotFound(f"there is no file {path}", hint="check the path; - reads standard input") from error
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
        with store.trusted_words():  # `parse_line` lets no other words through
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
        raise Refused(f"{project.name} is synced from its forge; an import would mix with it", hint=hint)


def _finish(store: Store, run_id: int, now_ms: int, result: ImportResult, error: BaseException | None) -> None:
    status = "succeeded" if error is None else "interrupted" if isinstance(error, KeyboardInterrupt) else "failed"
    # A disk that just filled up refuses this row too; the first error is the one to tell.
    with contextlib.suppress(LoreError) if error else contextlib.nullcontext(), store.transaction():
        finish_run(
            store, run_id, now_ms, status=status, rows_written=result.written,
            summary={"read": result.read, "bad": len(result.bad)}, error_code=getattr(error, "code", None),
            error=getattr(error, "message", type(error).__name__) if error else None,
        )  # fmt: skip


def _parsed(source: BinaryIO, result: ImportResult, tally: _Tally, *, is_strict: bool) -> Iterator[Parsed]:
    for number, line in numbered_lines(source, hint="what came before is saved; get a whole copy"):
        if not line or line.isspace():
            continue
        result.read += 1
        try:
            parsed = parse_line(line)
        except LoreError as error:
            if is_strict:
                hint = "mend the line (docs/import.md has the format); only a strict import stops at it"
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
            if len(batch) >= BATCH:
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
