"""`history.index`: documents, vectors, code, stats, check and repair. Without a project: of all."""

from typing import TYPE_CHECKING

from forgelore.api.nouns.projects import find_project, project_ids
from forgelore.app import App
from forgelore.words import JobKind

if TYPE_CHECKING:
    from forgelore.api.index import BuiltDocuments, IndexedCode, IndexParts, UpdatedIndex
    from forgelore.index.findings import Checked, Repaired
    from forgelore.index.stats import IndexStats
    from forgelore.index.vectors import Embedded
    from forgelore.ports.progress import Watcher


class Index:
    """What search stands on."""

    def __init__(self, app: App) -> None:
        self._app = app

    def update(
        self, project: str | None = None, *, index: "IndexParts" = "all", watcher: "Watcher | None" = None
    ) -> "UpdatedIndex":
        """Build the documents and vectors that wait, of a project or of all."""
        from forgelore.api.index import update_index

        return update_index(self._app, project_ids(self._app, project), index, watcher)

    def build_documents(
        self, project: str | None = None, *, full: bool = False, watcher: "Watcher | None" = None
    ) -> "BuiltDocuments":
        """Build the documents that wait, or all of them again."""
        from forgelore.api.index import build_documents

        return build_documents(self._app, project_ids(self._app, project), full=full, watcher=watcher)

    def embed(
        self, project: str | None = None, *, full: bool = False, retry: bool = False, embedder: str | None = None,
        watcher: "Watcher | None" = None,
    ) -> "Embedded":  # fmt: skip
        """Make the vectors that are missing; only those that failed before, or all of them again."""
        from forgelore.api.index import embed

        projects = project_ids(self._app, project)
        return embed(self._app, projects, full=full, retry=retry, embedder=embedder, watcher=watcher)

    def code(
        self, path: str = "", *, project: str | None = None, fetch: bool = False, depth: int | None = None,
        with_commits: bool = True, watcher: "Watcher | None" = None,
    ) -> "IndexedCode":  # fmt: skip
        """Bring the files and commits of a project up to date: from the clone at a path, from the one that the working
        folder is in, or, where a project is named, from a shallow copy that is fetched. The file is made when needed.
        """
        from forgelore.api.index import DEPTH, CodeRequest, index_code

        request = CodeRequest(path, project or "", DEPTH if depth is None else depth, fetch, with_commits)
        return index_code(self._app, request, watcher)

    def count_waiting(self, project: str | None = None) -> int:
        """Return how many items wait for their documents."""
        from forgelore.store.jobs import count_waiting

        return count_waiting(self._app.store(), JobKind.DOCUMENT, project_ids(self._app, project))

    def stats(self, project: str | None = None) -> "IndexStats":
        """Return how much is in the index, of one project or of all, and what waits."""
        from forgelore.index.stats import load_stats

        chosen = find_project(self._app, project)
        project_id = chosen.id if chosen else None
        return load_stats(self._app.store(), project_id=project_id)

    def check(self, *, sample: int | None = None, watcher: "Watcher | None" = None) -> "Checked":
        """Compare everything in the file with what it is made from, and return what is wrong. `sample`: how many
        documents are searched for by their words and embedded again; 200 where nothing is said.
        """
        from forgelore.api.index import make_check
        from forgelore.index.check import check_store

        self._app.check_internal("every row of the file, which a check reads")
        return check_store(self._app.store(), make_check(self._app, sample, watcher))

    def repair(self, *, sample: int | None = None, watcher: "Watcher | None" = None) -> "Repaired":
        """Make again what can be made again, and return what was mended and what a check says now."""
        from forgelore.api.index import make_check
        from forgelore.index.repair import repair_store

        self._app.check_internal("every row of the file, which a repair reads")
        return repair_store(self._app.store(), make_check(self._app, sample, watcher))
