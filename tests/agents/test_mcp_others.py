"""The MCP server, asked by programs that others wrote: the inspector, and the protocol's own conformance suite.

`make test` installs both, with the Node that they want, below the environment.
"""

import json
import pathlib
import re
import subprocess
import sys

import pytest
from talking import FORGELORE, PLANTED, SECRET, http_server, server_env

INSTALLED = pathlib.Path(sys.prefix) / "agents" / "node_modules"
PROGRAMS = {
    "inspector": "@modelcontextprotocol/inspector/clients/launcher/build/index.js",
    "conformance": "@modelcontextprotocol/conformance/dist/index.js",
}
# The scenarios of the suite that are about any server. The others ask for tools, resources and prompts of a server that
# was made for them (an image of one red pixel), or for what we do not offer: logging, completion, subscriptions.
GENERAL = [
    "server-initialize",
    "ping",
    "tools-list",
    "resources-list",
    "prompts-list",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
]


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    """Run one of the programs to its end."""
    nodes = sorted(INSTALLED.glob("node-*/bin/node"))
    if not nodes or not all((INSTALLED / path).exists() for path in PROGRAMS.values()):
        pytest.skip("other clients are not installed; `make test` does that")
    home = tmp_path_factory.mktemp("node")

    def run(name, *words):
        command = [str(nodes[0]), str(INSTALLED / PROGRAMS[name]), *words]
        return subprocess.run(command, env=server_env(home), cwd=home, capture_output=True, text=True, timeout=120)

    return run


@pytest.fixture
def inspect(program, store):
    def run(method, *words):
        done = program("inspector", "--cli", *FORGELORE, "mcp", "--db", store, "--method", method, *words)
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_the_inspector_finds_the_tools_and_nothing_wrong_with_their_schemas(inspect):
    tools = inspect("tools/list", "--strict")["tools"]
    assert {"search", "read", "similar", "show", "history", "sync_status"} <= {tool["name"] for tool in tools}


def test_the_inspector_calls_a_tool(inspect):
    found = inspect("tools/call", "--tool-name", "search", "--tool-arg", "query=forgets files", "--tool-arg", "limit=2")
    assert "\n#1 (issue, open" in found["content"][0]["text"]
    read = inspect("tools/call", "--tool-name", "read", "--tool-arg", "ref=#4")
    assert PLANTED in read["content"][0]["text"]


def test_the_inspector_reads_resources_and_prompts(inspect):
    listed = inspect("resources/list")["resources"]
    assert SECRET not in json.dumps(listed)
    uri = next(one["uri"] for one in listed if one["name"] == "#1")
    assert "Seen here too." in inspect("resources/read", "--uri", uri)["contents"][0]["text"]
    prompt = inspect("prompts/get", "--prompt-name", "triage", "--prompt-args", "ref=#41")
    assert "Triage #41" in prompt["messages"][0]["content"]["text"]


@pytest.fixture(scope="module")
def address(store, place):
    with http_server(store, place) as (_, url):
        yield url


@pytest.mark.parametrize("scenario", GENERAL)
def test_the_server_conforms(program, address, scenario):
    done = program("conformance", "server", "--url", address, "--scenario", scenario)
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"Passed: ([1-9])/\1, 0 failed", done.stdout), done.stdout
