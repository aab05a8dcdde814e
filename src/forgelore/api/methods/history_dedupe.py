"""The part of the facade that dedupes: candidates, decisions, clusters, plans, closings and back. One project."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from forgelore.api.methods.history_find import FindingHistory
from forgelore.api.projects import find_project, require_project

if TYPE_CHECKING:
    from forgelore.api.dedupe import CardStates, IntentAnswer
    from forgelore.api.deduping.overrides import SaidOverride
    from forgelore.dedupe.apply import Applied, AppliedLine
    from forgelore.dedupe.candidates import CandidatesMade, Representation, TargetStates
    from forgelore.dedupe.clusters import TargetPolicy
    from forgelore.dedupe.detect_new import Detection
    from forgelore.dedupe.judge import DecisionsMade
    from forgelore.dedupe.maintainers import Maintainers
    from forgelore.dedupe.overrides import OverrideAction
    from forgelore.dedupe.plan import Canonicalized, ClosingPlan
    from forgelore.dedupe.rollback import RolledBack, RolledBackItem
    from forgelore.ports.progress import Watcher
    from forgelore.store.decisions import DedupeRun


class DedupingHistory(FindingHistory):
    """What `History` can do about duplicates in bulk."""

    def canonicalize(self, *, project: str | None = None, bound: int = 40, is_dry: bool = False) -> "Canonicalized":
        """Build clusters from the accepted decisions and what people said, and choose the canonical of each."""
        from forgelore.api.dedupe import make_clusters

        self.app.check_internal("confidential items, which clusters list with the others")
        return make_clusters(self.app, project, bound=bound, is_dry=is_dry)

    def plan_closings(
        self, *, project: str | None = None, target_policy: "TargetPolicy" = "canonical-only", min_close: float = 0.9,
        kinds: Sequence[str] = ("issue", "change"), is_dry: bool = False,
    ) -> "ClosingPlan":  # fmt: skip
        """Say which items of the clusters would be closed, onto which, and why the others not; nothing is sent."""
        from forgelore.api.dedupe import make_plan
        from forgelore.browse.refs import parse_kind
        from forgelore.dedupe.plan import PlanSettings

        self.app.check_internal("confidential items, which a plan lists with the reason why they stay open")
        settings = PlanSettings(target_policy, min_close, tuple(parse_kind(kind) for kind in kinds))
        return make_plan(self.app, project, settings, is_dry=is_dry)

    def apply_closings(
        self, run: int, *, is_unproven: bool = False, close_after: int = 0, force: bool = False,
        on_line: "Callable[[AppliedLine], None] | None" = None,
    ) -> "Applied":  # fmt: skip
        """Carry out a plan on its forge, or go on with it. Each item is read anew first. With `close_after` hours it is
        labelled and told first, and closed by a later call, unless people took part. Raises Unproven where no audit
        has shown that the plan's judge is right. `force` takes over from a run that has gone quiet on another machine.
        """
        from forgelore.api.dedupe import apply_run

        self.app.check_internal("confidential items, which a plan lists with the reason why they stay open")
        return apply_run(self.app, run, is_unproven=is_unproven, close_after=close_after, force=force, on_line=on_line)

    def roll_back_closings(
        self, run: int, *, force: bool = False, on_item: "Callable[[RolledBackItem], None] | None" = None
    ) -> "RolledBack":
        """Take back what a plan's run closed, by the number of the plan or of the run. `force` takes over from a run
        that has gone quiet on another machine.
        """
        from forgelore.api.dedupe import roll_back_run

        self.app.check_internal("confidential items, which a plan lists with the reason why they stay open")
        return roll_back_run(self.app, run, force=force, on_item=on_item)

    def override_duplicate(
        self, action: "OverrideAction", ref: str, target: str | None = None, *, project: str | None = None
    ) -> "SaidOverride":
        """Keep what a person says: accept or reject that an item repeats another, split it off its cluster, or make it
        the canonical. It outlives every rerun.
        """
        from forgelore.api.deduping.overrides import say_override

        return say_override(self.app, action, ref, target, project=project)

    def list_maintainers(self, *, project: str | None = None) -> "Maintainers":
        """Return whose items are never closed, and how that is known."""
        from forgelore.dedupe.maintainers import list_maintainers

        return list_maintainers(self.app.store(), require_project(self.app, project), named=self.app.config.maintainers)

    def list_dedupe_runs(
        self, *, project: str | None = None, step: str | None = None, limit: int = 20
    ) -> "list[DedupeRun]":
        """Return the runs of every step, or of one, newest first; at most 1,000."""
        from forgelore.store.decisions import list_runs
        from forgelore.text.values import check_whole

        check_whole("limit", limit, 1000)
        return list_runs(self.app.store(), require_project(self.app, project).id, step=step, limit=limit)

    def make_intent_cards(
        self, *, project: str | None = None, kind: str | None = None, states: "CardStates" = "all",
        maker: str = "auto", profile: str | None = None, workers: int = 1, budget: int | None = None,
        full: bool = False, watcher: "Watcher | None" = None,
    ) -> "IntentAnswer":  # fmt: skip
        """Make a card of what it is about for every issue and change, and make the cards searchable: by rules
        (`maker="builtin"`), by a language model ("llm", of a `profile` of the settings, several at once, within a
        `budget` of tokens), or by a model where the settings name one ("auto"). What has not changed is left alone,
        unless all are to be made anew.
        """
        from forgelore.api.dedupe import CardChoice, make_intent_cards
        from forgelore.api.judging import meant_kinds

        choice = CardChoice(maker, profile, workers, budget)
        return make_intent_cards(
            self.app, require_project(self.app, project), meant_kinds(kind), choice, states=states, is_full=full,
            watcher=watcher,
        )  # fmt: skip

    def make_candidates(
        self, *, project: str | None = None, kind: str | None = None, k: int = 4, min_score: float = 0.75,
        states: "TargetStates" = "open", source: "Representation" = "raw", workers: int = 1, full: bool = False,
        watcher: "Watcher | None" = None,
    ) -> "list[CandidatesMade]":  # fmt: skip
        """Keep, for every open issue and change, what it could repeat; of one kind, or of both. What has not changed is
        left alone, unless all are to be made anew. `source`: whether texts or intent cards choose who is compared.
        """
        from forgelore.api.judging import make_candidates
        from forgelore.dedupe.candidates import CandidateSetting

        setting = CandidateSetting(k, min_score, states, source)
        return make_candidates(
            self.app, self.retriever(), require_project(self.app, project), setting, kind=kind, workers=workers,
            is_full=full, watcher=watcher,
        )  # fmt: skip

    def judge_candidates(
        self, *, project: str | None = None, kind: str | None = None, min_edge: float = 0.85, rejudge: bool = False,
        allow_stale: bool = False, source: "Representation | None" = None, trust_statements: bool = False,
        judge: str = "builtin", profile: str | None = None, workers: int = 1, budget: int | None = None,
        watcher: "Watcher | None" = None,
    ) -> "list[DecisionsMade]":  # fmt: skip
        """Decide of every open issue and change whether it repeats one of its candidates, by the builtin rules or by a
        language model (`judge="llm"`, of a `profile` of the settings, several questions at once, within a `budget` of
        tokens). With `rejudge` also of those that were decided on, accepted edges included. With `trust_statements`
        marks and what maintainers wrote ("duplicate of #5") count, too. `source`: only candidates that texts chose,
        or cards.
        """
        from forgelore.api.judging import JudgeChoice, judge_candidates
        from forgelore.dedupe.judge import JudgeSetting

        setting = JudgeSetting(min_edge, rejudge, allow_stale, workers=workers, budget=budget, source=source)
        choice = JudgeChoice(judge, profile, trust_statements)
        meant = require_project(self.app, project)
        return judge_candidates(self.app, meant, setting, choice, kind=kind, watcher=watcher)

    def detect_new(
        self, ref: str, *, project: str | None = None, k: int = 8, min_score: float = 0.75, maybe: float = 0.85,
        duplicate: float = 0.92, support: float = 0.9, source: "Representation" = "raw",
        trust_statements: bool = False, judge: str = "builtin", profile: str | None = None,
    ) -> "Detection":  # fmt: skip
        """Return whether an item is a duplicate, maybe one, or none, by the builtin rules or by a language model. In a
        synced project it is read anew first; the decision is kept. `source`: whether its text or its intent card
        chooses who it is compared with.
        """
        from forgelore.api.judging import JudgeChoice, detect_new
        from forgelore.dedupe.detect_new import DetectionSetting

        setting = DetectionSetting(k, min_score, maybe, duplicate, support, source)
        given = find_project(self.app, project)
        choice = JudgeChoice(judge, profile, trust_statements)
        return detect_new(self.app, self.retriever(), ref, given, setting, choice)
