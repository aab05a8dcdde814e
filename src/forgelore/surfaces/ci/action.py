"""`forgelore triage` inside CI: one event, one run of the bot, told to people.

What the next run makes good by itself is a warning on the run, a line in its summary and an entry in the bot's own
record; the exit code is 0. Where no run can work before a person acts (the branch takes no push, the token is no good),
the run fails with what to do, after everything else was done: a bot that looks well and forgets everything is worse.
"""

import os
import shutil
import time
from typing import Any, NamedTuple

from forgelore.core.triage.events import Event
from forgelore.core.triage.inputs import Inputs, parse_inputs
from forgelore.errors import (
    AuthError,
    ConfigError,
    EmbedderError,
    InvalidValue,
    LoreError,
    NewerStore,
    NotFound,
    StateRefused,
    in_words,
)
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.triage.bot import BotResult, BotSetup
from forgelore.flows.triage.index import INDEX_FILE, run_bot
from forgelore.flows.triage.item import Judgement, TriageContext
from forgelore.flows.triage.split import MAX_BYTES, build_judgement, parse_judgement
from forgelore.flows.triage.withhold import open_project
from forgelore.model import Project
from forgelore.ports import Embedder, Forge
from forgelore.store.migrate import open_store
from forgelore.store.triage import forget_for_good
from forgelore.surfaces.ci.runner import CiName, RunLog, read_event, scratch_folder
from forgelore.surfaces.ci.summary import build_summary
from forgelore.words import ProjectName

MAX_WAIT_S = 60  # a runner that sleeps costs its owner money; what is left undone is caught up
LIMIT_S = 600  # after that a run ends what it does; the next one goes on


def run_in_ci(
    context: Any, where: CiName, *, emit: str = "", apply: str = "", keep: str = "", is_dry: bool = False
) -> dict[str, Any]:
    """Handle the event that started this job; returns what happened, for --json. `keep`: a folder that outlives it."""
    voice = RunLog(where, os.environ, is_quiet=context.is_json)
    inputs, complaints = parse_inputs(os.environ)
    for complaint in complaints:
        voice.warn(complaint)
    inputs = inputs._replace(dry_run=inputs.dry_run or is_dry or bool(emit))
    folder = ""
    try:
        folder = scratch_folder(os.environ)
        outcome = _run(context, voice, inputs, _Places(folder, keep, apply))
        if emit:
            _emit(outcome, emit)
    except (LoreError, OSError) as error:  # a full disk is no bug either
        told = in_words(error) if isinstance(error, LoreError) else f"{error.strerror or error}"
        refusal = error if isinstance(error, AuthError | NotFound | StateRefused | NewerStore) else None
        outcome = BotResult("", problems=[f"triage did not run: {told}"], refusal=refusal)
    finally:
        if folder:
            shutil.rmtree(folder, ignore_errors=True)  # it may hold the text of a private project
    _tell(voice, outcome, is_dry=inputs.dry_run)
    if outcome.refusal is not None:
        context.fail(outcome.refusal)
    return _as_data(outcome)


class _Places(NamedTuple):
    """Folders and files of one run: one for scratch, one that outlives it, and the judgement to apply."""

    scratch: str
    kept: str
    judgement: str


def _run(context: Any, voice: RunLog, inputs: Inputs, places: _Places) -> BotResult:
    event = read_event(voice.where, voice.environ)
    if event.task == "ignore":
        return BotResult(event.name)
    name = ProjectName(voice.where, context.app.hosts.of(voice.where), event.project)
    context.app.config = context.app.config._replace(max_wait_s=min(context.app.config.max_wait_s, MAX_WAIT_S))
    forge: Forge = context.app.forge(name)
    bot = _make_bot(context, forge, forge.fetch_project(name), inputs, places)
    if places.judgement:
        bot = bot._replace(judgement=_read_judgement(places.judgement, event, bot.project))
    return run_bot(bot, event)


def _make_bot(context: Any, forge: Forge, project: Project, inputs: Inputs, places: _Places) -> BotSetup:
    app = context.app
    started = time.monotonic()
    git = os.path.join(places.scratch, "git")
    branch = app.index_branch(project.name, inputs.index_branch, folder=git, mark=INDEX_FILE)
    return BotSetup(
        forge, project, branch, places.scratch, places.kept,
        open_context=lambda path: _open_context(app, forge, project, inputs, path),
        now_ms=app.now_ms, is_late=lambda: time.monotonic() - started > LIMIT_S, is_dry=inputs.dry_run,
    )  # fmt: skip


def _open_context(app: Any, forge: Forge, project: Project, inputs: Inputs, path: str) -> TriageContext:
    try:
        store = open_store(path, create=True)
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
    return TriageContext(store, forge, project, project_id, retriever, embedder, inputs, is_compact=True)


def _tell(voice: RunLog, outcome: BotResult, *, is_dry: bool) -> None:
    """Say what happened, in the log, on the run's page and to the steps that follow."""
    for message in dict.fromkeys([*outcome.problems, *([outcome.complaint] if outcome.complaint else [])]):
        voice.warn(message, is_error=outcome.refusal is not None and in_words(outcome.refusal) in message)
    for message in dict.fromkeys(outcome.warnings):
        voice.say(f"note: {message}")
    for done in outcome.done:
        action = done.posted.action if done.posted else "not posted"
        voice.say(f"{done.triaged.key.kind} {done.triaged.key.number}: {done.triaged.outcome} ({action})")
    voice.summarise(build_summary(outcome, int(time.time() * 1000), is_dry=is_dry))
    voice.output(index_kept="true" if outcome.is_kept else "false")
    found = outcome.of_event.triaged if outcome.of_event else None
    if found is None:
        return voice.output(matched="false", duplicate_of="", report="")
    if found.body:
        voice.say(found.body)
    return voice.output(
        matched="true" if found.body else "false",
        duplicate_of=str(found.first_number) if found.outcome == "duplicate" else "",
        report=voice.keep("forgelore-report.md", found.body) if found.body else "",
    )


def _emit(outcome: BotResult, path: str) -> None:
    """Write what was found of the event's item; an event without one (closed, scheduled) leaves no file."""
    if outcome.of_event is not None:
        with open(path, "wb") as file:
            file.write(build_judgement(outcome.project, outcome.of_event.triaged))


def _read_judgement(path: str, event: Event, project: Project) -> Judgement:
    """Return the judgement in a file. Raises InvalidValue when it is not about the event's item."""
    try:
        with open(path, "rb") as file:
            judgement = parse_judgement(file.read(MAX_BYTES + 1))
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="run the reader job first") from error
    key = event.item.key if event.item else None
    is_here = judgement.project.lower() in (event.project.lower(), project.name.path.lower())
    if not is_here or key != (judgement.kind, judgement.number):
        about = f"{judgement.project} {judgement.kind} {judgement.number}"
        raise InvalidValue(f"the judgement is about {about}, not about this event", hint="it is not applied")
    return judgement


def _as_data(outcome: BotResult) -> dict[str, Any]:
    coverage = outcome.coverage
    return {
        "event": outcome.event,
        "items": [
            {
                "kind": done.triaged.key.kind, "number": done.triaged.key.number, "outcome": done.triaged.outcome,
                "reason": done.triaged.reason, "first": done.triaged.first_number,
                "similarity": done.triaged.similarity, "comment": done.posted.action if done.posted else None,
                "comment_url": done.posted.url if done.posted else None, "report": done.triaged.body,
            }
            for done in outcome.done
        ],
        "covered": {"known": coverage.known, "total": coverage.total, "is_complete": coverage.is_complete}
        if coverage else None,
        "is_pushed": outcome.is_pushed, "is_kept": outcome.is_kept, "removed": outcome.removed,
        "withheld": outcome.withheld,
        "problems": outcome.problems, "notes": outcome.warnings,
    }  # fmt: skip
