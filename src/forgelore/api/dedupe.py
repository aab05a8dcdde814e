"""Deduplication put together: which project and items are meant, which forge is asked, with which settings."""

import getpass
import os
from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from forgelore.api.index import update_index
from forgelore.api.projects import meant_project
from forgelore.app import App
from forgelore.core.names import parse_ref
from forgelore.errors import InvalidValue
from forgelore.flows.browse.refs import find_row
from forgelore.flows.closing.apply import Applied, AppliedLine, ApplySettings, apply_plan, load_plan
from forgelore.flows.closing.journal import RunClock
from forgelore.flows.closing.rollback import RolledBack, RolledBackItem, load_applied, roll_back
from forgelore.flows.dedupe.canonicalize import Canonicalized, ClusterSettings, canonicalize
from forgelore.flows.dedupe.intent import CardJob, CardMaker, CardsMade, RuleCards, make_cards
from forgelore.flows.dedupe.overrides import OverrideAction, override
from forgelore.flows.dedupe.plan import ClosingPlan, PlanSettings, plan_closings
from forgelore.flows.progress import Watcher
from forgelore.store.db import Store
from forgelore.store.hits import load_subject
from forgelore.store.intent_cards import has_cards
from forgelore.store.projects import StoredProject, list_projects

CardStates = Literal["open", "closed", "all"]
_STATES: dict[str, Sequence[str] | None] = {"open": ("open",), "closed": ("closed", "merged"), "all": None}


class SaidOverride(NamedTuple):
    """What a person said of an item, or of a pair; it outlives every rerun."""

    action: OverrideAction
    ref: str
    target: str | None
    said_by: str


class IntentAnswer(NamedTuple):
    """What became of the cards of each kind. `warnings`: what cannot be searched yet, and why."""

    kinds: tuple[CardsMade, ...]
    warnings: tuple[str, ...] = ()


def make_intent_cards(
    app: App, project_id: int, kinds: Sequence[str], *, states: str, is_full: bool, watcher: Watcher | None
) -> IntentAnswer:
    """Make the cards that are missing or older than their items, and make them searchable."""
    if states not in _STATES:
        raise InvalidValue(f"{states!r} are no states", hint=f"use {', '.join(_STATES)}")
    store, maker = app.store(create=True), card_maker(app)
    jobs = [CardJob(project_id, one, _STATES[states], is_full) for one in kinds]
    made = tuple(
        make_cards(store, job, maker, watcher=watcher, should_stop=app.stop.is_set, now_ms=app.now_ms)
        for job in jobs
        if not app.stop.is_set()
    )
    return IntentAnswer(made, _index(app, project_id, made, watcher))


def make_card(app: App, item_id: int) -> tuple[str, ...]:
    """Bring the card of one item up to date; returns what went wrong with it."""
    subject = load_subject(app.store(create=True), item_id)
    job = CardJob(subject.project_id, subject.kind, item_ids=(item_id,))
    made = make_cards(app.store(), job, card_maker(app), now_ms=app.now_ms)
    return (*made.errors, *_index(app, subject.project_id, (made,), None))


def check_cards(store: Store, project_id: int) -> None:
    """Refuse to work by cards where there are none."""
    if not has_cards(store, project_id):
        raise InvalidValue("this project has no intent cards", hint="make them with: forgelore dedupe intent")


def card_maker(_app: App) -> CardMaker:
    """Return who makes cards."""
    return RuleCards()


def _index(app: App, project_id: int, made: Sequence[CardsMade], watcher: Watcher | None) -> tuple[str, ...]:
    if not any(one.made for one in made):
        return ()
    return update_index(app, [project_id], "all", watcher).warnings


def make_clusters(app: App, project: str | None, *, bound: int, is_dry: bool) -> Canonicalized:
    settings = ClusterSettings(bound, app.config.dedupe_language, app.config.maintainers)
    store = app.store(create=not is_dry)
    return canonicalize(store, meant_project(app, project), settings, app.now_ms(), is_dry=is_dry)


def make_plan(app: App, project: str | None, settings: PlanSettings, *, is_dry: bool) -> ClosingPlan:
    settings = settings._replace(maintainers=app.config.maintainers)
    store = app.store(create=not is_dry)
    return plan_closings(store, meant_project(app, project), settings, app.now_ms(), is_dry=is_dry)


def apply_run(
    app: App, run: int, *, is_unproven: bool, close_after: int, is_forced: bool,
    on_line: Callable[[AppliedLine], None] | None,
) -> Applied:  # fmt: skip
    store = app.store(create=True)
    plan = load_plan(store, run)
    project = _project_of(app, plan.project_id)
    config = app.config
    settings = ApplySettings(config.close_message, close_after, is_unproven, config.maintainers, is_forced)
    clock = RunClock(app.now_ms, app.sleep)
    return apply_plan(store, app.forge(project.name), project, plan, settings, clock, on_line=on_line)


def roll_back_run(
    app: App, run: int, *, is_forced: bool, on_item: Callable[[RolledBackItem], None] | None
) -> RolledBack:
    store = app.store(create=True)
    applied = load_applied(store, run)
    project = _project_of(app, applied.project_id)
    forge, clock = app.forge(project.name), RunClock(app.now_ms, app.sleep)
    return roll_back(store, forge, project, applied, clock, is_forced=is_forced, on_item=on_item)


def say_override(
    app: App, action: OverrideAction, ref: str, target: str | None, *, project: str | None
) -> SaidOverride:
    """Keep what the person at this machine says of items of one project."""
    store = app.store(create=True)
    meant = app.find_project(project)
    rows = [find_row(store, parse_ref(text), meant, app.hosts) for text in (ref, *([target] if target else []))]
    if len({row.project_id for row in rows}) > 1:
        raise InvalidValue("these are items of two projects", hint="duplicates are looked for within one")
    person = user_name()
    other = rows[1].id if target else None
    override(store, rows[0].project_id, action, rows[0].id, other, said_by=person, now_ms=app.now_ms())
    return SaidOverride(action, ref, target, person)


def user_name() -> str:
    """Return who is signed in at this machine; a user without a name, as in a container, by its number."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"


def _project_of(app: App, project_id: int) -> StoredProject:
    return next(one for one in list_projects(app.store()) if one.id == project_id)
