"""The whole chain of deduplication: candidates, judge, clusters, plan, and what is missing before it is applied."""

from typing import NamedTuple

from forgelore.api.dedupe import make_clusters, make_plan
from forgelore.api.judging import JudgeChoice, judge_candidates, make_candidates
from forgelore.api.nouns.projects import require_project
from forgelore.api.reviewing import QueueWords, read_queue
from forgelore.app import App
from forgelore.dedupe.apply import check_proof, load_plan
from forgelore.dedupe.candidates import CandidateSetting, CandidatesMade
from forgelore.dedupe.clusters import TargetPolicy
from forgelore.dedupe.gates import MIN_CLOSE
from forgelore.dedupe.judge import DecisionsMade, JudgeSetting
from forgelore.dedupe.plan import CLUSTERED, Canonicalized, ClosingPlan, PlanSettings
from forgelore.errors import Stopped, Unproven
from forgelore.ports.progress import Watcher
from forgelore.search.retriever import Retriever


class ChainSetting(NamedTuple):
    """How each step is done; the defaults are those of the steps."""

    kind: str | None = None
    candidates: CandidateSetting = CandidateSetting()
    judge: JudgeSetting = JudgeSetting()
    choice: JudgeChoice = JudgeChoice()
    target_policy: TargetPolicy = "canonical-only"
    min_close: float = MIN_CLOSE
    bound: int = 40
    workers: int = 1


class DedupeChain(NamedTuple):
    """What each step did. `unproven`: what keeps the plan from being applied, in words; "": nothing does. `proven`: how
    often the judges behind it were right, where that is enough. `to_review`: how many pairs are worth a look by a
    person.
    """

    project: str
    candidates: list[CandidatesMade]
    decisions: list[DecisionsMade]
    clusters: Canonicalized
    plan: ClosingPlan
    unproven: str
    proven: list[str]
    to_review: int


def run_chain(
    app: App, retriever: Retriever, project: str | None, setting: ChainSetting, *, watcher: Watcher | None
) -> DedupeChain:
    """Do every step that needs doing, to a kept plan. A run that is stopped goes on where it was."""
    meant = require_project(app, project)
    name = str(meant.name)
    made = make_candidates(
        app, retriever, meant, setting.candidates, kind=setting.kind, workers=setting.workers, is_full=False,
        watcher=watcher,
    )  # fmt: skip
    _go_on(app)
    decided = judge_candidates(app, meant, setting.judge, setting.choice, kind=setting.kind, watcher=watcher)
    _go_on(app)
    clusters = make_clusters(app, name, bound=setting.bound, dry_run=False)
    kinds = (setting.kind,) if setting.kind else CLUSTERED
    plan = make_plan(app, name, PlanSettings(setting.target_policy, setting.min_close, kinds), dry_run=False)
    queue = read_queue(app, name, QueueWords(setting.kind, limit=1), person=None)
    return DedupeChain(name, made, decided, clusters, plan, *_find_proof(app, plan), queue.forecast.worth_a_look)


def _go_on(app: App) -> None:
    """Half of the candidates make no plan: a stop ends the chain."""
    if app.stop.is_set():
        raise Stopped


def _find_proof(app: App, plan: ClosingPlan) -> tuple[str, list[str]]:
    assert plan.run is not None
    store = app.store()
    try:
        return "", check_proof(store, load_plan(store, plan.run))
    except Unproven as error:
        return error.message, []
