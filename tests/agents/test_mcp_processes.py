"""The server as a process: how it begins, how it ends, and what it does with input that is no protocol."""

import contextlib
import json
import os
import signal
import subprocess
import time

import pytest
from talking import FORGELORE, http_server, make_store, over_stdio, server_env

HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


@pytest.fixture
def start(store, place):
    """Start a server that is talked to by lines; it is gone at the end of the test."""
    with contextlib.ExitStack() as stack:

        def run(*words, db=store, program=FORGELORE):
            process = stack.enter_context(
                subprocess.Popen(
                    [*program, "mcp", "--db", db, *words], env=server_env(place), cwd=place, text=True,
                    stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                )
            )  # fmt: skip
            stack.callback(process.kill)
            return process

        yield run


def say(process, message):
    process.stdin.write(message if isinstance(message, str) else json.dumps(message) + "\n")
    process.stdin.flush()


def hear(process):
    return json.loads(process.stdout.readline())


def test_the_end_of_its_input_ends_it(start):
    process = start()
    say(process, HELLO)
    assert hear(process)["result"]["serverInfo"]["name"] == "forgelore"
    out, err = process.communicate(timeout=20)
    assert (process.returncode, out, err) == (0, "", "")


def test_input_that_ends_at_once_is_no_error(start):
    assert start().communicate(timeout=30) == ("", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_while_it_waits_for_input(start, number):
    process = start()
    say(process, HELLO)
    hear(process)
    process.send_signal(number)
    assert process.wait(timeout=10) == 0
    assert "Traceback" not in process.stderr.read()


WITHOUT_SIGNALS = """
import asyncio, sys
def refuse(*_): raise NotImplementedError
asyncio.SelectorEventLoop.add_signal_handler = refuse
from forgelore.surfaces.cli.main import main
sys.exit(main())
"""


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGINT])
def test_an_event_loop_that_takes_no_signals_serves_and_ends_as_well(start, number):
    """Those of Windows."""
    process = start(program=[FORGELORE[0], "-c", WITHOUT_SIGNALS])
    say(process, HELLO)
    assert hear(process)["result"]["serverInfo"]["name"] == "forgelore"
    if number:
        process.send_signal(number)
        assert process.wait(timeout=30) == 0
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (0, "", "")


def test_lines_that_are_no_protocol_do_not_end_it(start):
    process = start()
    say(process, HELLO)
    hear(process)
    for line in (
        "\n",
        "nonsense\n",
        '{"jsonrpc": "2.0"}\n',
        "[]\n",
        "\x00\ud83d\n".encode(errors="replace").decode(),
        "{" * 10_000 + "\n",
    ):
        say(process, line)
    say(process, {"jsonrpc": "2.0", "id": 7, "method": "no/such"})
    say(process, {"jsonrpc": "2.0", "id": 8, "method": "ping"})
    answers = {}
    while 8 not in answers:
        answer = hear(process)
        answers[answer.get("id")] = answer
    assert answers[7]["error"]["code"] == -32601
    assert answers[8]["result"] == {}


def test_a_megabyte_of_arguments_is_refused_and_not_repeated(start):
    process = start()
    say(process, HELLO)
    hear(process)
    call = {"name": "show", "arguments": {"ref": "x" * 1_000_000}}
    say(process, {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": call})
    line = process.stdout.readline()
    assert json.loads(line)["result"]["isError"] is True
    assert len(line) < 2_000


def test_without_a_database_the_tools_say_what_to_do_and_find_it_once_it_is_there(place):
    folder = place / "later"
    folder.mkdir()
    with over_stdio(str(folder / "store.db"), place) as agent:
        assert "no database at" in agent.refusal("search", query="cache")
        assert "a person has to look at the database" in agent.refusal("sync_status")
        assert agent.ask("list_resources").resources == []
        make_store(folder)
        assert "#1 " in agent.text("search", query="forgets files")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_the_http_server_ends_with_a_signal(store, place, number):
    with http_server(store, place) as (process, _):
        started = time.monotonic()
        process.send_signal(number)
        assert process.wait(timeout=15) == 0
        assert time.monotonic() - started < 10


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--json"], "standard output belongs to the protocol"),
        (["--port", "80"], "belong to --http"),
        (["--yes"], "belongs to --install"),
        (["--http", "--port", "70000"], "70000 is not a valid port"),
        (["--http", "--token-file", "/nonexistent"], "cannot be read"),
        (["--http", "--token-file", os.devnull], "is empty"),
        (["--install", "nonsense"], "invalid choice"),
    ],
)
def test_a_wrong_command_line_is_told(start, words, said):
    process = start(*words)
    out, err = process.communicate(timeout=30)
    assert process.returncode in (2, 3, 13)
    assert said in out + err


def test_without_the_sdk_the_command_says_what_to_install(start, place):
    code = (
        "import sys; sys.modules['mcp'] = None; from forgelore.surfaces.cli.main import main; sys.exit(main(['mcp']))"
    )
    done = subprocess.run(
        [FORGELORE[0], "-c", code], env=server_env(place), cwd=place, capture_output=True, text=True, check=False
    )
    assert done.returncode == 3
    assert "pip install '.[mcp]'" in done.stderr
