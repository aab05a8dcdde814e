"""The chat client: a model of an OpenAI-compatible server, made from a profile of the settings and asked with bounds.

    429, and 5xx with Retry-After        waited for, a few times, never longer than `max_wait_s`
    5xx, half an answer, a time-out      tried again, three times in all, after waits with jitter
    nobody listens on this machine       at once ChatUnreachable: waiting starts no server
    an answer that never ends            ChatFailed after `timeout` seconds, or after MAX_CHARS

Whoever wants to see an answer as it is written has the server stream it; `StreamReader` puts it together again. A
stream that breaks off is half an answer; a server that cannot stream is taken as it is.
"""

import contextlib
import socket
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import httpx
import msgspec

from forgelore.errors import (
    AuthError,
    ChatFailed,
    ChatModelNotFound,
    ChatUnreachable,
    ConfigError,
    ForgeError,
    InvalidValue,
    LoreError,
    LostPage,
    PromptTooLong,
    RateLimited,
    ToolsRefused,
)
from forgelore.llm.wire import (
    Dialect,
    StreamReader,
    build_format,
    build_messages,
    build_tools,
    count_chars,
    is_about_tools,
    learn,
    read_reply,
)
from forgelore.llm_settings import LLM_PROFILES, LlmProfile
from forgelore.net.client import HttpAnswer, Tries
from forgelore.net.model_server import (
    HttpOptions,
    ModelClient,
    check_server_url,
    is_model_missing,
    is_too_long,
    said_in,
)
from forgelore.net.policy import NextStep, RetryRule
from forgelore.ports.chat import ChatMessage, ChatReply, ChatTool

if TYPE_CHECKING:
    from forgelore.ports.chat import ChatModel


PATH = "/chat/completions"
MAX_CHARS = 100_000  # of an answer's text and calls
MAX_BYTES = 2_000_000  # of an answer with all that a server puts around it, and of thoughts that we do not read
MAX_STREAM_BYTES = 8 * MAX_BYTES  # each token is an event of some 250 bytes
MAX_LIMITS = 8
_FINAL = (b"insufficient_quota", b"billing")
_MANNER = RetryRule(attempts=3)
_ASKS = 8  # one request, and once more for each part of it that a server may refuse


class ChatClient(ModelClient):
    """The client of a model's server, with the bounds above."""

    max_limits = MAX_LIMITS

    def __init__(self, url: str, options: HttpOptions, *, timeout_s: float, key: str) -> None:
        super().__init__(url, options, answer_s=timeout_s, max_wait_s=options.max_wait_s, key=key)
        self._timeout_s, self._clock = timeout_s, options.clock
        self._reading = threading.local()  # who wants to see the parts of the answer that this thread reads
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()

    def ask(
        self, payload: Mapping[str, object], on_part: Callable[[bytes], None] | None = None
    ) -> HttpAnswer:  # fmt: skip
        body = msgspec.json.encode(payload)
        headers = {"Content-Type": "application/json"}
        if payload.get("stream"):
            headers["Accept"] = "text/event-stream, application/json"
        self._reading.on_part = on_part
        return self._send(
            "POST", PATH, _MANNER, content=body, headers=headers, extensions={"trace": self._note_socket}
        )  # fmt: skip

    def interrupt(self) -> None:
        """Cut the connections, from any thread: a server stops working on an answer that nobody waits for. Whoever
        waits meets an error.
        """
        for one in list(self._sockets):
            with contextlib.suppress(OSError):  # it is already closed
                one.shutdown(socket.SHUT_RDWR)

    def _note_socket(self, event: str, info: Mapping[str, Any]) -> None:
        """https://www.python-httpx.org/advanced/extensions/#trace"""
        if event in ("connection.connect_tcp.complete", "connection.start_tls.complete"):
            self._sockets.add(info["return_value"].get_extra_info("socket"))
        elif event.endswith(".send_request_headers.started"):
            self._sleep(0)  # raises where everything is to stop; from here on `interrupt` knows the socket

    def _exchange(self, method: str, url: str, **request: Any) -> HttpAnswer:
        try:
            return super()._exchange(method, url, **request)
        except httpx.ConnectError as error:
            if self.is_local:
                raise ChatUnreachable(f"nothing answers at {self.host}") from error
            raise

    def _read_body(self, response: httpx.Response, *, max_bytes: int | None) -> bytes:
        """Return the body, if it ends in time and is not too long. A server that trickles is cut off like one that is
        silent.
        """
        is_stream = response.status_code == 200 and "text/event-stream" in response.headers.get("content-type", "")
        stream, on_part = StreamReader(), getattr(self._reading, "on_part", None)
        most = MAX_STREAM_BYTES if is_stream else max_bytes or MAX_BYTES
        body, taken, end = bytearray(), 0, self._clock() + self._timeout_s
        for part in response.iter_bytes():
            taken += len(part)
            if taken > most:
                raise ChatFailed(f"{self.host} sent more than {most:,} bytes", hint="lower max_tokens under [llm]")
            if self._clock() > end:
                raise httpx.ReadTimeout(f"still answering after {self._timeout_s:g} s", request=response.request)
            if not is_stream:
                body += part
            elif stream.feed(part) and on_part:
                self._sleep(0)  # raises where everything is to stop
                on_part(self._without_secrets(stream.body()))
        if is_stream:
            stream.feed(b"\n")
            if stream.error:
                raise ChatFailed(f"{self.host} broke off: {said_in(stream.error)}", hint="see the server's log")
            if not stream.is_complete:
                raise httpx.RemoteProtocolError("the stream ended early", request=response.request)
        return stream.body() if is_stream else bytes(body)

    def _judge(self, answer: HttpAnswer, tries: Tries) -> NextStep:
        is_final = answer.status >= 400 and (is_too_long(answer) or is_about_tools(answer))
        if is_final or (answer.status == 429 and any(word in answer.body for word in _FINAL)):
            return "failed"
        return super()._judge(answer, tries)


class ServedChatModel:
    """A model behind an address that ends before `/chat/completions`, most often in `/v1`."""

    def __init__(self, profile: LlmProfile, *, key: str = "", options: HttpOptions | None = None) -> None:
        self._profile, self._has_key = profile, bool(key)
        url = check_server_url(profile.base_url, name="base_url", what="what is asked")
        self._url = url
        self._dialect = Dialect(profile.json_mode, bool(profile.reasoning))
        self._client = ChatClient(url, options or HttpOptions(), timeout_s=profile.timeout, key=key)

    @property
    def profile(self) -> str:
        return self._profile.name

    @property
    def model(self) -> str:
        return self._profile.model

    @property
    def context(self) -> int:
        return self._profile.context

    @property
    def json_mode(self) -> str:
        return self._dialect.json_mode

    @property
    def host(self) -> str:
        return self._client.host

    def price(self, tokens_in: int, tokens_out: int) -> float:
        return (tokens_in * self._profile.price_in + tokens_out * self._profile.price_out) / 1e6

    def close(self) -> None:
        self._client.close()

    def interrupt(self) -> None:
        self._client.interrupt()

    def chat(
        self, messages: Sequence[ChatMessage], *, tools: Sequence[ChatTool] | None = None,
        schema: Mapping[str, object] | None = None, max_tokens: int | None = None,
        on_part: Callable[[ChatReply], None] | None = None,
    ) -> ChatReply:  # fmt: skip
        """Return the model's answer; a part of the request that the server refuses is left out from then on."""
        sent = count_chars(messages, tools)

        def show(body: bytes) -> None:
            if on_part:
                on_part(read_reply(body, self.host, sent_chars=sent, model=self.model))

        for _ in range(_ASKS):
            dialect = self._dialect
            payload = self._payload(dialect, messages, tools, schema, max_tokens or self._profile.max_tokens)
            if on_part and dialect.has_stream:
                payload["stream"] = True
                if dialect.has_stream_usage:
                    payload["stream_options"] = {"include_usage": True}
            answer = self._fetch(payload, show if on_part else None)
            if answer.status == 200:
                return self._read(answer, sent)
            learned = learn(dialect, answer, payload)
            if learned is None:
                break
            self._dialect = learned
        raise self._refusal(answer, has_tools=bool(tools))

    def _payload(
        self, dialect: Dialect, messages: Sequence[ChatMessage], tools: Sequence[ChatTool] | None,
        schema: Mapping[str, object] | None, max_tokens: int,
    ) -> dict[str, object]:  # fmt: skip
        payload: dict[str, object] = {
            "model": self._profile.model,
            "messages": build_messages(messages),
            "stream": False,
        }
        if dialect.limit_name:
            payload[dialect.limit_name] = max_tokens
        if dialect.has_temperature:
            payload["temperature"] = 0
        if dialect.has_reasoning:
            payload["reasoning_effort"] = self._profile.reasoning
        if tools:
            payload["tools"] = build_tools(tools)
        if schema is not None and (wanted := build_format(dialect.json_mode, schema)):
            payload["response_format"] = wanted
        return payload

    def _fetch(self, payload: Mapping[str, object], on_part: Callable[[bytes], None] | None) -> HttpAnswer:
        try:
            return self._client.ask(payload, on_part)
        except RateLimited as error:
            hint = "nothing is lost: run the same command later"
            raise RateLimited(error.message, hint=hint, wait_s=error.wait_s) from error
        except LostPage as error:
            hint = f"check base_url of [llm] ({self._url}): API addresses usually end in /v1"
            raise ChatFailed(error.message, hint=hint) from error
        except (ForgeError, ChatUnreachable) as error:
            is_late = "Timeout" in error.message
            hint = f"raise timeout under [llm] (now {self._profile.timeout:g} s)" if is_late else self._start_hint()
            raise ChatUnreachable(error.message, hint=hint) from error

    def _read(self, answer: HttpAnswer, sent: int) -> ChatReply:
        reply = read_reply(answer.body, self.host, sent_chars=sent, model=self.model)
        said = len(reply.text) + sum(len(call.arguments) for call in reply.tool_calls)
        if said > MAX_CHARS:
            hint = "lower max_tokens under [llm], or use another model"
            raise ChatFailed(
                f"{self.host} answered with {said:,} characters, more than the {MAX_CHARS:,} allowed", hint=hint
            )
        return reply

    def _start_hint(self) -> str:
        if self._client.is_local:
            return f"start the model's server, or correct base_url of [llm] ({self._url})"
        return f"check the network, and base_url of [llm] ({self._url})"

    def _refusal(self, answer: HttpAnswer, *, has_tools: bool) -> LoreError:
        """Return what a refusal means, with what to do about it."""
        status, words = answer.status, f"{self.host} answered {answer.status}: {said_in(answer.body)}"
        if status in (401, 403):
            variable = self._profile.api_key_env or "a variable and name it in api_key_env of [llm]"
            hint = f"{'check the key in' if self._has_key else 'put a key into'} {variable}"
            return AuthError(words, hint=hint, is_rejected=status == 401)
        if is_model_missing(answer):
            hint = f"check model of [llm]; the server lists its own at {self._url}/models (Ollama: ollama pull NAME)"
            return ChatModelNotFound(f"{self.host} has no model {self.model!r}", hint=hint)
        if status == 429:
            return RateLimited(words, hint="check the plan and the billing of the key")
        if status == 404:
            return ChatUnreachable(f"{PATH} not found at {self._url}", hint="check base_url of [llm]")
        return _failure(answer, words, has_tools=has_tools)


def _failure(answer: HttpAnswer, words: str, *, has_tools: bool) -> ChatFailed:
    if has_tools and is_about_tools(answer):
        return ToolsRefused(words, hint="ask without tools, or change the model")
    if is_too_long(answer):
        return PromptTooLong(words, hint="use a model with a longer context, and name it in context of [llm]")
    return ChatFailed(words, hint="see the server's log")


def make_chat_model(
    name: str, profiles: tuple[LlmProfile, ...], environ: Mapping[str, str], make_options: "Callable[[], HttpOptions]"
) -> "ChatModel":
    """Return the model of a profile. Raises InvalidValue for a name that no profile has, ConfigError where the settings
    name no server or no model for it.
    """
    if name not in LLM_PROFILES:
        raise InvalidValue(f"unknown profile: {name!r}", hint=f"one of: {', '.join(LLM_PROFILES)}")
    found = next((one for one in profiles if one.name == name), None)
    if found is None or not found.base_url or not found.model:
        missing = "server" if found is None or not found.base_url else "model"
        hint = 'in your own config.toml, write [llm] and below it preset = "ollama" and model = "NAME"'
        raise ConfigError(f"no {missing} configured for language model profile {name!r}", hint=hint)

    key = environ.get(found.api_key_env, "").strip() if found.api_key_env else ""
    return ServedChatModel(found, key=key, options=make_options())
