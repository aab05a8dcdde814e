"""The wire of chat completions: our messages as a request, an answer as a reply. Bytes and structs, no socket.

https://platform.openai.com/docs/api-reference/chat. Servers leave out what they like: usage, ids of calls, the model's
name; `content` is null beside calls, or a list of parts. A model's thoughts, in a field of their own or between <think>
tags, are not read. What a server refuses, the request goes on without:

    response_format, a schema      json_mode one step down: schema -> object -> none
    max_tokens                     called max_completion_tokens, as OpenAI's newer models want it; left out where it
                                   does not fit beside the prompt (vLLM refuses what llama.cpp cuts)
    reasoning_effort, temperature, stream, stream_options          left out
    tools                          nothing we could leave out: who asks must know

Servers say so with 400, 404, 422, 500 and 501, most of them with the name of the part.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec
from msgspec import Struct

from forgelore.errors import ChatFailed
from forgelore.llm_settings import JSON_MODES
from forgelore.net.client import HttpAnswer
from forgelore.ports.chat import CHARS_A_TOKEN, ChatMessage, ChatReply, ChatTool, ToolCall
from forgelore.text.fence import storable

MAX_TOKENS = 100_000_000  # of one request; a server that counts more has miscounted
_THOUGHT = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)


class WireFunction(Struct):
    name: str | None = None
    arguments: str | dict[str, object] | None = None


class WireCall(Struct):
    function: WireFunction
    id: str | None = None


class WirePart(Struct):
    text: str | None = None


class WireMessage(Struct):
    content: str | list[WirePart] | None = None
    tool_calls: list[WireCall] | None = None


class WireChoice(Struct):
    message: WireMessage
    finish_reason: str | None = None


class WireAnswer(Struct):
    choices: list[WireChoice]
    usage: object = None
    model: str | None = None


def build_messages(messages: Sequence[ChatMessage]) -> list[dict[str, object]]:
    """Return messages as a server takes them. A lone surrogate is not valid UTF-8 and is replaced."""
    return [_message(one) for one in messages]


def _message(message: ChatMessage) -> dict[str, object]:
    found: dict[str, object] = {"role": message.role, "content": storable(message.text)}
    if message.tool_calls:
        found["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": storable(call.arguments)}}
            for call in message.tool_calls
        ]
    if message.role == "tool":
        found["tool_call_id"] = message.tool_call_id
    return found


def build_tools(tools: Sequence[ChatTool]) -> list[dict[str, object]]:
    return [
        {
            "type": "function",
            "function": {"name": one.name, "description": one.description, "parameters": dict(one.parameters)},
        }
        for one in tools
    ]


def count_chars(messages: Sequence[ChatMessage], tools: Sequence[ChatTool] | None) -> int:
    """Return how many characters a model reads of a request: texts, calls that were made, tools that are offered."""
    said = sum(len(one.text) + sum(len(call.name) + len(call.arguments) for call in one.tool_calls) for one in messages)
    return said + (len(msgspec.json.encode(build_tools(tools))) if tools else 0)


def build_format(mode: str, schema: Mapping[str, object]) -> dict[str, object] | None:
    """Return the `response_format` that asks for JSON in one of the ways; None: in words alone."""
    if mode == "schema":
        return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)}}
    return {"type": "json_object"} if mode == "object" else None


def read_reply(body: bytes, host: str, *, sent_chars: int, model: str) -> ChatReply:
    """Return what an answer says. Raises ChatFailed for anything else."""
    try:
        answer = msgspec.json.decode(body, type=WireAnswer)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        hint = "check that base_url is the address of an OpenAI-compatible API"
        raise ChatFailed(f"{host} sent an invalid answer: {error}", hint=hint) from error
    if not answer.choices:
        raise ChatFailed(f"{host} sent an answer without a choice", hint="see the server's log")
    choice = answer.choices[0]
    text = _text(choice.message.content)
    calls = tuple(_call(one, at) for at, one in enumerate(choice.message.tool_calls or ()))
    usage = answer.usage if isinstance(answer.usage, dict) else {}
    said = len(text) + sum(len(call.name) + len(call.arguments) for call in calls)
    return ChatReply(
        _THOUGHT.sub("", text, count=1).strip(), calls,
        _count(usage.get("prompt_tokens"), sent_chars), _count(usage.get("completion_tokens"), said),
        choice.finish_reason or "", answer.model or model,
    )  # fmt: skip


class StreamReader:
    """A streamed answer (server-sent events), put together to the answer that would have come in one piece.

    https://platform.openai.com/docs/api-reference/chat-streaming
    """

    def __init__(self) -> None:
        self._rest = b""
        self._text: list[str] = []
        self._calls: dict[int, dict[str, str]] = {}
        self._finish: str | None = None
        self._usage: object = None
        self._model: object = None
        self.error = b""  # what the server says of a failure in the middle
        self.is_complete = False

    def feed(self, part: bytes) -> bool:
        """Take the next bytes; return whether they say more of the answer."""
        *lines, self._rest = (self._rest + part).split(b"\n")
        before = (len(self._text), sum(len(call["arguments"]) for call in self._calls.values()))
        for line in lines:
            if line.startswith(b"data:"):
                self._take(line[5:].strip())
        return before != (len(self._text), sum(len(call["arguments"]) for call in self._calls.values()))

    def body(self) -> bytes:
        """Return the answer so far, as the body of one that is not streamed."""
        calls = [{"id": one["id"] or None, "function": one} for _, one in sorted(self._calls.items())]
        message = {"content": "".join(self._text), "tool_calls": calls or None}
        model = self._model if isinstance(self._model, str) else None
        choice = {"message": message, "finish_reason": self._finish}
        return msgspec.json.encode({"choices": [choice], "usage": self._usage, "model": model})

    def _take(self, data: bytes) -> None:
        if data == b"[DONE]":
            self.is_complete = True
            return
        try:
            event = msgspec.json.decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        if not isinstance(event, dict):
            return
        if event.get("error"):
            self.error = data
        self._usage, self._model = event.get("usage") or self._usage, event.get("model") or self._model
        choices = event.get("choices")
        choice = choices[0] if isinstance(choices, list) and choices else {}
        delta = choice.get("delta") or choice.get("message") if isinstance(choice, dict) else None
        if isinstance(delta, dict):
            if isinstance(delta.get("content"), str) and delta["content"]:
                self._text.append(delta["content"])
            calls = delta.get("tool_calls")
            for at, call in enumerate(calls if isinstance(calls, list) else ()):
                self._take_call(call, at)
        if isinstance(choice, dict) and isinstance(choice.get("finish_reason"), str):
            self._finish, self.is_complete = choice["finish_reason"], True

    def _take_call(self, call: object, at: int) -> None:
        if not isinstance(call, dict) or not isinstance(call.get("function"), dict):
            return
        index = call.get("index")
        one = self._calls.setdefault(
            index if isinstance(index, int) else at, {"id": "", "name": "", "arguments": ""}
        )  # fmt: skip
        name, arguments = call["function"].get("name"), call["function"].get("arguments")
        one["id"] = one["id"] or (call["id"] if isinstance(call.get("id"), str) else "")
        one["name"] = one["name"] or (name if isinstance(name, str) else "")
        if arguments:
            one["arguments"] += arguments if isinstance(arguments, str) else msgspec.json.encode(arguments).decode()


def _text(content: str | list[WirePart] | None) -> str:
    if isinstance(content, list):
        return "".join(part.text or "" for part in content)
    return content or ""


def _call(call: WireCall, at: int) -> ToolCall:
    given = call.function.arguments
    arguments = given if isinstance(given, str) else msgspec.json.encode(given or {}).decode()
    return ToolCall(call.id or f"call_{at}", call.function.name or "", arguments)


def _count(counted: object, chars: int) -> int:
    """Return a server's count, where it makes sense, else a quarter of the characters: servers send what they like."""
    if isinstance(counted, int) and not isinstance(counted, bool) and 0 < counted <= MAX_TOKENS:
        return counted
    return -(-chars // CHARS_A_TOKEN)


_STATUSES = (400, 404, 422, 500, 501)
_FORMAT = re.compile(
    rb"response_format|response format|json_schema|json_object|grammar|structured output", re.IGNORECASE
)
_REASONING = re.compile(rb"reasoning_effort|reasoning effort|think", re.IGNORECASE)
_TOO_LARGE = re.compile(rb"max_(?:completion_)?tokens[^\"]{0,80}too large|\d+ in the completion", re.IGNORECASE)
_OTHER_NAME = re.compile(rb"max_completion_tokens", re.IGNORECASE)
_STREAM_USAGE = re.compile(rb"stream_options|include_usage", re.IGNORECASE)
_STREAM = re.compile(rb"\bstream", re.IGNORECASE)
_TEMPERATURE = re.compile(rb"temperature", re.IGNORECASE)
_TOOLS = re.compile(rb"support[^\"]{0,40}tool|tools? (?:param|are not|is not|call)|tool_choice|--jinja", re.IGNORECASE)


class Dialect(NamedTuple):
    """How this server wants to be asked: what it has refused is not sent again."""

    json_mode: str
    has_reasoning: bool
    has_stream: bool = True
    has_stream_usage: bool = True
    limit_name: str = "max_tokens"  # empty: no limit is sent
    has_temperature: bool = True


def _ask_for_less(dialect: Dialect) -> Dialect:
    return dialect._replace(json_mode=JSON_MODES[JSON_MODES.index(dialect.json_mode) + 1])


# A part of the request, what is said of it, and how to ask from then on; the first that fits counts.
_REFUSALS: tuple[tuple[str, re.Pattern[bytes], Callable[[Dialect], Dialect]], ...] = (
    ("response_format", _FORMAT, _ask_for_less),
    ("reasoning_effort", _REASONING, lambda dialect: dialect._replace(has_reasoning=False)),
    ("max_tokens", _TOO_LARGE, lambda dialect: dialect._replace(limit_name="")),
    ("max_completion_tokens", _TOO_LARGE, lambda dialect: dialect._replace(limit_name="")),
    ("max_tokens", _OTHER_NAME, lambda dialect: dialect._replace(limit_name="max_completion_tokens")),
    ("stream_options", _STREAM_USAGE, lambda dialect: dialect._replace(has_stream_usage=False)),
    ("stream", _STREAM, lambda dialect: dialect._replace(has_stream=False)),
    ("temperature", _TEMPERATURE, lambda dialect: dialect._replace(has_temperature=False)),
)


def learn(dialect: Dialect, answer: HttpAnswer, payload: Mapping[str, object]) -> Dialect | None:
    """Return how to ask after a refusal; None when nothing that was sent explains it."""
    if answer.status not in _STATUSES:
        return None
    said = answer.body[:4000]
    fitting = (
        change
        for part, words, change in _REFUSALS
        if payload.get(part) is not None and payload[part] is not False and words.search(said)
    )
    change = next(fitting, None)
    return change(dialect) if change else None


def is_about_tools(answer: HttpAnswer) -> bool:
    return answer.status in _STATUSES and bool(_TOOLS.search(answer.body[:4000]))
