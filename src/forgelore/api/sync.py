"""`history.sync`: fetch a project, estimate, status, import, export, replay. One project at a time."""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO

from forgelore.api import warn_renamed
from forgelore.app import App
from forgelore.words import ProjectName

if TYPE_CHECKING:
    from forgelore.api.fetch import ImportedFile, ReplayedProject, SyncedProject
    from forgelore.api.index import IndexParts
    from forgelore.api.publish import PublicCopy
    from forgelore.ports.progress import Watcher
    from forgelore.sync.archive import Exported
    from forgelore.sync.status import SyncEstimate, SyncStatus


class Sync:
    """Brings a project in, and gives it away."""

    def __init__(self, app: App) -> None:
        self._app = app

    def __call__(self, *given: str | ProjectName, **options: object) -> "SyncedProject":
        warn_renamed("history.sync(…)", "history.sync.run(…)")
        return self.run(*given, **options)  # type: ignore[arg-type]

    def names(self, texts: Sequence[str] = (), *, watcher: "Watcher | None" = None) -> list[ProjectName]:
        """Return the projects that are meant by names and patterns (`acme/*`); without any, those of the settings, of
        the clone, or all that were synced before. `watcher` is told of waits for the forge that lists them.
        """
        from forgelore.api.fetch import names_to_sync

        return list(names_to_sync(self._app, list(texts), self._app.watch(watcher).waiting))

    def run(
        self, project: str | ProjectName, *, full: bool = False, force: bool = False, wait: bool = False,
        kinds: Sequence[str] = (), index: "IndexParts" = "all", watcher: "Watcher | None" = None,
    ) -> "SyncedProject":  # fmt: skip
        """Fetch what is new of a project, or only some kinds of items, and update the index. The file is made when the
        forge has shown the project. `full` reads everything again; `force` takes over the lock of a sync that has gone
        quiet; `wait` waits for as long as it takes when the forge's quota is used up. What could not be read is in
        `result.unread`, and the next sync reads it; RateLimited, ForgeError and the like are raised where nothing could
        be read.
        """
        from forgelore.api.fetch import sync

        return sync(self._app, project, full=full, force=force, wait=wait, kinds=kinds, index=index, watcher=watcher)

    def refresh(
        self, project: str | None = None, *, known: bool = False, since: str | None = None, force: bool = False,
        index: "IndexParts" = "all", watcher: "Watcher | None" = None,
    ) -> "SyncedProject":  # fmt: skip
        """Fetch the new issues and changes of a project that is stored already, and update the index; with `known`,
        those that changed as well. `since`: those that moved since then ("7 days ago", a date). The next sync still
        reads whatever was left out. Raises NotFound for a project that is not here.
        """
        from forgelore.api.fetch import refresh
        from forgelore.text.dates import parse_when

        meant = self._app.require_project(project)
        moment = parse_when(since, self._app.now_ms()) if since is not None else None
        return refresh(self._app, meant, known=known, since=moment, force=force, index=index, watcher=watcher)

    def estimate(self, project: str | ProjectName) -> "SyncEstimate":
        """Return what a sync would cost. It asks the forge for its totals and fetches nothing."""
        from forgelore.api.fetch import name_on_forge
        from forgelore.sync.status import estimate_sync

        app, name = self._app, name_on_forge(self._app, project)
        store = app.whole_store() if app.is_created else None
        return estimate_sync(store, app.forge(name), name, app.config.requests_per_second)

    def status(self, project: str | None = None) -> "list[SyncStatus]":
        """Return where a project stands, or all of them: what is there, what waits, how the last runs went."""
        from forgelore.sync.status import load_status

        meant = self._app.find_project(project) if project else None
        return load_status(self._app.store(), meant)

    def import_file(
        self, path: str | os.PathLike[str], *, project: str, strict: bool = False, index: "IndexParts" = "all",
        on_batch: Callable[[int], None] | None = None, watcher: "Watcher | None" = None,
    ) -> "ImportedFile":  # fmt: skip
        """Read a file of JSON lines (docs/import.md), plain or gzipped, into a project, and update the index. `-` is
        standard input. A bad line is skipped and told, or ends it where that is asked for.
        """
        from forgelore.api.fetch import import_file

        name = os.fspath(path)
        return import_file(self._app, name, project, strict=strict, index=index, on_batch=on_batch, watcher=watcher)

    def import_archive(
        self, paths: Sequence[str | os.PathLike[str]], *, project: str, kind: str, index: "IndexParts" = "all",
        on_batch: Callable[[int], None] | None = None, watcher: "Watcher | None" = None,
    ) -> "ImportedFile":  # fmt: skip
        """Read archives of GitHub into a project, as if GitHub had answered: GH Archive's hours ("gharchive"), or
        folders of JSON files ("github-backup"). The next sync reads what they lack.
        """
        from forgelore.api.fetch import import_archive

        names = [os.fspath(path) for path in paths]
        return import_archive(self._app, names, project, kind=kind, index=index, on_batch=on_batch, watcher=watcher)

    def replay(
        self, project: str, *, kinds: Sequence[str] = (), force: bool = False, index: "IndexParts" = "all",
        watcher: "Watcher | None" = None,
    ) -> "ReplayedProject":  # fmt: skip
        """Read the stored answers of a project's forge again, without a request, and mend what differs from them."""
        from forgelore.api.fetch import replay

        found = self._app.load_project(project)
        return replay(self._app, found, kinds=kinds, force=force, index=index, watcher=watcher)

    def export_lines(self, *, project: str, include_internal: bool = False) -> Iterator[bytes]:
        """Yield a project's items, each as a line of JSON (docs/import.md). Confidential items and internal
        notes are left out unless `include_internal` asks for them, which only a history opened with them may.
        """
        from forgelore.sync.archive import export_lines

        store = self._app.store_for_call(include_internal=include_internal)
        return export_lines(store, self._app.load_project(project))

    def export_to(self, stream: BinaryIO, *, project: str, include_internal: bool = False) -> "Exported":
        """Write these lines to an open stream of bytes."""
        from forgelore.sync.archive import export_to

        store = self._app.store_for_call(include_internal=include_internal)
        done = export_to(store, self._app.load_project(project), stream)
        return done if self._app.viewer.includes_internal else done._replace(left_out=0)

    def export_file(self, path: str | os.PathLike[str], *, project: str, include_internal: bool = False) -> "Exported":
        """Write these lines to a file, whole or not at all."""
        from forgelore.sync.archive import export_file

        store = self._app.store_for_call(include_internal=include_internal)
        done = export_file(store, self._app.load_project(project), os.fspath(path))
        return done if self._app.viewer.includes_internal else done._replace(left_out=0)

    def load_public(
        self, project: str | None = None, *, month: str | None = None, limit: int = 20_000, chars: int = 500,
        for_members: bool = False,
    ) -> "PublicCopy":  # fmt: skip
        """Return what everybody may read of a project, to be published: the items that changed last with the beginning
        of their texts, clusters, and one month. Raises Refused for a project that not everybody may read, unless it is
        `for_members`; confidential items are left out of either.
        """
        from forgelore.api.publish import load_public_copy

        return load_public_copy(self._app, project, month=month, limit=limit, chars=chars, for_members=for_members)
