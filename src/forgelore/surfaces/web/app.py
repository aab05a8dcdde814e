"""The web application: which address shows what, who may see it, and what happens to errors.

A handler is a plain function of a history and of what was asked. It runs in a thread of a pool, so that a slow page
holds up no other, and returns a `Page` (a template and its values), a `Redirect`, or `Data` (JSON). Every address has
its row in the `ADDRESSES` of a module beside this one, with the least role that it takes; there is no other way.
"""

import asyncio
import concurrent.futures
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from forgelore.api import Task
from forgelore.errors import (
    AuthError,
    InvalidValue,
    Locked,
    LoreError,
    NotFound,
    RateLimited,
    Refused,
    Stopped,
    UsageError,
)
from forgelore.surfaces.present.data import present_answer, present_failure
from forgelore.surfaces.web.guard import COOKIE, HOOKS, SESSION_S, Access, BodyTooLarge, Guard, Role, Visitor
from forgelore.surfaces.web.html import STATIC, render

if TYPE_CHECKING:
    from forgelore.api import History, HistoryPool
    from forgelore.surfaces.web.syncing import Hooks

_MAX_RUNNING, _MAX_ENDED = 50, 200
_STATUSES = {NotFound: 404, InvalidValue: 400, Refused: 409, Locked: 409, RateLimited: 429, AuthError: 403}


class WebRequest(NamedTuple):
    """What a browser or a program asked for. `is_part`: htmx wants the part of the page that changes."""

    path: Mapping[str, str]
    query: Mapping[str, str]
    every: Mapping[str, Sequence[str]]  # of the query: all values of a name
    form: Mapping[str, str]
    visitor: Visitor
    is_part: bool
    address: str
    works: Mapping[str, "Work"] = {}

    @property
    def project(self) -> str | None:
        """The project that the page is about; None for all, or for the only one."""
        return self.query.get("project") or self.form.get("project") or None

    def number(self, name: str, default: int) -> int:
        text = self.query.get(name, "")
        return int(text) if text.isdecimal() and len(text) < 10 else default


class Page(NamedTuple):
    template: str
    values: Mapping[str, object]
    status: int = 200


class Redirect(NamedTuple):
    address: str


class Data(NamedTuple):
    """An answer for programs, in the envelope of `--json`. `next`: the address of the page behind this one."""

    value: object
    warnings: Sequence[str] = ()
    next: str = ""


class Document(NamedTuple):
    """JSON that no method of the facade returns."""

    value: object


class Download(NamedTuple):
    """An answer that is kept as a file."""

    name: str
    media_type: str
    text: str


class Work:
    """Long work that a page has started, and what it said so far. `next`: where to go on once it has ended; `undo`: the
    run that a rollback would take back; `text`: an answer as far as it is written.
    """

    def __init__(self, title: str, project: str, owner: str = "") -> None:
        self.title, self.project, self.owner = title, project, owner
        self.task: Task[None] = Task()
        self.lines: list[str] = []
        self.next, self.next_title, self.text = "", "", ""
        self.undo: int | None = None
        self.answer: object = None
        self.future: concurrent.futures.Future[None] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether it is over, also when it was cancelled before it began."""
        return self.future is not None and self.future.done()

    def say(self, line: str) -> None:
        self.lines.append(line)


class Background(NamedTuple):
    """Work that goes on while its page is shown. `is_question`: it takes a model's time and writes little."""

    title: str
    project: str
    run: Callable[["History", Work], None]
    is_question: bool = False


class Events(NamedTuple):
    """What work says while it goes on, as server-sent events."""

    work: Work


Answer = Page | Redirect | Data | Document | Download | Background | Events
Handler = Callable[["History", WebRequest], Answer]


class Address(NamedTuple):
    """An address of the site. `writes`: it changes something, so that it is a POST with the token of a form. `kind`:
    what its errors look like.
    """

    path: str
    handler: Handler
    role: Role = "read"
    writes: bool = False
    kind: Literal["page", "data"] = "page"


class Pools(NamedTuple):
    """Histories for what is read, for answers that people give, for long work one after the other, and for questions
    that take a model's time.
    """

    reading: "HistoryPool"
    saving: "HistoryPool"
    writing: "HistoryPool"
    asking: "HistoryPool"


def make_app(pools: Pools, access: Access, origins: Sequence[str], *, hooks: "Hooks | None" = None) -> Guard:
    """Return the application, with its guard around it. `hooks`: who takes webhooks, where anybody does."""
    from forgelore.surfaces.web.api import ADDRESSES as DATA
    from forgelore.surfaces.web.pages import ADDRESSES as PAGES
    from forgelore.surfaces.web.review import ADDRESSES as REVIEW
    from forgelore.surfaces.web.work import ADDRESSES as WORK

    works: dict[str, Work] = {}

    @contextlib.asynccontextmanager
    async def live(_: Starlette) -> AsyncIterator[None]:
        await asyncio.to_thread(_warm_up)
        yield

    routes: list[Route | Mount] = [
        Route(one.path, _endpoint(one, pools, works), methods=["POST" if one.writes else "GET"])
        for one in (*PAGES, *REVIEW, *WORK, *DATA)
    ]
    routes += [
        Route("/sign-in", _sign_in, methods=["GET", "POST"]),
        Route("/sign-out", _sign_out, methods=["POST"]),
        *([Route(HOOKS, hooks.receive, methods=["POST"])] if hooks else []),
        Mount("/static", StaticFiles(directory=STATIC)),
    ]
    return Guard(Starlette(routes=routes, lifespan=live, exception_handlers={404: _not_found}), access, origins)


def _warm_up() -> None:
    """Compile what the first page would otherwise wait for."""
    render("error.html", **_frame(None, "/"), title="", message="", hint="")


def _endpoint(address: Address, pools: Pools, works: dict[str, Work]) -> Callable[[Request], object]:
    pool = pools.saving if address.writes else pools.asking if address.path == "/ask/answer" else pools.reading
    is_data = address.kind == "data"

    async def endpoint(request: Request) -> Response:
        visitor: Visitor | None = request.state.visitor
        if visitor is None:
            return _ask_to_sign_in(request, is_data=is_data)
        try:
            asked = (await _read(request, visitor))._replace(works=works)
            _check(address, asked, request)
            found = await pool.ask(lambda history: _carry_out(address.handler, history, asked))
            if isinstance(found, Events):
                from forgelore.surfaces.web.tasks import stream_events

                return StreamingResponse(stream_events(found.work), media_type="text/event-stream")
            return _start(found, pools, works, visitor, is_data=is_data) if isinstance(found, Background) else found
        except LoreError as error:
            return _show_error(error, visitor, request.url.path, is_data=is_data)
        except Stopped:
            return _show_error(LoreError("this was cancelled"), visitor, request.url.path, is_data=is_data)
        except BodyTooLarge:
            return _show_error(InvalidValue("this is too large: at most 1 MB"), visitor, "/", is_data=is_data)

    return endpoint


def _start(
    asked: Background, pools: Pools, works: dict[str, Work], visitor: Visitor, *, is_data: bool
) -> Response:  # fmt: skip
    """Have work done by the thread that writes, or one that asks, and lead to its page."""
    running = [one for one in works.values() if not one.has_ended]
    if len(running) >= _MAX_RUNNING:
        raise RateLimited("too much work is waiting here", hint="ask again in a minute", wait_s=60.0)
    for ident in [ident for ident, one in works.items() if one.has_ended][:-_MAX_ENDED]:
        del works[ident]
    work = Work(asked.title, asked.project, visitor.name)
    works[work.task.id] = work
    pool = pools.asking if asked.is_question else pools.writing
    work.future = pool.submit(lambda history: asked.run(history, work), work.task)
    if not is_data:
        return RedirectResponse(f"/work/{work.task.id}", status_code=303)
    from forgelore.surfaces.web.tasks import describe_task

    envelope = present_answer(describe_task(work), warnings=[], elapsed_ms=0, failure=None)
    return JSONResponse(envelope, status_code=202, headers={"location": f"/api/v1/tasks/{work.task.id}"})


async def _read(request: Request, visitor: Visitor) -> WebRequest:
    form: dict[str, str] = {}
    if request.method == "POST":
        if request.headers.get("content-type", "").startswith("application/json"):
            form = _read_json(await request.body())
        else:
            async with request.form(max_files=0, max_fields=50) as sent:
                form = {name: value for name, value in sent.items() if isinstance(value, str)}
    query = {name: value[:10_000] for name, value in request.query_params.items()}
    every = {name: request.query_params.getlist(name) for name in query}
    address = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    return WebRequest(
        request.path_params, query, every, form, visitor, request.headers.get("hx-request-type") == "partial", address
    )


def _read_json(body: bytes) -> dict[str, str]:
    try:
        found = json.loads(body or b"{}")
    except (ValueError, RecursionError) as error:
        raise InvalidValue("the body is not JSON") from error
    if not isinstance(found, dict) or not all(isinstance(value, str | int) for value in found.values()):
        raise InvalidValue("the body is not a JSON object of texts and numbers")
    return {name: str(value) for name, value in found.items()}


def _check(address: Address, asked: WebRequest, request: Request) -> None:
    """Refuse what the visitor's role does not cover, and writes that no page of ours has sent."""
    if not asked.visitor.may(address.role):
        raise AuthError(f"this takes the role {address.role!r}", hint=f"you have the role {asked.visitor.role!r}")
    if address.writes:
        import hmac

        given = asked.form.get("token") or request.headers.get("x-token", "")
        bearer = request.headers.get("authorization", "").lower().startswith("bearer ")
        if not bearer and not hmac.compare_digest(given.encode(), asked.visitor.token.encode()):
            raise AuthError("this form is out of date", hint="load the page again, then send it")


def _carry_out(handler: Handler, history: "History", asked: WebRequest) -> Response | Background | Events:
    """Answer in a thread of the pool, HTML included."""
    answer = handler(history, asked)
    if isinstance(answer, Background | Events):
        return answer
    if isinstance(answer, Document):
        return JSONResponse(answer.value)
    if isinstance(answer, Redirect):
        return RedirectResponse(answer.address, status_code=303)
    if isinstance(answer, Data):
        data = present_answer(answer.value, warnings=list(answer.warnings), elapsed_ms=0, failure=None)
        return JSONResponse(data, headers={"link": f'<{answer.next}>; rel="next"'} if answer.next else None)
    if isinstance(answer, Download):
        headers = {"content-disposition": f'attachment; filename="{answer.name}"'}
        return Response(answer.text, media_type=answer.media_type, headers=headers)
    frame = _frame(asked.visitor, asked.address) | {
        "asked": asked,
        "is_part": asked.is_part,
        "now_ms": history.now_ms(),
    }
    if not asked.is_part:
        projects = history.projects.list()
        frame |= {"projects": projects, "project": asked.project or (projects[0] if len(projects) == 1 else "")}
    return HTMLResponse(render(answer.template, **{**frame, **answer.values}), status_code=answer.status)


def _frame(visitor: Visitor | None, address: str) -> dict[str, object]:
    """Return what the frame around every page shows."""
    return {"visitor": visitor, "address": address, "projects": [], "project": "", "is_part": False}


def _show_error(error: LoreError, visitor: Visitor | None, path: str, *, is_data: bool) -> Response:
    if isinstance(error, UsageError):  # what only a history with confidential items answers
        hint = "start the server with --include-internal, for people who may see confidential items"
        error = Refused("this needs every item, confidential ones too", hint=hint)
    status = next((status for kind, status in _STATUSES.items() if isinstance(error, kind)), 500)
    if is_data:
        return JSONResponse(present_failure(error), status_code=status)
    said = {"title": "That did not work", "message": error.message, "hint": error.hint}
    return HTMLResponse(render("error.html", **_frame(visitor, path), **said), status_code=status)


async def _not_found(request: Request, _: Exception) -> Response:
    error = NotFound(f"page not found: {request.url.path[:100]}", hint="start at the first page")
    is_data = request.url.path.startswith("/api/")
    return _show_error(error, request.state.visitor, request.url.path, is_data=is_data)


def _ask_to_sign_in(request: Request, *, is_data: bool) -> Response:
    if is_data:
        error = AuthError("no token, or an unknown one", hint="send Authorization: Bearer TOKEN")
        return JSONResponse(present_failure(error), status_code=401, headers={"www-authenticate": "Bearer"})
    return RedirectResponse(f"/sign-in?to={quote(request.url.path, safe='')}", status_code=303)


async def _sign_in(request: Request) -> Response:
    access: Access = request.state.access
    to = request.query_params.get("to", "/")
    to = to if to.startswith("/") and not to.startswith(("//", "/\\")) else "/"
    message = ""
    if request.method == "POST":
        async with request.form(max_files=0, max_fields=5) as form:
            visitor = access.find_token(str(form.get("password", "")).strip())
        if visitor:
            answer = RedirectResponse(to, status_code=303)
            answer.set_cookie(
                COOKIE, access.open_session(visitor), max_age=SESSION_S, httponly=True, samesite="strict",
                secure=request.state.is_secure,
            )  # fmt: skip
            return answer
        await asyncio.sleep(1)  # whoever guesses has time
        message = "That token is not known here."
    page = render("sign_in.html", **_frame(None, "/sign-in"), to=to, message=message)
    return HTMLResponse(page, status_code=401 if message else 200)


async def _sign_out(_: Request) -> Response:
    answer = RedirectResponse("/sign-in", status_code=303)
    answer.delete_cookie(COOKIE)
    return answer
