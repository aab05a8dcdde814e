"""The answer while it is written: streamed by the server, shown unchecked, then checked as ever."""

import itertools
import json
import threading

import pytest

from ask.conftest import QUOTE, READ, answer, cite, in_text
from cli.terminals import run_in_terminal
from forgelore.ask.tool_calls import read_written
from forgelore.errors import Stopped
from forgelore.llm.chat import ServedChatModel
from forgelore.llm.wire import StreamReader, read_reply
from forgelore.llm_settings import LlmProfile
from forgelore.ports.chat import ChatMessage
from servers.base import Response
from servers.chat import StreamedResponse, call, stream_of
from servers.model_process import running_model

TEXT = "Tombstones are purged \u201ctoo early\u201d \U0001f600 [1].\n\n- So it is [1]."
ANSWER = answer(TEXT, cite("#41", 35, 35, QUOTE))


@pytest.fixture
def streaming(server):
    server.streams = True
    return server


def test_an_answer_is_seen_before_its_end_has_come(history, streaming):
    streaming.gate = threading.Event()
    seen = []

    def look(text):
        seen.append(text)
        streaming.gate.set()

    StreamedResponse.was_late = False
    streaming.replies = [ANSWER]
    found = history.ask("why?", on_text=look)
    assert not StreamedResponse.was_late
    assert len(seen[0]) < len(TEXT)
    assert all(later.startswith(sooner) for sooner, later in itertools.pairwise(seen))
    assert seen[-1] == found.text == TEXT
    assert [one.status for one in found.citations] == ["found"]


def test_a_streamed_run_is_the_same_as_one_in_one_piece(history, streaming):
    streaming.replies = [*READ, ANSWER]
    streamed = history.ask("why?", on_text=lambda text: None)
    assert all(asked["stream"] is True for asked in streaming.asked)
    streaming.replies = [*READ, ANSWER]
    plain = history.ask("why?")
    assert streaming.asked[-1]["stream"] is False
    assert streamed._replace(session=None) == plain._replace(session=None)


def test_an_answer_as_json_in_text_is_seen_too(history, streaming):
    seen = []
    streaming.replies = [in_text("search", keywords="x"), in_text("answer", text=TEXT, citations=[])]
    history.ask("why?", on_text=seen.append)
    assert seen[-1] == TEXT


@pytest.mark.parametrize(
    "refuses",
    [
        {"stream_options": "Unknown parameter: stream_options"},
        {"stream": "stream is not supported"},
    ],
)
def test_a_server_that_cannot_stream_answers_in_one_piece(history, streaming, refuses):
    def refuse(asked, chat=streaming.chat):
        streaming.refuses = {n: w for n, w in refuses.items() if asked.get(n)}
        return chat(asked)

    streaming.chat = refuse
    streaming.replies = [*READ, ANSWER]
    assert history.ask("why?", on_text=lambda text: None).text == TEXT


def test_a_server_that_takes_stream_and_sends_one_piece_is_understood(history, server):
    server.replies = [*READ, ANSWER]
    assert history.ask("why?", on_text=lambda text: None).text == TEXT
    assert server.asked[0]["stream"] is True


def test_a_stream_that_breaks_off_is_asked_for_again(history, streaming):
    history.app.sleep = lambda seconds: None
    half = stream_of(ANSWER, None, "scripted-model")
    broken_off = Response(200, half[: len(half) // 2], {"Content-Type": "text/event-stream"})
    streaming.replies = [broken_off, ANSWER]
    seen = []
    assert history.ask("why?", on_text=seen.append).text == TEXT
    assert seen[-1] == TEXT


@pytest.mark.parametrize("body", [b"", b"data: \n\n", b"data: {]\n\n", b"data: [1]\n\ndata: {}\n\n", b": ping\n\n" * 9])
def test_a_stream_without_an_answer_ends_the_run_with_an_error(history, streaming, body):
    history.app.sleep = lambda seconds: None
    streaming.replies = [Response(200, body, {"Content-Type": "text/event-stream"})]
    assert history.ask("why?", on_text=lambda text: None).ended_by == "error"


def test_an_error_in_the_middle_of_a_stream_is_told(history, streaming):
    body = b'data: {"error": {"message": "out of memory"}}\n\n'
    streaming.replies = [Response(200, body, {"Content-Type": "text/event-stream"})]
    assert "out of memory" in history.ask("why?", on_text=lambda text: None).problem


def test_a_stream_stops_when_everything_is_to_stop(history, streaming):
    streaming.replies = [ANSWER]
    with pytest.raises(Stopped):
        history.ask("why?", on_text=lambda text: history.app.stop.set())
    history.app.stop.clear()


@pytest.mark.parametrize("text", [TEXT, "a \U0001f600 b", 'C:\\\\dir\\ "x"\n\u00e9\U0001f600'])
def test_any_beginning_of_an_answer_shows_a_beginning_of_its_text(text):
    """Else a terminal would begin again from the top: after half a sign, or half an escape."""
    arguments = json.dumps({"text": text, "citations": []})
    drafts = [read_written("", [("answer", arguments[:length])]) for length in range(len(arguments))]
    assert all(text.startswith(draft) for draft in drafts)
    assert all(later.startswith(draft) for draft, later in itertools.pairwise(drafts) if later)
    assert text in drafts


@pytest.fixture
def on_terminal(tmp_path, demo_file, streaming):
    environ = {"FORGELORE_DB": str(demo_file), "HOME": str(tmp_path), "FORGELORE_LLM_BASE_URL": streaming.v1,
               "FORGELORE_LLM_MODEL": "scripted-model"}  # fmt: skip
    return lambda *words: run_in_terminal("ask", *words, environ=environ)


def test_on_a_terminal_the_answer_is_written_once_and_then_its_citations(on_terminal, streaming):
    streaming.replies = [*READ, ANSWER]
    screen = on_terminal("why?")
    assert screen.code == 0, screen.text
    assert screen.text.count("purged \u201ctoo early\u201d") == 1
    assert screen.text.index("too early") < screen.text.index("Citations") < screen.text.index(f"| {QUOTE}")


def test_on_a_terminal_what_does_not_hold_is_marked_below(on_terminal, streaming):
    streaming.replies = [*READ, answer("It is so [1].")]
    text = on_terminal("why?").text
    assert text.count("It is so [1].") >= 1
    assert "It is so [1 \u2717 1: no such citation]. (unchecked)" in text.partition("Checked")[2]


def test_nothing_in_a_stream_acts_in_the_terminal(on_terminal, streaming):
    bad = "\x1b]8;;http://evil.example\x07safe\x1b[8mhidden\x1b[2J\x9b31m\u202egnp\r\x07"
    streaming.replies = [answer(f"{bad} so it is."), answer(f"{bad} so it is.")]
    raw = on_terminal("why?").raw
    assert "\x1b]8" not in raw
    assert "\x1b[8m" not in raw
    assert "\x1b[2J" not in raw
    assert not set("\x07\x9b\u202e") & set(raw)


def test_json_on_a_terminal_is_not_streamed(on_terminal, streaming):
    streaming.replies = [*READ, ANSWER]
    assert json.loads(on_terminal("why?", "--json").text)["data"]["text"] == TEXT
    assert all(asked["stream"] is False for asked in streaming.asked)


def test_a_real_server_streams():
    with running_model("chat") as address:
        model = ServedChatModel(LlmProfile("default", address, "smollm2", timeout=300))
        parts = []
        reply = model.chat([ChatMessage("user", "Say hello.")], max_tokens=12, on_part=parts.append)
        model.close()
    assert len(parts) > 1
    assert parts[-1].text == reply.text
    assert (reply.tokens_out, reply.finish_reason, reply.model) == (12, "length", "smollm2")


def test_a_call_without_an_index_and_arguments_as_an_object_are_read(history, streaming):
    function = {"name": "answer", "arguments": {"text": TEXT, "citations": []}}
    event = {"choices": [{"delta": {"tool_calls": [{"function": function}]}, "finish_reason": "stop"}]}
    body = b"data: " + json.dumps(event).encode() + b"\r\n\r\n"
    streaming.replies = [Response(200, body, {"Content-Type": "text/event-stream"})]
    assert history.ask("why?", on_text=lambda text: None).text == TEXT


def test_nobody_asks_for_a_stream_that_nobody_sees(history, streaming):
    streaming.replies = [call("search", keywords="x"), ANSWER]
    history.ask("why?")
    assert all("stream_options" not in asked for asked in streaming.asked)


def test_a_pager_does_not_hold_a_stream_back(tmp_path, demo_file, streaming):
    environ = {"FORGELORE_DB": str(demo_file), "HOME": str(tmp_path), "FORGELORE_LLM_BASE_URL": streaming.v1,
               "FORGELORE_LLM_MODEL": "scripted-model", "FORGELORE_PAGER": "cat > /dev/null"}  # fmt: skip
    streaming.replies = [ANSWER]
    screen = run_in_terminal("ask", "why?", environ=environ, rows=5)
    assert "too early" in screen.text
    assert "Citations" in screen.text


@pytest.mark.parametrize("calls", ["5", '"x"', '{"index": 0}', "[5, null]", "true"])
def test_calls_of_another_shape_in_a_stream_are_passed_over(calls):
    reader = StreamReader()
    reader.feed(f'data: {{"choices": [{{"delta": {{"content": "so", "tool_calls": {calls}}}}}]}}\n'.encode())
    assert read_reply(reader.body(), "host", sent_chars=1, model="m").text == "so"
