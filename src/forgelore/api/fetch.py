"""Fetching through the facade: a sync, an import or a replay of one project, and the update of its index."""

import math
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from msgspec import Struct

from forgelore.api.index import IndexParts, UpdatedIndex, build_waiting, index_meanwhile, refresh_index
from forgelore.app import App
from forgelore.browse.refs import parse_kind
from forgelore.errors import AuthError, ConfigError, ForgeError, InvalidValue, NotFound, RateLimited, UsageError
from forgelore.ports.progress import Watcher
from forgelore.profiles import DEFAULT, NAMING, PATTERNS
from forgelore.store.projects import StoredProject, find_project, list_projects
from forgelore.sync.archive import BadLine, ImportResult, import_lines, import_pages, open_source
from forgelore.sync.replay import replay_project
from forgelore.sync.run import SyncOptions, SyncResult, sync_project
from forgelore.text.refs import is_pattern, without_userinfo
from forgelore.text.values import check_filled
from forgelore.words import ProjectName


class SyncedProject(Struct, frozen=True):
    """What a sync did: rows `written` by kind; `documents` and `vectors` are null for what was left out."""

    result: SyncResult
    index: UpdatedIndex

    @staticmethod
    def json_key(_name: str) -> str:
        return "*"


class ImportedFile(Struct, frozen=True):
    """What an import brought, and what the index made of it."""

    result: ImportResult
    index: UpdatedIndex


class ReplayedProject(Struct, frozen=True):
    """What was read again from stored answers, in items: rows that were mended, and those of which an answer is missing
    or unreadable. `is_project_restored`: the project's own row was mended.
    """

    project: str
    read: int
    restored: int
    incomplete: int
    is_project_restored: bool
    index: UpdatedIndex

    @staticmethod
    def json_key(name: str) -> str:
        return "*" if name == "index" else name


def name_on_forge(app: App, project: str | ProjectName) -> ProjectName:
    """Return the one project on a forge that is meant."""
    if isinstance(project, ProjectName):
        return project
    if is_pattern(project):
        raise InvalidValue(f"{project!r} matches several projects", hint="sync each of names_to_sync")
    return next(iter(names_to_sync(app, [check_filled("the project's name", project)])))


def sync(
    app: App, project: str | ProjectName, *, full: bool, force: bool, wait: bool, kinds: Sequence[str],
    index: IndexParts, watcher: Watcher | None,
) -> SyncedProject:  # fmt: skip
    """Fetch what is new and update the index. What came before a failure is kept, and can be found: what the index has
    to say of it is noted on the error.
    """
    name, watcher = name_on_forge(app, project), app.watch(watcher)
    forge = app.forge(name, on_wait=watcher.waiting, max_wait_s=math.inf if wait else None)
    store = app.whole_store(create=True) if app.has_store else partial(app.whole_store, create=True)
    options = _options(app, [parse_kind(word) for word in kinds], full=full, force=force)
    indexer = _Indexer(app, index)
    try:
        result = sync_project(
            store, forge, name, options, watcher=watcher, now_ms=app.now_ms, stop=app.stop,
            make_searchable=indexer.make_searchable,
        )  # fmt: skip
    except (ForgeError, AuthError, NotFound, RateLimited) as error:
        for warning in indexer.done.warnings:
            error.add_note(warning)
        raise
    return SyncedProject(result, indexer.done)


class _Indexer:
    """Makes what a sync saves searchable while it goes on. `done`: what all of it came to."""

    def __init__(self, app: App, parts: IndexParts) -> None:
        self._app, self._parts, self._parts_meanwhile = app, parts, parts
        self.done = UpdatedIndex()

    def make_searchable(self, project_id: int, watcher: Watcher, is_last: bool) -> int:  # noqa: FBT001 - MakeSearchable
        if is_last:
            found = build_waiting(self._app, [project_id], self._parts, watcher)
        elif self._parts == "none":
            return 0
        else:
            found = index_meanwhile(self._app, [project_id], self._parts_meanwhile)
            if found.vectors is None:  # its embedder does not work now: the end of the sync tries again, and says so
                self._parts_meanwhile = "documents"
        written = found.documents.total_written if found.documents else 0
        self.done = found.after(self.done)
        return written


def refresh(
    app: App, project: StoredProject, *, known: bool, since: int | None, force: bool, index: IndexParts,
    watcher: Watcher | None,
) -> SyncedProject:  # fmt: skip
    """Fetch the issues and changes of a stored project that are new, or those that changed as well."""
    watcher = app.watch(watcher)
    forge = app.forge(project.name, on_wait=watcher.waiting)
    options = SyncOptions(
        force=force, kinds=("issue", "change"), workers=app.config.workers, command="refresh", new_only=not known,
        since=since,
    )  # fmt: skip
    indexer = _Indexer(app, index)
    result = sync_project(
        app.whole_store(create=True), forge, project.name, options, watcher=watcher, now_ms=app.now_ms, stop=app.stop,
        make_searchable=indexer.make_searchable,
    )  # fmt: skip
    return SyncedProject(result, indexer.done)


def _options(app: App, kinds: list[str], *, full: bool, force: bool) -> SyncOptions:
    """Return the options, with what the run is called in `sync-status`."""
    command = f"ingest {', '.join(kinds)}" if kinds else "sync --full" if full else "sync"
    return SyncOptions(full=full, force=force, kinds=tuple(kinds), workers=app.config.workers, command=command)


def import_file(
    app: App, path: str, project: str, *, strict: bool, index: IndexParts, on_batch: Callable[[int], None] | None,
    watcher: Watcher | None,
) -> ImportedFile:  # fmt: skip
    """Read a file into the store and update the index."""
    if is_pattern(project):
        raise UsageError("no project named", hint="for example: acme/tracker")
    name = app.parse_project(check_filled("the project's name", project))
    with open_source(path) as source:
        store = partial(app.whole_store, create=True)
        result = import_lines(store, name, source, app.now_ms(), is_strict=strict, on_batch=on_batch)
    return ImportedFile(result, _update(app, name, index, watcher) if result.items else UpdatedIndex())


def import_archive(
    app: App, paths: Sequence[str], project: str, *, kind: str, index: IndexParts,
    on_batch: Callable[[int], None] | None, watcher: Watcher | None,
) -> ImportedFile:  # fmt: skip
    """Read files that others recorded of a forge into the store, and update the index."""
    if is_pattern(project):
        raise UsageError("no project named", hint="for example: acme/tracker")
    name = app.parse_project(check_filled("the project's name", project))
    reader, result = app.archive_reader(kind), ImportResult(str(name))
    if name.forge != reader.forge:
        raise UsageError(f"a {kind} archive has no projects of {name.host}", hint="name the project that it contains")

    def skip(path: str, line: int, reason: str) -> None:
        result.bad.append(BadLine(line, f"{path}: {reason}"))

    pages, store = reader.pages(paths, name.path, skip), partial(app.whole_store, create=True)
    import_pages(store, name, pages, reader.lists, app.now_ms(), result=result, on_batch=on_batch)
    return ImportedFile(result, _update(app, name, index, watcher) if result.written else UpdatedIndex())


def replay(
    app: App, project: StoredProject, *, kinds: Sequence[str], force: bool, index: IndexParts, watcher: Watcher | None
) -> ReplayedProject:
    """Read the stored answers of a project again and update the index."""
    done = replay_project(
        app.whole_store(), app.payload_reader(project.name), project,
        kinds=tuple(dict.fromkeys(parse_kind(word) for word in kinds)), force=force,
        watcher=app.watch(watcher), should_stop=app.stop.is_set, now=app.now_ms,
    )  # fmt: skip
    updated = refresh_index(app, [project.id], index, watcher)
    return ReplayedProject(
        str(project.name), done.read, len(done.restored), len(done.incomplete), done.is_project_restored, updated
    )


def _update(app: App, name: ProjectName, index: IndexParts, watcher: Watcher | None) -> UpdatedIndex:
    if index == "none":
        return UpdatedIndex()
    project = find_project(app.whole_store(), name)
    return refresh_index(app, [project.id] if project else [], index, watcher)


def names_to_sync(
    app: App, texts: list[str], on_wait: Callable[[float, str], None] | None = None
) -> Iterator[ProjectName]:
    """Yield each project meant by the command line, the settings, the clone, or what was synced before."""
    config = app.config
    remote = app.clone_remote() if not texts and not config.projects else None
    texts = texts or list(config.projects) or ([remote] if remote else [])
    if not texts and app.is_created:
        texts = [str(project.name) for project in list_projects(app.store()) if project.name.forge != "local"]
    if not texts:
        raise ConfigError("no project to sync", hint="name one: forgelore sync owner/repo; or run: forgelore init")
    for text in map(without_userinfo, texts):
        if is_pattern(text):
            yield from _expand(app, text, on_wait)
        else:
            yield _name_of_remote(app, text)


def _name_of_remote(app: App, text: str) -> ProjectName:
    name = app.parse_project(text)
    if name.forge == "local":
        raise InvalidValue(f"{text!r} is not on a forge", hint=f"write {NAMING} or a URL")
    return name


def _expand(app: App, pattern: str, on_wait: Callable[[float, str], None] | None) -> Iterator[ProjectName]:
    """`owner/*` and `gitlab:group/**`: ask the forge which projects there are."""
    deep = pattern.endswith("/**")
    owner = pattern.removesuffix("/**").removesuffix("/*")
    if "*" in owner:
        raise InvalidValue(f"{pattern!r}: * is allowed only at the end", hint=f"write {PATTERNS}")
    is_short = ":" not in owner and "/" not in owner
    name = ProjectName(DEFAULT.name, app.hosts.of(DEFAULT.name), owner) if is_short else app.parse_project(owner)
    yield from app.forge(name, on_wait=on_wait).list_projects(name.path, deep=deep)
