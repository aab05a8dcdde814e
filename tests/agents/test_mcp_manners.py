"""What agents send by mistake, what they are told, and how much of it: lines that are no messages, strings for lists,
long threads, advice, characters that nobody sees; and connections that do nothing.
"""

import contextlib
import json
import re
import socket
import subprocess
import threading
import time

import httpx2
import pytest
import uvicorn
from talking import FORGELORE, ISSUE, make_store, over_stdio, server_env

from forgelore.api import HistoryPool, make_history
from forgelore.surfaces.cli.main import COMMANDS
from forgelore.surfaces.mcp.answers import without_commands
from forgelore.surfaces.mcp.http import configure_http
from forgelore.surfaces.mcp.server import build_server
from forgelore.surfaces.mcp.tools import ServerOptions

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
COMMAND = re.compile(rf"forgelore (?:{'|'.join(COMMANDS)})\b|pip install|--[a-z]|FORGELORE_")


@pytest.fixture(scope="module")
def plain(store, place):
    """An agent of a server as it is started by default."""
    with over_stdio(store, place, structured=False) as found:
        yield found


@pytest.fixture
def line(store, place):
    """Send one line to a server, and return the next one that it says."""
    process = subprocess.Popen(
        [*FORGELORE, "mcp", "--db", store], env=server_env(place), cwd=place, text=True, stdin=subprocess.PIPE,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    )  # fmt: skip

    def send(text):
        process.stdin.write(text + "\n")
        process.stdin.flush()
        return json.loads(process.stdout.readline())

    with process:
        send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}))
        yield send
        process.kill()


CALL = '{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "search", "arguments": {"query": "%s"}}}'


@pytest.mark.parametrize(
    ("sent", "number", "code"),
    [
        ("nonsense", None, -32700),
        ("{" * 10_000, None, -32700),
        ('{"jsonrpc": "2.0"}', None, -32600),
        ('{"id": 9, "method": "ping"}', 9, -32600),
        ('{"jsonrpc": "1.0", "id": 9, "method": "ping"}', 9, -32600),
        ('{"jsonrpc": "2.0", "id": "nine", "method": 9}', "nine", -32600),
        ("[]", None, -32600),
        ('[{"jsonrpc": "2.0", "id": 1, "method": "ping"}]', None, -32600),
        (CALL % "\\ud83d", 5, -32700),
        (CALL.replace("5", '"\\ud83d"') % "cache \\udc00", "?", -32700),
        (CALL.replace("5", "null") % "cache", None, -32600),
        (CALL.replace("5", "{}") % "cache", None, -32600),
        (CALL.replace("5", "1e400") % "cache", None, -32600),
        (CALL.replace("5", "1.5") % "cache", None, -32600),
        (CALL.replace("5", "true") % "cache", None, -32600),
        (CALL.replace('"id": 5', '"\\u0069d": []') % "cache", None, -32600),
    ],
)
def test_a_line_that_is_no_message_is_answered_with_an_error(line, sent, number, code):
    answer = line(sent)
    assert (answer["id"], answer["error"]["code"]) == (number, code)
    assert answer["error"]["message"]
    assert line('{"jsonrpc": "2.0", "id": 8, "method": "ping"}') == {"jsonrpc": "2.0", "id": 8, "result": {}}


def test_an_unusable_id_is_named_as_what_is_wrong(line):
    assert line(CALL.replace("5", "1.5") % "cache")["error"]["message"].startswith("the id of a request must be")


@pytest.mark.parametrize(
    "sent",
    [
        '{"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "none", "id": null}}',
        '{"jsonrpc": "2.0", "method": "notifications/initialized"}',
        '{"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "what your server said"}}',
        "",
    ],
)
def test_what_wants_no_answer_gets_none(line, sent):
    """The next line that the server says is the answer to the next request."""
    ping = '{"jsonrpc": "2.0", "id": 8, "method": "ping"}'
    assert line(f"{sent}\n{ping}") == {"jsonrpc": "2.0", "id": 8, "result": {}}


def test_a_list_of_parameters_is_not_called_a_batch(line):
    answer = line('{"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": [1]}')
    assert answer["error"] == {"code": -32600, "message": "this is not a JSON-RPC 2.0 message"}
    assert answer["id"] == 5


def test_an_answer_is_sent_once(plain):
    """As text, which every client shows to its model."""
    for tool in plain.ask("list_tools").tools:
        assert tool.output_schema is None
    done = plain.call("search", query="cache", limit=20)
    assert done.structured_content is None
    assert done.content[0].text.count("(issue, open") + done.content[0].text.count("(change, merged") == 20
    assert len(done.model_dump_json()) / 4 < 3_000


def test_a_string_is_taken_where_a_list_of_one_is_meant(agent):
    one = agent.data("search", query="cache", type="change", state="merged", author="ana")
    assert one["hits"] == agent.data("search", query="cache", type=["change"], state=["merged"], author=["ana"])["hits"]
    assert one["total"] == 8
    assert "type" in agent.refusal("search", query="cache", type=5)


def test_a_long_thread_is_read_in_a_few_calls(tmp_path):
    notes = [{"author": "tom", "body": f"Note {number}: " + "words of a thread " * 8} for number in range(440)]
    path = make_store(tmp_path, [{**ISSUE, "number": 1, "title": "Long", "notes": notes}])
    with over_stdio(path, tmp_path) as agent:
        read, calls, seen = agent.data("read", ref="#1"), 1, ""
        while True:
            assert len(read["text"]) <= 8_000
            seen += read["text"]
            if not read["below"]:
                break
            read, calls = agent.data("read", ref="#1", direction="down", **read["below"]), calls + 1
        assert all(f"Note {number}:" in seen for number in range(440))
        assert calls <= len(seen) / 7_000 + 1
        assert len(agent.data("read", ref="#1", line=100)["text"]) <= 2_000
        assert 2_000 < len(agent.data("read", ref="#1", line=100, chars=4_000)["text"]) <= 4_000


def test_characters_without_width_are_removed(tmp_path):
    hidden = "ig\u200bno\u200dre\u2060 \ufeffme\U000e0101\ufe0f\u00ad"
    lines = [{**ISSUE, "number": 1, "title": f"A {hidden} title", "body": f"The {hidden} body", "labels": [hidden]}]
    with over_stdio(make_store(tmp_path, lines), tmp_path) as agent:
        for name, arguments in (("search", {"query": "title"}), ("read", {"ref": "#1"}), ("show", {"ref": "#1"})):
            done = agent.call(name, **arguments)
            for said in (done.content[0].text, json.dumps(done.structured_content, ensure_ascii=False)):
                assert "ignore me" in said
                assert not re.search("[\u200b-\u200f\u2060\ufeff\ufe0f\u00ad\U000e0101]", said)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("show", {"ref": "#999"}), ("read", {"ref": "#999"}), ("similar", {"ref": "nonsense"}),
        ("search", {"query": "cache", "project": "no/such"}), ("search", {"query": "cache", "type": ["discussions"]}),
        ("history", {"path": "no/such.py"}), ("search", {"query": "x", "after": "someday"}), ("sync_status", {"project": "x"}),
    ],
)  # fmt: skip
def test_advice_for_agents_names_no_shell_command(plain, name, arguments):
    done = plain.call(name, **arguments)
    said = done.content[0].text
    assert done.is_error or name == "search"
    assert not COMMAND.search(said), said
    assert len(said.splitlines()) >= 2 or not done.is_error


def test_a_server_without_a_database_tells_agents_no_command(place):
    with over_stdio(str(place / "none.db"), place) as agent:
        for name, arguments in (("search", {"query": "x"}), ("sync_status", {})):
            assert not COMMAND.search(agent.refusal(name, **arguments))


@pytest.mark.parametrize(
    ("advice", "left"),
    [
        ("check the number, or fetch it: forgelore sync", "check the number"),
        ("known: acme/web; fetch one with: forgelore sync x", "known: acme/web"),
        ("did you mean acme/web? if not, fetch it with: forgelore sync x", "did you mean acme/web?"),
        ("found by words only (run: forgelore embed)", "found by words only"),
        ("run: forgelore sync OWNER/REPO (or: forgelore demo)", ""),
        ("use 1 to 20", "use 1 to 20"),
        ("<forge-text-1>\na, and with: forgelore x\n</forge-text-1>",) * 2,
    ],
)
def test_advice_keeps_what_is_not_a_command(advice, left):
    assert without_commands(advice) == left


@contextlib.contextmanager
def served(store, place, **limits):
    """Yield the port of a server in this process."""
    histories = HistoryPool(lambda: make_history(server_env(place), cwd=str(place), db=store, for_reading=True))
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    config = configure_http(build_server(histories, histories, ServerOptions()), port, "", **limits)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(20)
        histories.close()


def test_a_session_that_nobody_uses_ends(store, place):
    with served(store, place, idle_s=0.2) as port, httpx2.Client(timeout=20) as http:
        url = f"http://127.0.0.1:{port}/mcp"
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        began = http.post(
            url, headers=headers, json={"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": HELLO}
        )
        headers["Mcp-Session-Id"] = began.headers["mcp-session-id"]
        for _ in range(100):
            time.sleep(0.5)
            if http.post(url, headers=headers, json={"jsonrpc": "2.0", "id": 2, "method": "ping"}).status_code == 404:
                return
        raise AssertionError("the session is still there")


@pytest.mark.parametrize(
    "sent",
    [b"", b"POST /mcp HTTP/1.1\r\nHost: x", b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 99\r\n\r\n{"],
)
def test_a_connection_whose_request_never_arrives_is_cut(store, place, sent):
    with served(store, place, request_s=0.3) as port, socket.create_connection(("127.0.0.1", port), 30) as talk:
        talk.sendall(sent)
        while talk.recv(1_000):  # a refusal may come first; then the end
            pass
