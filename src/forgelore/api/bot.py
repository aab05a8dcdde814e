"""The bot, put together: an event, the branch that holds its index, the forge, and the limits of a run inside CI."""

import os
from typing import NamedTuple

from forgelore.api.judging import fetch_start_of_diff, make_judge
from forgelore.app import App
from forgelore.dedupe.verdict import AnyJudge
from forgelore.errors import ConfigError, EmbedderError, InvalidValue, LoreError, NewerStore, format_error
from forgelore.model import Project
from forgelore.ports.embedder import Embedder
from forgelore.ports.forge import Forge
from forgelore.records import JudgedItem
from forgelore.search.retriever import Retriever
from forgelore.store.sqlite.schema import open_store
from forgelore.store.triage import forget_for_good
from forgelore.triage.bot import BotResult, BotSetup, build_judgement
from forgelore.triage.events import MAX_JUDGEMENT_BYTES, Event, Inputs, Judgement, parse_judgement
from forgelore.triage.index import INDEX_FILES, run_bot
from forgelore.triage.intake import open_project
from forgelore.triage.item import TriageContext
from forgelore.words import ProjectName

MAX_WAIT_S = 60  # a runner that sleeps costs its owner money; what is left undone is caught up
LIMIT_S = 600  # after that a run ends what it does; the next one goes on


class BotPlaces(NamedTuple):
    """Folders and files of one run: one for scratch, one that outlives it, and the judgement to apply. Empty: none."""

    scratch: str
    kept: str = ""
    judgement: str = ""


def handle_event(
    app: App, event: Event, inputs: Inputs, *, forge: str, places: BotPlaces, read_only: bool = False
) -> BotResult:
    """Handle one event of a forge's CI. `read_only`: this job writes nothing, so it may ask a language model. Raises
    LoreError where there is no index to work on and none may be made.
    """
    if event.task == "ignore":
        return BotResult(event.name)
    name = ProjectName(forge, app.hosts.of(forge), event.project)
    app.config = app.config._replace(max_wait_s=min(app.config.max_wait_s, MAX_WAIT_S))
    reader = app.forge(name)
    bot = _make_bot(app, reader, reader.fetch_project(name), inputs, places)
    if places.judgement:
        bot = bot._replace(judgement=_read_judgement(places.judgement, event, bot.project))
    notes: list[str] = []
    if read_only:
        bot = bot._replace(judge=_make_reader_judge(app, reader, bot.project, notes), is_dry=True)
    result = run_bot(bot, event)
    result.warnings += notes
    result.ended_at = app.now_ms()
    return result


def _make_bot(app: App, forge: Forge, project: Project, inputs: Inputs, places: BotPlaces) -> BotSetup:
    started = app.clock()
    git = os.path.join(places.scratch, "git")
    branch = app.index_branch(project.name, inputs.index_branch, folder=git, marks=INDEX_FILES)
    return BotSetup(
        forge, project, branch, places.scratch, places.kept,
        open_context=lambda path: _open_context(app, forge, project, inputs, path),
        now_ms=app.now_ms, is_late=lambda: app.clock() - started > LIMIT_S, is_dry=inputs.dry_run,
    )  # fmt: skip


def _make_reader_judge(app: App, forge: Forge, project: Project, notes: list[str]) -> AnyJudge | None:
    """Return the language model of the settings as a judge; None where they name none, or none that could be asked."""

    def fetch_patch(item: JudgedItem) -> str:
        return fetch_start_of_diff(forge, project, item.number)

    try:
        return make_judge(app, "llm", fetch_patch=fetch_patch) if app.config.llm else None
    except ConfigError as error:
        notes.append(f"results were not reranked by a language model: {format_error(error)}")
        return None


def _open_context(app: App, forge: Forge, project: Project, inputs: Inputs, path: str) -> TriageContext:
    try:
        store = open_store(path, create=True, now_ms=app.now_ms)
    except NewerStore as error:
        hint = "the index was written by a newer forgelore: pin the same version in every workflow that uses it"
        raise NewerStore(error.message, hint=hint) from error
    forget_for_good(store)
    embedder: Embedder | None = None
    problem: LoreError | None = None
    try:
        embedder = app.embedder()
    except (ConfigError, EmbedderError) as error:
        problem = error
    project_id = open_project(store, project, app.now_ms())
    retriever = Retriever(store, embedder, problem=problem)
    return TriageContext(
        store, forge, project, project_id, retriever, embedder, inputs, is_compact=True, now_ms=app.now_ms,
        keep_open=app.config.keep_open_labels,
    )  # fmt: skip


def write_judgement(result: BotResult, path: str) -> None:
    """Write what was found of the event's item; an event without one (closed, scheduled) leaves no file."""
    if result.of_event is not None:
        with open(path, "wb") as file:
            file.write(build_judgement(result.project, result.of_event.triaged))


def _read_judgement(path: str, event: Event, project: Project) -> Judgement:
    """Return the judgement in a file. Raises InvalidValue when it is not about the event's item."""
    try:
        with open(path, "rb") as file:
            judgement = parse_judgement(file.read(MAX_JUDGEMENT_BYTES + 1))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="run the reader job first") from error
    key = event.item.key if event.item else None
    is_here = judgement.project.lower() in (event.project.lower(), project.name.path.lower())
    if not is_here or key != (judgement.kind, judgement.number):
        about = f"{judgement.project} {judgement.kind} {judgement.number}"
        raise InvalidValue(f"the judgement is about {about}, not about this event", hint="it is not applied")
    return judgement
