"""The conversation with a model: one line of messages, which shrinks where it would not fit any more."""

import json

from forgelore.chat_port import ChatMessage, ChatReply, ChatTool
from forgelore.core.ask.condense import Spoken, choose_condensed, count_tokens
from forgelore.core.ask.prompt import fence_in, write_refusal, write_task
from forgelore.core.ask.tool_calls import TOOLS, tool_schema
from forgelore.flows.ask.desk import ToolResult

CHAT_TOOLS = tuple(ChatTool(tool.name, tool.doc, tool_schema(tool)) for tool in TOOLS)
_TOOLS_CHARS = len(json.dumps([tool_schema(tool) for tool in TOOLS])) + sum(len(tool.doc) for tool in TOOLS)


class Conversation:
    """What was said so far. `is_in_text`: calls are JSON in the text, because the server knows no tools."""

    def __init__(self, question: str, fence: str) -> None:
        self._fence = fence
        self._entries: list[tuple[ChatMessage, str]] = [(ChatMessage("user", question), "")]
        self.is_in_text = False

    def hear(self, reply: ChatReply) -> None:
        """Keep what the model said."""
        calls = () if self.is_in_text else reply.tool_calls
        self._entries.append((ChatMessage("assistant", reply.text, calls), ""))

    def tell(self, result: ToolResult, call_id: str) -> None:
        """Answer a call with what was found, as data."""
        self._answer(fence_in(result.text, self._fence), result.gist, call_id)

    def refuse(self, problem: str, call_id: str = "") -> None:
        """Say why a call was not carried out. What is quoted of it is the model's own."""
        self._answer(write_refusal(problem), "", call_id)

    def say(self, text: str) -> None:
        self._entries.append((ChatMessage("user", text), ""))

    def count(self) -> int:
        """Return about how many tokens a prompt with all of it has."""
        return count_tokens(self._spoken()) + (0 if self.is_in_text else _TOOLS_CHARS // 4)

    def messages(self, most: int) -> list[ChatMessage]:
        """Return the messages, the oldest results as one line each where `most` tokens are not enough."""
        spoken = self._spoken()
        room = most - (0 if self.is_in_text else _TOOLS_CHARS // 4)
        condensed = choose_condensed(spoken, room)
        found = [ChatMessage("system", spoken[0].text)]
        for at, (message, gist) in enumerate(self._entries, 1):
            found.append(message._replace(text=f"(left out: {gist})") if at in condensed else message)
        return found

    def _answer(self, text: str, gist: str, call_id: str) -> None:
        if self.is_in_text or not call_id:
            self._entries.append((ChatMessage("user", text), gist))
        else:
            self._entries.append((ChatMessage("tool", text, (), call_id), gist))

    def _spoken(self) -> list[Spoken]:
        task = Spoken("system", write_task(self._fence, in_text=self.is_in_text))
        return [
            task,
            *(
                Spoken(message.role, message.text, gist, sum(len(call.arguments) for call in message.tool_calls))
                for message, gist in self._entries
            ),
        ]
