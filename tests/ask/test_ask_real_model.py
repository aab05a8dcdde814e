"""The loop of `ask` against a server that nobody here wrote: llama.cpp with a model of 135 million weights.

It is too small to answer anything, and its server drops the tools that it is sent: its template has no place for them.
So these tests are about the shape of a run: it is told of the tools in words, each of its calls is carried out or
refused with a reason, a context of 1,200 tokens is enough, and the run ends as it says.
"""

import json

import pytest

from forgelore.ask.tool_calls import TOOLS
from servers.model_process import running_model

NAMES = {tool.name for tool in TOOLS}


@pytest.fixture(scope="module")
def address():
    """One server for all tests."""
    with running_model("chat") as place:
        yield place


def test_a_real_model_is_asked_to_the_end_and_its_run_can_be_played_again(open_demo, address):
    history = open_demo(
        FORGELORE_LLM_BASE_URL=address, FORGELORE_LLM_MODEL="smollm2", FORGELORE_LLM_TIMEOUT="300",
        FORGELORE_LLM_CONTEXT="1200",
    )  # fmt: skip
    seen = []
    found = history.ask("why do deleted files come back?", steps=4, budget=4000, on_step=seen.append)
    assert list(found.steps) == seen
    first, *later = found.steps
    assert "no tool was called; call one, as JSON" in first.calls[0].problem
    assert first.tokens_in < 500 < later[0].tokens_in  # the server dropped the tools, and got them in words
    for step in later:
        (call,) = step.calls  # JSON by schema: there is a call in every reply that was not cut off
        assert call.tool in NAMES or "was cut off" in call.problem
        assert not call.tool or isinstance(json.loads(call.arguments), dict)
        assert call.result or call.problem or call.tool == "answer"
    assert all(step.tokens_in + step.tokens_out <= 2048 for step in found.steps)
    assert found.ended_by in ("answer", "budget", "steps", "error")
    assert found.is_partial == (found.ended_by != "answer")
    assert bool(found.problem) == (found.ended_by == "error")
    assert all(claim.is_checked is False or claim.citations for claim in found.claims)
    again = history.questions.replay(found.session)
    assert again.changed_results == 0
    assert [call.result for step in again.steps for call in step.calls] == [
        call.result for step in found.steps for call in step.calls
    ]
