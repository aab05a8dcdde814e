"""The part of the facade that finds out what repeats what: candidates, decisions, one new item at a time."""

from typing import TYPE_CHECKING

from forgelore.api.history_find import FindingHistory
from forgelore.api.projects import meant_project

if TYPE_CHECKING:
    from forgelore.flows.dedupe.candidate_ranking import TargetStates
    from forgelore.flows.dedupe.candidates import CandidatesMade
    from forgelore.flows.progress import Watcher


class JudgingHistory(FindingHistory):
    """What `History` can do to find out what repeats what."""

    def make_candidates(
        self, *, project: str | None = None, kind: str | None = None, k: int = 4, min_score: float = 0.75,
        states: "TargetStates" = "open", workers: int = 1, full: bool = False, watcher: "Watcher | None" = None,
    ) -> "list[CandidatesMade]":  # fmt: skip
        """Keep, for every open issue and change, what it could repeat; of one kind, or of both. What has not changed is
        left alone, unless all are to be made anew.
        """
        from forgelore.api.judging import make_candidates
        from forgelore.flows.dedupe.candidate_ranking import CandidateSetting

        setting = CandidateSetting(k, min_score, states)
        return make_candidates(
            self.app, self.retriever(), meant_project(self.app, project).id, setting, kind=kind, workers=workers,
            is_full=full, watcher=watcher,
        )  # fmt: skip
