"""The steps of deduplication put together, each by itself and all in a row: which project and items are meant, which
forge is asked, with which settings.
"""

from collections.abc import Callable
from typing import NamedTuple

from forgelore.app import App
from forgelore.context import JobContext
from forgelore.dedupe.apply import Applied, AppliedLine, ApplySettings, apply_plan, check_proof, load_plan
from forgelore.dedupe.candidates import CandidatesMade
from forgelore.dedupe.judge import DecisionsMade
from forgelore.dedupe.linking import Linked, LinkLine, find_links, post_links
from forgelore.dedupe.plan import (
    Canonicalized,
    ClosingPlan,
    ClusterSettings,
    PlanSettings,
    canonicalize,
    plan_closings,
)
from forgelore.dedupe.rollback import RolledBack, RolledBackItem, load_applied, roll_back
from forgelore.errors import Unproven


def make_clusters(app: App, project: str | None, *, bound: int, dry_run: bool) -> Canonicalized:
    settings = ClusterSettings(bound, app.config.dedupe_language, app.config.maintainers)
    return canonicalize(_job(app, project, dry_run=dry_run), settings, dry_run=dry_run)


def make_plan(app: App, project: str | None, settings: PlanSettings, *, dry_run: bool) -> ClosingPlan:
    config = app.config
    settings = settings._replace(
        maintainers=config.maintainers, keep_open=config.keep_open_labels, language=config.dedupe_language
    )
    return plan_closings(_job(app, project, dry_run=dry_run), settings, dry_run=dry_run)


def _job(app: App, project: str | None, *, dry_run: bool) -> JobContext:
    """A dry run may be asked of a store that nobody can write to."""
    app.store(create=not dry_run)
    return app.job(app.require_project(project))


def apply_run(
    app: App, run: int, *, unproven: bool, close_after: int, force: bool,
    on_line: Callable[[AppliedLine], None] | None,
) -> Applied:  # fmt: skip
    store = app.store(create=True)
    plan = load_plan(store, run)
    project, config = app.stored_project(plan.project_id), app.config
    settings = ApplySettings(
        config.close_message, close_after, unproven, config.maintainers, force, config.keep_open_labels
    )
    return apply_plan(app.job(project), app.forge(project.name), plan, settings, on_line=on_line)


def link_related(
    app: App, project: str | None, *, dry_run: bool, force: bool, on_line: Callable[[LinkLine], None] | None
) -> Linked:
    job = _job(app, project, dry_run=dry_run)
    if dry_run:
        return Linked(None, str(job.project.name), find_links(job.store, job.project), [])
    return post_links(job, app.forge(job.project.name), force=force, on_line=on_line)


def roll_back_run(app: App, run: int, *, force: bool, on_item: Callable[[RolledBackItem], None] | None) -> RolledBack:
    store = app.store(create=True)
    applied = load_applied(store, run)
    project = app.stored_project(applied.project_id)
    return roll_back(app.job(project), app.forge(project.name), applied, force=force, on_item=on_item)


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


def find_proof(app: App, plan: ClosingPlan) -> tuple[str, list[str]]:
    """Return what keeps a plan from being applied, in words, and how often its judges were right."""
    assert plan.run is not None
    store = app.store()
    try:
        return "", check_proof(store, load_plan(store, plan.run))
    except Unproven as error:
        return error.message, []
