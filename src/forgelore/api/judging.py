"""Finding and judging duplicates, put together: kinds, limits, and retrievers for processes of their own."""

import contextlib
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Literal, NamedTuple, get_args

from forgelore.api.find import make_retriever, read_source
from forgelore.api.index import refresh_index
from forgelore.api.options import JudgeOptions, ModelOptions
from forgelore.app import App
from forgelore.browse.refs import find_item
from forgelore.compare.calibrate import KINDS
from forgelore.config import find_token
from forgelore.dedupe.candidates import CandidateSetting, CandidatesMade, TargetStates
from forgelore.dedupe.candidates import make_candidates as make_flow
from forgelore.dedupe.detect_new import Detection, DetectionSetting
from forgelore.dedupe.detect_new import detect_new as detect_flow
from forgelore.dedupe.gates import MIN_EDGE, RuleJudge
from forgelore.dedupe.intent import CardMaker, CardsMade, RuleCards, make_cards
from forgelore.dedupe.judge import DecisionsMade, JudgeSetting, judge_sets
from forgelore.dedupe.verdict import AnyJudge
from forgelore.errors import InvalidValue, LoreError, NotFound
from forgelore.model import Project
from forgelore.ports.forge import ForgeReader
from forgelore.ports.progress import Watcher
from forgelore.profiles import profile_of
from forgelore.records import JudgedItem
from forgelore.search.retriever import Retriever
from forgelore.store.candidates import has_cards
from forgelore.store.database import Store
from forgelore.store.hits import load_subject
from forgelore.store.projects import StoredProject
from forgelore.store.sync import has_cursors
from forgelore.text.refs import Ref, parse_ref
from forgelore.triage.events import Inputs
from forgelore.triage.intake import fetch_current
from forgelore.triage.item import TriageContext, save_fetched
from forgelore.words import ItemKey, Kind

JUDGES = ("builtin", "llm")
MAX_CANDIDATES = 50
_KEYS: tuple[Kind, ...] = ("issue", "change")
CARD_MAKERS = ("auto", "builtin", "llm")
CardStates = Literal["open", "closed", "all"]
_STATES: dict[str, Sequence[str] | None] = {"open": ("open",), "closed": ("closed", "merged"), "all": None}
MAX_CHARS = 60_000  # of a patch: thirty files of two thousand; a model is shown the beginning of each
FAILURES = 3


def make_candidates(
    app: App, retriever: Retriever, project: StoredProject, setting: CandidateSetting, *, kind: str | None,
    workers: int, is_full: bool, watcher: Watcher | None,
) -> list[CandidatesMade]:  # fmt: skip
    """Keep the candidates of every open item of the kinds that are meant."""
    check_setting(setting)
    check_workers(workers)
    if setting.representation == "intent":
        check_cards(app.store(), project.id)
    app.store(create=True)
    opening = partial(opened_retriever, dict(app.environ), app.cwd, app.config.db)
    context = app.job(project, watcher)
    return [
        make_flow(context, retriever, one, setting, full=is_full, workers=workers, open_retriever=opening)
        for one in meant_kinds(kind)
        if not app.stop.is_set()
    ]


_JUDGING: JudgeOptions = {
    "judge": "builtin", "profile": None, "trust_statements": False, "min_edge": MIN_EDGE, "workers": 1, "budget": None,
}  # fmt: skip


def read_judging(options: JudgeOptions) -> "tuple[JudgeChoice, JudgeSetting]":
    """Return who judges and how. Raises TypeError for an option that there is not."""
    if unknown := options.keys() - _JUDGING.keys():
        raise TypeError(f"unknown judging option: {', '.join(sorted(unknown))}; use {', '.join(_JUDGING)}")
    given: JudgeOptions = {**_JUDGING, **options}
    setting = JudgeSetting(given["min_edge"], workers=given["workers"], budget=given["budget"])
    return JudgeChoice(given["judge"], given["profile"], given["trust_statements"]), setting


class JudgeChoice(NamedTuple):
    """Who judges: the builtin rules, with what maintainers said or without, or the model of a profile."""

    name: str = "builtin"
    profile: str | None = None
    trusts_statements: bool = False


def judge_candidates(
    app: App, project: StoredProject, setting: JudgeSetting, choice: JudgeChoice, *, kind: str | None,
    watcher: Watcher | None,
) -> list[DecisionsMade]:  # fmt: skip
    """Decide on the candidates of every open item of the kinds that are meant."""
    check_share("the minimum confidence", setting.min_edge)
    if setting.source is not None:
        read_source(setting.source)
    check_workers(setting.workers)
    judge = make_judge(
        app, choice.name, profile=choice.profile, trusts_statements=choice.trusts_statements, budget=setting.budget,
        fetch_patch=make_patch_reader(app, project) if choice.name == "llm" else None,
    )  # fmt: skip
    app.store(create=True)
    context = app.job(project, watcher)
    return [judge_sets(context, one, judge, setting) for one in meant_kinds(kind) if not app.stop.is_set()]


def make_judge(
    app: App, name: str, *, profile: str | None = None, trusts_statements: bool = False, budget: int | None = None,
    fetch_patch: Callable[[JudgedItem], str] | None = None,
) -> AnyJudge:  # fmt: skip
    """Return the judge of that name; nothing is asked yet. `profile` and `budget` are a model's, statements the rules'.
    Raises ConfigError where the settings name no model.
    """
    if name not in JUDGES:
        raise InvalidValue(f"unknown judge: {name!r}", hint=f"one of: {', '.join(JUDGES)}")
    if name == "builtin":
        if profile is not None or budget is not None:
            raise InvalidValue(
                "the builtin judge takes neither a profile nor a token budget",
                hint="use a model: forgelore dedupe judge --judge llm",
            )
        return RuleJudge(trusts_statements=trusts_statements)
    if trusts_statements:
        hint = "use the builtin judge: forgelore dedupe judge --judge builtin --statements"
        raise InvalidValue("language models judge by the texts alone, not by statements of maintainers", hint=hint)
    if budget is not None and budget < 1:
        raise InvalidValue(f"invalid token budget: {budget}", hint="a judgement takes about 3,000 tokens")
    from forgelore.dedupe.llm import LlmJudge, TokenBudget

    return LlmJudge(app.chat_model(profile), budget=TokenBudget(budget), fetch_patch=fetch_patch)


def detect_new(
    app: App, retriever: Retriever, ref: str, project: StoredProject | None, setting: DetectionSetting,
    choice: JudgeChoice,
) -> Detection:  # fmt: skip
    """Return whether an item is a duplicate. What was synced is read from its forge first; an imported item is taken as
    it is stored.
    """
    check_setting(CandidateSetting(setting.k, setting.min_score, representation=setting.source))
    for name, value in (("maybe", setting.maybe), ("duplicate", setting.duplicate), ("support", setting.support)):
        check_share(f"the {name} threshold", value)
    store, parsed = app.store(create=True), parse_ref(ref)
    if parsed.project:
        project = app.load_project(parsed.project)
    warnings: tuple[str, ...] = ()
    project = project or app.find_project(None)
    is_synced = project is not None and has_cursors(store, project.id)
    judge = make_judge(
        app, choice.name, profile=choice.profile, trusts_statements=choice.trusts_statements,
        fetch_patch=PatchReader(app, project).fetch if project and is_synced else None,
    )  # fmt: skip
    if project and parsed.number is not None and is_synced:
        warnings = _refresh(app, retriever, project, parsed)
    item_id = find_item(store, parsed, project, app.hosts)
    if setting.source == "intent":
        warnings += make_card(app, item_id)
    found = detect_flow(retriever, item_id, judge, setting, now_ms=app.now_ms)
    return found._replace(warnings=(*warnings, *found.warnings))


def _refresh(app: App, retriever: Retriever, project: StoredProject, ref: Ref) -> tuple[str, ...]:
    """Read an item from its forge into the store. A forge that does not answer leaves what is stored, with a warning;
    what is not there at all is for the store to tell.
    """
    forge, number = app.forge(project.name), ref.number
    assert number is not None
    try:
        current = forge.fetch_project(project.name)
    except LoreError as error:
        return (f"{project.name} could not be refreshed: {error.message}",)
    context = TriageContext(
        app.store(), forge, current, project.id, retriever, retriever.embedder, Inputs(), now_ms=app.now_ms
    )
    # Where both are numbered together, a list of issues answers for a change, too: that of changes is asked first.
    kinds = reversed(_KEYS) if profile_of(project.name.forge).numbering == "shared" else _KEYS
    for kind in [kind for kind in kinds if ref.kind in (None, kind)]:
        try:
            fetched = fetch_current(forge, current, ItemKey(kind, number))
        except NotFound:
            continue
        except LoreError as error:
            return (f"{kind} {number} could not be refreshed: {error.message}",)
        save_fetched(context, [fetched])
        return fetched.warnings
    return ()


class IntentAnswer(NamedTuple):
    """What became of the cards of each kind. `warnings`: what cannot be searched yet, and why."""

    kinds: tuple[CardsMade, ...]
    warnings: tuple[str, ...] = ()


def make_intent_cards(
    app: App, project: StoredProject, kinds: Sequence[str], *, maker: str, states: str, full: bool,
    watcher: Watcher | None, options: ModelOptions,
) -> IntentAnswer:  # fmt: skip
    """Make the cards that are missing or older than their items, and make them searchable."""
    if states not in _STATES:
        raise InvalidValue(f"unknown states: {states!r}", hint=f"use {', '.join(_STATES)}")
    app.store(create=True)
    context, made_by = app.job(project, watcher), card_maker(app, project, maker, options)
    made = tuple(
        make_cards(context, one, made_by, states=_STATES[states], full=full, budget=options.get("budget"))
        for one in kinds
        if not app.stop.is_set()
    )
    return IntentAnswer(made, _index(app, project.id, made, watcher))


def make_card(app: App, item_id: int) -> tuple[str, ...]:
    """Bring the card of one item up to date; returns what went wrong with it."""
    subject = load_subject(app.store(create=True), item_id)
    project = app.stored_project(subject.project_id)
    made = make_cards(app.job(project), subject.kind, card_maker(app, project, "auto", {}), item_ids=(item_id,))
    failed = tuple(f"the model wrote no card: {error}" for error in made.errors)
    return (*failed, *_index(app, subject.project_id, (made,), None))


def check_cards(store: Store, project_id: int) -> None:
    """Refuse to work by cards where there are none."""
    if not has_cards(store, project_id):
        raise InvalidValue("this project has no intent cards", hint="create them with: forgelore dedupe intent")


def card_maker(app: App, project: StoredProject, name: str, options: ModelOptions) -> CardMaker:
    """Return who makes cards: rules, the model of a profile, or, by name auto, a model where the settings name one.
    Raises ConfigError where a model is asked for and the settings name none.
    """
    profile, workers, budget = options.get("profile"), options.get("workers", 1), options.get("budget")
    if name not in CARD_MAKERS:
        raise InvalidValue(f"unknown card maker: {name!r}", hint=f"one of: {', '.join(CARD_MAKERS)}")
    check_workers(workers)
    if budget is not None and budget < 1:
        raise InvalidValue(f"invalid token budget: {budget}", hint="a card takes about 1,500 tokens")
    if name == "builtin" or (name == "auto" and profile is None and not app.has_model):
        return RuleCards()
    from forgelore.dedupe.llm import ModelCards

    fetch_patch = PatchReader(app, project).fetch if has_cursors(app.store(), project.id) else None
    return ModelCards(app.chat_model(profile), workers=workers, fetch_patch=fetch_patch)


def _index(app: App, project_id: int, made: Sequence[CardsMade], watcher: Watcher | None) -> tuple[str, ...]:
    if not any(one.made for one in made):
        return ()
    return refresh_index(app, [project_id], "all", watcher).warnings


def meant_kinds(kind: str | None) -> tuple[str, ...]:
    """Return the kinds that have duplicates, or the one that is meant."""
    if kind is None:
        return KINDS
    if kind not in KINDS:
        raise InvalidValue(f"duplicates are not tracked for kind {kind!r}", hint=f"use {' or '.join(KINDS)}")
    return (kind,)


def check_setting(setting: CandidateSetting) -> None:
    """Refuse parameters that mean nothing: people who write Python are told as those who type it are."""
    if not 1 <= setting.k <= MAX_CANDIDATES:
        raise InvalidValue(f"invalid k: {setting.k}", hint=f"use 1 to {MAX_CANDIDATES}")
    check_share("the minimum similarity", setting.min_score)
    read_source(setting.representation)
    if setting.states not in get_args(TargetStates):
        raise InvalidValue(f"unknown states: {setting.states!r}", hint=f"use {', '.join(get_args(TargetStates))}")


def check_workers(workers: int) -> None:
    """Refuse a number of workers that makes no sense."""
    if not 1 <= workers <= 64:
        raise InvalidValue(f"invalid number of workers: {workers}", hint="use 1 to 64; two is a good choice")


def check_share(name: str, value: float) -> None:
    """Refuse what is no share."""
    if not 0 <= value <= 1:
        raise InvalidValue(f"{name} is out of range: {value}", hint="use 0 to 1")


@contextlib.contextmanager
def opened_retriever(environ: Mapping[str, str], cwd: str, db: str) -> Iterator[Retriever]:
    """Return what a process of its own ranks with."""
    app = App(environ, cwd=cwd, db=os.path.abspath(db))
    try:
        yield make_retriever(app, app.config.embedder)
    finally:
        app.close()


def make_patch_reader(app: App, project: StoredProject) -> Callable[[JudgedItem], str] | None:
    """Return what reads the patches of many changes; None for an imported project, and without a token: a forge lets
    nobody read hundreds of them unnamed.
    """
    is_synced = has_cursors(app.store(), project.id)
    has_token = is_synced and find_token(app.config, app.environ, project.name.forge, project.name.host)[0]
    return PatchReader(app, project).fetch if has_token else None


class PatchReader:
    """Reads the patches of one project's changes, for several threads; the project itself is asked for once.

    A patch that is not shown is "": a model can do without. After a few failures in a row nobody asks further: each
    takes half a minute of retries.
    """

    def __init__(self, app: App, project: StoredProject) -> None:
        self._app, self._name = app, project.name
        self._guard = threading.Lock()
        self._current: Project | None = None
        self._failures = 0

    def fetch(self, item: JudgedItem) -> str:
        """Return the beginning of a change's diff."""
        if self._failures >= FAILURES:
            return ""
        try:
            forge, project = self._connect()
            found = forge.fetch_diff(project, ItemKey("change", item.number), max_chars=MAX_CHARS) or ""
        except LoreError:
            self._failures += 1
            return ""
        self._failures = 0
        return found

    def _connect(self) -> tuple[ForgeReader, Project]:
        with self._guard:
            forge = self._app.forge(self._name)
            if self._current is None:
                self._current = forge.fetch_project(self._name)
            return forge, self._current


def fetch_start_of_diff(forge: ForgeReader, project: Project, number: int) -> str:
    """Return the beginning of a change's diff; "" where the forge does not show it: a judge can do without."""
    try:
        return forge.fetch_diff(project, ItemKey("change", number), max_chars=MAX_CHARS) or ""
    except LoreError:
        return ""
