"""Long work for programs: start it, ask how far it is, follow it as server-sent events, cancel it.

    POST /api/v1/tasks/sync {"project": …}        202, with the task; it waits for other work that writes
    POST /api/v1/tasks/ask {"question": …}        202; the answer is in the task once it has ended
    GET  /api/v1/tasks/ID                         the task
    GET  /api/v1/tasks/ID/events                  what it says, until it ends
    POST /api/v1/tasks/ID/cancel                  it ends after its transaction

An event has one of these names, and JSON as its data:

    line      {"text": "…"}                       something was done
    text      {"text": "…"}                       the answer so far, unchecked
    progress  {"stage", "done", "expected", …}    of a sync
    end       the task, with its answer or error; the last event

Whoever has the role `review` sees every task, others their own.
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.errors import AuthError, InvalidValue, LoreError, NotFound, Stopped
from forgelore.surfaces.present.data import ErrorData, as_data, present_error
from forgelore.surfaces.web.app import Answer, Background, Data, Events, WebRequest, Work

if TYPE_CHECKING:
    from forgelore.api import AskAnswer, AskStep, History, Progress, SyncedProject

_LOOK_S, _BEAT_S = 0.2, 15.0
_MAX_SECONDS = 600.0  # of one question
TaskState = Literal["waiting", "running", "done", "failed", "cancelled"]


class TaskData(NamedTuple):
    """Long work. `answer`: what the command prints with `--json`, once it is done."""

    id: str
    title: str
    project: str
    state: TaskState
    lines: list[str]
    progress: "Progress | None"
    answer: "AskAnswer | SyncedProject | None"
    error: ErrorData | None


def describe_task(work: Work) -> TaskData:
    """Return a task as programs see it."""
    future, error = work.future, None
    state: TaskState = "running" if work.task.progress or work.lines or work.text else "waiting"
    if future is not None and future.done():
        failure = None if future.cancelled() else future.exception()
        state = "done"
        if future.cancelled() or isinstance(failure, Stopped):
            state = "cancelled"
        elif failure is not None:
            state = "failed"
            known = failure if isinstance(failure, LoreError) else LoreError("this ended by a fault of the program")
            error = present_error(known)
    answer: AskAnswer | SyncedProject | None = work.answer  # type: ignore[assignment]
    return TaskData(
        work.task.id, work.title, work.project, state, list(work.lines), work.task.progress, answer, error
    )  # fmt: skip


async def stream_events(work: Work) -> AsyncIterator[str]:
    """Yield what work says until it ends; whoever comes late gets all lines. Comments keep a quiet connection open."""
    lines, text, progress, quiet_s = 0, "", None, 0.0
    while True:
        has_ended = work.has_ended  # before its last words are read
        said = [("line", {"text": line}) for line in work.lines[lines:]]
        lines += len(said)
        if work.text != text:
            text = work.text
            said.append(("text", {"text": text}))
        if work.task.progress is not progress:
            progress = work.task.progress
            said.append(("progress", as_data(progress)))  # type: ignore[arg-type]
        for name, data in said:
            yield _event(name, data)
        if has_ended:
            yield _event("end", as_data(describe_task(work)))
            return
        quiet_s = 0.0 if said else quiet_s + _LOOK_S
        if quiet_s >= _BEAT_S:
            quiet_s = 0.0
            yield ": still here\n\n"
        await asyncio.sleep(_LOOK_S)


def _event(name: str, data: object) -> str:
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"


def start_sync(_: "History", request: WebRequest) -> Answer:
    project = _need(request, "project")

    def run(history: "History", work: Work) -> None:
        work.answer = history.sync.run(project)

    return Background(f"Sync of {project}", project, run)


def start_question(_: "History", request: WebRequest) -> Answer:
    question, project = _need(request, "question"), request.form.get("project") or None
    session = request.form.get("continues", "")
    if session and not (session.isdecimal() and len(session) < 10):
        raise InvalidValue(f"{session[:20]!r} is not the number of a question")

    def run(history: "History", work: Work) -> None:
        def say(step: "AskStep") -> None:
            work.say(step.observations or ", ".join(call.tool for call in step.calls))

        def write(text: str) -> None:
            work.text = text

        work.answer = history.ask(
            question, project=project, seconds=_MAX_SECONDS, on_step=say, on_text=write,
            continues=int(session) if session else None,
        )  # fmt: skip

    return Background("Question", project or "", run, is_question=True)


def show_task(_: "History", request: WebRequest) -> Answer:
    return Data(describe_task(_find(request)))


def follow_task(_: "History", request: WebRequest) -> Answer:
    return Events(_find(request))


def cancel_task(_: "History", request: WebRequest) -> Answer:
    work = _find(request)
    work.task.cancel()
    return Data(describe_task(work))


def _find(request: WebRequest) -> Work:
    work = request.works.get(request.path["id"])
    if work is None:
        raise NotFound("no such task", hint="tasks are forgotten when the server is started again")
    if work.owner != request.visitor.name and not request.visitor.may("review"):
        raise AuthError("this task is somebody else's", hint="it takes the role 'review'")
    return work


def _need(request: WebRequest, name: str) -> str:
    if not request.form.get(name, "").strip():
        raise InvalidValue(f"{name} is missing", hint=f'send {{"{name}": "…"}}')
    return request.form[name]
