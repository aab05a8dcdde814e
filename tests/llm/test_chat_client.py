"""The chat client on a real socket: requests as documented, bounds, retries, refusals, keys that stay at home."""

import json
import socket
import threading
import time

import pytest

from forgelore.errors import (
    AuthError,
    ChatFailed,
    ChatModelNotFound,
    ChatUnreachable,
    ConfigError,
    PromptTooLong,
    RateLimited,
    ToolsRefused,
)
from forgelore.llm.chat import MAX_CHARS, ServedChatModel
from forgelore.llm_settings import LlmProfile
from forgelore.net.model_server import HttpOptions
from forgelore.ports.chat import ChatMessage, ChatTool, ToolCall
from servers.base import Response
from servers.chat import ChatServer, call, completion, stall
from support import FakeTime, raised

KEY = "sk-s3cret-k3y"
HELLO = [ChatMessage("system", "Be short."), ChatMessage("user", "Hello?")]
SCHEMA = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
SEARCH = ChatTool("search", "Find items", {"type": "object", "properties": {"q": {"type": "string"}}})


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def make(server):
    """`make(reasoning="low")`: a model of the server; waits are remembered in `model.time.waits`."""
    made = []

    def build(*, key="", real=False, **settings):
        profile = LlmProfile("default", **{"base_url": server.v1, "model": "scripted-model", **settings})
        fake = FakeTime(server)
        manners = HttpOptions(
            sleep=fake.sleep, clock=time.monotonic if real else fake.clock, wall_clock=fake.wall_clock,
            jitter=lambda: 0.0,
        )  # fmt: skip
        model = ServedChatModel(profile, key=key, options=manners)
        model.time = fake
        made.append(model)
        return model

    yield build
    for model in made:
        model.close()


def test_the_request_is_the_documented_one(make, server):
    reply = make(reasoning="low").chat(HELLO, schema=SCHEMA, max_tokens=50)
    assert server.paths() == ["POST /v1/chat/completions"]
    assert server.asked == [
        {
            "model": "scripted-model",
            "messages": [{"role": "system", "content": "Be short."}, {"role": "user", "content": "Hello?"}],
            "stream": False,
            "max_tokens": 50,
            "temperature": 0,
            "reasoning_effort": "low",
            "response_format": {
                "type": "json_schema",
                "json_schema": {"name": "answer", "strict": True, "schema": SCHEMA},
            },
        }
    ]
    assert (reply.text, reply.tool_calls, reply.finish_reason) == ("ok", (), "stop")
    assert (reply.tokens_in, reply.tokens_out, reply.model) == (120, 30, "scripted-model")


def test_calls_of_tools_go_there_and_back(make, server):
    server.replies = [call("search", call_id="c7", q="crash"), "done"]
    model = make()
    reply = model.chat(HELLO, tools=[SEARCH])
    assert reply.tool_calls == (ToolCall("c7", "search", '{"q": "crash"}'),)
    assert reply.text == ""
    said = [*HELLO, ChatMessage("assistant", "", reply.tool_calls), ChatMessage("tool", "nothing", (), "c7")]
    assert model.chat(said, tools=[SEARCH]).text == "done"
    sent = server.asked[1]
    assert sent["tools"][0]["function"]["parameters"] == SEARCH.parameters
    assert sent["messages"][2]["tool_calls"][0]["function"] == {"name": "search", "arguments": '{"q": "crash"}'}
    assert sent["messages"][3] == {"role": "tool", "content": "nothing", "tool_call_id": "c7"}


def test_servers_that_leave_things_out_are_understood(make, server):
    server.usage = None
    sloppy = {"content": None, "tool_calls": [{"function": {"name": "search", "arguments": {"q": 1}}}]}
    server.replies = [
        "x" * 9,
        sloppy,
        {"content": [{"type": "text", "text": "in"}, {"type": "text", "text": " parts"}]},
    ]
    model = make()
    counted = model.chat(HELLO)
    assert (counted.tokens_in, counted.tokens_out) == (4, 3)  # a quarter of 15 and of 9 characters
    assert model.chat(HELLO).tool_calls == (ToolCall("call_0", "search", '{"q":1}'),)
    assert model.chat(HELLO).text == "in parts"


def test_thoughts_are_cut_off(make, server):
    server.replies = ['<think>It says {}\n</think>\n{"ok": true}']
    assert make().chat(HELLO).text == '{"ok": true}'


def test_half_a_character_keeps_nothing_from_leaving(make, server):
    make().chat([ChatMessage("user", "a\ud800b")])
    assert server.asked[0]["messages"][0]["content"].startswith("a")


@pytest.mark.parametrize(
    ("refused", "modes"),
    [
        ({"json_schema": "response_format of type json_schema is not supported"}, ["json_object"]),
        ({"response_format": "unknown field response_format"}, [None]),
    ],
)
def test_a_server_that_refuses_a_schema_is_asked_in_the_next_way_and_only_once(make, server, refused, modes):
    server.refuses = refused
    model = make()
    for _ in range(2):
        assert model.chat(HELLO, schema=SCHEMA).text == "ok"
    assert [(asked.get("response_format") or {}).get("type") for asked in server.asked] == modes * 2
    assert len(server.requests) == (3 if modes == ["json_object"] else 4)
    assert model.json_mode == {"json_object": "object", None: "none"}[modes[0]]


@pytest.mark.parametrize("mode", ["object", "none"])
def test_the_settings_choose_the_way_of_asking_for_json(make, server, mode):
    make(json_mode=mode).chat(HELLO, schema=SCHEMA)
    assert ("response_format" in server.asked[0]) == (mode == "object")


def test_parts_that_a_model_does_not_know_are_left_out(make, server):
    server.refuses = {
        "reasoning_effort": "Unsupported parameter: reasoning_effort",
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "temperature": "Unsupported value: 'temperature' does not support 0 with this model.",
    }
    model = make(reasoning="high")
    assert model.chat(HELLO, max_tokens=9).text == "ok"
    (asked,) = server.asked
    assert asked["max_completion_tokens"] == 9
    assert not {"temperature", "reasoning_effort", "max_tokens"} & asked.keys()
    before = len(server.requests)
    model.chat(HELLO)
    assert len(server.requests) == before + 1


@pytest.mark.parametrize(
    "words",
    [
        (
            "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 tokens"
            " and your request has 50 input tokens (4096 > 2048 - 50)."
        ),
        "max_tokens is too large: 4096. This model supports at most 1024 completion tokens, whereas you provided 4096.",
        (
            "This model's maximum context length is 4096 tokens. However, you requested 4600 tokens (504 in the messages,"
            " 4096 in the completion). Please reduce the length of the messages or completion."
        ),
    ],
    ids=["vllm", "openai", "earlier"],
)
def test_a_limit_that_does_not_fit_beside_the_prompt_is_left_out(make, server, words):
    server.refuses = {"max_tokens": words}
    model = make()
    assert model.chat(HELLO).text == "ok"
    assert not {"max_tokens", "max_completion_tokens"} & server.asked[0].keys()
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "words"),
    [(400, "registry.ollama.ai/library/gemma:2b does not support tools"), (500, "tools param requires --jinja flag")],
)
def test_a_server_without_tools_says_so(make, server, status, words):
    server.fail(status=status, body={"error": {"message": words}})
    with raised(ToolsRefused, says=words[:20], hint="without tools"):
        make().chat(HELLO, tools=[SEARCH])
    assert len(server.requests) == 1


def test_a_prompt_that_is_too_long_is_told_at_once(make, server):
    server.fail(status=400, body={"error": {"message": "This model's maximum context length is 8192 tokens."}})
    with raised(PromptTooLong, hint="longer context"):
        make().chat(HELLO)
    assert len(server.requests) == 1


def test_limits_and_failures_are_waited_for_with_jitter(make, server):
    server.replies = [
        Response(429, {"error": {"message": "slow down"}}, {"Retry-After": "7"}),
        Response(500, {"error": {"message": "overloaded"}}),
        Response(200, "half an ans"),
        "at last",
    ]
    model = make()
    model._client._jitter = lambda: 1.0
    assert model.chat(HELLO).text == "at last"
    assert model.time.waits == [8.75, 1.25, 2.5]


def test_a_server_that_stays_broken_is_given_up(make, server):
    server.replies = [Response(503, {"error": {"message": "model is loading"}})]
    with raised(ChatFailed, says="503: model is loading"):
        make().chat(HELLO)
    assert len(server.requests) == 3


def test_a_limit_that_never_ends_is_given_up(make, server):
    server.replies = [Response(429, {"error": {"message": "slow down"}})]
    with raised(RateLimited):
        make().chat(HELLO)
    assert len(server.requests) <= 10


def test_an_empty_account_is_not_waited_for(make, server):
    said = {"error": {"message": "You exceeded your current quota.", "code": "insufficient_quota"}}
    server.replies = [Response(429, said)]
    model = make()
    with raised(RateLimited, says="quota", hint="billing"):
        model.chat(HELLO)
    assert model.time.waits == []


def test_a_stalled_answer_ends_in_time_and_names_the_setting(make, server):
    server.replies = [stall(3)]
    with raised(ChatUnreachable, says="Timeout", hint="raise timeout"):
        make(timeout=1.0, real=True).chat(HELLO)


def test_an_answer_that_trickles_ends_in_time_too(make):
    """Each byte comes before the reading timeout, and the whole never does."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        stop = threading.Event()
        threading.Thread(target=_trickle, args=(listener, stop), daemon=True).start()
        started = time.monotonic()
        with raised(ChatUnreachable, hint="raise timeout"):
            make(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1", timeout=1.0, real=True).chat(HELLO)
        stop.set()
        assert time.monotonic() - started < 10


def _trickle(listener, stop):
    while not stop.is_set():
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 9999\r\n\r\n{")
            try:
                while not stop.wait(0.1):
                    connection.sendall(b" ")
            except OSError:
                continue


def test_a_book_is_refused(make, server):
    server.replies = ["x" * (MAX_CHARS + 1), "x" * 2_500_000, call("search", q="y" * MAX_CHARS)]
    model = make()
    with raised(ChatFailed, says="100,001 characters", hint="max_tokens"):
        model.chat(HELLO)
    with raised(ChatFailed, says="2,000,000 bytes"):
        model.chat(HELLO)
    with raised(ChatFailed, says="characters"):
        model.chat(HELLO)
    assert len(server.requests) == 3


DEEP = '{"choices": [], "x": ' + "[" * 50_000 + "]" * 50_000 + "}"


@pytest.mark.parametrize(
    "body",
    [{"choices": []}, {"answer": "yes"}, {"choices": [{"message": {"content": 7}}]}, [], {"choices": None}, DEEP],
    ids=["no choice", "another shape", "a number", "a list", "null", "deep"],
)
def test_garbage_is_an_error_and_no_answer(make, server, body):
    server.replies = [Response(200, body)]
    with raised(ChatFailed):
        make().chat(HELLO)


def test_an_address_that_is_no_api_is_told(make, server):
    with raised(ChatUnreachable, says="/chat/completions not found at", hint="base_url"):
        make(base_url=server.url).chat(HELLO)
    server.fail(status=200, body="<html>hello</html>")
    with raised(ChatFailed, says="not JSON", hint="base_url"):
        make().chat(HELLO)


def test_a_model_that_is_not_there_is_named(make):
    with raised(ChatModelNotFound, says="'gone'", hint="/models") as caught:
        make(model="gone").chat(HELLO)
    assert caught[0].exit_code == 15


def test_nobody_listening_is_told_at_once(make):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    model = make(base_url=f"http://127.0.0.1:{port}/v1")
    with raised(ChatUnreachable, says="nothing answers", hint="start the model's server") as caught:
        model.chat(HELLO)
    assert caught[0].exit_code == 14
    assert model.time.waits == []


@pytest.mark.parametrize(("key", "hint"), [("", "put a key into TEAM_KEY"), ("wrong-key-1", "check the key in")])
def test_a_refused_key_names_the_variable_and_not_the_key(make, server, key, hint):
    server.key = KEY
    with raised(AuthError, hint=hint) as caught:
        make(key=key, api_key_env="TEAM_KEY").chat(HELLO)
    assert "wrong-key-1" not in caught[0].message
    make(key=KEY).chat(HELLO)


def test_the_key_goes_to_its_own_host_and_into_no_message(make, server):
    with ChatServer() as other:
        server.fail(status=307, headers={"Location": f"{other.v1}/chat/completions"}, body={}, times=1)
        with raised(ChatUnreachable, says="another server"):
            make(key=KEY).chat(HELLO)
        assert other.requests == []
    server.faults.clear()
    server.fail(status=400, body={"error": {"message": f"bad request with {KEY}"}})
    with raised(ChatFailed, says="bad request with ***"):
        make(key=KEY).chat(HELLO)
    assert KEY not in json.dumps(server.requests[-1]["body"])


@pytest.mark.parametrize("url", ["http://models.example/v1", "ftp://h/v1", "https://u:p@h/v1", "nonsense"])
def test_text_goes_nowhere_in_the_clear(make, url):
    with raised(ConfigError):
        make(base_url=url)


def test_prices_are_by_the_million(make):
    assert make(price_in=2.0, price_out=8.0).price(500_000, 250_000) == 3.0


def test_an_answer_names_the_model_that_gave_it(make, server):
    server.replies = [Response(200, completion({"content": "ok"}, None, "scripted-model-2026-01"))]
    assert make().chat(HELLO).model == "scripted-model-2026-01"
