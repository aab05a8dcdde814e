"""Tool calls: what a model may ask for while it looks for an answer, and whether what it wrote is such a call.

    search  read  scroll  search_within_item  get  answer

A call comes natively (a name, and its arguments as JSON text), or as JSON somewhere in the model's text, for servers
without tools: {"observations": "…", "tool_call": {"name": "read", "arguments": {"id": "#41"}}}. What is wrong with a
call is said in words that the model can act on. Nothing here trusts a type: a model writes what it likes.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

ToolName = Literal["search", "read", "scroll", "search_within_item", "get", "answer"]
_TYPES = ("issue", "change", "discussion", "release", "thread", "code", "commit")
MAX_CALL_CHARS = 40_000  # of one call, as JSON; an answer is the longest


class ToolField(NamedTuple):
    """An argument. `kind`: text, types, line, direction, citations."""

    name: str
    kind: str
    doc: str
    is_required: bool = False


class AskTool(NamedTuple):
    name: ToolName
    doc: str
    fields: tuple[ToolField, ...]


TOOLS = (
    AskTool(
        "search",
        "Find items by words and meaning. Returns the 5 best: id, type, title, URL, line and a snippet.",
        (
            ToolField("keywords", "text", "what to look for; qualifiers such as label:bug or author:ana work", True),
            ToolField("types", "types", f"only these: {', '.join(_TYPES)}"),
            ToolField("path", "text", "a glob of paths, for code and changes: src/**/*.py"),
        ),
    ),
    AskTool(
        "read",
        "Open an item and see a window of its numbered lines. Without a line it begins at the top.",
        (
            ToolField("id", "text", "the id of a search result, or a ref such as #41", True),
            ToolField("line", "line", "the line to see in the middle"),
        ),
    ),
    AskTool(
        "scroll",
        "Move the window of the item that was read last.",
        (ToolField("direction", "direction", "up or down", True),),
    ),
    AskTool(
        "search_within_item",
        "List every line of the item that was read last where words stand, and move the window to the first.",
        (ToolField("keywords", "text", "what to look for in it", True),),
    ),
    AskTool(
        "get",
        "Get what is known of one item by its ref (#41, !12, a tag, a path): state, labels, links, number of lines.",
        (ToolField("ref", "text", "the ref", True),),
    ),
    AskTool(
        "answer",
        "Give the final answer. Behind each claim stands [1], [2], …: the number of a citation in `citations`, counted"
        " from 1. A citation names the item, its lines, and a quote copied from these lines, which is looked up.",
        (
            ToolField("text", "text", "the answer, with [1] behind each claim", True),
            ToolField("citations", "citations", "what the numbers stand for"),
        ),
    ),
)
_CITATION = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "description": "the item"},
        "first_line": {"type": "integer", "minimum": 1},
        "last_line": {"type": "integer", "minimum": 1},
        "quote": {"type": "string", "description": "copied from these lines, word for word"},
    },
    "required": ["id", "first_line", "last_line", "quote"],
}
_SCHEMAS: dict[str, dict[str, object]] = {
    "text": {"type": "string"},
    "types": {"type": "array", "items": {"type": "string", "enum": list(_TYPES)}, "maxItems": len(_TYPES)},
    "line": {"type": "integer", "minimum": 1},
    "direction": {"type": "string", "enum": ["up", "down"]},
    "citations": {"type": "array", "items": _CITATION},
}


class ClaimedCitation(NamedTuple):
    """A citation as the model wrote it; nothing of it is checked yet. `problem`: why it cannot be looked up."""

    id: str
    first_line: int
    last_line: int
    quote: str
    problem: str = ""


class AskCall(NamedTuple):
    """A call that can be carried out; what a tool has no use for is empty."""

    name: ToolName
    text: str = ""  # keywords, id, ref or the answer
    types: tuple[str, ...] = ()
    path: str = ""
    line: int | None = None
    direction: Literal["up", "down"] = "down"
    citations: tuple[ClaimedCitation, ...] = ()


class MalformedCall(Exception):
    """What is wrong with a call, in words for the model."""


def tool_schema(tool: AskTool, *, with_observations: bool = True) -> dict[str, object]:
    """Return the JSON Schema of a tool's arguments. Each takes `observations` beside them."""
    fields = {field.name: {**_SCHEMAS[field.kind], "description": field.doc} for field in tool.fields}
    if with_observations:
        fields["observations"] = {"type": "string", "description": "what you know so far, in a sentence or two"}
    return {
        "type": "object",
        "properties": fields,
        "required": [field.name for field in tool.fields if field.is_required],
    }


def parse_call(name: str, arguments: object) -> AskCall:
    """Return the call that a name and its arguments (JSON text, or what it held) are. Raises MalformedCall."""
    tool = next((tool for tool in TOOLS if tool.name == name), None)
    if tool is None:
        raise MalformedCall(f"unknown tool {name[:60]!r}; the tools are: {', '.join(tool.name for tool in TOOLS)}")
    given = _as_object(arguments, tool)
    names = [field.name for field in tool.fields]
    unknown = [argument[:60] for argument in given if argument not in (*names, "observations")]
    if unknown:
        raise MalformedCall(f"{name} has no argument {', '.join(map(repr, unknown[:5]))}; it takes: {', '.join(names)}")
    for field in tool.fields:
        if field.is_required and given.get(field.name) in (None, ""):
            raise MalformedCall(f"{field.name} of {name} is missing: {field.doc}")
    if tool.name == "scroll":
        return AskCall("scroll", direction=_as_direction(given["direction"]))
    first = tool.fields[0].name
    return AskCall(
        tool.name, text=_as_text(f"{first} of {name}", given[first]),
        types=_as_texts(f"types of {name}", given.get("types") or []),
        path=_as_text(f"path of {name}", given["path"]) if given.get("path") else "",
        line=_as_line(f"line of {name}", given["line"]) if given.get("line") is not None else None,
        citations=_as_citations(given.get("citations") or []),
    )  # fmt: skip


def find_text_call(text: str) -> tuple[str, str, object]:
    """Return (observations, name, arguments) of the first JSON object in a text that is a call. Raises MalformedCall.

    A fence around it, and prose before and behind it, are left out.
    """
    decoder = json.JSONDecoder()
    start = text.find("{")
    tries = 0
    while start >= 0 and tries < 50:
        tries += 1
        try:
            found, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and (call := _as_text_call(found)):
            return call
        start = text.find("{", start + 1)
    raise MalformedCall('no tool call found; write {"tool_call": {"name": "search", "arguments": {…}}}')


def read_observations(arguments: object) -> str:
    """Return what a model noted beside the arguments of a native call; "" where it noted nothing."""
    try:
        given = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return ""
    noted = given.get("observations") if isinstance(given, dict) else None
    return noted.strip() if isinstance(noted, str) else ""


def _as_text_call(found: Mapping[str, object]) -> tuple[str, str, object] | None:
    """Return what an object says, in the shapes that models fall into."""
    noted = found.get("observations")
    inner = found.get("tool_call") or found.get("function") or found
    if not isinstance(inner, dict):
        return None
    name = inner.get("name") or inner.get("tool")
    if not isinstance(name, str):
        return None
    arguments = inner.get("arguments", inner.get("parameters", {}))
    return noted.strip() if isinstance(noted, str) else "", name, arguments


def _as_object(arguments: object, tool: AskTool) -> Mapping[str, object]:
    if isinstance(arguments, str):
        if len(arguments) > MAX_CALL_CHARS:
            raise MalformedCall(f"the arguments have {len(arguments):,} characters; the maximum is {MAX_CALL_CHARS:,}")
        try:
            arguments = json.loads(arguments or "{}")
        except (ValueError, RecursionError):
            raise MalformedCall(f"the arguments of {tool.name} are not JSON") from None
    if not isinstance(arguments, dict):
        raise MalformedCall(f"the arguments of {tool.name} must be a JSON object")
    return arguments


def _as_text(where: str, value: object) -> str:
    """Return an argument that is text; a number is taken for one."""
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise MalformedCall(f"{where} must be text")
    return value.strip()


def _as_texts(where: str, value: object) -> tuple[str, ...]:
    texts = [value] if isinstance(value, str) else value
    if not isinstance(texts, list):
        raise MalformedCall(f"{where} must be a list of texts")
    return tuple(_as_text(where, text) for text in texts[:20])


def _as_direction(value: object) -> Literal["up", "down"]:
    if value == "up":
        return "up"
    if value == "down":
        return "down"
    raise MalformedCall("direction of scroll must be up or down")


def _as_line(where: str, value: object) -> int:
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit() and len(value) < 12:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < 10**9:
        raise MalformedCall(f"{where} must be a line number, starting at 1")
    return value


def _as_citations(value: object) -> tuple[ClaimedCitation, ...]:
    """Return the citations of an answer; one of another shape is kept with what is wrong, so that no answer is lost."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            value = [value]
    if isinstance(value, dict):
        value = [value] if "quote" in value or "id" in value else list(value.values())
    entries = value if isinstance(value, list) else [value]
    return tuple(_as_citation(entry) for entry in entries[:100])


def _as_citation(entry: object) -> ClaimedCitation:
    if not isinstance(entry, dict):
        return ClaimedCitation(
            "",
            0,
            0,
            entry if isinstance(entry, str) else "",
            "must be an object with id, first_line, last_line and quote",
        )
    id_, quote = entry.get("id") or entry.get("ref"), entry.get("quote")
    if isinstance(id_, int) and not isinstance(id_, bool):
        id_ = f"#{id_}"
    said = ClaimedCitation(id_.strip() if isinstance(id_, str) else "", 0, 0, quote if isinstance(quote, str) else "")
    if not said.id:
        return said._replace(problem="has no id")
    try:
        first = _as_line("first_line", entry.get("first_line", entry.get("line")))
        last = entry.get("last_line")
        end = first if last is None else _as_line("last_line", last)
    except MalformedCall as problem:
        return said._replace(problem=str(problem))
    return said._replace(first_line=min(first, end), last_line=max(first, end))


def read_written(text: str, calls: Sequence[tuple[str, str]]) -> str:
    """Return what a model has written of its answer so far, from an unfinished reply: its text, and (name, arguments)
    of its calls.
    """
    for name, arguments in calls:
        if name == "answer":
            return read_draft(arguments)
    begun = re.search(r'"name"\s*:\s*"answer"', text)
    return read_draft(text[begun.end() :]) if begun else ""


def read_draft(arguments: str) -> str:
    """Return the text of an answer whose arguments are broken JSON, as far as it goes."""
    begun = re.search(r'"text"\s*:\s*"((?:[^"\\]|\\.)*)', arguments, re.DOTALL)
    if not begun:
        return ""
    written = begun[1]
    whole = re.match(r"(?:[^\\]|\\u[0-9a-fA-F]{4}|\\[^u])*", written)
    end = whole.end() if whole else 0
    if re.fullmatch(r"\\(?:u[0-9a-fA-F]{0,3})?", written[end:]):
        written = written[:end]  # an escape of which the rest has not come yet
    try:
        text = str(json.loads(f'"{written}"', strict=False))
    except ValueError:
        return written
    return text[:-1] if "\ud800" <= text[-1:] <= "\udbff" else text  # half a sign: the other half has not come yet
