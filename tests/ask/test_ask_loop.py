"""The loop of `ask` against a scripted model: what it is shown, where it ends, and that its citations are looked up."""

import time

import pytest

from ask.conftest import QUOTE, READ, answer, broken, cite, results
from forgelore.errors import InvalidValue, Refused, Stopped
from servers.base import Response
from servers.chat import call, prompt_of, stall


def test_search_read_and_answer_with_a_citation_that_holds(history, server):
    server.replies = [*READ, answer("Tombstones are purged too early [1].", cite("#41", 35, 35, QUOTE))]
    found = history.ask("why do deleted files come back?")
    assert (found.ended_by, found.is_partial, found.text) == ("answer", False, "Tombstones are purged too early [1].")
    (claim,), (citation,) = found.claims, found.citations
    assert claim.is_checked
    assert (citation.status, citation.first_line, citation.title[:7]) == ("found", 35, "Deleted")
    assert citation.url.endswith("/issues/41")
    assert len(citation.hash) == 16
    assert [[one.tool for one in step.calls] for step in found.steps] == [["search"], ["read"], ["answer"]]
    assert (found.tokens_in, found.tokens_out) == (3 * 120, 3 * 30)


def test_results_are_data_between_lines_that_nobody_can_guess(history, server):
    server.replies = [*READ, answer("Nothing is known.")]
    history.ask("why?")
    listed, read = results(server)[:2]
    fence = listed.split("\n")[0].strip("<>")
    assert fence.startswith("forge-text-")
    assert listed.endswith(f"\n</{fence}>")
    assert read.count(fence) == 2
    assert f"<{fence}>" in server.asked[0]["messages"][0]["content"]
    assert "id: #41" in listed
    assert "line: " in listed
    assert listed.count("snippet: ") == 5
    assert "[...more below...]" in read


def test_scroll_and_search_within_move_one_window(history, server):
    within = call("search_within_item", keywords="tombstone", call_id="call_3")
    server.replies = [*READ, call("scroll", direction="down", call_id="call_4"), within, answer("No.")]
    found = history.ask("why?")
    read, down, inside = (step.calls[0] for step in found.steps[1:4])
    assert down.first_line > read.first_line
    assert down.first_line <= read.last_line  # a fifth is seen again
    assert "lines of #41" in inside.result
    assert inside.first_line > 0


def test_a_scroll_beyond_the_end_says_so_and_repeats_nothing(history, server):
    server.replies = [call("read", id="#45"), call("scroll", direction="down", call_id="call_2"), answer("No.")]
    read, moved = (step.calls[0] for step in history.ask("why?").steps[:2])
    assert "The window did not move: this is the end of the item." in moved.result
    assert (moved.first_line, moved.last_line) == (read.first_line, read.last_line)
    assert len(moved.result) < 200 < len(read.result)


@pytest.mark.parametrize("tool", [call("scroll", direction="up"), call("search_within_item", keywords="x")])
def test_a_window_needs_an_item_that_was_read(history, server, tool):
    server.replies = [tool, answer("No.")]
    (refused,) = history.ask("why?").steps[0].calls
    assert "needs an item that was read before: call read" in refused.problem


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (call("delete_everything", path="/"), "unknown tool 'delete_everything'"),
        (call("read", id="#99999"), "#99999 is not in this database"),
        (call("read", id="../../etc/passwd"), "passwd"),
        (call("read"), "id of read is missing"),
        (call("read", id="#41", line=10**6), "lines; line 1000000 does not exist"),
        (call("read", id="#41", line="first"), "must be a line number"),
        (call("scroll", direction="sideways"), "must be up or down"),
        (call("search", keywords=["a"]), "must be text"),
        (call("search", keywords="x", types={"a": 1}), "must be a list"),
        (broken("read", "{"), "are not JSON"),
        ("I think that it is so.", "no tool was called"),
        ("", "no tool was called"),
    ],
)
def test_a_wrong_call_is_answered_with_what_was_wrong(history, server, reply, words):
    server.replies = [reply, answer("No.")]
    found = history.ask("why?")
    assert found.ended_by == "answer"
    assert words in found.steps[0].calls[0].problem
    assert words in prompt_of(server.asked[1])


def test_wrong_calls_in_a_row_end_the_run_honestly(history, server):
    server.replies = [*READ, "The purge is the cause, I noted.", "no", "no", "no", "no"]
    found = history.ask("why?")
    assert (found.ended_by, found.is_partial) == ("error", True)
    assert "4 calls in a row" in found.problem
    assert "The purge is the cause, I noted." in found.text
    assert len(server.asked) == 6


def test_a_model_that_repeats_itself_is_stopped(history, server):
    server.replies = [READ[0]]
    found = history.ask("why?")
    assert (found.ended_by, "the same call" in found.problem) == ("error", True)
    assert len(found.steps) == 4


def test_the_limit_of_steps_leaves_the_notes(history, server):
    server.replies = lambda asked: call(
        "search", keywords=f"words {len(asked['messages'])}", observations=f"note {len(asked['messages'])}"
    )
    found = history.ask("why?", steps=4)
    assert (found.ended_by, len(found.steps)) == ("steps", 4)
    assert found.text.startswith("note 2")
    assert "Call `answer` now" in prompt_of(server.asked[-1])


def test_the_budget_is_for_the_whole_run(history, server):
    server.usage = {"prompt_tokens": 2000, "completion_tokens": 50, "total_tokens": 2050}
    server.replies = lambda asked: call("search", keywords=f"words {len(asked['messages'])}")
    found = history.ask("why?", budget=9000)
    assert found.ended_by == "budget"
    assert found.tokens_in + found.tokens_out <= 9000 + 2050
    assert "Call `answer` now" in prompt_of(server.asked[-1])


def test_the_budget_counts_characters_where_a_server_counts_nothing(history, server):
    server.usage = None
    server.replies = [*READ, answer("No.")]
    found = history.ask("why?")
    assert found.tokens_in > sum(len(text) for text in results(server)) / 4


def test_the_limit_of_time(history, server):
    times = iter(range(0, 10_000, 100))
    history.app.clock = lambda: float(next(times))
    server.replies = lambda asked: call("search", keywords=f"words {len(asked['messages'])}")
    assert history.ask("why?", seconds=250).ended_by == "time"


def test_a_model_that_fails_when_the_time_is_up_ended_by_time(history, server):
    history.app.clock = lambda: 0.0 if len(server.asked) < 2 else 1000.0  # the second answer takes all of it
    history.app.sleep = lambda seconds: None
    server.replies = [call("search", keywords="tombstone", observations="I look."), Response(500)]
    found = history.ask("why?", seconds=900)
    assert (found.ended_by, found.text) == ("time", "I look.")
    assert "500" in found.problem


def test_a_quote_that_stands_nowhere_goes_back_once_and_is_then_marked(history, server):
    wrong = answer("The cache is guilty [1]. It was so [2].", cite("#41", 1, 2, "the cache is the guilty part"))
    server.replies = [*READ, wrong, wrong]
    found = history.ask("why?")
    assert found.ended_by == "answer"
    assert len(server.asked) == 4
    assert "citation 1 quotes text that is not in #41" in prompt_of(server.asked[3])
    assert [claim.is_checked for claim in found.claims] == [False, False]
    assert found.citations[0].status == "quote_not_found"


def test_strict_refuses_claims_without_a_citation(history, server):
    server.replies = [*READ, answer("The cache is guilty.")]
    with pytest.raises(Refused, match="without a valid citation: The cache is guilty"):
        history.ask("why?", strict=True)
    assert len(server.asked) == 5  # two chances to mend it


def test_strict_takes_an_answer_that_is_proved(history, server):
    server.replies = [*READ, answer("Purged too early [1].", cite("#41", 35, 35, QUOTE))]
    assert history.ask("why?", strict=True).ended_by == "answer"


@pytest.mark.parametrize("reply", [Response(500), Response(401), Response(200, b"<html>"), "x" * 200_000])
def test_a_server_that_fails_ends_the_run_and_keeps_what_was_noted(history, server, reply):
    history.app.sleep = lambda seconds: None
    first = call("search", keywords="tombstone", observations="I look for tombstones.")
    server.replies = [first, reply]
    found = history.ask("why?")
    assert (found.ended_by, found.text) == ("error", "I look for tombstones.")
    assert found.problem


def test_a_session_is_kept_and_can_be_played_again_without_its_model(history, server):
    server.replies = [*READ, answer("Purged too early [1].", cite("#41", 35, 35, QUOTE))]
    first = history.ask("why?")
    asked = len(server.asked)
    again = history.questions.replay(first.session)
    assert len(server.asked) == asked
    assert (again.text, again.citations, again.claims) == (first.text, first.citations, first.claims)
    assert again.changed_results == 0
    history.app.store().run("UPDATE items SET body = 'gone' WHERE number = 41 AND kind = 'issue'")
    assert history.questions.replay(first.session).changed_results > 0
    (kept,) = history.questions.list()
    assert (kept.question, kept.ended_by, kept.answer) == ("why?", "answer", first.text)


def test_a_run_that_is_killed_leaves_its_steps(history, server):
    server.replies = [*READ]
    history.app.stop.clear()

    def stop(step):
        if step.number == 2:
            history.app.stop.set()

    with pytest.raises(Stopped):
        history.ask("why?", on_step=stop)
    history.app.stop.clear()
    (kept,) = history.questions.list()
    assert kept.ended_by == ""
    told = history.questions.replay(kept.id)
    assert (told.ended_by, len(told.steps)) == ("error", 2)


def test_without_a_model_the_best_passages_come_with_their_lines(history, server):
    found = history.ask("why do deleted files come back", without_model=True)
    assert (found.ended_by, server.asked) == ("no_model", [])
    best = found.passages[0]
    assert best.id == "#41"
    lines = history.show("#41", with_document=True).document.split("\n")
    assert best.text.split("\n") == lines[best.first_line - 1 : best.last_line]


@pytest.mark.parametrize("wrong", [{"budget": 10}, {"steps": 0}, {"seconds": 0}, {"budget": "x"}])
def test_limits_that_make_no_sense_are_refused(history, wrong):
    with pytest.raises(InvalidValue):
        history.ask("why?", **wrong)


@pytest.mark.parametrize("question", ["", "  ", "x" * 9000])
def test_a_question_has_words(history, question):
    with pytest.raises(InvalidValue):
        history.ask(question)


def test_a_model_that_stalls_ends_the_run_in_time(open_demo, server):
    history = open_demo(FORGELORE_LLM_TIMEOUT="1")
    history.app.sleep = lambda seconds: None
    server.replies = [call("search", keywords="tombstone", observations="I look."), stall(2)]
    began = time.monotonic()
    found = history.ask("why?")
    assert (found.ended_by, found.text) == ("error", "I look.")
    assert "raise timeout under [llm]" in found.problem
    assert time.monotonic() - began < 20


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ("x" * 99_000, "no tool was called"),
        (call("answer", text="x" * 90_000), "the arguments have 90,012 characters"),
        (call("search", keywords="x " * 30_000), "characters"),
        (call("read", id="#" + "4" * 30_000), ""),
        ({"content": None, "tool_calls": [call("get", ref=f"#{n}")["tool_calls"][0] for n in range(500)]}, "#0 is not"),
    ],
)
def test_a_model_that_writes_too_much_is_answered_and_not_repeated(history, server, reply, words):
    server.replies = [reply, answer("No.")]
    found = history.ask("why?")
    first = found.steps[0]
    assert words in first.calls[0].problem
    assert len(first.observations) <= 2_000
    assert all(len(one.arguments) <= 2_000 for one in first.calls if one.problem)
    assert sum(bool(one.result) for one in first.calls) <= 4
    assert found.ended_by in ("answer", "error")
