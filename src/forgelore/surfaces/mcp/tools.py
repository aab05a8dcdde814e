"""The tools of the MCP server: a table of names and descriptions, and a function for each that asks the facade.

What a function takes by name are the tool's arguments, with their limits and descriptions: their schema for agents is
made from them, and what agents send is checked against them. Errors are in our words and list the valid arguments. A
string where a list is wanted means a list of one; nothing else is guessed or converted.
"""

from collections.abc import Callable, Mapping
from types import FunctionType
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple, ParamSpec, cast

import msgspec
from msgspec import Meta, Struct

from forgelore.errors import InvalidValue, NotFound
from forgelore.surfaces.mcp.answers import (
    DATA_NOTE,
    FoundItems,
    ListedLines,
    ProjectStatuses,
    SimilarItems,
    ToolAnswer,
    answer_me,
    answer_rows,
    answer_search,
    answer_similar,
    answer_status,
    answer_sync,
    answer_who,
    describe_listed,
    one_line,
    without_commands,
)
from forgelore.surfaces.mcp.pairs import PossibleDuplicates, answer_overlaps, answer_pairs
from forgelore.surfaces.mcp.reading import (
    ItemOutline,
    ReadWindow,
    answer_ask,
    answer_history,
    answer_read,
    answer_show,
)
from forgelore.surfaces.present.text import fence_alone as fence

if TYPE_CHECKING:
    from forgelore.api import History

MAX_TEXT = 100_000  # characters of a query: a pasted stack trace is one
_MAX_NAME = 1_000
_MAX_DRAFT = 20_000  # characters

_Name = Annotated[str, Meta(max_length=_MAX_NAME)]
_Ref = Annotated[
    str,
    Meta(
        max_length=_MAX_NAME,
        description="as answers name it: #12, !34, owner/repo#12, a tag, a commit, file:7; or its page's URL",
    ),
]
_Project = Annotated[str, Meta(max_length=_MAX_NAME, description="owner/repo; needed if there are several projects")]
_Offset = Annotated[int, Meta(ge=0, le=100_000, description="`next` of the previous page")]
_Limit = Annotated[int, Meta(description="1 to 20; a number outside means the nearest one")]
_MAX_LIMIT = 20
_MAX_ROWS = 100  # labels, or entries of a folder
_MAX_CHARS = 8_000  # of a window
_CHARS_AROUND = 2_000  # of a window around a line
_PASTED = 2_000  # characters; somebody who types writes less
_ASK_SECONDS = 300.0  # clients do not wait longer

Given = ParamSpec("Given")


class ServerOptions(NamedTuple):
    """How a server was started: what its agents may do and see, and whether there is a model that answers."""

    can_write: bool = False
    include_internal: bool = False
    has_model: bool = False
    is_structured: bool = False  # answers also come as data with a schema, for programs


class ToolSpec(NamedTuple):
    """A tool as it is listed, and what it does. `is_writing`: only where the server may write; `is_talking`: it asks a
    forge or a model.
    """

    name: str
    title: str
    description: str
    arguments: type[Struct]
    answer: type | str  # its data: a struct, or the public name of one that is loaded for its schema alone
    call: "Callable[[History, Mapping[str, object]], ToolAnswer]"
    is_writing: bool = False
    is_talking: bool = False


def list_tools(options: ServerOptions) -> list[ToolSpec]:
    """Return the tools that a server offers."""
    offered = {"sync": options.can_write, "ask": options.has_model}
    return [tool for tool in (*_reading_tools(), *_working_tools(options)) if offered.get(tool.name, True)]


def _reading_tools() -> list[ToolSpec]:
    return [
        _tool(
            "search", "Search the history", FoundItems, _search,
            "Find issues, pull and merge requests, discussions, releases and conversations by words and meaning; with"
            " type code or commit, files and commits of a clone that was indexed. Returns one entry per item, best"
            f" first: its ref and line for `read`, and the part that matched. {DATA_NOTE}",
        ),
        _tool(
            "read", "Read an item", ReadWindow, _read,
            "Read an item with its conversation through a window of at most 8,000 characters with line numbers, for"
            f" citations. Markers and `above`/`below` say where there is more. {DATA_NOTE}",
        ),
        _tool(
            "similar", "Find similar items", SimilarItems, _similar,
            "Find what an item, or a draft before you file it, resembles or may repeat, with the reasons and, where it"
            f" is known, the chance that the first one is a duplicate. {DATA_NOTE}",
        ),
        _tool(
            "show", "Show an item", ItemOutline, _show,
            "Show the facts of an item (state, people, labels, links, files) and the beginning of its text and"
            f" comments. {DATA_NOTE}",
        ),
        _tool(
            "history", "What happened to a file", "PathHistory", _history,
            "Tell what happened to a file or folder: first what was decided, quoted with ref and lines for `read`, then"
            f" changes, commits, threads and mentions. {DATA_NOTE}",
        ),
        _tool(
            "who", "Who is this, or who knows this file", ListedLines, _who,
            f"Tell what a person did and knows, or who wrote, reviewed and committed a path. {DATA_NOTE}",
        ),
        _tool(
            "me", "What waits for me", ListedLines, _me,
            f"List reviews, questions, threads, assignments and mentions that wait for a person. {DATA_NOTE}",
        ),
        _tool(
            "list", "List items", ListedLines, _list,
            f"List the items that qualifiers allow, in an order; `search` is for words. {DATA_NOTE}",
        ),
        _tool("count", "Count items", ListedLines, _count, "Count what qualifiers allow, by state."),
        _tool(
            "labels", "List labels", ListedLines, _labels,
            f"List labels, the most used first. {DATA_NOTE}",
        ),
        _tool(
            "tree", "List a folder of the code", ListedLines, _tree,
            f"List the folders and files of a folder of the indexed code. {DATA_NOTE}",
        ),
    ]  # fmt: skip


def _working_tools(options: ServerOptions) -> list[ToolSpec]:
    """Return those that help to keep a project in order, and those that take their time."""
    return [
        _tool(
            "possible_duplicates", "Review pairs", PossibleDuplicates, _possible_duplicates,
            f"List the likeliest undecided duplicates, with what differs. {DATA_NOTE}",
        ),
        _tool(
            "overlap", "Find overlapping changes", ListedLines, _overlap,
            "List recent pull and merge requests that change the same lines as another, close the same issue or touch"
            " the same files. Before you open one, give its diff, its files or the issues it will close. Without any:"
            f" all groups of rivals. {DATA_NOTE}",
        ),
        _tool(
            "sync_status", "How fresh the history is", ProjectStatuses, _status,
            "List the projects of the database, how many items each has, and when it was last brought up to date.",
        ),
        _tool(
            "ask", "Ask a question", "AskAnswer", _ask,
            "Let the language model of the settings search, read and answer a question, with citations that are looked"
            f" up in the database. Takes up to some minutes; search and read yourself where you can. {DATA_NOTE}",
            include_internal=options.include_internal,
        )._replace(is_talking=True),
        _tool(
            "sync", "Bring a project up to date", "SyncedProject", _sync,
            "Fetch what is new of a project that the database holds, from its forge. May take minutes.",
        )._replace(is_writing=True, is_talking=True),
    ]  # fmt: skip


def _tool(
    name: str, title: str, answer: type | str, run: Callable[Given, ToolAnswer], description: str, **fixed: bool
) -> ToolSpec:
    """Return a tool that runs a function: what it takes by name are the tool's arguments, but for what is fixed."""
    function = cast("FunctionType", run)
    arguments = _list_arguments(function, fixed)

    def call(history: "History", sent: Mapping[str, object]) -> ToolAnswer:
        done: ToolAnswer = function(history, **fixed, **read_arguments(arguments, sent))
        return done

    return ToolSpec(name, title, description, arguments, answer, call)


def _list_arguments(function: FunctionType, fixed: Mapping[str, bool]) -> type[Struct]:
    """Return the parameters of a function as a struct, from which schemas are made and into which JSON is read."""
    kinds, defaults = function.__annotations__, function.__kwdefaults__ or {}
    names = [name for name in kinds if name not in ("history", "return", *fixed)]
    fields = [(name, kinds[name], defaults[name]) if name in defaults else (name, kinds[name]) for name in names]
    return msgspec.defstruct(function.__name__, fields, forbid_unknown_fields=True)


def read_arguments(kind: type[Struct], sent: Mapping[str, object]) -> dict[str, object]:
    """Return what was sent, checked; a string where a list is expected becomes a list of one. Raises InvalidValue with
    the valid arguments.
    """
    lists = {field.name for field in msgspec.structs.fields(kind) if field.default == ()}
    sent = {name: [value] if name in lists and isinstance(value, str) else value for name, value in sent.items()}
    try:
        return msgspec.structs.asdict(msgspec.convert(sent, kind))
    except msgspec.ValidationError as error:
        known = ", ".join(kind.__struct_fields__)
        message = (
            str(error).replace("Object contains", "there is an").replace("Object missing required field", "missing:")
        )
        raise InvalidValue(f"the arguments do not fit: {message[:300]}", hint=f"this tool takes {known}") from error


def _search(
    history: "History",
    *,
    query: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=MAX_TEXT,
            description='words, "a phrase", -word, auth*, #12, and qualifiers: label:bug is:open created:>2026-01',
        ),
    ],
    type: Annotated[  # noqa: A002 - the name that agents know
        tuple[_Name, ...],
        Meta(
            max_length=10,
            description="any of issue, change (pull or merge request), discussion, release, thread, code, commit, all",
        ),
    ] = (),
    state: Annotated[tuple[_Name, ...], Meta(max_length=10, description="any of open, closed, merged")] = (),
    author: Annotated[tuple[_Name, ...], Meta(max_length=10, description="any of these people")] = (),
    label: Annotated[
        tuple[_Name, ...], Meta(max_length=10, description='all of these labels; "a,b": one of these')
    ] = (),
    path: Annotated[
        tuple[_Name, ...], Meta(max_length=10, description="touches any of these files; globs such as src/**.py")
    ] = (),
    after: Annotated[str, Meta(max_length=100, description="created since: 2026-03-01, 7d, 3 months ago")]
    | None = None,
    before: Annotated[str, Meta(max_length=100, description="created before")] | None = None,
    project: _Project | None = None,
    mode: Annotated[
        Literal["hybrid", "lexical", "semantic"], Meta(description="by words and meaning, by words, or by meaning")
    ] = "hybrid",
    limit: _Limit = 10,
    offset: Annotated[str, Meta(max_length=200, description="`next` of the previous page")] = "0",
) -> ToolAnswer:
    limit, notes = _clamp(limit)
    answer = history.search(
        query, mode=mode, limit=limit, offset=offset,
        literal=len(query) > _PASTED or "\n" in query, project=history.projects.name(project),
        type=type or None, state=state or None, author=author or None, label=label or None,
        path=path or None, after=after, before=before,
    )  # fmt: skip
    return answer_search(answer, notes, has_several_projects=history.projects.are_several)


def _read(
    history: "History",
    *,
    ref: Annotated[
        str,
        Meta(
            max_length=_MAX_NAME,
            description="as answers name it: #12, !34, owner/repo#12, a tag, a commit, file:7; a page's URL; a path",
        ),
    ],
    line: Annotated[int, Meta(description="the line to read around; with a direction, where to begin or end")]
    | None = None,
    column: Annotated[int, Meta(description="a character of a very long line")] = 1,
    direction: Annotated[
        Literal["up", "down"], Meta(description="down: from the line on; up: up to the line. Without a line: the ends")
    ]
    | None = None,
    find: Annotated[str, Meta(max_length=_MAX_NAME, description="words to look for in the text of this item")] = "",
    chars: Annotated[int, Meta(description="most characters to return, 1000 to 8000; around a line 2000, else 8000")]
    | None = None,
    project: _Project | None = None,
) -> ToolAnswer:
    is_around = direction is None and (line is not None or bool(find))
    chars = min(max(chars or (_CHARS_AROUND if is_around else _MAX_CHARS), 1_000), _MAX_CHARS)
    read = history.read(
        ref, line=line, column=column, direction=direction, find=find, chars=chars,
        project=history.projects.name(project),
    )  # fmt: skip
    return answer_read(read, find)


def _similar(
    history: "History",
    *,
    ref: _Ref | None = None,
    text: Annotated[
        str,
        Meta(max_length=_MAX_DRAFT, description="instead of a ref: an issue you are about to file, its title first"),
    ]
    | None = None,
    only_earlier: Annotated[bool, Meta(description="only what was there before it, which it could repeat")] = False,
    limit: _Limit = 5,
    project: _Project | None = None,
) -> ToolAnswer:
    limit, notes = _clamp(limit)
    answer = history.similar(
        ref, text=text, limit=limit, earlier=only_earlier, project=history.projects.name(project)
    )  # fmt: skip
    ref = "the draft" if answer.is_draft else ref or ""
    return answer_similar(answer, ref, notes, has_several_projects=history.projects.are_several)


def _show(history: "History", *, ref: _Ref, project: _Project | None = None) -> ToolAnswer:
    return answer_show(history.show(ref, project=history.projects.name(project)))


def _history(
    history: "History",
    *,
    path: Annotated[
        str, Meta(min_length=1, max_length=4_096, description="a file, a folder (src/) or a glob such as src/**.py")
    ],
    kind: Annotated[
        Literal["", "decision", "issue", "change", "discussion", "release", "commit", "thread"],
        Meta(description="only these; default: everything, decisions first"),
    ] = "",
    offset: _Offset = 0,
    after: Annotated[str, Meta(max_length=100, description="since: 2026-03-01, 7d, 3 months ago")] | None = None,
    before: Annotated[str, Meta(max_length=100, description="before")] | None = None,
    project: _Project | None = None,
    limit: _Limit = 10,
) -> ToolAnswer:
    limit, notes = _clamp(limit)
    try:
        found = history.paths.history(
            path, project=project, after=after, before=before, limit=limit,
            offset=offset, kind=kind,
        )  # fmt: skip
    except NotFound as error:  # the nearest path is a stranger's word
        raise NotFound(error.message, hint=_fence_hint(error)) from error
    return answer_history(found, notes, offset)


def _who(
    history: "History",
    *,
    who: Annotated[str, Meta(min_length=1, max_length=4_096, description="a login, or the path of a file or folder")],
    project: _Project | None = None,
    limit: _Limit = 5,
) -> ToolAnswer:
    limit, notes = _clamp(limit)
    project = history.projects.name(project)
    try:
        found = history.people.who_or_path(who, project=project, limit=limit)
    except NotFound as error:  # the nearest name is a stranger's word
        raise NotFound(fence(one_line(error.message, 300)), hint=_fence_hint(error)) from error
    return answer_who(found, notes)


def _fence_hint(error: NotFound) -> str:
    hint = one_line(without_commands(error.hint), 300)
    return fence(hint) if hint else ""


def _me(
    history: "History",
    *,
    login: Annotated[str, Meta(max_length=_MAX_NAME, description="default: who runs the server")] | None = None,
    project: _Project | None = None,
    limit: _Limit = 5,
) -> ToolAnswer:
    limit, notes = _clamp(limit)
    return answer_me(history.people.me(login, project=history.projects.name(project), limit=limit), notes)


def _list(
    history: "History",
    *,
    kind: Annotated[Literal["items", "issues", "changes", "discussions", "releases"], Meta()] = "items",
    query: Annotated[str, Meta(max_length=_MAX_NAME, description="qualifiers: label:bug is:open -author:ana")] = "",
    sort: Annotated[
        Literal["updated", "created", "number", "comments", "updated-asc", "created-asc", "number-asc", "comments-asc"],
        Meta(),
    ] = "updated",
    project: _Project | None = None,
    limit: _Limit = 10,
    offset: _Offset = 0,
) -> ToolAnswer:
    limit, notes = _clamp(limit)
    most, project = offset + limit + 1, history.projects.name(project)
    if kind == "items":
        found = history.items(query, sort=sort, limit=most, project=project)
    else:
        found = history.list_items(kind, query, sort=sort, limit=most, project=project)
    lines = [describe_listed(one) for one in found]
    return answer_rows(kind, lines, offset, limit, notes=(*notes, *found.warnings))


def _count(
    history: "History",
    *,
    what: Annotated[
        Literal["items", "issues", "changes", "discussions", "releases", "threads", "notes"], Meta()
    ] = "items",
    query: Annotated[str, Meta(max_length=_MAX_NAME, description="qualifiers: label:bug is:open -author:ana")] = "",
    project: _Project | None = None,
) -> ToolAnswer:
    found = history.count(what, query, project=history.projects.name(project))
    lines = [f"{name}: {count}" for name, count in found.by.items()]
    return answer_rows(what, lines, 0, len(lines), total=found.total, notes=found.warnings)


def _labels(history: "History", *, project: _Project | None = None, offset: _Offset = 0) -> ToolAnswer:
    found = history.labels(history.projects.name(project))
    lines = [f"{one.name} ({one.items})" for one in found]
    return answer_rows("labels", lines, offset, _MAX_ROWS, total=len(lines))


def _tree(
    history: "History",
    *,
    folder: Annotated[str, Meta(max_length=4_096, description="default: the root")] = "",
    project: _Project | None = None,
    offset: _Offset = 0,
) -> ToolAnswer:
    found = history.tree(folder, project=project)
    lines = [f"{one.path} ({one.files} files)" if one.path.endswith("/") else one.path for one in found]
    return answer_rows("entries", lines, offset, _MAX_ROWS, total=len(lines))


def _possible_duplicates(history: "History", *, project: _Project | None = None, limit: _Limit = 5) -> ToolAnswer:
    limit, notes = _clamp(limit)
    queue = history.dedupe.queue(project=history.projects.name(project), limit=limit)
    return answer_pairs(queue, limit, notes)


def _overlap(
    history: "History",
    *,
    ref: Annotated[str, Meta(max_length=_MAX_NAME, description="a change: #12, !34 or its URL")] = "",
    diff: Annotated[str, Meta(max_length=400_000, description="of a change yet to be opened, by git diff")] = "",
    paths: Annotated[tuple[_Name, ...], Meta(max_length=100, description="files it will touch")] = (),
    closes: Annotated[tuple[int, ...], Meta(max_length=20, description="issues it will close")] = (),
    project: _Project | None = None,
) -> ToolAnswer:
    found = history.changes.overlap(
        ref or None, diff=diff, paths=paths, closes=closes, project=history.projects.name(project), limit=_MAX_LIMIT,
    )  # fmt: skip
    return answer_overlaps(found)


def _status(history: "History", *, project: _Project | None = None) -> ToolAnswer:
    return answer_status(history.sync.status(project), history.now_ms())


def _ask(
    history: "History",
    *,
    include_internal: bool,
    question: Annotated[str, Meta(min_length=1, max_length=8_000, description="a question about the projects")],
    project: _Project | None = None,
    budget: Annotated[int, Meta(ge=1_000, le=200_000, description="tokens that the model may use in all")] = 60_000,
    continue_session: Annotated[int, Meta(ge=1, description="`session` of an answer that this follows up")]
    | None = None,
) -> ToolAnswer:
    answer = history.ask(
        question, budget=budget, seconds=_ASK_SECONDS, include_internal=include_internal,
        project=history.projects.name(project), continues=continue_session,
    )  # fmt: skip
    return answer_ask(answer)


def _sync(
    history: "History",
    *,
    project: Annotated[str, Meta(min_length=1, max_length=_MAX_NAME, description="a project that the database holds")],
) -> ToolAnswer:
    """A project that a person has fetched before, and no other: what an issue says must not choose what is fetched."""
    name = history.projects.name(project)
    if name is None:
        raise NotFound(f"{project!r} is not in this database", hint="a person has to fetch it first")
    return answer_sync(history.sync.run(name))


def _clamp(limit: int) -> tuple[int, list[str]]:
    """Return the nearest limit there is, and a note where it is another than was asked for."""
    taken = min(max(limit, 1), _MAX_LIMIT)
    return taken, [] if taken == limit else [f"limit {str(limit)[:20]} is out of range; using {taken}"]
