"""The protocol's side of the MCP server: tools, resources and prompts as the official SDK wants them.

Errors are in our words: a tool that fails answers with message and hint, so that the agent can do
something else; only what names no tool, resource or prompt is an error of the protocol. No traceback leaves.
"""

import os
import sys
from typing import NamedTuple

import mcp_types as protocol
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.shared.exceptions import MCPError

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
    ListedResource,
    PromptSpec,
    list_resources,
    read_resource,
)
from forgelore.surfaces.mcp.tools import ServerOptions, ToolSpec, list_tools
from forgelore.surfaces.present.text import printable
from forgelore.version import __version__

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
            return protocol.CallToolResult(content=[_text(_in_words(error))], is_error=True)
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
        return protocol.ListResourcesResult(resources=[_listed_resource(one) for one in found])

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
            raise MCPError(protocol.INVALID_PARAMS, _in_words(error), {"uri": uri[:1_000]}) from error
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
            raise MCPError(protocol.INVALID_PARAMS, _in_words(error)) from error
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
        name=tool.name, title=tool.title, description=tool.description, input_schema=tool.input_schema,
        output_schema=tool.output_schema if is_structured else None,
        annotations=protocol.ToolAnnotations(
            title=tool.title, read_only_hint=not tool.is_writing, destructive_hint=False, idempotent_hint=True,
            open_world_hint=tool.is_talking,
        ),
    )  # fmt: skip


def _listed_resource(one: ListedResource) -> protocol.Resource:
    return protocol.Resource(
        uri=one.uri, name=one.name, title=one.title, description=one.description, mime_type="text/plain"
    )


def _listed_prompt(prompt: PromptSpec) -> protocol.Prompt:
    argument = protocol.PromptArgument(name=prompt.argument, description=prompt.argument_description, required=True)
    return protocol.Prompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=[argument])


def _text(text: str) -> protocol.TextContent:
    return protocol.TextContent(text=text)


def _in_words(error: LoreError | Stopped) -> str:
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
