"""The part of the facade that finds out what repeats what: candidates, decisions, one new item at a time."""

from typing import TYPE_CHECKING

from forgelore.api.history_find import FindingHistory
from forgelore.api.projects import maybe_project, meant_project

if TYPE_CHECKING:
    from forgelore.flows.dedupe.candidate_ranking import TargetStates
    from forgelore.flows.dedupe.candidates import CandidatesMade
    from forgelore.flows.dedupe.detect_new import Detection
    from forgelore.flows.dedupe.judge import DecisionsMade
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

    def judge_candidates(
        self, *, project: str | None = None, kind: str | None = None, min_edge: float = 0.85, rejudge: bool = False,
        allow_stale: bool = False, trust_statements: bool = True, watcher: "Watcher | None" = None,
    ) -> "list[DecisionsMade]":  # fmt: skip
        """Decide of every open issue and change whether it repeats one of its candidates, by the builtin rules. With
        `rejudge` also of those that were decided on, accepted edges included. `trust_statements` False: what people
        said ("duplicate of #5") counts for nothing.
        """
        from forgelore.api.judging import judge_candidates
        from forgelore.flows.dedupe.judge import JudgeSetting

        setting = JudgeSetting(min_edge, rejudge, allow_stale)
        return judge_candidates(
            self.app, meant_project(self.app, project).id, setting, kind=kind, trusts_statements=trust_statements,
            watcher=watcher,
        )  # fmt: skip

    def detect_new(
        self, ref: str, *, project: str | None = None, k: int = 8, min_score: float = 0.75, maybe: float = 0.85,
        duplicate: float = 0.92, support: float = 0.9, trust_statements: bool = True,
    ) -> "Detection":  # fmt: skip
        """Return whether an item is a duplicate, maybe one, or none. In a synced project it is read anew first; the
        decision is kept.
        """
        from forgelore.api.judging import detect_new
        from forgelore.flows.dedupe.detect_new import DetectionSetting

        setting = DetectionSetting(k, min_score, maybe, duplicate, support)
        given = maybe_project(self.app, project)
        return detect_new(self.app, self.retriever(), ref, given, setting, trusts_statements=trust_statements)
