"""A model that follows a script, the built-in tracker, and the facade between them."""

import json
import shutil

import pytest

from forgelore.api import make_history
from forgelore.surfaces.cli.main import main
from forgelore.viewer import EVERYTHING
from servers.chat import ChatServer, call


@pytest.fixture(scope="session")
def demo_file(tmp_path_factory):
    path = tmp_path_factory.mktemp("ask") / "demo.db"
    assert main(["demo", "--keep", str(path), "--json"]) == 0
    return path


@pytest.fixture
def server():
    with ChatServer() as running:
        yield running


@pytest.fixture
def open_demo(tmp_path, demo_file, server):
    """Open the built-in tracker, a copy of its own, with the scripted model in the settings."""
    opened = []

    def open_one(**more):
        path = tmp_path / f"demo-{len(opened)}.db"
        shutil.copy(demo_file, path)
        environ = {
            "HOME": str(tmp_path),
            "FORGELORE_LLM_BASE_URL": server.v1,
            "FORGELORE_LLM_MODEL": "scripted-model",
        }
        opened.append(make_history({**environ, **more}, cwd=str(tmp_path), db=str(path), viewer=EVERYTHING))
        return opened[-1]

    yield open_one
    for history in opened:
        history.close()


@pytest.fixture
def history(open_demo):
    return open_demo()


@pytest.fixture
def small_history(open_demo):
    """One whose model takes few tokens."""
    return open_demo(FORGELORE_LLM_CONTEXT="3600")


def in_text(name, observations="", **arguments):
    """A call as JSON in the text, for servers without tools."""
    return json.dumps({"observations": observations, "tool_call": {"name": name, "arguments": arguments}})


def cite(id_, first, last, quote):
    return {"id": id_, "first_line": first, "last_line": last, "quote": quote}


def answer(text, *citations, call_id="call_9"):
    return call("answer", text=text, citations=list(citations), call_id=call_id)


def broken(name, arguments):
    """A call whose arguments are this text."""
    made = call(name)
    made["tool_calls"][0]["function"]["arguments"] = arguments
    return made


def results(server):
    """The texts that answered the calls, as the last request has them."""
    return [message["content"] for message in server.asked[-1]["messages"] if message["role"] == "tool"]


READ = [call("search", keywords="deleted files come back"), call("read", id="#41", call_id="call_2")]
QUOTE = "30 days was a number I made up in 2022"
