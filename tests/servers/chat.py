"""A scripted model behind OpenAI's /v1/chat/completions and /v1/models, on a real socket of loopback.

    ChatServer(["yes", call("search", q="x"), stall(5), Response(500)])     replies in their order; the last one stays
    ChatServer(lambda asked: "#5" if "crash" in prompt_of(asked) else "no")  or made from the request's JSON

A reply is a text, a message (`{"content": …, "tool_calls": …}`), a whole `Response` (a status, garbage), or `stall(…)`.
Faults of whole answers (status, drop, truncate, delay) are those of the base.

    server.asked            the JSON of every chat request
    server.key = "k"        a request without this bearer gets 401
    server.refuses          names of parts of a request that it does not know, with what it says of them, as a 400
    server.usage = None     it counts no tokens
    server.streams = True   it streams where it is asked to, an event for every few letters
    server.gate             set it to let a stream go on behind its first quarter; without it all comes at once
"""

import json
import threading
import time

from servers.base import ForgeServer, Request, Response
from servers.embedding import openai_error

USAGE = {"prompt_tokens": 120, "completion_tokens": 30, "total_tokens": 150}


class StalledResponse(Response):
    """An answer that comes after so many seconds."""

    seconds = 0.0


class StreamedResponse(Response):
    """Server-sent events; behind the first quarter it waits until somebody has seen that."""

    gate: threading.Event | None = None
    was_late = False

    def pieces(self, sent: bytes):
        events = [event + b"\n\n" for event in sent.split(b"\n\n") if event]
        for at, event in enumerate(events):
            if self.gate and at == len(events) // 4:
                StreamedResponse.was_late = not self.gate.wait(20)
            yield event


def stream_of(message: dict, usage: dict | None, model: str) -> bytes:
    """The events of an answer, as OpenAI and llama.cpp write them."""
    deltas = [{"role": "assistant", "content": None}]
    text = message.get("content") or ""
    deltas += [{"content": text[at : at + 5]} for at in range(0, len(text), 5)]
    for index, one in enumerate(message.get("tool_calls") or ()):
        name, arguments = one["function"]["name"], one["function"]["arguments"]
        deltas.append({"tool_calls": [{**one, "index": index, "function": {"name": name, "arguments": ""}}]})
        parts = [arguments[at : at + 5] for at in range(0, len(arguments), 5)]
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": part}}]} for part in parts]
    events = [{"model": model, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"model": model, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    events += [{"model": model, "choices": [], "usage": usage}] if usage else []
    return b"".join(b"data: %s\n\n" % json.dumps(event).encode() for event in events) + b"data: [DONE]\n\n"


def stall(seconds: float, text: str = "too late") -> StalledResponse:
    found = StalledResponse(200, completion({"content": text}, USAGE))
    found.seconds = seconds
    return found


def call(name: str, *, call_id: str = "call_1", **arguments) -> dict:
    """A message that calls one tool."""
    function = {"name": name, "arguments": json.dumps(arguments)}
    return {"content": None, "tool_calls": [{"id": call_id, "type": "function", "function": function}]}


def completion(message: dict, usage: dict | None, model: str = "scripted-model") -> dict:
    ending = "tool_calls" if message.get("tool_calls") else "stop"
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": ending, "logprobs": None}
    body = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_772_366_400,
        "model": model,
        "choices": [choice],
    }
    return body | ({"usage": usage} if usage else {})


def prompt_of(asked: dict) -> str:
    """The text of every message of a request."""
    return "\n".join(str(message.get("content")) for message in asked["messages"])


class ChatServer(ForgeServer):
    kind = "chat"
    record_to = None  # no forge: its traffic keeps no contract

    def __init__(self, replies=("ok",)):
        super().__init__()
        self.replies = replies if callable(replies) else list(replies)
        self.models = ["scripted-model"]
        self.usage: dict | None = dict(USAGE)
        self.key = ""
        self.refuses: dict[str, str] = {}
        self.asked: list[dict] = []
        self.streams = False
        self.gate: threading.Event | None = None

    @property
    def v1(self) -> str:
        return f"{self.url}/v1"

    def answer(self, request: Request, target: str):
        response, fault = super().answer(request, target)
        if isinstance(response, StalledResponse):
            time.sleep(response.seconds)  # outside of the lock: others are answered meanwhile
        return response, fault

    def handle(self, request: Request) -> Response:
        if self.key and request.headers.get("authorization") != f"Bearer {self.key}":
            return openai_error(401, "Incorrect API key provided.", "invalid_api_key")
        if (request.method, request.path) == ("GET", "/v1/models"):
            return Response(200, {"object": "list", "data": [{"id": name, "object": "model"} for name in self.models]})
        if (request.method, request.path) != ("POST", "/v1/chat/completions"):
            return Response(404, "404 page not found", {"Content-Type": "text/plain"})
        return self.chat(request.json())

    def chat(self, asked: dict) -> Response:
        if asked["model"] not in self.models:
            said = f"The model `{asked['model']}` does not exist or you do not have access to it."
            return openai_error(404, said, "model_not_found")
        for name, words in self.refuses.items():
            is_sent = name in asked or name == (asked.get("response_format") or {}).get("type")
            if is_sent:
                return openai_error(400, words, "unsupported_parameter")
        self.asked.append(asked)
        reply = self.next_reply(asked)
        if isinstance(reply, Response):
            return reply
        message = {"content": reply} if isinstance(reply, str) else reply
        if self.streams and asked.get("stream"):
            usage = self.usage if (asked.get("stream_options") or {}).get("include_usage") else None
            body = stream_of(message, usage, asked["model"])
            streamed = StreamedResponse(200, body, {"Content-Type": "text/event-stream"})
            streamed.gate = self.gate
            return streamed
        return Response(200, completion(message, self.usage, asked["model"]))

    def next_reply(self, asked: dict):
        if callable(self.replies):
            return self.replies(asked)
        return self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
