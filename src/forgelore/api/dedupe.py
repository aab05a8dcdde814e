"""`history.dedupe`: candidates, decisions, clusters, plans, closings and back. One project at a time.

What a person says of a pair (`override`, `answer`) writes one row: nothing that finds or judges duplicates is imported.
"""

import getpass
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Unpack

from forgelore.api import renamed
from forgelore.api.options import JudgeOptions, ModelOptions
from forgelore.app import App
from forgelore.browse.refs import find_row
from forgelore.dedupe.overrides import OverrideAction, override
from forgelore.errors import InvalidValue, Stopped
from forgelore.text.items import StoredItem
from forgelore.text.refs import parse_ref
from forgelore.text.values import check_filled, check_whole

if TYPE_CHECKING:
    from forgelore.api.judging import CardStates, IntentAnswer
    from forgelore.api.steps import DedupeChain
    from forgelore.dedupe.apply import Applied, AppliedLine
    from forgelore.dedupe.candidates import CandidatesMade, TargetStates
    from forgelore.dedupe.clusters import TargetPolicy
    from forgelore.dedupe.detect_new import Detection
    from forgelore.dedupe.judge import DecisionsMade
    from forgelore.dedupe.linking import Linked, LinkLine
    from forgelore.dedupe.maintainers import Maintainers
    from forgelore.dedupe.plan import Canonicalized, ClosingPlan, ShownCluster
    from forgelore.dedupe.report import DedupeOverview
    from forgelore.dedupe.review import AnsweredPair, ReviewQueue
    from forgelore.dedupe.rollback import RolledBack, RolledBackItem
    from forgelore.ports.progress import Watcher
    from forgelore.search.retriever import Retriever
    from forgelore.store.closings import AnnouncedClosing
    from forgelore.store.decisions import DedupeRun
    from forgelore.words import Moment, Source

_PLANNED = "confidential items, which a plan lists with the reason why they stay open"
_CLUSTERED = "confidential items, which clusters list with the others"
_MAX_ROWS = 1_000
_PLANNED_KINDS = ("issue", "change")


class SaidOverride(NamedTuple):
    """What a person said of an item, or of a pair; it outlives every rerun."""

    action: OverrideAction
    ref: str
    target: str | None
    said_by: str


class Dedupe:
    """Finds duplicates in bulk and closes them, under a person's control."""

    def __init__(self, app: App, make_retriever: "Callable[[], Retriever]") -> None:
        self._app, self._make_retriever = app, make_retriever

    def run(
        self, *, project: str | None = None, kind: str | None = None, k: int = 4, min_score: float = 0.75,
        min_close: float = 0.9, target_policy: "TargetPolicy" = "canonical-only",
        watcher: "Watcher | None" = None, **judging: Unpack[JudgeOptions],
    ) -> "DedupeChain":  # fmt: skip
        """Find candidates, judge them, build clusters and make a plan of closings; nothing is sent. What was done
        before is not done again.
        """
        from forgelore.api.judging import read_judging
        from forgelore.api.steps import DedupeChain, find_proof

        self._app.check_internal(_PLANNED)
        read_judging(judging)  # what cannot be understood is refused before anything is done
        name = str(self._app.require_project(project).name)
        made = self.find_candidates(
            project=name, kind=kind, k=k, min_score=min_score, workers=judging.get("workers", 1), watcher=watcher
        )
        self._go_on()
        decided = self.judge(project=name, kind=kind, watcher=watcher, **judging)
        self._go_on()
        clusters = self.cluster(project=name)
        plan = self.plan(
            project=name, target_policy=target_policy, min_close=min_close, kinds=(kind,) if kind else _PLANNED_KINDS
        )  # fmt: skip
        queue = self.queue(project=name, kind=kind, limit=1)
        proof = find_proof(self._app, plan)
        return DedupeChain(name, made, decided, clusters, plan, *proof, queue.forecast.worth_a_look)

    def _go_on(self) -> None:
        """Half of the candidates make no plan: a stop ends the chain."""
        if self._app.stop.is_set():
            raise Stopped

    @renamed
    def cluster(self, *, project: str | None = None, bound: int = 40, dry_run: bool = False) -> "Canonicalized":
        """Build clusters from the accepted decisions and what people said, and choose the canonical of each."""
        from forgelore.api.steps import make_clusters

        self._app.check_internal(_CLUSTERED)
        return make_clusters(self._app, project, bound=bound, dry_run=dry_run)

    @renamed
    def plan(
        self, *, project: str | None = None, target_policy: "TargetPolicy" = "canonical-only", min_close: float = 0.9,
        kinds: Sequence[str] = _PLANNED_KINDS, dry_run: bool = False,
    ) -> "ClosingPlan":  # fmt: skip
        """Say which items of the clusters would be closed, onto which, and why the others not; nothing is sent."""
        from forgelore.api.steps import make_plan
        from forgelore.browse.refs import parse_kind
        from forgelore.dedupe.plan import PlanSettings

        self._app.check_internal(_PLANNED)
        settings = PlanSettings(target_policy, min_close, tuple(parse_kind(kind) for kind in kinds))
        return make_plan(self._app, project, settings, dry_run=dry_run)

    def load_plan(self, run: int) -> "ClosingPlan":
        """Return a plan that was kept, by its number, with the titles that its items have now."""
        from forgelore.dedupe.apply import load_plan
        from forgelore.dedupe.plan import load_closing_plan
        from forgelore.store.projects import list_projects

        self._app.check_internal(_PLANNED)
        store = self._app.store()
        kept = load_plan(store, run)
        project = next(one for one in list_projects(store) if one.id == kept.project_id)
        return load_closing_plan(store, project, kept)

    @renamed
    def apply(
        self, run: int, *, unproven: bool = False, close_after: int = 0, force: bool = False,
        on_line: "Callable[[AppliedLine], None] | None" = None,
    ) -> "Applied":  # fmt: skip
        """Carry out a plan on its forge, or go on with it. Each item is read anew first. With `close_after` hours it is
        labelled and told first, and closed by a later call, unless people took part. Raises Unproven where no audit
        has shown that the plan's judge is right. `force` takes over from a run that has gone quiet on another machine.
        """
        from forgelore.api.steps import apply_run

        self._app.check_internal(_PLANNED)
        return apply_run(self._app, run, unproven=unproven, close_after=close_after, force=force, on_line=on_line)

    def link(
        self, *, project: str | None = None, dry_run: bool = True, force: bool = False,
        on_line: "Callable[[LinkLine], None] | None" = None,
    ) -> "Linked":  # fmt: skip
        """Post what people called related in a review, as one comment on each newer item; a dry run, the default, only
        lists it. `roll_back` deletes the comments. `force` takes over from a run that has gone quiet elsewhere.
        """
        from forgelore.api.steps import link_related

        self._app.check_internal(_PLANNED)
        return link_related(self._app, project, dry_run=dry_run, force=force, on_line=on_line)

    def roll_back(
        self, run: int, *, force: bool = False, on_item: "Callable[[RolledBackItem], None] | None" = None
    ) -> "RolledBack":
        """Take back what a plan's run closed, by the number of the plan or of the run. `force` takes over from a run
        that has gone quiet on another machine.
        """
        from forgelore.api.steps import roll_back_run

        self._app.check_internal(_PLANNED)
        return roll_back_run(self._app, run, force=force, on_item=on_item)

    def override(
        self, action: OverrideAction, ref: str, target: str | None = None, *, project: str | None = None
    ) -> SaidOverride:
        """Keep what a person says: accept or reject that an item repeats another, split it off its cluster, or make it
        the canonical. It outlives every rerun.
        """
        rows = _find_pair(self._app, (ref, *([target] if target else [])), project)
        store, person = self._app.store(), user_name()
        other = rows[1].id if target else None
        override(
            store, rows[0].project_id, action, rows[0].id, other, said_by=person, now_ms=self._app.now_ms()
        )  # fmt: skip
        return SaidOverride(action, ref, target, person)

    def queue(
        self, *, project: str | None = None, kind: str | None = None, limit: int = 50, closed_since: "Moment" = None,
        reviewer: str | None = None, second_opinion: bool = False,
    ) -> "ReviewQueue":  # fmt: skip
        """Return the pairs that are most likely duplicates, best first, for a person to decide, with what to expect of
        them. They come from the candidates that are kept (`find_candidates`). Open items are also shown beside what
        was closed since a time, by default within a year. Left out is what people have joined or answered already;
        with `second_opinion`, what others have answered is asked and nothing else. `reviewer`: whose answers; by
        default whoever the setting `me` or git names.
        """
        from forgelore.api.judging import meant_kinds
        from forgelore.dedupe.review import RECENTLY_MS, QueueSetting, load_queue
        from forgelore.search.filters import parse_filters

        app = self._app
        check_whole("limit", limit, _MAX_ROWS)
        since = parse_filters({"after": closed_since}, now_ms=app.now_ms()).after
        since = app.now_ms() - RECENTLY_MS if since is None else since
        setting = QueueSetting(meant_kinds(kind), since, limit, second_opinion)
        return load_queue(app.store(), app.require_project(project), setting, person=_find_reviewer(app, reviewer))

    def answer(
        self, ref: str | int, target: str | int, said: str, *, project: str | None = None, reviewer: str | None = None
    ) -> "AnsweredPair":
        """Keep what a person answers about two items: same, related, twin, not or unsure. `same` makes them duplicates
        for `cluster` and `plan`, everything else but unsure keeps them apart. It is kept for ever, beside what others
        answered.
        """
        from forgelore.dedupe.review import answer_pair
        from forgelore.dedupe.review_rules import parse_answer

        app, meant = self._app, parse_answer(said)
        rows = _find_pair(app, (str(ref), str(target)), project)
        store, ids = app.store(), (rows[0].id, rows[1].id)
        person = _find_reviewer(app, reviewer)
        return answer_pair(
            store, app.stored_project(rows[0].project_id), ids, meant, said_by=person, now_ms=app.now_ms()
        )

    def take_back(self, *, project: str | None = None, reviewer: str | None = None) -> "AnsweredPair":
        """Take back the last answer of a person that still counts, with its edge. Raises NotFound without any."""
        from forgelore.dedupe.review import take_back

        store, meant = self._app.store(create=True), self._app.require_project(project)
        return take_back(store, meant, said_by=_find_reviewer(self._app, reviewer), now_ms=self._app.now_ms())

    def list_answers(self, *, project: str | None = None, kind: str | None = None) -> "list[AnsweredPair]":
        """Return the pairs that people answered, those they disagree about first, then the newest."""
        from forgelore.api.judging import meant_kinds
        from forgelore.dedupe.review import list_answered

        return list_answered(self._app.store(), self._app.require_project(project), meant_kinds(kind))

    def list_maintainers(self, *, project: str | None = None) -> "Maintainers":
        """Return whose items are never closed, and how that is known."""
        from forgelore.dedupe.maintainers import list_maintainers

        app = self._app
        return list_maintainers(app.store(), app.require_project(project), named=app.config.maintainers)

    def list_runs(self, *, project: str | None = None, step: str | None = None, limit: int = 20) -> "list[DedupeRun]":
        """Return the runs of every step, or of one, newest first; at most 1,000."""
        from forgelore.store.decisions import list_runs

        check_whole("limit", limit, _MAX_ROWS)
        return list_runs(self._app.store(), self._app.require_project(project).id, step=step, limit=limit)

    def make_cards(
        self, *, project: str | None = None, kind: str | None = None, states: "CardStates" = "all",
        maker: str = "auto", full: bool = False, watcher: "Watcher | None" = None, **model: Unpack[ModelOptions],
    ) -> "IntentAnswer":  # fmt: skip
        """Make a card of what it is about for every issue and change, and make the cards searchable: by rules
        (`maker="builtin"`), by a language model ("llm", of a `profile` of the settings, several at once, within a
        `budget` of tokens), or by a model where the settings name one ("auto"). What has not changed is left alone,
        unless all are to be made anew.
        """
        from forgelore.api.judging import make_intent_cards, meant_kinds

        meant = self._app.require_project(project)
        return make_intent_cards(
            self._app, meant, meant_kinds(kind), maker=maker, states=states, full=full, watcher=watcher, options=model
        )

    def find_candidates(
        self, *, project: str | None = None, kind: str | None = None, k: int = 4, min_score: float = 0.75,
        states: "TargetStates" = "open", source: "Source" = "raw", workers: int = 1, full: bool = False,
        watcher: "Watcher | None" = None,
    ) -> "list[CandidatesMade]":  # fmt: skip
        """Keep, for every open issue and change, what it could repeat; of one kind, or of both. What has not changed is
        left alone, unless all are to be made anew. `source`: whether texts or intent cards choose who is compared.
        """
        from forgelore.api.judging import make_candidates
        from forgelore.dedupe.candidates import CandidateSetting

        setting = CandidateSetting(k, min_score, states, source)
        return make_candidates(
            self._app, self._make_retriever(), self._app.require_project(project), setting, kind=kind, workers=workers,
            is_full=full, watcher=watcher,
        )  # fmt: skip

    def judge(
        self, *, project: str | None = None, kind: str | None = None, rejudge: bool = False,
        allow_stale: bool = False, source: "Source | None" = None, watcher: "Watcher | None" = None,
        **judging: Unpack[JudgeOptions],
    ) -> "list[DecisionsMade]":  # fmt: skip
        """Decide of every open issue and change whether it repeats one of its candidates, by the builtin rules or by a
        language model (`judge="llm"`, of a `profile` of the settings, several questions at once, within a `budget` of
        tokens). With `rejudge` also of those that were decided on, accepted edges included. With `trust_statements`
        marks and what maintainers wrote ("duplicate of #5") count, too. `source`: only candidates that texts chose,
        or cards.
        """
        from forgelore.api.judging import judge_candidates, read_judging

        choice, setting = read_judging(judging)
        setting = setting._replace(is_rejudged=rejudge, allows_stale=allow_stale, source=source)
        meant = self._app.require_project(project)
        return judge_candidates(self._app, meant, setting, choice, kind=kind, watcher=watcher)

    def detect(
        self, ref: str, *, project: str | None = None, k: int = 8, min_score: float = 0.75, maybe: float = 0.85,
        duplicate: float = 0.92, support: float = 0.9, source: "Source" = "raw",
        **judging: Unpack[JudgeOptions],
    ) -> "Detection":  # fmt: skip
        """Return whether an item is a duplicate, maybe one, or none, by the builtin rules or by a language model. In a
        synced project it is read anew first; the decision is kept. `source`: whether its text or its intent card
        chooses who it is compared with.
        """
        from forgelore.api.judging import detect_new, read_judging
        from forgelore.dedupe.detect_new import DetectionSetting

        setting = DetectionSetting(k, min_score, maybe, duplicate, support, source)
        given = self._app.named_project(project)
        choice, _ = read_judging(judging)
        return detect_new(self._app, self._make_retriever(), ref, given, setting, choice)

    def load_overview(self, *, project: str | None = None) -> "DedupeOverview":
        """Return what a reviewer looks at: clusters with the evidence of each edge, the newest plan, the audits."""
        from forgelore.dedupe.report import load_overview

        self._app.check_internal(_CLUSTERED)
        return load_overview(self._app.store(), self._app.require_project(project), self._app.now_ms())

    def clusters(self, *, project: str | None = None) -> "list[ShownCluster]":
        """Return the clusters that were built last, with the evidence of each edge, the largest first."""
        from forgelore.dedupe.report import load_clusters

        return load_clusters(self._app.store(), self._app.require_project(project).id)

    def magnets(self, *, project: str | None = None, limit: int = 20) -> "list[ShownCluster]":
        """Return the open items with the most confirmed duplicates, each before its duplicates."""
        from forgelore.dedupe.report import load_magnets

        check_whole("limit", limit, _MAX_ROWS)
        return load_magnets(self._app.store(), self._app.require_project(project).id, limit=limit)

    def list_announced(self, *, project: str | None = None) -> "list[AnnouncedClosing]":
        """Return the closings in their grace period: people were told, and nothing is closed yet."""
        from forgelore.store.closings import list_announced_closings

        return list_announced_closings(self._app.store(), self._app.require_project(project).id)


def _find_pair(app: App, refs: Sequence[str], project: str | None) -> list[StoredItem]:
    """Return the items that a person names, one or two of one project, in a store that can be written."""
    store, meant = app.store(create=True), app.find_project(project)
    rows = [find_row(store, parse_ref(text), meant, app.hosts) for text in refs]
    if len({row.project_id for row in rows}) > 1:
        raise InvalidValue(
            "the items belong to different projects", hint="duplicates are looked for within one project"
        )
    return rows


def user_name() -> str:
    """Return who is signed in at this machine; a user without a name, as in a container, by its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _find_reviewer(app: App, person: str | None) -> str:
    """Return whose answers these are: the given name, the setting `me`, the name that git commits with, or the account
    of this machine.
    """
    from forgelore.checkout import person_of

    if person is not None:
        return check_filled("the reviewer", person).strip().removeprefix("@")
    return app.config.me.strip().removeprefix("@") or person_of(app.cwd).name or user_name()
