"""The protocol's side of the MCP server: tools, resources and prompts as the official SDK wants them, and how it runs
over standard input and output. Over HTTP: `http.py`.

It ends at the end of its input, or with SIGTERM or Ctrl-C: what is being written is finished first.

Errors are in our words: a tool that fails answers with message and hint, so that the agent can do
something else; only what names no tool, resource or prompt is an error of the protocol. No traceback leaves.
"""

import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from typing import TYPE_CHECKING, NamedTuple, Self

import anyio
import mcp_types as protocol
import msgspec
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.exceptions import MCPError
from mcp.shared.message import SessionMessage
from msgspec import Struct

from forgelore.api import HistoryPool
from forgelore.errors import (
    AuthError,
    ConfigError,
    ForgeError,
    InvalidValue,
    LoreError,
    NotFound,
    RateLimited,
    Stopped,
    StoreError,
)
from forgelore.surfaces.mcp.answers import DATA_NOTE, without_commands
from forgelore.surfaces.mcp.resources import (
    PROMPTS,
    TEMPLATE,
    PromptSpec,
    list_resources,
    read_resource,
)
from forgelore.surfaces.mcp.tools import ServerOptions, ToolSpec, list_tools
from forgelore.surfaces.present.data import JsonValue, build_schema
from forgelore.surfaces.present.text import printable
from forgelore.version import __version__

if TYPE_CHECKING:
    from mcp.shared._context_streams import ContextReceiveStream, ContextSendStream

INSTRUCTIONS = f"""The history of software projects (issues, pull and merge requests, discussions, releases and what
was said about them) in a local database. `search` finds, `read` shows the text with line numbers, `show` the facts of
one item, `similar` what it may repeat, `history` and `who` what happened to a file and who knows it, `list` and `count`
what qualifiers allow, `sync_status` how fresh all of it is. Cite what you say as ref and lines, with
the page's address.
{DATA_NOTE}"""
_MAX_ERROR_CHARS = 800
_ADVICE = (  # in place of commands that only people can run
    (NotFound, "`search` finds refs, and `sync_status` lists the projects"),
    (InvalidValue, "look at the tool's description"),
    (StoreError, "a person has to look at the database; until then no tool can answer"),
    ((AuthError, ConfigError), "a person has to change the settings of this server"),
    ((ForgeError, RateLimited), "try again later"),
)
_Context = ServerRequestContext[dict[str, object], object]


class AgentServer(NamedTuple):
    """The handlers of one server: what the SDK calls for each kind of request."""

    histories: HistoryPool
    talking: HistoryPool  # for tools that wait for a forge or a model: others never queue behind them
    tools: dict[str, ToolSpec]
    is_structured: bool = False

    async def list_tools(
        self, _context: _Context, _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListToolsResult:
        return protocol.ListToolsResult(
            tools=[_listed_tool(tool, is_structured=self.is_structured) for tool in self.tools.values()]
        )

    async def call_tool(self, _context: _Context, params: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        tool = self.tools.get(params.name)
        if tool is None:
            known = ", ".join(self.tools)
            raise MCPError(protocol.INVALID_PARAMS, f"unknown tool {params.name[:80]!r}; use one of {known}")
        try:
            threads = self.talking if tool.is_talking else self.histories
            answer = await threads.ask(lambda history: tool.call(history, params.arguments or {}))
        except (LoreError, Stopped) as error:
            return protocol.CallToolResult(content=[_text(_describe_error(error))], is_error=True)
        except Exception as error:  # noqa: BLE001 - the surface's outermost line
            return protocol.CallToolResult(content=[_text(_unexpected(error))], is_error=True)
        data = answer.as_structured() if self.is_structured else None
        return protocol.CallToolResult(content=[_text(answer.text)], structured_content=data)

    async def list_resources(
        self, _context: _Context, _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListResourcesResult:
        try:
            found = await self.histories.ask(list_resources)
        except LoreError:  # no database yet: nothing to list, and `sync_status` says what to do
            found = []
        return protocol.ListResourcesResult(resources=found)

    async def list_templates(
        self, _context: _Context, _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListResourceTemplatesResult:
        template = protocol.ResourceTemplate(
            name="item", title="An item with its conversation", uri_template=TEMPLATE, mime_type="text/plain",
            description=f"kind: issue, change, discussion or release (then its tag in place of a number). {DATA_NOTE}",
        )  # fmt: skip
        return protocol.ListResourceTemplatesResult(resource_templates=[template])

    async def read_resource(
        self, _context: _Context, params: protocol.ReadResourceRequestParams
    ) -> protocol.ReadResourceResult:
        uri = str(params.uri)
        try:
            text = await self.histories.ask(lambda history: read_resource(history, uri))
        except (LoreError, Stopped) as error:
            raise MCPError(protocol.INVALID_PARAMS, _describe_error(error), {"uri": uri[:1_000]}) from error
        except Exception as error:
            raise MCPError(protocol.INTERNAL_ERROR, _unexpected(error)) from error
        return protocol.ReadResourceResult(
            contents=[protocol.TextResourceContents(uri=uri, text=text, mime_type="text/plain")]
        )

    async def list_prompts(
        self, _context: _Context, _params: protocol.PaginatedRequestParams | None
    ) -> protocol.ListPromptsResult:
        return protocol.ListPromptsResult(prompts=[_listed_prompt(prompt) for prompt in PROMPTS])

    async def get_prompt(self, _context: _Context, params: protocol.GetPromptRequestParams) -> protocol.GetPromptResult:
        prompt = next((one for one in PROMPTS if one.name == params.name), None)
        if prompt is None:
            known = ", ".join(one.name for one in PROMPTS)
            raise MCPError(protocol.INVALID_PARAMS, f"unknown prompt {params.name[:80]!r}; use one of {known}")
        try:
            text = prompt.write(params.arguments or {})
        except InvalidValue as error:
            raise MCPError(protocol.INVALID_PARAMS, _describe_error(error)) from error
        message = protocol.PromptMessage(role="user", content=_text(text))
        return protocol.GetPromptResult(description=prompt.description, messages=[message])


def build_server(histories: HistoryPool, talking: HistoryPool, options: ServerOptions) -> Server[dict[str, object]]:
    """Return the server, ready to be run over any transport."""
    agent = AgentServer(histories, talking, {tool.name: tool for tool in list_tools(options)}, options.is_structured)
    return Server(
        "forgelore", version=__version__, title="forgelore", instructions=INSTRUCTIONS,
        on_list_tools=agent.list_tools, on_call_tool=agent.call_tool, on_list_resources=agent.list_resources,
        on_list_resource_templates=agent.list_templates, on_read_resource=agent.read_resource,
        on_list_prompts=agent.list_prompts, on_get_prompt=agent.get_prompt,
    )  # fmt: skip


def _listed_tool(tool: ToolSpec, *, is_structured: bool) -> protocol.Tool:
    return protocol.Tool(
        name=tool.name, title=tool.title, description=tool.description,
        input_schema=_build_input_schema(tool.arguments),
        output_schema=_build_output_schema(tool.answer) if is_structured else None,
        annotations=protocol.ToolAnnotations(
            title=tool.title, read_only_hint=not tool.is_writing, destructive_hint=False, idempotent_hint=True,
            open_world_hint=tool.is_talking,
        ),
    )  # fmt: skip


def _build_input_schema(kind: type[Struct]) -> dict[str, JsonValue]:
    """Return the schema of a tool's arguments, an object at its root as the protocol wants it."""
    definitions: dict[str, JsonValue]
    (_, *_), definitions = msgspec.json.schema_components([kind], ref_template="#/$defs/{name}")
    root = definitions.pop(kind.__name__)
    assert isinstance(root, dict)
    root = {name: value for name, value in root.items() if name not in ("title", "description")}  # the tool has both
    return {**root, **({"$defs": definitions} if definitions else {})}


def _build_output_schema(answer: type | str) -> dict[str, JsonValue]:
    """Return the schema of an answer, an object at its root as the protocol wants it."""
    import forgelore.api as public

    kind: type = getattr(public, answer) if isinstance(answer, str) else answer
    definitions = build_schema(kind)["$defs"]
    assert isinstance(definitions, dict)
    root = definitions.pop(kind.__name__)
    assert isinstance(root, dict)
    return {**root, **({"$defs": definitions} if definitions else {})}


def _listed_prompt(prompt: PromptSpec) -> protocol.Prompt:
    argument = protocol.PromptArgument(name=prompt.argument, description=prompt.argument_description, required=True)
    return protocol.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=[argument])


def _text(text: str) -> protocol.TextContent:
    return protocol.TextContent(text=text)


def _describe_error(error: LoreError | Stopped) -> str:
    advice = without_commands(error.hint) or next(
        (hint for kind, hint in _ADVICE if isinstance(error, kind)), "a person has to look at it"
    )
    said = f"{without_commands(error.message) or error.message}\n{advice}"
    said = printable(said)
    return said if len(said) <= _MAX_ERROR_CHARS else f"{said[:_MAX_ERROR_CHARS]}…"


def _unexpected(error: Exception) -> str:
    if os.environ.get("FORGELORE_DEBUG"):
        import traceback

        traceback.print_exception(error, file=sys.stderr)
    kind = type(error).__name__
    return f"something unexpected went wrong ({kind}); this is a bug in forgelore: tell the person who runs this server"


def serve_stdio(server: Server[dict[str, object]], close: Callable[[], None]) -> None:
    """Speak the protocol over standard input and output until the input ends."""

    def leave(*_: object) -> None:
        close()
        sys.stderr.flush()
        os._exit(0)  # a thread still waits for a line of input that nobody will send

    async def leave_on_signals() -> None:
        try:
            with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
                async for _ in signals:
                    await anyio.to_thread.run_sync(leave)
        except NotImplementedError:  # event loops on Windows take no signals
            for number in (signal.SIGTERM, signal.SIGINT):
                signal.signal(number, leave)

    async def serve() -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(leave_on_signals)
            async with stdio_server(stdin=take_standard_input()) as (incoming, outgoing):  # type: ignore[arg-type]
                checked = CheckedLines(incoming, outgoing)
                await server.run(checked, outgoing, server.create_initialization_options())  # type: ignore[arg-type]
            tasks.cancel_scope.cancel()

    anyio.run(serve)


def take_standard_input() -> "RequestLines":
    """Return the lines of standard input, which nobody else in this process can read from now on."""
    own = os.dup(sys.stdin.fileno())
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, sys.stdin.fileno())
    os.close(nothing)
    return RequestLines(anyio.wrap_file(os.fdopen(own, encoding="utf-8", errors="replace", closefd=False)))


class RequestLines:
    """Lines as a client sent them. A request whose id is neither a string nor a whole number is replaced by a line that
    is refused for its id: the SDK would take the request for a notification, and not answer.
    """

    def __init__(self, lines: "anyio.AsyncFile[str]") -> None:
        self._lines = lines

    async def __aiter__(self) -> AsyncIterator[str]:
        async for line in self._lines:
            yield '{"jsonrpc": "2.0", "id": null}' if has_unusable_id(line) else line


def has_unusable_id(line: str) -> bool:
    """Return whether a line is a request that could not be answered by its id, such as `{"id": null, "method": …}`."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return False
    if not isinstance(message, dict) or "id" not in message or "method" not in message:
        return False
    return not is_request_id(message["id"])


def is_request_id(number: object) -> bool:
    return isinstance(number, str | int) and not isinstance(number, bool)


class CheckedLines:
    """The messages that came in, as the SDK reads them. A line that cannot be read as a message is answered here with
    an error, which the SDK does not do; it has the request's id where that can be read.
    """

    def __init__(
        self,
        incoming: "ContextReceiveStream[SessionMessage | Exception]",
        outgoing: "ContextSendStream[SessionMessage]",
    ) -> None:
        self._incoming, self._outgoing = incoming, outgoing

    def __getattr__(self, name: str) -> object:
        found: object = getattr(self._incoming, name)
        return found

    def __aiter__(self) -> "CheckedLines":
        return self

    async def __anext__(self) -> object:
        async for found in self._incoming:
            if not isinstance(found, Exception):
                return found
            if refusal := refuse_line(found):
                await self._outgoing.send(refusal)
        raise StopAsyncIteration

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self._incoming.aclose()


def refuse_line(error: Exception) -> "SessionMessage | None":
    """Return the answer to a line that cannot be read as a message; None for an empty one."""
    from pydantic import ValidationError

    errors = error.errors() if isinstance(error, ValidationError) else []
    # Each error has the value it is about. The whole message is that of a field that it lacks, which every message
    # does of one kind or another.
    whole = (one["input"] for one in errors if one["type"] == "missing" and len(one["loc"]) == 2)
    line = next(whole, errors[0]["input"] if errors else "?")
    is_json = not errors or errors[0]["type"] != "json_invalid"
    if isinstance(line, str) and not line.strip():
        return None
    if not is_json:  # also JSON with half a surrogate pair, of which Python can read the id
        try:
            line = json.loads(line)
        except (ValueError, RecursionError):
            line = None
    number = line.get("id") if isinstance(line, dict) else None
    has_bad_id = isinstance(line, dict) and "id" in line and not is_request_id(number)
    number = number if is_request_id(number) else None
    if isinstance(number, str):
        number = number.encode(errors="replace").decode()
    if isinstance(line, list):
        code, said = protocol.INVALID_REQUEST, "batches are not supported: send one message per line"
    elif is_json and has_bad_id:
        code, said = protocol.INVALID_REQUEST, "the id of a request must be a string or a whole number"
    elif is_json:
        code, said = protocol.INVALID_REQUEST, "this is not a JSON-RPC 2.0 message"
    elif line is None:
        code, said = protocol.PARSE_ERROR, "this line is not JSON: send one message per line"
    else:
        code, said = protocol.PARSE_ERROR, "a string holds half of a surrogate pair: send whole characters"
    answer = protocol.JSONRPCError(jsonrpc="2.0", id=number, error=protocol.ErrorData(code=code, message=said))
    return SessionMessage(answer)
