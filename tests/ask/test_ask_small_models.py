"""The loop of `ask` with servers that have no tools, drop them, or take few tokens: what people run at home."""

from ask.conftest import QUOTE, READ, answer, cite, in_text, results
from servers.base import Response
from servers.chat import call, completion, prompt_of


def test_a_server_without_tools_gets_them_in_words(history, server):
    server.refuses = {"tools": "tools are not supported by this model"}
    server.replies = [
        in_text("search", "looking", keywords="deleted files"),
        "```json\n" + in_text("read", id="#41") + "\n```",
        in_text("answer", text="Purged too early [1].", citations=[cite("#41", 35, 35, QUOTE)]),
    ]
    found = history.ask("why?")
    assert found.ended_by == "answer"
    assert found.claims[0].is_checked
    assert found.steps[0].observations == "looking"
    assert all("tools" not in asked for asked in server.asked[1:])
    assert '"tool_call"' in server.asked[1]["messages"][0]["content"]


def test_old_results_are_condensed_and_their_lines_stay(small_history, server):
    server.replies = [
        READ[0],
        *(call("read", id=f"#{number}", call_id=f"r{number}") for number in (41, 145, 18, 135)),
        answer("Purged too early [1].", cite("#41", 35, 35, QUOTE)),
    ]
    found = small_history.ask("why?")
    first, *rest = results(server)
    assert first.startswith("(left out: search 'deleted files come back': found #41 (line ")
    assert rest[0].startswith("(left out: read #41, lines 1 to ")
    assert rest[-1].startswith("<forge-text-")
    assert max(len(prompt_of(asked)) for asked in server.asked) < 4000 * 4
    assert found.claims[0].is_checked


def test_a_prompt_that_is_too_long_for_the_server_is_shortened(history, server):
    def reply(asked):
        if len(prompt_of(asked)) > 6000:
            return Response(400, {"error": {"message": "This model's maximum context length is 2048 tokens"}})
        turns = sum(message["role"] == "assistant" for message in asked["messages"])
        return [*READ, call("read", id="#145", call_id="r2"), answer("No.")][min(turns, 3)]

    server.replies = reply
    assert history.ask("why?").ended_by == "answer"


def test_a_model_that_ignores_its_tools_is_told_of_them_in_words(history, server):
    """Some servers take `tools` and drop them: their template has no place for them, and they say nothing of it."""
    prose = "Deleted files come back because of the recycle bin. " * 200
    server.replies = [
        prose,
        in_text("search", keywords="deleted files"),
        call("read", id="#41"),  # natively all the same: it is taken as it comes
        in_text("answer", text="Purged too early [1].", citations=[cite("#41", 35, 35, QUOTE)]),
    ]
    found = history.ask("why?")
    first, second, *_ = server.asked
    assert "tools" in first
    assert '"tool_call"' not in first["messages"][0]["content"]
    assert '"tool_call"' in second["messages"][0]["content"]
    assert second["response_format"]["type"] == "json_schema"
    assert all("tools" not in asked for asked in server.asked[1:])
    assert found.claims[0].is_checked
    assert {message["role"] for message in server.asked[-1]["messages"]} == {"system", "user", "assistant"}


def test_one_that_has_called_a_tool_keeps_them(history, server):
    server.replies = [READ[0], "I think that it is so.", answer("No.")]
    history.ask("why?")
    assert all("tools" in asked for asked in server.asked)


def test_a_call_in_text_is_no_proof_that_tools_were_seen(history, server):
    server.replies = [in_text("search", keywords="deleted files"), "Well, it is so.", in_text("answer", text="No.")]
    assert history.ask("why?").ended_by == "answer"
    assert ["tools" in asked for asked in server.asked[:3]] == [True, True, False]


def test_a_small_context_holds_the_newest_result_and_not_the_models_own_words(open_demo, server):
    """2,048 tokens: what many local servers give. What was found last is seen in every prompt, cut if need be."""
    history = open_demo(FORGELORE_LLM_CONTEXT="2048")
    server.refuses = {"tools": "tools are not supported by this model"}
    server.replies = [
        "I think aloud. " * 300,
        in_text("search", keywords="deleted files come back"),
        in_text("read", id="#41"),
        in_text("search_within_item", keywords="a"),
        in_text("answer", text="Purged too early [1].", citations=[cite("#41", 35, 35, QUOTE)]),
    ]
    found = history.ask("why?")
    assert found.ended_by == "answer"
    assert found.claims[0].is_checked
    prompts = [prompt_of(asked) for asked in server.asked]
    assert max(map(len, prompts)) < 2048 * 4 * 2 / 3 + 200
    assert all("I think aloud. " * 100 not in prompt for prompt in prompts)
    assert all(prompt.rstrip().splitlines()[-1].startswith("</forge-text-") for prompt in prompts[2:])
    assert "[...cut: the model takes no more at once" in prompts[-1]


def test_a_reply_that_was_cut_off_is_told_so(history, server):
    def cut(asked):
        done = completion({"content": '{"tool_call": {"name": "sea'}, None)
        done["choices"][0]["finish_reason"] = "length"
        return Response(200, done) if len(server.asked) == 1 else answer("No.")

    server.replies = cut
    assert "was cut off, because it was too long" in history.ask("why?").steps[0].calls[0].problem
