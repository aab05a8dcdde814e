"""`history.index`: documents, then vectors; files and commits of a clone; stats, check and repair.

Without a project: of all.
"""

import os
from functools import partial
from typing import TYPE_CHECKING, Literal, NamedTuple

from msgspec import Struct, field

from forgelore.app import App
from forgelore.context import JobContext
from forgelore.errors import ConfigError, EmbedderError, InvalidValue, LoreError
from forgelore.index.code import IndexedCommits, IndexedFiles, index_commits, index_files
from forgelore.index.update import (
    Indexed,
    IndexUpdate,
    count_indexed,
    count_types,
    index_items,
    reindex_items,
    update_index,
)
from forgelore.index.vectors import Embedded, embed_documents
from forgelore.model import Project
from forgelore.ports.clone import Clone
from forgelore.ports.embedder import Embedder
from forgelore.ports.progress import Watcher
from forgelore.store.calibration import list_learned
from forgelore.store.code import save_clone_folder
from forgelore.store.projects import save_project
from forgelore.text.values import check_filled
from forgelore.viewer import EVERYTHING
from forgelore.words import JobKind, ProjectName

if TYPE_CHECKING:
    from forgelore.index.check import CheckRequest
    from forgelore.index.findings import Checked, Repaired
    from forgelore.index.stats import IndexStats

DEPTH = 200  # commits of a copy that is fetched
IndexParts = Literal["all", "documents", "none"]  # vectors are made from documents: none without them


class UpdatedIndex(NamedTuple):
    """What an update of the index did; None for what was left out. `warnings`: what still waits, and why."""

    documents: Indexed | None = None
    vectors: Embedded | None = None
    warnings: tuple[str, ...] = ()

    def after(self, earlier: "UpdatedIndex") -> "UpdatedIndex":
        """Return what both did; what waits is what waits now."""
        if self.documents is not None and earlier.documents is not None:
            self.documents.add_earlier(earlier.documents)
        if self.vectors is not None and earlier.vectors is not None:
            self.vectors.embedded += earlier.vectors.embedded
        return self

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name == "warnings" else name


class BuiltDocuments(Indexed):
    """What building did; and how many documents there are now, how many of these were cut for length, and how many
    there are of each type.
    """

    total: int = 0
    truncated: int = 0
    by_type: dict[str, int] = field(default_factory=dict)


class IndexedCode(Struct, frozen=True):
    """What an indexing of code did. `commits`: None where they were left out."""

    project: str
    folder: str
    is_shallow: bool
    files: IndexedFiles
    commits: IndexedCommits | None
    warnings: tuple[str, ...] = ()


class Index:
    """What search stands on."""

    def __init__(self, app: App) -> None:
        self._app = app

    def update(
        self, project: str | None = None, *, index: IndexParts = "all", watcher: Watcher | None = None
    ) -> UpdatedIndex:
        """Build the documents and vectors that wait, of a project or of all."""
        return refresh_index(self._app, self._app.project_ids(project), index, watcher)

    def build_documents(
        self, project: str | None = None, *, full: bool = False, watcher: Watcher | None = None
    ) -> BuiltDocuments:
        """Build the documents that wait, or all of them again."""
        app, projects = self._app, self._app.project_ids(project)
        store, build = app.whole_store(), reindex_items if full else index_items
        done = build(store, projects, watcher=app.watch(watcher), should_stop=app.stop.is_set, now_ms=app.now_ms)
        total, truncated = count_indexed(store, projects)
        return BuiltDocuments(
            done.new, done.changed, done.unchanged, done.removed, done.failed, total, truncated,
            count_types(store, projects),
        )  # fmt: skip

    def embed(
        self, project: str | None = None, *, full: bool = False, retry: bool = False, embedder: str | None = None,
        watcher: Watcher | None = None,
    ) -> Embedded:  # fmt: skip
        """Make the vectors that are missing; only those that failed before, or all of them again. Raises ConfigError
        without an embedder.
        """
        app, projects, watcher = self._app, self._app.project_ids(project), self._app.watch(watcher)
        store, chosen = app.whole_store(), app.embedder(embedder, on_wait=watcher.waiting)
        if chosen is None:
            hint = "choose one: forgelore embed --embedder lore"
            raise ConfigError("embedding is switched off (embedder = none)", hint=hint)
        done = embed_documents(
            store, chosen, projects, is_retry=retry, is_full=full, has_file=True, watcher=watcher,
            should_stop=app.stop.is_set, now_ms=app.now_ms,
        )  # fmt: skip
        _embed_beside(app, projects, done, embedder or app.config.embedder, watcher, full=full)
        return done

    def code(
        self, path: str = "", *, project: str | None = None, fetch: bool = False, depth: int | None = None,
        with_commits: bool = True, watcher: Watcher | None = None,
    ) -> IndexedCode:  # fmt: skip
        """Bring the files and commits of a project up to date: from the clone at a path, from the one that the working
        folder is in, or, where a project is named, from a shallow copy that is fetched. The file is made when needed.
        """
        app, watcher, depth = self._app, self._app.watch(watcher), DEPTH if depth is None else depth
        if not 1 <= depth <= 1_000_000:
            raise InvalidValue(f"a depth of {depth} is out of range", hint="use 1 to 1,000,000")
        name, clone = _find_clone(app, path, project, depth=depth, fetch=fetch)
        head = clone.find_head()
        store = app.whole_store(create=True)
        with store.transaction():
            stored = save_project(store, Project(name), app.now_ms())
        if head is None:
            said = f"{clone.folder} has no commits yet: nothing was indexed"
            return IndexedCode(str(name), clone.folder, clone.is_shallow, IndexedFiles(), None, (said,))
        job = JobContext(store, stored, app.now_ms, watcher, app.stop.is_set)
        files = index_files(job, clone, head, max_bytes=app.config.code_max_kb * 1000)
        commits = index_commits(job, clone, head) if with_commits else None
        with store.transaction():
            save_clone_folder(store, stored.id, clone.folder)
        return IndexedCode(
            str(stored.name), clone.folder, clone.is_shallow, files, commits, _warn_of_clone(clone, files, commits)
        )

    def count_waiting(self, project: str | None = None) -> int:
        """Return how many items wait for their documents."""
        from forgelore.store.jobs import count_waiting

        return count_waiting(self._app.store(), JobKind.DOCUMENT, self._app.project_ids(project))

    def stats(self, project: str | None = None) -> "IndexStats":
        """Return how much is in the index, of one project or of all, and what waits."""
        from forgelore.index.stats import load_stats

        chosen = self._app.named_project(project)
        project_id = chosen.id if chosen else None
        return load_stats(self._app.store(), project_id=project_id)

    def check(self, *, sample: int | None = None, watcher: Watcher | None = None) -> "Checked":
        """Compare everything in the file with what it is made from, and return what is wrong. `sample`: how many
        documents are searched for by their words and embedded again; 200 where nothing is said.
        """
        from forgelore.index.check import check_store

        self._app.check_internal("every row of the file, which a check reads")
        return check_store(self._app.store(), make_check(self._app, sample, watcher))

    def repair(self, *, sample: int | None = None, watcher: Watcher | None = None) -> "Repaired":
        """Make again what can be made again, and return what was mended and what a check says now."""
        from forgelore.index.repair import repair_store

        self._app.check_internal("every row of the file, which a repair reads")
        return repair_store(self._app.store(), make_check(self._app, sample, watcher))


def refresh_index(app: App, projects: list[int], parts: IndexParts, watcher: Watcher | None) -> UpdatedIndex:
    """Build what waits. An embedder that is missing or fails is a warning: words find everything without it. What an
    earlier version of the ranking has learned of the projects is learned anew.
    """
    return build_waiting(app, projects, parts, app.watch(watcher))


def build_waiting(app: App, projects: list[int], parts: IndexParts, watcher: Watcher) -> UpdatedIndex:
    """Do the same, for a watcher who tells the task himself."""
    if parts == "none":
        return UpdatedIndex()
    done = update_index(
        app.whole_store(), projects, partial(_wanted_embedder, app, parts, watcher), has_file=True, watcher=watcher,
        should_stop=app.stop.is_set, now_ms=app.now_ms,
    )  # fmt: skip
    vectors, beside = _embed_beside(app, projects, done.vectors, app.config.embedder, watcher)
    # Most projects have learned nothing: then what ranks is not even loaded.
    learned = [project_id for project_id in projects if list_learned(app.whole_store(), project_id)]
    recalibrated = _recalibrate(app, learned, watcher) if learned else []
    return UpdatedIndex(done.documents, vectors, (*_warnings(done), *beside, *recalibrated))


def index_meanwhile(app: App, projects: list[int], parts: IndexParts) -> UpdatedIndex:
    """Build what waits while more is on its way: the rest of the work, and what went wrong, is for the end."""
    done = update_index(
        app.whole_store(), projects, partial(_wanted_embedder, app, parts, Watcher()), should_stop=app.stop.is_set,
        now_ms=app.now_ms,
    )  # fmt: skip
    return UpdatedIndex(done.documents, done.vectors)


def _recalibrate(app: App, projects: list[int], watcher: Watcher) -> list[str]:
    from forgelore.api.find import make_retriever
    from forgelore.compare.calibrate import recalibrate

    return recalibrate(
        app.whole_store(), projects, lambda: make_retriever(app, app.config.embedder).seen_by(EVERYTHING),
        watcher=watcher, should_stop=app.stop.is_set, now_ms=app.now_ms,
    )  # fmt: skip


def _embed_beside(
    app: App, projects: list[int], done: Embedded | None, name: str, watcher: Watcher | None, *, full: bool = False
) -> tuple[Embedded | None, tuple[str, ...]]:
    """Make the second vectors, once the first are there. They may wait: a failure is a warning."""
    from forgelore.index.vectors import embed_items, forget_items

    if done is None:
        return None, ()
    store, second = app.whole_store(), app.second_embedder(name)
    try:
        if not app.wants_second(name):
            done.dropped += forget_items(store)
        if second is not None:
            if full:
                forget_items(store, projects)
            done.second = embed_items(store, second, projects, watcher=watcher, should_stop=app.stop.is_set)
    except EmbedderError as error:
        return done, (f"vectors of {app.config.second_embedder} are pending: {error.message}",)
    return done, ()


def _wanted_embedder(app: App, parts: IndexParts, watcher: Watcher) -> Embedder | None:
    return app.embedder(on_wait=watcher.waiting) if parts == "all" else None


def _warnings(done: IndexUpdate) -> tuple[str, ...]:
    found = []
    if done.documents.failed:
        found.append(f"{done.documents.failed:,} items could not be indexed and will be retried (see forgelore stats)")
    if done.failure and done.waiting:
        found.append(f"{done.waiting:,} vectors are pending: {done.failure.message}; run: forgelore embed")
    if done.vectors and done.vectors.failed:
        found.append(f"{done.vectors.failed:,} documents have no vector yet and will be retried (see forgelore stats)")
    return tuple(found)


def make_check(app: App, sample: int | None, watcher: Watcher | None) -> "CheckRequest":
    """Return what a check may use. Without an embedder, the rest is checked all the same."""
    from forgelore.index.check import SAMPLE, CheckRequest

    sample = SAMPLE if sample is None else sample
    embedder, reason = _find_embedder(app, sample)
    second = app.second_embedder(app.config.embedder) if sample else None
    return CheckRequest(embedder, second, reason, app.payload_reader, sample, app.watch(watcher), app.now_ms)


def _find_embedder(app: App, sample: int) -> tuple[Embedder | None, str]:
    """Return the embedder, or None and why there is none."""
    try:
        embedder = app.embedder() if sample else None
    except LoreError as error:
        return None, error.message
    return embedder, "" if embedder else "no embedder is configured" if sample else "--sample 0"


def _find_clone(app: App, path: str, project: str | None, *, depth: int, fetch: bool) -> tuple[ProjectName, Clone]:
    """Return the project and the clone that are meant: a path, the clone one stands in, or a copy that is fetched."""
    named = app.parse_project(check_filled("the project's name", project)) if project else None
    folder = os.path.join(app.cwd, os.path.expanduser(path)) if path else app.cwd
    is_settled = fetch or (path and named)  # what the clone itself says does not matter
    url = None if is_settled else app.clone_remote(folder)
    origin = app.parse_project(url) if url else None
    if not fetch and (path or (origin is not None and named in (None, origin))):
        clone, found = app.local_clone(folder), named or origin
        if found is None:
            hint = "name the project: forgelore index-code --project OWNER/REPO, or any name if it is not on a forge"
            raise ConfigError(f"cannot tell which project {clone.folder} belongs to", hint=hint)
        return found, clone
    if named is None:
        hint = "run this in a clone, give its path, or fetch one: forgelore index-code --project OWNER/REPO"
        raise ConfigError("not inside a clone", hint=hint)
    if named.forge == "local":
        raise ConfigError(f"{named} is not on a forge", hint="give the path of its clone: forgelore index-code PATH")
    return named, app.fetch_clone(named, depth=depth)


def _warn_of_clone(clone: Clone, files: IndexedFiles, commits: IndexedCommits | None) -> tuple[str, ...]:
    found = []
    if missing := files.left_out.get("missing"):
        found.append(f"{missing:,} files are not in the clone, which is a partial one; run: git fetch --refetch")
    if commits and clone.is_shallow:
        found.append(f"the clone is shallow: only the newest {commits.total:,} commits are available")
    if commits and commits.is_cut:
        found.append(f"only the newest {commits.total:,} commits are available")
    return tuple(found)
