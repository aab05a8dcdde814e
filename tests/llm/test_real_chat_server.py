"""The wire of chat, against a server that nobody here wrote: llama.cpp with a small model, in a process of its own."""

import json

import pytest

from cli.conftest import cli  # noqa: F401 - a fixture
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import PromptTooLong
from forgelore.llm.chat import ServedChatModel
from forgelore.llm_settings import LlmProfile
from forgelore.ports.chat import ChatMessage, ChatTool
from servers.model_process import running_model

OK = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"], "additionalProperties": False}
SEARCH = ChatTool("search", "Find items", {"type": "object", "properties": {"q": {"type": "string"}}})
BODY = "Opening the settings twice empties the list of folders, and it ends with ERROR: no folder left to sync"


@pytest.fixture(scope="module")
def address():
    """One server for all tests."""
    with running_model("chat") as place:
        yield place


@pytest.fixture
def model(address):
    model = ServedChatModel(LlmProfile("default", address, "smollm2", timeout=300))
    yield model
    model.close()


def test_a_real_server_answers_and_counts(model):
    reply = model.chat([ChatMessage("system", "Be short."), ChatMessage("user", "Say hello.")], max_tokens=8)
    assert reply.text
    assert (reply.finish_reason, reply.model) == ("length", "smollm2")
    assert (reply.tokens_out, 5 < reply.tokens_in < 60) == (8, True)


def test_a_real_server_keeps_to_a_schema(model):
    reply = model.chat([ChatMessage("user", 'Write {"ok": true}')], schema=OK, max_tokens=30)
    assert json.loads(reply.text).keys() == {"ok"}
    assert model.json_mode == "schema"


def test_a_real_server_takes_tools_and_their_answers(model):
    said = [ChatMessage("user", "Search for crash, then say what you found.")]
    first = model.chat(said, tools=[SEARCH], max_tokens=12)
    said += [ChatMessage("assistant", first.text, first.tool_calls), ChatMessage("user", "Go on.")]
    assert model.chat(said, tools=[SEARCH], max_tokens=8).tokens_out > 0


def test_a_real_server_refuses_what_is_too_long_in_words_we_know(model):
    with pytest.raises(PromptTooLong):
        model.chat([ChatMessage("user", "word " * 5_000)], max_tokens=8)


def test_a_real_server_judges_and_doctor_finds_it_well(address, cli, tmp_path):  # noqa: F811 - the fixture
    """Two copies; the budget is for one question. The answer proves the wire: what it says is the gates' to weigh."""
    lines = [{"kind": "issue", "number": number, "title": "Folders vanish from the settings", "body": BODY,
              "state": "open", "created_at": "2024-01-02T00:00:00Z"} for number in (101, 102)]  # fmt: skip
    path = tmp_path / "tracker.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    environ = {"FORGELORE_LLM_BASE_URL": address, "FORGELORE_LLM_MODEL": "smollm2", "FORGELORE_LLM_TIMEOUT": "300",
               "FORGELORE_LLM_CONTEXT": "2048", "FORGELORE_LLM_MAX_TOKENS": "300"}  # fmt: skip
    assert cli("import", str(path), "--project", "tracker", **environ).code == 0
    (found,) = [one for one in cli("doctor", "--json").data["checks"] if one["check"] == "model"]
    assert (found["status"], "JSON by schema" in found["message"]) == ("ok", True)
    assert cli("dedupe", "candidates", "--kind", "issue").code == 0
    made = cli("dedupe", "judge", "--judge", "llm", "--kind", "issue", "--budget", "1600", "--json").data[0]
    assert made["prompt_tokens"] > 300
    assert made["answer_tokens"] > 20
    assert made["reasons"]["over_budget"] == 1
    assert sum(made["reasons"].values()) + made["accepted"] == 2
    assert set(made["reasons"]) <= {str(code) for code in ReasonCode}
    assert made["model"] == "smollm2 prompt 2"


def test_a_real_server_reads_decisions(address, cli, tmp_path):  # noqa: F811 - the fixture
    """Whatever it lists is taken by the letter: kept where its quote stands in the text, else refused or no list."""
    line = {"kind": "change", "number": 1, "title": "Retry", "state": "merged", "author": "ana", "files": ["src/conn.py"],
            "body": BODY, "notes": [{"author": "ben", "body": "We decided to keep three tries."}]}  # fmt: skip
    path = tmp_path / "tracker.jsonl"
    path.write_text(json.dumps(line) + "\n")
    environ = {"FORGELORE_LLM_BASE_URL": address, "FORGELORE_LLM_MODEL": "smollm2", "FORGELORE_LLM_TIMEOUT": "300",
               "FORGELORE_LLM_CONTEXT": "2048", "FORGELORE_LLM_MAX_TOKENS": "200",
               "FORGELORE_MAINTAINERS": "ben"}  # fmt: skip
    assert cli("import", str(path), "--project", "tracker", **environ).code == 0
    found = cli("history", "src/conn.py", "--decisions", "--json").data
    done = found["extracted"]
    assert (done["asked"], done["failed"], done["tokens_in"] > 300, done["tokens_out"] > 5) == (1, 0, True, True)
    assert sum(one["rule"] == "model" for one in found["decisions"]) <= done["kept"]
    assert "We decided to keep three tries." in [one["quote"] for one in found["decisions"]] or done["kept"]
