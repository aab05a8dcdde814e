"""Work that nobody waits for any more, and work that waits for a model while others search; with a model that is slow
until the test lets it go on, behind a real socket.
"""

import contextlib
import json
import queue
import subprocess
import threading

import pytest
from talking import FORGELORE, make_store, server_env

from forgelore.api import make_history
from servers.chat import ChatServer, call

HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
PATIENCE = 60  # seconds until something that never comes is a failure


class SlowModel(ChatServer):
    """Holds every answer back until `go` is set, but those to a question that says "quick"."""

    def __init__(self):
        super().__init__(self.reply)
        self.arrived, self.go = queue.SimpleQueue(), threading.Event()

    def reply(self, asked):
        is_quick = "quick" in str(asked["messages"])
        return call("answer", text="Done.", citations=[]) if is_quick else call("search", keywords="cache")

    def answer(self, request, target):
        found = super().answer(request, target)
        if request.method == "POST" and b"quick" not in request.body:
            self.arrived.put(request)
            assert self.go.wait(PATIENCE)
        return found


class Lines:
    """A server that is talked to by lines."""

    def __init__(self, process):
        self._process, self._heard, self._early = process, queue.SimpleQueue(), {}
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self):
        for line in self._process.stdout:
            self._heard.put(json.loads(line))

    def say(self, method, number=None, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def call(self, number, name, **arguments):
        self.say("tools/call", number, name=name, arguments=arguments)

    def hear(self, number):
        while number not in self._early:
            heard = self._heard.get(timeout=PATIENCE)
            self._early[heard.get("id")] = heard
        return self._early.pop(number)


@pytest.fixture
def model():
    with SlowModel() as server:
        yield server
        server.go.set()


@pytest.fixture
def file(tmp_path):
    return make_store(tmp_path)


@pytest.fixture
def lines(file, model, tmp_path):
    env = server_env(tmp_path, FORGELORE_LLM_BASE_URL=model.v1, FORGELORE_LLM_MODEL="scripted-model")
    with contextlib.ExitStack() as stack:
        process = stack.enter_context(
            subprocess.Popen(
                [*FORGELORE, "mcp", "--db", file], env=env, cwd=tmp_path, text=True, stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            )
        )  # fmt: skip
        stack.callback(process.kill)
        found = Lines(process)
        found.say("initialize", 1, **HELLO)
        found.hear(1)
        found.say("notifications/initialized")
        yield found


def test_a_search_is_answered_beside_four_questions_that_wait_for_their_model(lines, model):
    for number in range(10, 14):
        lines.call(number, "ask", question=f"Question {number}?")
        model.arrived.get(timeout=PATIENCE)
    for number in range(20, 26):
        lines.call(number, "search", query="cache")
    for number in range(20, 26):
        assert lines.hear(number)["result"]["isError"] is False
    assert not model.go.is_set()


def test_cancelled_questions_free_their_threads_and_ask_the_model_no_more(lines, model, file, tmp_path):
    for number in range(10, 14):
        lines.call(number, "ask", question=f"Question {number}?")
        model.arrived.get(timeout=PATIENCE)
    for number in range(10, 14):
        lines.say("notifications/cancelled", requestId=number)
    lines.call(30, "ask", question="A quick one?")
    assert lines.hear(30)["result"]["isError"] is False, "every thread still waits for the model"
    model.go.set()
    lines.call(31, "ask", question="Another quick one?")
    assert lines.hear(31)["result"]["isError"] is False
    assert sum("quick" not in str(asked["messages"]) for asked in model.asked) == 4


def test_a_question_that_waits_for_its_turn_is_cancelled_without_a_request(lines, model):
    for number in range(10, 14):
        lines.call(number, "ask", question=f"Question {number}?")
        model.arrived.get(timeout=PATIENCE)
    lines.call(14, "ask", question="Question 14?")
    for number in (14, 10, 11, 12, 13):
        lines.say("notifications/cancelled", requestId=number)
    lines.call(30, "ask", question="A quick one?")
    assert lines.hear(30)["result"]["isError"] is False
    assert sum("quick" not in str(asked["messages"]) for asked in model.asked) == 4


def test_a_question_of_an_agent_is_kept_as_any_other(lines, model, file, tmp_path):
    lines.call(30, "ask", question="A quick one?")
    assert lines.hear(30)["result"]["isError"] is False
    with make_history(server_env(tmp_path), cwd=str(tmp_path), db=file) as history:
        (session,) = history.questions.list()
    assert (session.question, session.answer, session.ended_by) == ("A quick one?", "Done.", "answer")
