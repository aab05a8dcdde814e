"""The conversation with a model: one line of messages, which shrinks where it would not fit any more."""

import json
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.chat_port import ChatMessage, ChatReply, ChatTool, ToolCall
from forgelore.core.ask.condense import CHARS_PER_TOKEN, Spoken, choose_condensed, count_tokens, cut_text
from forgelore.core.ask.prompt import EARLIER_SOURCES, NO_ANSWER, write_refusal, write_task
from forgelore.core.ask.tool_calls import TOOLS, tool_schema
from forgelore.core.fence import fence_in
from forgelore.flows.ask.desk import ToolResult

CHAT_TOOLS = tuple(ChatTool(tool.name, tool.doc, tool_schema(tool)) for tool in TOOLS)
_TOOLS_CHARS = len(json.dumps([tool_schema(tool) for tool in TOOLS])) + sum(len(tool.doc) for tool in TOOLS)
_OWN_WORDS = 300  # characters that stay of what the model itself said, when room is short
_LEAST_DATA = 400  # characters of the newest result that are always shown


class _Entry(NamedTuple):
    """A message; what stands for it when room is short, if anything does; the data in it, before its fence."""

    message: ChatMessage
    short: ChatMessage | None = None
    data: str = ""


class EarlierTurn(NamedTuple):
    """A question that was answered before, the answer, and the lines that it rests on."""

    question: str
    answer: str
    sources: str


class Conversation:
    """What was said so far. `is_in_text`: calls are JSON in the text, because the server knows no tools."""

    def __init__(self, question: str, fence: str, earlier: Sequence[EarlierTurn] = ()) -> None:
        self._fence = fence
        self._entries: list[_Entry] = []
        sources = ""
        for turn in earlier:
            self._ask(turn.question, sources)
            said = ChatMessage("assistant", turn.answer or NO_ANSWER)
            self._entries.append(_Entry(said, _shorten(said)))
            sources = turn.sources
        self._ask(question, sources)
        self.is_in_text = False

    def _ask(self, question: str, sources: str) -> None:
        """Ask a question; the lines that the answer before it rests on stand above it, as data."""
        plain = ChatMessage("user", question)
        if not sources:
            self._entries.append(_Entry(plain))
            return
        message = ChatMessage("user", f"{EARLIER_SOURCES}\n{fence_in(sources, self._fence)}\n\n{question}")
        self._entries.append(_Entry(message, plain))

    def hear(self, reply: ChatReply) -> None:
        """Keep what the model said."""
        message = ChatMessage("assistant", reply.text, reply.tool_calls)
        if self.is_in_text and reply.tool_calls:
            message = ChatMessage("assistant", "\n".join([reply.text, *map(_in_text, reply.tool_calls)]).strip())
        self._entries.append(_Entry(message, _shorten(message)))

    def tell(self, result: ToolResult, call_id: str) -> None:
        """Answer a call with what was found, as data."""
        message = self._answer(fence_in(result.text, self._fence), call_id)
        self._entries.append(_Entry(message, message._replace(text=f"(left out: {result.gist})"), result.text))

    def refuse(self, problem: str, call_id: str = "") -> None:
        """Say why a call was not carried out. What is quoted of it is the model's own."""
        self._entries.append(_Entry(self._answer(write_refusal(problem), call_id)))

    def say(self, text: str) -> None:
        self._entries.append(_Entry(ChatMessage("user", text)))

    def count(self) -> int:
        """Return about how many tokens a prompt with all of it has."""
        return count_tokens(self._spoken()) + self._tools_tokens

    def messages(self, most: int) -> list[ChatMessage]:
        """Return the messages, the oldest ones shortened where `most` tokens are not enough."""
        spoken = self._spoken()
        room = most - self._tools_tokens
        condensed = choose_condensed(spoken, room)
        shown = [
            entry.short if at in condensed and entry.short else entry.message
            for at, entry in enumerate(self._entries, 1)
        ]
        over = count_tokens([spoken[0], *map(_speak, shown)]) - room
        newest = self._newest
        if over > 0 and newest >= 0:
            data = self._entries[newest].data
            kept = cut_text(data, max(_LEAST_DATA, len(data) - over * CHARS_PER_TOKEN))
            shown[newest] = shown[newest]._replace(text=fence_in(kept, self._fence))
        return [ChatMessage("system", spoken[0].text), *shown]

    @property
    def _tools_tokens(self) -> int:
        return 0 if self.is_in_text else _TOOLS_CHARS // CHARS_PER_TOKEN

    @property
    def _newest(self) -> int:
        """Which entry holds what was found last; -1: none does."""
        return max((at for at, entry in enumerate(self._entries) if entry.data), default=-1)

    def _answer(self, text: str, call_id: str) -> ChatMessage:
        is_plain = self.is_in_text or not call_id
        return ChatMessage("user", text) if is_plain else ChatMessage("tool", text, (), call_id)

    def _spoken(self) -> list[Spoken]:
        newest = self._newest
        spoken = [Spoken("system", write_task(self._fence, in_text=self.is_in_text))]
        for at, entry in enumerate(self._entries):
            gist = _speak(entry.short).text if entry.short and at != newest else ""
            spoken.append(_speak(entry.message)._replace(gist=gist))
        return spoken


def _speak(message: ChatMessage) -> Spoken:
    return Spoken(message.role, message.text + "".join(call.arguments for call in message.tool_calls))


def _in_text(call: ToolCall) -> str:
    return json.dumps({"tool_call": {"name": call.name, "arguments": call.arguments}})


def _shorten(message: ChatMessage) -> ChatMessage | None:
    """Return what stands for the model's own words; None where they are short. Arguments stay JSON, as servers want."""
    calls = tuple(
        call._replace(arguments=json.dumps({"left_out": f"{len(call.arguments)} characters"}))
        if len(call.arguments) > _OWN_WORDS
        else call
        for call in message.tool_calls
    )
    short = message._replace(text=cut_text(message.text, _OWN_WORDS), tool_calls=calls)
    return short if short != message else None
