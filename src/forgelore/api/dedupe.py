"""Deduplication put together: which project and items are meant, which forge is asked, with which settings."""

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from forgelore.api.index import update_index
from forgelore.api.nouns.projects import require_project
from forgelore.api.patches import PatchReader
from forgelore.app import App
from forgelore.context import JobContext
from forgelore.dedupe.apply import Applied, AppliedLine, ApplySettings, apply_plan, load_plan
from forgelore.dedupe.intent import CardMaker, CardsMade, RuleCards, make_cards
from forgelore.dedupe.plan import Canonicalized, ClosingPlan, ClusterSettings, PlanSettings, canonicalize, plan_closings
from forgelore.dedupe.rollback import RolledBack, RolledBackItem, load_applied, roll_back
from forgelore.errors import InvalidValue
from forgelore.ports.progress import Watcher
from forgelore.store.candidates import has_cards
from forgelore.store.database import Store
from forgelore.store.hits import load_subject
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.sync import has_cursors

CardStates = Literal["open", "closed", "all"]
CARD_MAKERS = ("auto", "builtin", "llm")
_STATES: dict[str, Sequence[str] | None] = {"open": ("open",), "closed": ("closed", "merged"), "all": None}


class IntentAnswer(NamedTuple):
    """What became of the cards of each kind. `warnings`: what cannot be searched yet, and why."""

    kinds: tuple[CardsMade, ...]
    warnings: tuple[str, ...] = ()


class CardChoice(NamedTuple):
    """Who makes cards: rules, the model of a profile, or, by name auto, a model where the settings name one."""

    name: str = "auto"
    profile: str | None = None
    workers: int = 1
    budget: int | None = None  # tokens


def make_intent_cards(
    app: App, project: StoredProject, kinds: Sequence[str], choice: CardChoice, *, states: str, is_full: bool,
    watcher: Watcher | None,
) -> IntentAnswer:  # fmt: skip
    """Make the cards that are missing or older than their items, and make them searchable."""
    if states not in _STATES:
        raise InvalidValue(f"unknown states: {states!r}", hint=f"use {', '.join(_STATES)}")
    app.store(create=True)
    context, maker = app.job(project, watcher), card_maker(app, project, choice)
    made = tuple(
        make_cards(context, one, maker, states=_STATES[states], full=is_full, budget=choice.budget)
        for one in kinds
        if not app.stop.is_set()
    )
    return IntentAnswer(made, _index(app, project.id, made, watcher))


def make_card(app: App, item_id: int) -> tuple[str, ...]:
    """Bring the card of one item up to date; returns what went wrong with it."""
    subject = load_subject(app.store(create=True), item_id)
    project = _project_of(app, subject.project_id)
    made = make_cards(app.job(project), subject.kind, card_maker(app, project, CardChoice()), item_ids=(item_id,))
    failed = tuple(f"the model wrote no card: {error}" for error in made.errors)
    return (*failed, *_index(app, subject.project_id, (made,), None))


def check_cards(store: Store, project_id: int) -> None:
    """Refuse to work by cards where there are none."""
    if not has_cards(store, project_id):
        raise InvalidValue("this project has no intent cards", hint="create them with: forgelore dedupe intent")


def card_maker(app: App, project: StoredProject, choice: CardChoice) -> CardMaker:
    """Return who makes cards. Raises ConfigError where a model is asked for and the settings name none."""
    if choice.name not in CARD_MAKERS:
        raise InvalidValue(f"unknown card maker: {choice.name!r}", hint=f"one of: {', '.join(CARD_MAKERS)}")
    if not 1 <= choice.workers <= 64:
        raise InvalidValue(f"invalid number of workers: {choice.workers}", hint="use 1 to 64")
    if choice.budget is not None and choice.budget < 1:
        raise InvalidValue(f"invalid token budget: {choice.budget}", hint="a card takes about 1,500 tokens")
    is_auto = choice.name == "auto" and choice.profile is None
    if choice.name == "builtin" or (is_auto and not app.has_model):
        return RuleCards()
    from forgelore.dedupe.llm import ModelCards

    fetch_patch = PatchReader(app, project).fetch if has_cursors(app.store(), project.id) else None
    return ModelCards(app.chat_model(choice.profile), workers=choice.workers, fetch_patch=fetch_patch)


def _index(app: App, project_id: int, made: Sequence[CardsMade], watcher: Watcher | None) -> tuple[str, ...]:
    if not any(one.made for one in made):
        return ()
    return update_index(app, [project_id], "all", watcher).warnings


def make_clusters(app: App, project: str | None, *, bound: int, dry_run: bool) -> Canonicalized:
    settings = ClusterSettings(bound, app.config.dedupe_language, app.config.maintainers)
    return canonicalize(_job(app, project, dry_run=dry_run), settings, dry_run=dry_run)


def make_plan(app: App, project: str | None, settings: PlanSettings, *, dry_run: bool) -> ClosingPlan:
    settings = settings._replace(maintainers=app.config.maintainers, keep_open=app.config.keep_open_labels)
    return plan_closings(_job(app, project, dry_run=dry_run), settings, dry_run=dry_run)


def _job(app: App, project: str | None, *, dry_run: bool) -> JobContext:
    """A dry run may be asked of a store that nobody can write to."""
    app.store(create=not dry_run)
    return app.job(require_project(app, project))


def apply_run(
    app: App, run: int, *, unproven: bool, close_after: int, force: bool,
    on_line: Callable[[AppliedLine], None] | None,
) -> Applied:  # fmt: skip
    store = app.store(create=True)
    plan = load_plan(store, run)
    project, config = _project_of(app, plan.project_id), app.config
    settings = ApplySettings(
        config.close_message, close_after, unproven, config.maintainers, force, config.keep_open_labels
    )
    return apply_plan(app.job(project), app.forge(project.name), plan, settings, on_line=on_line)


def roll_back_run(app: App, run: int, *, force: bool, on_item: Callable[[RolledBackItem], None] | None) -> RolledBack:
    store = app.store(create=True)
    applied = load_applied(store, run)
    project = _project_of(app, applied.project_id)
    return roll_back(app.job(project), app.forge(project.name), applied, force=force, on_item=on_item)


def _project_of(app: App, project_id: int) -> StoredProject:
    return next(one for one in list_projects(app.store()) if one.id == project_id)
