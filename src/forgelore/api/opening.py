"""`open`: a database that somebody else built, such as the index of a project's bot, taken here to be searched.

    OWNER/REPO@BRANCH     the branch on which the bot keeps its index
    https://…             a file that a server gives to everybody: a release asset, an artifact
    PATH                  such a file, or a checkout of the branch

What comes is untrusted: sums are checked, nothing is unpacked beyond a limit, and a database whose tables are not those
of this program, or that holds something that acts (triggers, views), is refused. It replaces what was opened under the
same name before, whole or not at all, and is marked read-only: the next `open` would overwrite every change.
"""

import gzip
import os
import shutil
import tempfile
from collections.abc import Iterator
from typing import NamedTuple

from forgelore.app import App
from forgelore.config import data_folder
from forgelore.errors import CorruptStore, InvalidValue, NotFound, StoreError
from forgelore.profiles import NAMING
from forgelore.store.item_lists import count_live
from forgelore.store.packing import MAX_PLAIN, DamagedPack, join, unpack
from forgelore.store.projects import list_projects
from forgelore.store.sqlite.schema import find_gaps, flush_log, load_schema, open_store
from forgelore.text.values import check_filled
from forgelore.triage.index import HEAD_FILE, INDEX_FILE, INDEX_FILES, read_index
from forgelore.triage.intake import KINDS

_PACKED, _SQLITE, _GZIP = b"\x93LORE", b"SQLite format 3\0", b"\x1f\x8b"
_BLOCK = 1 << 20


class OpenedIndex(NamedTuple):
    """A database that was taken here: where it lies, whose projects it holds, and how many issues and changes."""

    path: str
    source: str
    projects: tuple[str, ...]
    items: int


def open_index(app: App, source: str, *, to: str | None = None) -> OpenedIndex:
    """Take a database here and return where it lies. Raises CorruptStore for what is not one of ours, NewerStore."""
    source = check_filled("the source", source)
    path = os.path.abspath(to) if to else os.path.join(data_folder(app.environ), "opened", f"{_name_of(source)}.db")
    if os.path.exists(path) and os.stat(path).st_mode & 0o222:  # what was opened before is read-only
        raise StoreError(f"{path} exists, and `open` did not make it", hint="choose another file, or delete that one")
    os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(path), prefix="opening-") as scratch:
        plain = os.path.join(scratch, "index.db")
        try:
            _fetch(app, source, scratch, plain)
        except DamagedPack as error:
            raise CorruptStore(f"{source} cannot be opened: {error}", hint="ask whoever made it") from error
        projects, items = _look_into(app, plain, source)
        os.chmod(plain, 0o444)
        _replace(plain, path)
    return OpenedIndex(path, source, projects, items)


def _name_of(source: str) -> str:
    """`acme/web@triage-index` -> `acme-web-triage-index`."""
    kept = "".join(letter if letter.isalnum() or letter in "._-" else "-" for letter in source.rpartition("://")[2])
    return kept.strip("-.")[-100:] or "index"


def _fetch(app: App, source: str, scratch: str, plain: str) -> None:
    """Write the database of a source to `plain`."""
    if os.path.isdir(source):
        _join_checkout(source, plain)
    elif os.path.exists(source):
        _unpack_file(source, plain, scratch)
    elif source.startswith(("https://", "http://")):
        fetched = os.path.join(scratch, "fetched")
        app.download(source, fetched, max_bytes=MAX_PLAIN)
        _unpack_file(fetched, plain, scratch)
    elif "@" in source:
        name, _, branch = source.rpartition("@")
        _pull(app, name, branch, scratch, plain)
    else:
        hint = "write OWNER/REPO@triage-index, a URL, or the path of a file"
        raise InvalidValue(f"nothing to open at {source!r}", hint=hint)


def _pull(app: App, text: str, branch: str, scratch: str, plain: str) -> None:
    name = app.parse_project(text)
    if not name.path:
        raise InvalidValue(f"{text!r} is not a project", hint=NAMING)
    pulled = app.index_branch(name, branch, folder=os.path.join(scratch, "git"), marks=INDEX_FILES).pull()
    if pulled is None:
        hint = "the bot makes it with its first run (docs/triage/README.md)"
        raise NotFound(f"{name} has no branch {branch}", hint=hint)
    read_index(pulled.files, pulled, plain)


def _join_checkout(folder: str, plain: str) -> None:
    head, packed = (os.path.join(folder, name) for name in (HEAD_FILE, INDEX_FILE))
    if not os.path.exists(head):
        if not os.path.exists(packed):
            raise DamagedPack(f"it has no {HEAD_FILE}")
        unpack(packed, plain)
        return
    with open(head, "rb") as file:
        join(file.read(1_000), _each_part(os.path.join(folder, "parts")), plain)


def _each_part(folder: str) -> Iterator[bytes]:
    for outer in sorted(os.listdir(folder)) if os.path.isdir(folder) else ():
        for inner in sorted(os.listdir(os.path.join(folder, outer))):
            with open(os.path.join(folder, outer, inner), "rb") as file:
                yield file.read(_BLOCK)


def _unpack_file(path: str, plain: str, scratch: str) -> None:
    with open(path, "rb") as file:
        start = file.read(16)
    if start.startswith(_GZIP):
        inflated = os.path.join(scratch, "inflated")
        _gunzip(path, inflated)
        return _unpack_file(inflated, plain, scratch)
    if start.startswith(_SQLITE):
        shutil.copyfile(path, plain)
        return None
    return unpack(path, plain)


def _gunzip(path: str, path_out: str) -> None:
    size = 0
    try:
        with gzip.open(path) as packed, open(path_out, "wb") as out:
            while block := packed.read(_BLOCK):
                size += len(block)
                if size > MAX_PLAIN:
                    raise DamagedPack(f"it would unpack to more than {MAX_PLAIN:,} bytes")
                if out.tell() == 0 and block.startswith(_GZIP):
                    raise DamagedPack("it is packed twice")
                out.write(block)
    except (OSError, EOFError) as error:
        raise DamagedPack(f"it is cut off or damaged: {error}") from error


def _look_into(app: App, plain: str, source: str) -> tuple[tuple[str, ...], int]:
    """Return the projects and the number of issues and changes, after bringing the tables up to this version."""
    store = open_store(plain, create=False, now_ms=app.now_ms)
    try:
        strange = [name for _, name in find_gaps(store)]
        strange += [name for name, entry in load_schema(store).items() if entry.type == "view"]
        if strange:
            named = ", ".join(sorted(strange)[:3])
            raise CorruptStore(f"{source} is not a database of forgelore: {named}", hint="ask whoever made it")
        flush_log(store)
        projects = list_projects(store)
        items = sum(count_live(store, project.id, kind) for project in projects for kind in KINDS)
        return tuple(str(project.name) for project in projects), items
    finally:
        store.close()


def _replace(plain: str, path: str) -> None:
    for end in ("-wal", "-shm"):
        if os.path.exists(path + end):
            os.unlink(path + end)
    os.replace(plain, path)
