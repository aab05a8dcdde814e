"""The chat port: a language model that answers messages, as flows ask it. Nobody has checked what it says.

A message is `system`, `user`, `assistant` (with the calls of tools that it made) or `tool` (the answer to such a call).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

CHARS_A_TOKEN = 4  # where nobody counts
ChatRole = Literal["system", "user", "assistant", "tool"]


class ToolCall(NamedTuple):
    """A tool that the model wants to be called. `arguments` is JSON as it wrote it: nobody has parsed it."""

    id: str
    name: str
    arguments: str


class ChatMessage(NamedTuple):
    """`tool_call_id`: which call a `tool` message answers."""

    role: ChatRole
    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str = ""


class ChatTool(NamedTuple):
    """A tool that is offered; `parameters` is the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, object]


class ChatReply(NamedTuple):
    """What the model said. Tokens are the server's count, or a quarter of the characters where it has none."""

    text: str
    tool_calls: tuple[ToolCall, ...]
    tokens_in: int
    tokens_out: int
    finish_reason: str  # stop, length, tool_calls … as the server calls it
    model: str


class ChatModel(Protocol):
    """A language model behind a server. Making one asks nothing; threads may share it.

    Raises ChatUnreachable, ChatModelNotFound, ChatFailed (ToolsRefused, PromptTooLong), AuthError, RateLimited. What a
    server refuses (a schema, a way to think, a limit's name) is left out or asked otherwise, from then on too.
    """

    @property
    def profile(self) -> str:
        """Which part of the settings it is: default, cheap, strong."""
        ...

    @property
    def model(self) -> str: ...
    @property
    def context(self) -> int:
        """How many tokens a prompt and its answer may have together; 0: nobody said."""
        ...

    @property
    def json_mode(self) -> str:
        """How a schema is asked for now: schema, object, none."""
        ...

    def price(self, tokens_in: int, tokens_out: int) -> float:
        """Return what so many tokens cost, in the currency of the settings; 0 where they name no price."""
        ...

    def chat(
        self,
        messages: Sequence[ChatMessage],
        *,
        tools: Sequence[ChatTool] | None = None,
        schema: Mapping[str, object] | None = None,
        max_tokens: int | None = None,
        on_part: Callable[[ChatReply], None] | None = None,
    ) -> ChatReply:
        """Return the model's answer. `schema`: it should be JSON of this shape, which is asked for as far as the server
        can; who asks checks it. `on_part` gets what has come so far, again and again, where the server can stream; an
        answer that broke off begins anew.
        """
        ...

    def interrupt(self) -> None:
        """Cut off what is being asked, from any thread."""
        ...

    def close(self) -> None: ...
