"""The part of the facade that tells what happened to a path."""

from typing import TYPE_CHECKING

from forgelore.api.methods.history_ask import AskingHistory

if TYPE_CHECKING:
    from forgelore.history.extract import ExtractedDecisions
    from forgelore.history.path_history import HistoryKind, PathHistory
    from forgelore.ports.progress import Watcher
    from forgelore.words import Moment


class PathsHistory(AskingHistory):
    """What `History` can do for a file, a folder or a glob."""

    def history_of(
        self, path: str, *, project: str | None = None, after: "Moment" = None, before: "Moment" = None,
        limit: int = 30, offset: int = 0, kind: "HistoryKind" = "",
    ) -> "PathHistory":  # fmt: skip
        """Return what happened to a file, a folder (`src/`) or what a glob names: decisions first, each with the words
        it stands in, then changes, commits, threads and mentions, newest first. A file is followed through renamings.
        `offset`: how many to pass over, decisions first. `kind`: only decisions, or entries of that kind. Raises
        NotFound, with the nearest path, for one that nobody knows.
        """
        from forgelore.api.paths import history_of

        return history_of(
            self.app, path, project=project, after=after, before=before, limit=limit, offset=offset, kind=kind
        )

    def extract_decisions(
        self, path: str, *, project: str | None = None, profile: str | None = None, budget: int = 60_000,
        include_internal: bool = False, watcher: "Watcher | None" = None,
    ) -> "ExtractedDecisions":  # fmt: skip
        """Let the language model of the settings read the conversations of a path's history, and keep what was decided
        in them: who decided what, where, and what replaced it. `history_of` tells it from then on. Every quote is
        looked up; what does not stand there is thrown away. What did not change is not asked about again.
        """
        from forgelore.api.paths import extract_decisions

        include_internal = self.app.narrow_internal(include_internal)

        return extract_decisions(
            self.app, path, project=project, profile=profile, budget=budget, include_internal=include_internal,
            watcher=watcher,
        )  # fmt: skip
