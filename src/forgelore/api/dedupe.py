"""Deduplication put together: which project and items are meant, which forge is asked, with which settings."""

import getpass
import os
from collections.abc import Callable
from typing import NamedTuple

from forgelore.api.projects import meant_project
from forgelore.app import App
from forgelore.core.names import parse_ref
from forgelore.errors import InvalidValue
from forgelore.flows.browse.refs import find_row
from forgelore.flows.closing.apply import Applied, AppliedLine, ApplySettings, apply_plan, load_plan
from forgelore.flows.closing.rollback import RolledBack, RolledBackItem, load_applied, roll_back
from forgelore.flows.dedupe.canonicalize import Canonicalized, ClusterSettings, canonicalize
from forgelore.flows.dedupe.overrides import OverrideAction, override
from forgelore.flows.dedupe.plan import ClosingPlan, PlanSettings, plan_closings
from forgelore.store.projects import StoredProject, list_projects


class SaidOverride(NamedTuple):
    """What a person said of an item, or of a pair; it outlives every rerun."""

    action: OverrideAction
    ref: str
    target: str | None
    said_by: str


def make_clusters(app: App, project: str | None, *, bound: int, is_dry: bool) -> Canonicalized:
    settings = ClusterSettings(bound, app.config.dedupe_language, app.config.maintainers)
    store = app.store(create=not is_dry)
    return canonicalize(store, meant_project(app, project), settings, app.now_ms(), is_dry=is_dry)


def make_plan(app: App, project: str | None, settings: PlanSettings, *, is_dry: bool) -> ClosingPlan:
    settings = settings._replace(maintainers=app.config.maintainers)
    store = app.store(create=not is_dry)
    return plan_closings(store, meant_project(app, project), settings, app.now_ms(), is_dry=is_dry)


def apply_run(
    app: App, run: int, *, is_unproven: bool, close_after: int, on_line: Callable[[AppliedLine], None] | None
) -> Applied:
    store = app.store(create=True)
    plan = load_plan(store, run)
    project = _project_of(app, plan.project_id)
    settings = ApplySettings(app.config.close_message, close_after, is_unproven)
    return apply_plan(store, app.forge(project.name), project, plan, settings, app.now_ms, on_line=on_line)


def roll_back_run(app: App, run: int, *, on_item: Callable[[RolledBackItem], None] | None) -> RolledBack:
    store = app.store(create=True)
    applied = load_applied(store, run)
    project = _project_of(app, applied.project_id)
    return roll_back(store, app.forge(project.name), project, applied, app.now_ms, on_item=on_item)


def say_override(
    app: App, action: OverrideAction, ref: str, target: str | None, *, project: str | None
) -> SaidOverride:
    """Keep what the person at this machine says of items of one project."""
    store = app.store(create=True)
    meant = app.find_project(project)
    rows = [find_row(store, parse_ref(text), meant, app.hosts) for text in (ref, *([target] if target else []))]
    if len({row.project_id for row in rows}) > 1:
        raise InvalidValue("these are items of two projects", hint="duplicates are looked for within one")
    person = _user_name()
    other = rows[1].id if target else None
    override(store, rows[0].project_id, action, rows[0].id, other, said_by=person, now_ms=app.now_ms())
    return SaidOverride(action, ref, target, person)


def _user_name() -> str:
    """Return who is signed in at this machine; a user without a name, as in a container, by its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _project_of(app: App, project_id: int) -> StoredProject:
    return next(one for one in list_projects(app.store()) if one.id == project_id)
