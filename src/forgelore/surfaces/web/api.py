"""/api/v1: the verbs of the facade for programs, in the envelope of `--json`, and the document that describes them.

    GET  /api/v1/search?q=…            GET  /api/v1/items?q=label:bug        GET  /api/v1/items/%2312
    GET  /api/v1/similar/%2312         GET  /api/v1/count/issues?q=…         GET  /api/v1/waiting
    GET  /api/v1/duplicates            POST /api/v1/duplicates/answer        GET  /api/v1/history?path=…
    GET  /api/v1/changes               GET  /api/v1/projects             GET  /api/v1/openapi.json

Every list takes `project` and `limit`, and search the filters of the command line by their names. A list that goes on
has the address of its next page in a header, `Link: <…>; rel="next"`. Long work is a task (`web/tasks`).
"""

from functools import cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, get_type_hints
from urllib.parse import urlencode

from forgelore.api import COUNTABLE, FilterWords
from forgelore.errors import InvalidValue
from forgelore.surfaces.present.changes import OverlapData, present_overlaps
from forgelore.surfaces.present.data import ErrorData, Meta, build_schema
from forgelore.surfaces.present.find import SearchData, SimilarData, present_search, present_similar
from forgelore.surfaces.web import tasks
from forgelore.surfaces.web.app import Address, Answer, Data, Document, Handler, WebRequest
from forgelore.surfaces.web.guard import Role
from forgelore.version import __version__

if TYPE_CHECKING:
    from forgelore.api import (
        AnsweredPair,
        History,
        ListedItem,
        PathHistory,
        ReviewQueue,
        RowCount,
        StoredItem,
        SyncStatus,
        WaitingWork,
    )

# A filter that is new is one here as well; what is left out is written into the query (`-label:bug`).
_MAX_DEPTH = 1_000_000
Json: TypeAlias = "dict[str, object]"
_FILTERS = tuple(name for name in FilterWords.__annotations__ if name not in ("project", "without"))


def _filters(asked: WebRequest) -> FilterWords:
    found: FilterWords = {"project": asked.project}
    for name in _FILTERS:
        if name in asked.every:
            values = asked.every[name]
            found[name] = values[0] if len(values) == 1 else list(values)  # type: ignore[literal-required]
    return found


def _read_cursor(asked: WebRequest) -> int:
    text = asked.query.get("cursor", "0")
    if not (text.isascii() and text.isdecimal() and len(text) < 7):
        raise InvalidValue(f"unknown cursor: {text[:40]!r}", hint="take the address in the Link header as it is")
    return int(text)


def _next_page(asked: WebRequest, **changed: str) -> str:
    path = asked.address.partition("?")[0]
    kept = [(name, value) for name, values in asked.every.items() for value in values if name not in changed]
    return f"{path}?{urlencode([*kept, *changed.items()])}"


def search(history: "History", asked: WebRequest) -> Answer:
    query = asked.query.get("q", "")
    answer = history.search(
        query, mode=asked.query.get("mode", "hybrid"), limit=asked.number("limit", 20),  # type: ignore[arg-type]
        offset=asked.query.get("offset", "0"), sort=asked.query.get("sort"), **_filters(asked),
    )  # fmt: skip
    shown = present_search(
        answer, query, is_explained="explain" in asked.query, is_full_ref=history.projects.are_several
    )
    return Data(shown, answer.warnings, _next_page(asked, offset=shown.next) if shown.next else "")


def similar(history: "History", asked: WebRequest) -> Answer:
    ref = asked.path["ref"]
    answer = history.similar(
        ref, limit=asked.number("limit", 10), offset=asked.query.get("offset", "0"), **_filters(asked)
    )
    shown = present_similar(
        answer, ref, is_explained="explain" in asked.query, is_full_ref=history.projects.are_several
    )
    return Data(shown, answer.warnings, _next_page(asked, offset=shown.next) if shown.next else "")


def list_items(history: "History", asked: WebRequest) -> Answer:
    """Items in the order of the query. A page is what is left behind those before it: what changes meanwhile moves."""
    start, limit = _read_cursor(asked), asked.number("limit", 30)
    items = history.items(asked.query.get("q", ""), limit=min(start + limit + 1, _MAX_DEPTH), **_filters(asked))
    page = list(items)[start : start + limit]
    has_more = len(items) > start + limit
    return Data(page, items.warnings, _next_page(asked, cursor=str(start + limit)) if has_more else "")


def show(history: "History", asked: WebRequest) -> Answer:
    return Data(history.show(asked.path["ref"], project=asked.project))


def count(history: "History", asked: WebRequest) -> Answer:
    found = history.count(asked.path["what"], asked.query.get("q", ""), **_filters(asked))
    return Data(found, found.warnings)


def waiting(history: "History", asked: WebRequest) -> Answer:
    return Data(history.people.waiting(project=asked.project, limit=asked.number("limit", 20)))


def queue(history: "History", asked: WebRequest) -> Answer:
    reviewer = asked.visitor.name or None
    return Data(history.dedupe.queue(project=asked.project, limit=asked.number("limit", 20), reviewer=reviewer))


def answer_pair(history: "History", asked: WebRequest) -> Answer:
    form = asked.form
    said = history.dedupe.answer(
        form.get("newer", ""), form.get("older", ""), form.get("answer", ""), project=asked.project,
        reviewer=asked.visitor.name or None,
    )  # fmt: skip
    return Data(said)


def path_history(history: "History", asked: WebRequest) -> Answer:
    found = history.paths.history(
        asked.query.get("path", ""), project=asked.project, limit=asked.number("limit", 30),
        offset=asked.number("offset", 0),
    )  # fmt: skip
    shown = asked.number("offset", 0) + len(found.decisions) + len(found.entries)
    has_more = shown < found.decision_count + found.entry_count and len(found.decisions) + len(found.entries) > 0
    return Data(found, found.warnings, _next_page(asked, offset=str(shown)) if has_more else "")


def changes(history: "History", asked: WebRequest) -> Answer:
    answer = history.changes.overlap(asked.query.get("ref"), project=asked.project, limit=asked.number("limit", 30))
    return Data(present_overlaps(answer), answer.warnings)


def projects(history: "History", asked: WebRequest) -> Answer:
    return Data(history.sync.status(asked.project))


class Answers:
    """What each operation answers, by its name: the types of `--json`."""

    search: SearchData
    items: "list[ListedItem]"
    item: "StoredItem"
    similar: SimilarData
    count: "RowCount"
    waiting: "WaitingWork"
    duplicates: "ReviewQueue"
    answer: "AnsweredPair"
    history: "PathHistory"
    changes: OverlapData
    projects: "list[SyncStatus]"
    task: tasks.TaskData
    events: str


class Operation(NamedTuple):
    """An address for programs. `query`: names of `_PARAMETERS`, `filters` for all of the command line's; `body`: the
    fields of the JSON that is sent, those that it takes with an asterisk.
    """

    path: str
    handler: Handler
    answer: str
    summary: str
    query: str = ""
    body: str = ""
    role: Role = "read"
    is_accepted: bool = False  # answered with 202: a task goes on


def describe(_: "History", asked: WebRequest) -> Answer:
    del asked
    return Document(build_document())


OPERATIONS = (
    Operation("search", search, "search", "Best hits for words, phrases and qualifiers",
              "q mode sort limit offset explain filters"),
    Operation("items", list_items, "items", "Items that match, in the order of the query", "q limit cursor filters"),
    Operation("items/{ref:path}", show, "item", "One item with its conversation", "project"),
    Operation("similar/{ref:path}", similar, "similar", "What an item resembles", "limit offset explain filters"),
    Operation("count/{what}", count, "count", "How many items, threads or notes match", "q filters"),
    Operation("waiting", waiting, "waiting", "Open items that wait for the maintainers", "project limit"),
    Operation("duplicates", queue, "duplicates", "Pairs for people to decide, the likeliest first", "project limit"),
    Operation("duplicates/answer", answer_pair, "answer", "Keep what a person says of a pair",
              body="newer* older* answer* project", role="review"),
    Operation("history", path_history, "history", "What happened to a file, decisions first",
              "path project limit offset"),
    Operation("changes", changes, "changes", "Changes that do the same as others", "ref project limit"),
    Operation("projects", projects, "projects", "Where each project stands", "project"),
    Operation("tasks/sync", tasks.start_sync, "task", "Bring a project up to date", body="project*", role="review",
              is_accepted=True),
    Operation("tasks/ask", tasks.start_question, "task", "Answer a question", body="question* project continues",
              is_accepted=True),
    Operation("tasks/{id}", tasks.show_task, "task", "How far a task is, and its answer"),
    Operation("tasks/{id}/events", tasks.follow_task, "events", "What a task says until it ends"),
    Operation("tasks/{id}/cancel", tasks.cancel_task, "task", "End a task after its transaction", body="-"),
)  # fmt: skip
ADDRESSES = (
    *(Address(f"/api/v1/{one.path}", one.handler, one.role, writes=bool(one.body), kind="data") for one in OPERATIONS),
    Address("/api/v1/openapi.json", describe, kind="data"),
)

_TEXT: Json = {"type": "string"}
_WHOLE: Json = {"type": "integer", "minimum": 0}
_PARAMETERS: dict[str, tuple[str, Json]] = {
    "q": ("What is looked for, as in `forgelore search`", _TEXT),
    "mode": ("How it is looked for", {"enum": ["hybrid", "lexical", "semantic"]}),
    "sort": ("Another order than the best first", _TEXT),
    "limit": ("How many rows at most", _WHOLE),
    "offset": ("Where the page begins, as the answer before it says", _TEXT),
    "cursor": ("Where the page begins; take the address in the Link header as it is", _TEXT),
    "explain": ("Why each hit is where it is", _TEXT),
    "project": ("The project; default: the only one, or all", _TEXT),
    "path": ("A file, a folder or a glob", _TEXT),
    "ref": ("An item: #12, !34, a URL", _TEXT),
    "what": ("What is counted", {"enum": list(COUNTABLE)}),
    "id": ("The task's id", _TEXT),
}
_IN_PATH = ("ref", "what", "id")
_PROBLEMS = {
    "400": "The request means nothing here", "401": "No token, or an unknown one", "403": "The role does not cover it",
    "404": "Not there", "409": "Refused, or somebody else is at work", "413": "Too large", "429": "Ask again later",
    "500": "The program's fault, or what it needs is missing",
}  # fmt: skip


@cache
def build_document() -> Json:
    """Return the OpenAPI document; its schemas are those of `--json`."""
    from forgelore.surfaces.cli.schemas import known_types

    names = {**known_types(), "TaskData": tasks.TaskData}
    kinds = get_type_hints(Answers, localns=names)
    schemas: Json = {}
    paths: Json = {}
    for one in OPERATIONS:
        method = "post" if one.body else "get"
        path = f"/api/v1/{one.path.replace(':path', '')}"
        paths[path] = {method: _describe_operation(one, _schema(kinds[one.answer], names, schemas))}
    error, meta = (_schema(kind, names, schemas) for kind in (ErrorData, Meta))
    schemas |= {"Error": {"type": "object", "properties": {"ok": {"const": False}, "error": error},
                          "required": ["ok", "error"]}, "MetaData": meta}  # fmt: skip
    return {
        "openapi": "3.1.0",
        "info": {"title": "forgelore", "version": __version__, "description": "The history of a project, for programs"},
        "paths": paths,
        "components": {
            "schemas": dict(sorted(schemas.items())),
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{"token": []}, {}],
    }


def _schema(kind: object, names: dict[str, object], schemas: Json) -> Json:
    """Return the schema of a type, and put the structs in it beside the others."""
    made = _moved(build_schema(kind, names))
    assert isinstance(made, dict)
    schemas |= made.pop("$defs")
    return made


def _moved(value: object) -> object:
    """Return a schema whose references lead to where an OpenAPI document keeps them."""
    if isinstance(value, dict):
        return {key: str(one).replace("#/$defs/", "#/components/schemas/") if key == "$ref" else _moved(one)
                for key, one in value.items()}  # fmt: skip
    return [_moved(one) for one in value] if isinstance(value, list) else value


def _describe_operation(one: Operation, answer: Json) -> Json:
    placed = [name for name in _IN_PATH if f"{{{name}" in one.path]
    asked = [name for word in one.query.split() for name in (("project", *_FILTERS) if word == "filters" else (word,))]
    found: Json = {
        "operationId": one.handler.__name__, "summary": one.summary,
        "parameters": [
            *(_describe_parameter(name, "path") for name in placed),
            *(_describe_parameter(name, "query") for name in asked),
        ],
        "responses": {
            "202" if one.is_accepted else "200": _describe_answer(one, answer),
            **{status: {"description": said, "content": {"application/json": {"schema": {
                "$ref": "#/components/schemas/Error"}}}} for status, said in _PROBLEMS.items()},
        },
    }  # fmt: skip
    if one.body:
        fields = [word for word in one.body.split() if word != "-"]
        schema = {"type": "object", "properties": {word.rstrip("*"): _TEXT for word in fields},
                  "required": [word.rstrip("*") for word in fields if word.endswith("*")]}  # fmt: skip
        found["requestBody"] = {"content": {"application/json": {"schema": schema}}, "required": bool(fields)}
    return found


def _describe_parameter(name: str, place: str) -> Json:
    several = {"type": "array", "items": _TEXT}
    said, schema = _PARAMETERS.get(name, (f"The filter of that name in `forgelore list`: {name}", several))
    return {"name": name, "in": place, "required": place == "path", "description": said, "schema": schema}


def _describe_answer(one: Operation, answer: Json) -> Json:
    if one.answer == "events":
        return {"description": one.summary, "content": {"text/event-stream": {"schema": _TEXT}}}
    envelope = {
        "type": "object", "required": ["ok", "data", "meta", "warnings"],
        "properties": {"ok": {"const": True}, "data": answer, "meta": {"$ref": "#/components/schemas/MetaData"},
                       "warnings": {"type": "array", "items": _TEXT}},
    }  # fmt: skip
    return {"description": one.summary, "content": {"application/json": {"schema": envelope}}}
