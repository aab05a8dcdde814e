"""The whole chain of deduplication: candidates, judge, clusters, plan, and what is missing before it is applied."""

from typing import NamedTuple

from forgelore.api.dedupe import make_clusters, make_plan
from forgelore.api.judging import JudgeChoice, judge_candidates, make_candidates
from forgelore.api.projects import meant_project
from forgelore.app import App
from forgelore.core.dedupe.closings import TargetPolicy
from forgelore.core.dedupe.policies import MIN_CLOSE
from forgelore.errors import Unproven
from forgelore.flows.closing.apply import load_plan
from forgelore.flows.closing.proof_gate import check_proof
from forgelore.flows.dedupe.candidate_ranking import CandidateSetting
from forgelore.flows.dedupe.candidates import CandidatesMade
from forgelore.flows.dedupe.canonicalize import CLUSTERED, Canonicalized
from forgelore.flows.dedupe.judge import DecisionsMade, JudgeSetting
from forgelore.flows.dedupe.plan import ClosingPlan, PlanSettings
from forgelore.flows.progress import Watcher
from forgelore.flows.search.retriever import Retriever


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
    """What each step did. `unproven`: what keeps the plan from being applied, in words; "": nothing does."""

    project: str
    candidates: list[CandidatesMade]
    decisions: list[DecisionsMade]
    clusters: Canonicalized
    plan: ClosingPlan
    unproven: str


def run_chain(
    app: App, retriever: Retriever, project: str | None, setting: ChainSetting, *, watcher: Watcher | None
) -> DedupeChain:
    """Do every step that needs doing, to a kept plan. A run that is stopped goes on where it was."""
    meant = meant_project(app, project)
    name = str(meant.name)
    made = make_candidates(
        app, retriever, meant.id, setting.candidates, kind=setting.kind, workers=setting.workers, is_full=False,
        watcher=watcher,
    )  # fmt: skip
    _go_on(app)
    decided = judge_candidates(app, meant, setting.judge, setting.choice, kind=setting.kind, watcher=watcher)
    _go_on(app)
    clusters = make_clusters(app, name, bound=setting.bound, is_dry=False)
    kinds = (setting.kind,) if setting.kind else CLUSTERED
    plan = make_plan(app, name, PlanSettings(setting.target_policy, setting.min_close, kinds), is_dry=False)
    return DedupeChain(name, made, decided, clusters, plan, _find_unproven(app, plan))


def _go_on(app: App) -> None:
    """Half of the candidates make no plan: a stop ends the chain."""
    if app.stop.is_set():
        raise KeyboardInterrupt


def _find_unproven(app: App, plan: ClosingPlan) -> str:
    assert plan.run is not None
    store = app.store()
    try:
        check_proof(store, load_plan(store, plan.run))
    except Unproven as error:
        return error.message
    return ""
