"""The part of the facade that dedupes: from accepted decisions to clusters, plans, closings and back. One project."""

from typing import TYPE_CHECKING

from forgelore.api.projects import meant_project
from forgelore.app import App

if TYPE_CHECKING:
    from forgelore.store.dedupe_runs import DedupeRun


class DedupingHistory:
    """What `History` can do about duplicates in bulk."""

    app: App

    def list_dedupe_runs(
        self, *, project: str | None = None, step: str | None = None, limit: int = 20
    ) -> "list[DedupeRun]":
        """Return the runs of every step, or of one, newest first."""
        from forgelore.store.dedupe_runs import list_runs

        return list_runs(self.app.store(), meant_project(self.app, project).id, step=step, limit=limit)
