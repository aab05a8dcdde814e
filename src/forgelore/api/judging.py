"""Finding and judging duplicates, put together: kinds, limits, and retrievers for processes of their own."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import NamedTuple, get_args

from forgelore.api.dedupe import check_cards, make_card
from forgelore.api.find import make_retriever, read_source
from forgelore.api.nouns.projects import load_project
from forgelore.api.options import JudgeOptions
from forgelore.api.patches import PatchReader, make_patch_reader
from forgelore.app import App
from forgelore.browse.refs import find_item
from forgelore.compare.calibrate import KINDS
from forgelore.dedupe.candidates import CandidateSetting, CandidatesMade, TargetStates
from forgelore.dedupe.candidates import make_candidates as make_flow
from forgelore.dedupe.detect_new import Detection, DetectionSetting
from forgelore.dedupe.detect_new import detect_new as detect_flow
from forgelore.dedupe.gates import MIN_EDGE, RuleJudge
from forgelore.dedupe.judge import DecisionsMade, JudgeSetting, judge_sets
from forgelore.dedupe.verdict import AnyJudge
from forgelore.errors import InvalidValue, LoreError, NotFound
from forgelore.ports.progress import Watcher
from forgelore.profiles import profile_of
from forgelore.records import JudgedItem
from forgelore.search.retriever import Retriever
from forgelore.store.projects import StoredProject
from forgelore.store.sync import has_cursors
from forgelore.text.refs import Ref, parse_ref
from forgelore.triage.events import Inputs
from forgelore.triage.item import TriageContext, fetch_current, save_fetched
from forgelore.words import ItemKey, Kind

JUDGES = ("builtin", "llm")
MAX_CANDIDATES = 50
_KEYS: tuple[Kind, ...] = ("issue", "change")


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
        project = load_project(app, parsed.project)
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
