"""The tools of the MCP server: a table of names, descriptions, schemas and what each asks of the facade.

A tool that another job brings is a row here and a struct for its arguments and its answer; nothing else knows them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from forgelore.errors import NotFound
from forgelore.surfaces.mcp.answers import DATA_NOTE, ToolAnswer, one_line, without_commands
from forgelore.surfaces.mcp.arguments import (
    AskArguments,
    CountArguments,
    Given,
    HistoryArguments,
    LabelsArguments,
    ListArguments,
    MeArguments,
    ReadArguments,
    SearchArguments,
    ShowArguments,
    SimilarArguments,
    StatusArguments,
    SyncArguments,
    TreeArguments,
    WhoArguments,
    build_input_schema,
    read_arguments,
)
from forgelore.surfaces.mcp.finding import (
    FoundItems,
    ListedLines,
    ProjectStatuses,
    SimilarItems,
    SyncReport,
    answer_me,
    answer_rows,
    answer_search,
    answer_similar,
    answer_status,
    answer_sync,
    answer_who,
    describe_listed,
)
from forgelore.surfaces.mcp.reading import (
    AskedAnswer,
    FileHistory,
    ItemOutline,
    ReadWindow,
    answer_ask,
    answer_history,
    answer_read,
    answer_show,
)
from forgelore.surfaces.present.data import JsonValue, build_schema
from forgelore.surfaces.present.text import fence_alone as fence

if TYPE_CHECKING:
    from forgelore.api import History

_MAX_LIMIT = 20
_MAX_ROWS = 100  # labels, or entries of a folder
_MAX_CHARS = 8_000  # of a window
_CHARS_AROUND = 2_000  # of a window around a line
_PASTED = 2_000  # characters; somebody who types writes less
_ASK_SECONDS = 300.0  # clients do not wait longer


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
    input_schema: dict[str, JsonValue]
    output_schema: dict[str, JsonValue]
    call: "Callable[[History, Mapping[str, object]], ToolAnswer]"
    is_writing: bool = False
    is_talking: bool = False


def list_tools(options: ServerOptions) -> list[ToolSpec]:
    """Return the tools that a server offers."""
    tools = [
        _tool(
            "search", "Search the history", SearchArguments, FoundItems, _search,
            "Find issues, pull and merge requests, discussions, releases and conversations by words and meaning; with"
            " type code or commit, files and commits of a clone that was indexed. Returns one entry per item, best"
            f" first: its ref and line for `read`, and the part that matched. {DATA_NOTE}",
        ),
        _tool(
            "read", "Read an item", ReadArguments, ReadWindow, _read,
            "Read an item with its conversation through a window of at most 8,000 characters with line numbers, for"
            f" citations. Markers and `above`/`below` say where there is more. {DATA_NOTE}",
        ),
        _tool(
            "similar", "Find similar items", SimilarArguments, SimilarItems, _similar,
            "Find what an item resembles or may repeat, with the reasons and, where it is known, the chance that the"
            f" first one is a duplicate. {DATA_NOTE}",
        ),
        _tool(
            "show", "Show an item", ShowArguments, ItemOutline, _show,
            "Show the facts of an item (state, people, labels, links, files) and the beginning of its text and"
            f" comments. {DATA_NOTE}",
        ),
        _tool(
            "history", "What happened to a file", HistoryArguments, FileHistory, _history,
            "Tell what happened to a file or folder: first what was decided, quoted with ref and lines for `read`, then"
            f" changes, commits, threads and mentions. {DATA_NOTE}",
        ),
        _tool(
            "who", "Who is this, or who knows this file", WhoArguments, ListedLines, _who,
            f"Tell what a person did and knows, or who wrote, reviewed and committed a path. {DATA_NOTE}",
        ),
        _tool(
            "me", "What waits for me", MeArguments, ListedLines, _me,
            f"List reviews, questions, threads, assignments and mentions that wait for a person. {DATA_NOTE}",
        ),
        _tool(
            "list", "List items", ListArguments, ListedLines, _list,
            f"List the items that qualifiers allow, in an order; `search` is for words. {DATA_NOTE}",
        ),
        _tool("count", "Count items", CountArguments, ListedLines, _count, "Count what qualifiers allow, by state."),
        _tool(
            "labels", "List labels", LabelsArguments, ListedLines, _labels,
            f"List labels, the most used first. {DATA_NOTE}",
        ),
        _tool(
            "tree", "List a folder of the code", TreeArguments, ListedLines, _tree,
            f"List the folders and files of a folder of the indexed code. {DATA_NOTE}",
        ),
        _tool(
            "sync_status", "How fresh the history is", StatusArguments, ProjectStatuses, _status,
            "List the projects of the database, how many items each has, and when it was last brought up to date.",
        ),
        _tool(
            "ask", "Ask a question", AskArguments, AskedAnswer,
            partial(_ask, include_internal=options.include_internal),
            "Let the language model of the settings search, read and answer a question, with citations that are looked"
            f" up in the database. Takes up to some minutes; search and read yourself where you can. {DATA_NOTE}",
        )._replace(is_talking=True),
        _tool(
            "sync", "Bring a project up to date", SyncArguments, SyncReport, _sync,
            "Fetch what is new of a project that the database holds, from its forge. May take minutes.",
        )._replace(is_writing=True, is_talking=True),
    ]  # fmt: skip
    offered = {"sync": options.can_write, "ask": options.has_model}
    return [tool for tool in tools if offered.get(tool.name, True)]


def _tool(
    name: str, title: str, arguments: type[Given], answer: type,
    run: "Callable[[History, Given], ToolAnswer]", description: str,
) -> ToolSpec:  # fmt: skip
    def call(history: "History", sent: Mapping[str, object]) -> ToolAnswer:
        return run(history, read_arguments(arguments, sent))

    return ToolSpec(name, title, description, build_input_schema(arguments), _build_output_schema(answer), call)


def _build_output_schema(answer: type) -> dict[str, JsonValue]:
    """Return the schema of an answer, an object at its root as the protocol wants it."""
    definitions = build_schema(answer)["$defs"]
    assert isinstance(definitions, dict)
    root = definitions.pop(answer.__name__)
    assert isinstance(root, dict)
    return {**root, **({"$defs": definitions} if definitions else {})}


def _search(history: "History", given: SearchArguments) -> ToolAnswer:
    limit, notes = _clamp(given.limit)
    answer = history.search(
        given.query, mode=given.mode, limit=limit, offset=given.offset,
        literal=len(given.query) > _PASTED or "\n" in given.query, project=history.projects.name(given.project),
        type=given.type or None, state=given.state or None, author=given.author or None, label=given.label or None,
        path=given.path or None, after=given.after, before=given.before,
    )  # fmt: skip
    return answer_search(answer, notes, has_several_projects=history.projects.are_several)


def _read(history: "History", given: ReadArguments) -> ToolAnswer:
    is_around = given.direction is None and (given.line is not None or bool(given.find))
    chars = min(max(given.chars or (_CHARS_AROUND if is_around else _MAX_CHARS), 1_000), _MAX_CHARS)
    read = history.read(
        given.ref, line=given.line, column=given.column, direction=given.direction, find=given.find, chars=chars,
        project=history.projects.name(given.project),
    )  # fmt: skip
    return answer_read(read, given.find)


def _similar(history: "History", given: SimilarArguments) -> ToolAnswer:
    limit, notes = _clamp(given.limit)
    answer = history.similar(
        given.ref, limit=limit, earlier=given.only_earlier, project=history.projects.name(given.project)
    )
    return answer_similar(answer, given.ref, notes, has_several_projects=history.projects.are_several)


def _show(history: "History", given: ShowArguments) -> ToolAnswer:
    return answer_show(history.show(given.ref, project=history.projects.name(given.project)))


def _history(history: "History", given: HistoryArguments) -> ToolAnswer:
    limit, notes = _clamp(given.limit)
    try:
        found = history.paths.history(
            given.path, project=given.project, after=given.after, before=given.before, limit=limit,
            offset=given.offset, kind=given.kind,
        )  # fmt: skip
    except NotFound as error:  # the nearest path is a stranger's word
        raise NotFound(error.message, hint=_fence_hint(error)) from error
    return answer_history(found, notes, given.offset)


def _who(history: "History", given: WhoArguments) -> ToolAnswer:
    limit, notes = _clamp(given.limit)
    project = history.projects.name(given.project)
    try:
        found = history.people.who_or_path(given.who, project=project, limit=limit)
    except NotFound as error:  # the nearest name is a stranger's word
        raise NotFound(fence(one_line(error.message, 300)), hint=_fence_hint(error)) from error
    return answer_who(found, notes)


def _fence_hint(error: NotFound) -> str:
    hint = one_line(without_commands(error.hint), 300)
    return fence(hint) if hint else ""


def _me(history: "History", given: MeArguments) -> ToolAnswer:
    limit, notes = _clamp(given.limit)
    return answer_me(history.people.me(given.login, project=history.projects.name(given.project), limit=limit), notes)


def _list(history: "History", given: ListArguments) -> ToolAnswer:
    limit, notes = _clamp(given.limit)
    most, project = given.offset + limit + 1, history.projects.name(given.project)
    if given.kind == "items":
        found = history.items(given.query, sort=given.sort, limit=most, project=project)
    else:
        found = history.list_items(given.kind, given.query, sort=given.sort, limit=most, project=project)
    lines = [describe_listed(one) for one in found]
    return answer_rows(given.kind, lines, given.offset, limit, notes=(*notes, *found.warnings))


def _count(history: "History", given: CountArguments) -> ToolAnswer:
    found = history.count(given.what, given.query, project=history.projects.name(given.project))
    lines = [f"{name}: {count}" for name, count in found.by.items()]
    return answer_rows(given.what, lines, 0, len(lines), total=found.total, notes=found.warnings)


def _labels(history: "History", given: LabelsArguments) -> ToolAnswer:
    found = history.labels(history.projects.name(given.project))
    lines = [f"{one.name} ({one.items})" for one in found]
    return answer_rows("labels", lines, given.offset, _MAX_ROWS, total=len(lines))


def _tree(history: "History", given: TreeArguments) -> ToolAnswer:
    found = history.tree(given.folder, project=given.project)
    lines = [f"{one.path} ({one.files} files)" if one.path.endswith("/") else one.path for one in found]
    return answer_rows("entries", lines, given.offset, _MAX_ROWS, total=len(lines))


def _status(history: "History", given: StatusArguments) -> ToolAnswer:
    return answer_status(history.sync.status(given.project), history.now_ms())


def _ask(history: "History", given: AskArguments, *, include_internal: bool) -> ToolAnswer:
    answer = history.ask(
        given.question, budget=given.budget, seconds=_ASK_SECONDS, include_internal=include_internal,
        project=history.projects.name(given.project), continues=given.continue_session,
    )  # fmt: skip
    return answer_ask(answer)


def _sync(history: "History", given: SyncArguments) -> ToolAnswer:
    """A project that a person has fetched before, and no other: what an issue says must not choose what is fetched."""
    name = history.projects.name(given.project)
    if name is None:
        raise NotFound(f"{given.project!r} is not in this database", hint="a person has to fetch it first")
    return answer_sync(history.sync.run(name))


def _clamp(limit: int) -> tuple[int, list[str]]:
    """Return the nearest limit there is, and a note where it is another than was asked for."""
    taken = min(max(limit, 1), _MAX_LIMIT)
    return taken, [] if taken == limit else [f"limit {str(limit)[:20]} is out of range; {taken} is taken"]
