"""The checks of `doctor`: each looks at one thing and says what to do when it is wrong.

A forge is asked once and given 5 seconds. One that cannot be reached is not asked again, nor is any about a project
that was only imported.
"""

import os
import platform
import queue
import shutil
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeVar, cast

from forgelore.app import App
from forgelore.config import OWN_EMBEDDERS, host_of
from forgelore.errors import CorruptStore, ForgeError, LoreError, NoStore, StoreError
from forgelore.index.stats import look_at_search
from forgelore.llm_settings import LlmProfile
from forgelore.ports.chat import ChatMessage
from forgelore.ports.progress import Watcher
from forgelore.profiles import profile_of
from forgelore.store.database import Store
from forgelore.store.jobs import count_jobs
from forgelore.store.projects import find_project, list_projects
from forgelore.store.sqlite.fulltext import has_full_text, sqlite_version
from forgelore.store.sqlite.schema import check_quickly, measure_file, newest_version
from forgelore.store.sync import has_cursors
from forgelore.text.dates import ago
from forgelore.version import describe_version
from forgelore.words import ProjectName

if TYPE_CHECKING:
    from forgelore.model import Project
    from forgelore.ports.forge import ForgeReader
    from forgelore.triage.health_log import HealthLog

CheckStatus = Literal["ok", "warning", "error"]

T = TypeVar("T")

PATIENCE_S = 5.0  # with a forge
LITTLE_SPACE = 200_000_000  # bytes
_QUESTION = 'Answer with this JSON object and nothing else: {"ok": true}'
_ANSWER = {
    "type": "object",
    "properties": {"ok": {"type": "boolean"}},
    "required": ["ok"],
    "additionalProperties": False,
}
_ANSWER_TOKENS = 200  # some think first
_RUNS_HINT = (
    "open the latest run of the triage workflow: if the push to {branch} was refused, it failed and says what to"
    " do; if there is no run, the workflow is disabled"
)


class DoctorCheck(NamedTuple):
    """What was found. `fault` is the kind of error that it would be elsewhere: doctor ends with the same exit code."""

    # forgelore, sqlite, settings, database, search, disk, jobs, embedder, model, projects, token, project, triage
    name: str
    status: CheckStatus
    message: str
    hint: str = ""  # what to do about it
    fault: type[LoreError] = StoreError

    @staticmethod
    def json_key(name: str) -> str:
        return {"name": "check", "fault": ""}.get(name, name)


def run_checks(app: App, *, is_offline: bool, watcher: Watcher | None = None) -> Iterator[DoctorCheck]:
    """Yield each check as soon as it is done: servers may take a while to answer. The
    watcher hears the name of each before it is asked.
    """
    watcher = watcher or Watcher()

    def on_ask(server: str) -> None:
        watcher.announce(f"asking {server} …")

    yield from _machine()
    yield _settings(app)
    yield from _database(app)
    on_ask("the embedder")
    yield _embedder(app, is_offline=is_offline)
    yield from _models(app, is_offline=is_offline, on_ask=on_ask)
    if not is_offline:
        yield from _forges(app, on_ask)


def _machine() -> Iterator[DoctorCheck]:
    yield DoctorCheck("forgelore", "ok", f"{describe_version()} on Python {platform.python_version()}")
    if has_full_text():
        yield DoctorCheck("sqlite", "ok", f"{sqlite_version()} via apsw, with full-text search")
    else:
        hint = "reinstall apsw from its wheel"
        yield DoctorCheck("sqlite", "error", f"{sqlite_version()} via apsw, without full-text search", hint)


def _settings(app: App) -> DoctorCheck:
    if app.config.warnings:
        return DoctorCheck(
            "settings", "warning", app.config.warnings[0], "remove the line, or move it to your own config.toml"
        )
    named = f"{len(app.config.projects)} projects configured" if app.config.projects else "defaults"
    return DoctorCheck("settings", "ok", named)


def _database(app: App) -> Iterator[DoctorCheck]:
    path = app.config.db
    if app.config.is_served:
        yield from _served_database(app)
        return
    if not os.path.exists(path):
        yield DoctorCheck("database", "warning", f"not created yet: {path}", "the first sync or import creates it")
        return
    try:
        store = app.store()
        found, broken = check_quickly(store)
    except LoreError as error:
        yield DoctorCheck("database", "error", error.message, error.hint, type(error))
        return
    if found != "ok" or broken:
        hint = "run: forgelore stats --check --repair"
        yield DoctorCheck("database", "error", f"{path}: {found}, {broken} broken references", hint, CorruptStore)
        return
    size = sum(os.path.getsize(path + end) for end in ("", "-wal", "-vectors") if os.path.exists(path + end))
    yield DoctorCheck("database", "ok", f"{path} ({size / 1e6:,.1f} MB, schema {newest_version()})")
    search = look_at_search(store)
    yield DoctorCheck("search", *search)
    if search.status == "error":
        return
    free = shutil.disk_usage(os.path.dirname(os.path.abspath(path))).free
    if free < max(size, LITTLE_SPACE):
        hint = "free some space, or move the database and name it with FORGELORE_DB"
        yield DoctorCheck("disk", "warning", f"{free / 1e6:,.0f} MB free on the database's disk", hint)
    yield from _failing_jobs(store)


def _served_database(app: App) -> Iterator[DoctorCheck]:
    path = app.config.db
    try:
        store = app.store()
        size = measure_file(store)
        search = look_at_search(store)
    except NoStore as error:
        yield DoctorCheck("database", "warning", error.message, "the first sync or import creates its tables")
        return
    except LoreError as error:
        yield DoctorCheck("database", "error", error.message, error.hint, type(error))
        return
    yield DoctorCheck("database", "ok", f"{path} ({size / 1e6:,.1f} MB, schema {newest_version()})")
    yield DoctorCheck("search", *search)
    yield from _failing_jobs(store)


def _failing_jobs(store: Store) -> Iterator[DoctorCheck]:
    for project in list_projects(store):
        failing = sum(count for _, count in count_jobs(store, project.id).values())
        if failing:
            yield DoctorCheck(
                "jobs", "warning", f"{project.name}: {failing} jobs keep failing", "see: forgelore sync-status"
            )


def _embedder(app: App, *, is_offline: bool) -> DoctorCheck:
    """One short text through the embedder: a missing model or server shows here, and not in the middle of a sync."""
    try:
        embedder = app.embedder()
        if embedder is None:
            return DoctorCheck("embedder", "warning", "none: search matches words only", 'set embedder = "lore"')
        if is_offline and embedder.name not in OWN_EMBEDDERS:
            return DoctorCheck("embedder", "ok", f"{embedder.name} {embedder.model} (not contacted: --offline)")
        dimension = len(embedder.embed_query("does this work"))
    except LoreError as error:
        return DoctorCheck("embedder", "error", error.message, error.hint, type(error))
    return DoctorCheck("embedder", "ok", f"{embedder.name} {embedder.model}, {dimension} dimensions")


def _models(app: App, *, is_offline: bool, on_ask: Callable[[str], None]) -> Iterator[DoctorCheck]:
    """One short question to each profile of `[llm]`; those that come to the same are asked once. None configured is no
    fault: nothing needs one.
    """
    profiles: dict[LlmProfile, list[str]] = {}
    for one in app.config.llm:
        profiles.setdefault(one._replace(name=""), []).append(one.name)
    for profile, names in profiles.items():
        what = f"{', '.join(names)}: {profile.model or 'no model'} at {host_of(profile.base_url) or 'no server'}"
        if is_offline:
            yield DoctorCheck("model", "ok", f"{what} (not contacted: --offline)")
        else:
            on_ask(host_of(profile.base_url))
            yield _model(app, names[0], what)


def _model(app: App, name: str, what: str) -> DoctorCheck:
    try:
        model, started = app.chat_model(name), app.clock()
        reply = model.chat([ChatMessage("user", _QUESTION)], schema=_ANSWER, max_tokens=_ANSWER_TOKENS)
    except LoreError as error:
        return DoctorCheck("model", "error", f"{what}: {error.message}", error.hint, type(error))
    took = f"{app.clock() - started:.1f} s, {reply.tokens_in + reply.tokens_out} tokens, JSON by {model.json_mode}"
    if '"ok"' not in reply.text:
        hint = "lower reasoning, or use another model: dedupe and ask skip answers that are not JSON"
        return DoctorCheck("model", "warning", f"{what} answers, but not in JSON: {took}", hint)
    return DoctorCheck("model", "ok", f"{what}: {took}")


def _forges(app: App, on_ask: Callable[[str], None]) -> Iterator[DoctorCheck]:
    from forgelore.api.fetch import names_to_sync

    try:
        names = [name for text in app.config.projects if not text.endswith("*") for name in [app.parse_project(text)]]
        names = names or _within(lambda: list(names_to_sync(app, [])), "the forge")
    except LoreError as error:
        yield DoctorCheck("projects", "warning", error.message, error.hint)
        return
    asked: set[str] = set()
    unreachable: set[str] = set()
    for name in names:
        if not app.config.projects and _is_imported(app, name):
            yield DoctorCheck("project", "ok", f"{name} was imported and never synced; its forge was not contacted")
            continue
        checks = _project_checks(app, name, on_ask, with_token=name.host not in asked)
        asked.add(name.host)
        if name.host in unreachable:
            yield DoctorCheck("project", "warning", f"{name} was not checked: {name.host} cannot be reached")
            continue
        for check in checks:
            yield check
            if check.status == "error" and check.fault is ForgeError and check.name != "triage":
                unreachable.add(name.host)
                break


def _project_checks(
    app: App, name: ProjectName, on_ask: Callable[[str], None], *, with_token: bool
) -> Iterator[DoctorCheck]:
    on_ask(name.host)
    if with_token:
        yield _token(app, name)
        on_ask(name.host)
    yield _project(app, name)
    on_ask(name.host)
    yield from _triage(app, name)


def _is_imported(app: App, name: ProjectName) -> bool:
    """Whether the project is here by an import alone: nobody said that its forge can be reached from here."""
    stored = find_project(app.store(), name) if app.has_store else None
    return stored is not None and not has_cursors(app.store(), stored.id)


def _ask(app: App, name: ProjectName, question: "Callable[[ForgeReader], T]") -> T:
    forge = app.forge(name, one_try_s=PATIENCE_S)
    return _within(lambda: question(forge), name.host)


def _within(question: Callable[[], T], server: str) -> T:
    """Return the answer. Raises ForgeError when it takes longer than `PATIENCE_S`: looking up a name knows no timeout,
    so it is left behind in a thread that ends with the program.
    """
    answers: queue.SimpleQueue[tuple[T | None, BaseException | None]] = queue.SimpleQueue()

    def answer() -> None:
        try:
            answers.put((question(), None))
        except BaseException as error:  # noqa: BLE001 - raised below, by whoever asked
            answers.put((None, error))

    threading.Thread(target=answer, daemon=True).start()
    try:
        found, error = answers.get(timeout=PATIENCE_S + 0.5)  # the client's own words come first
    except queue.Empty:
        raise ForgeError(
            f"{server} cannot be reached: no answer within {PATIENCE_S:g} s", hint="check the network and the proxy"
        ) from None
    if error is not None:
        raise error
    return cast("T", found)


def _triage(app: App, name: ProjectName) -> Iterator[DoctorCheck]:
    """How the project's bot has been doing: by the record beside its index, and by whether the branch keeps up with the
    project, for a bot that cannot push leaves no record. Nothing where there is no bot.
    """
    from forgelore.triage.events import parse_inputs
    from forgelore.triage.health_log import FILE, lag, parse_botlog

    branch = parse_inputs(app.environ)[0].index_branch
    now = app.now_ms()
    try:
        project = _ask(app, name, lambda forge: forge.fetch_project(name))
        text = _ask(app, name, lambda forge: forge.fetch_text(project, FILE, branch=branch, max_chars=1_000_000))
        pushed_at = _ask(app, name, lambda forge: forge.fetch_branch_time(project, branch))
        if text is None and pushed_at is None:
            yield from _unborn(app, project, branch)
            return
        newest = _ask(app, name, lambda forge: forge.fetch_newest(project))
    except LoreError:
        return  # the check before this one has said why
    behind = lag(pushed_at, filed_at=newest.created_at, changed_at=newest.updated_at) if pushed_at is not None else 0
    yield (
        _falling_behind(branch, pushed_at or 0, behind, now)
        if behind
        else _record(parse_botlog(text or ""), branch, now)
    )


def _falling_behind(branch: str, pushed_at: int, behind: int, now: int) -> DoctorCheck:
    from forgelore.triage.health_log import PATIENCE_MS

    newest = ago(pushed_at + behind, now)
    message = f"{branch} was last pushed {ago(pushed_at, now)}, but the project's newest item is from {newest}"
    status: CheckStatus = "error" if behind > PATIENCE_MS else "warning"
    return DoctorCheck("triage", status, message, _RUNS_HINT.format(branch=branch), ForgeError)


def _record(log: "HealthLog", branch: str, now: int) -> DoctorCheck:
    from forgelore.triage.health_log import FILE

    runs, failed = len(log.runs), sum(bool(run.problem) for run in log.runs)
    if not runs:
        return DoctorCheck("triage", "warning", f"{FILE} on {branch} cannot be read", "the next run rewrites it")
    if log.failing_since is not None:
        hint = "see the runs of the triage workflow; each has a summary"
        status: CheckStatus = "error" if log.complaint(now) else "warning"
        message = f"{failed} of the last {runs} runs failed: {log.runs[-1].problem}"
        return DoctorCheck("triage", status, message, hint, ForgeError)
    known = f"{log.known:,} of {log.total:,}" if log.total and log.total > log.known else f"{log.known:,}"
    return DoctorCheck("triage", "ok", f"last run {ago(log.runs[-1].at, now)}, {known} issues and changes known")


def _unborn(app: App, project: "Project", branch: str) -> Iterator[DoctorCheck]:
    """A set-up without an index: either nobody has started a run yet, or none could push."""
    path, mark = profile_of(project.name.forge).bot_setup
    if not path:  # no recipe for this forge's CI
        return
    at = project.default_branch or "HEAD"
    text = _ask(app, project.name, lambda forge: forge.fetch_text(project, path, branch=at, max_chars=200_000))
    if text is not None and mark in text:
        message = f"{path} sets up triage, but no run has pushed its index to {branch} yet"
        yield DoctorCheck("triage", "warning", message, _RUNS_HINT.format(branch=branch))


def _token(app: App, name: ProjectName) -> DoctorCheck:
    from forgelore.config import find_token, token_advice

    _, source = find_token(app.config, app.environ, name.forge, name.host)
    if not source:
        hint = token_advice(app.config, app.environ, name.forge, name.host, source)
        return DoctorCheck("token", "warning", f"none for {name.host}: low rate limits, public projects only", hint)
    try:
        identity = _ask(app, name, lambda forge: forge.fetch_identity())
    except LoreError as error:
        return DoctorCheck("token", "error", error.message, error.hint, type(error))
    return DoctorCheck("token", "ok", f"@{identity.login if identity else '?'} on {name.host} (from {source})")


def _project(app: App, name: ProjectName) -> DoctorCheck:
    try:
        project = _ask(app, name, lambda forge: forge.fetch_project(name))
    except LoreError as error:
        return DoctorCheck("project", "error", error.message, error.hint, type(error))
    return DoctorCheck("project", "ok", f"{project.name} can be read")
