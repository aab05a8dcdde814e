"""`ask` as a person runs it: the steps as they happen, the answer, its citations, and what is wrong with them."""

import re

import pytest

from servers.chat import ChatServer, call

QUOTE = "30 days was a number I made up in 2022"


@pytest.fixture
def asking(cli, tmp_path):
    """Run `ask` on the built-in tracker, with a scripted model."""
    cli("demo", "--keep", str(tmp_path / "lore.db"))
    with ChatServer() as server:

        def ask(*words, replies=()):
            server.replies = list(replies)
            return cli("ask", *words, FORGELORE_LLM_BASE_URL=server.v1, FORGELORE_LLM_MODEL="scripted-model")

        yield ask


def answer(text, quote=QUOTE):
    return call("answer", text=text, citations=[{"id": "#41", "first_line": 35, "last_line": 35, "quote": quote}])


def test_an_answer_with_its_citations(asking):
    done = asking(
        "why?", replies=[call("read", id="#41", observations="I read."), answer("Purged early [1]. So be it.")]
    )
    assert done.code == 0
    assert "Purged early [1]." in done.out
    assert "So be it. (unchecked)" in done.out
    assert "[1] #41 line 35  Deleted files come back" in done.out
    (shown,) = [line for line in done.out.splitlines() if line.startswith("    | ")]
    assert QUOTE in shown
    assert shown == f"    | {QUOTE}."  # the line of the source, and not the model's quote
    assert "1 of 2 claims unchecked" in done.out
    assert "session 1" in done.out
    assert "I read." in done.err
    assert " 1 read" in done.err


def test_an_answer_keeps_its_headings_and_its_lists(asking):
    said = "# Why\n\nThere are two reasons:\n\n- Purged early [1].\n- Purged early. [1]\n- Purged early."
    lines = [line for line in asking("why?", replies=[answer(said)]).out.splitlines() if line.strip()][:5]
    assert lines == [
        "# Why", "There are two reasons: (unchecked)", "- Purged early [1].", "- Purged early. [1]", "- Purged early. (unchecked)",
    ]  # fmt: skip


def test_marks_are_coloured_and_nothing_else_of_an_answer_is(asking, monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("FORCE_COLOR", "1")
    out = asking("why?", replies=[answer("So \x1b[31mbe it.")]).out
    assert "\x1b[33m(unchecked)\x1b[0m" in out
    assert "\x1b[31m" not in out
    assert "\ufffd[33m" not in out


def test_a_citation_that_does_not_hold_is_told(asking):
    done = asking("why?", replies=[answer("So [1].", quote="words that nobody wrote")])
    assert "NOT FOUND: the quote is not in the source" in done.out
    assert 'the answer quotes "words that nobody wrote"' in done.out


def test_strict_refuses_and_says_where_the_transcript_is(asking):
    done = asking("why?", "--strict", replies=[call("answer", text="So it is.")])
    assert done.code == 20
    assert "without a valid citation: So it is." in done.err
    assert "session 1" in done.err


def test_a_limit_shows_what_was_noted(asking):
    done = asking("why?", "--steps", "1", replies=[call("search", keywords="x", observations="Tombstones, I think.")])
    assert done.code == 0
    assert "No answer: the step limit was reached." in done.out
    assert "Tombstones, I think." in done.out


def test_events_and_answer_as_json(asking):
    done = asking("why?", "--json", replies=[call("read", id="#41"), answer("Purged early [1].")])
    assert done.err == ""
    assert done.data["ended_by"] == "answer"
    assert [step["calls"][0]["tool"] for step in done.data["steps"]] == ["read", "answer"]
    assert done.data["citations"][0]["status"] == "found"


def test_sessions_are_listed_and_replayed(asking):
    asking("why?", replies=[answer("Purged early [1].")])
    assert "why?" in asking("--sessions").out
    done = asking("--replay", "1")
    assert "Purged early [1]." in done.out
    assert asking("--replay", "9").code != 0


def test_no_model_is_labelled(cli, tmp_path):
    cli("demo", "--keep", str(tmp_path / "lore.db"))
    done = cli("ask", "why do deleted files come back")
    assert done.code == 0
    assert "No language model configured; showing the best-matching passages." in done.err
    assert "#41 Deleted files come back" in done.out


@pytest.mark.parametrize("words", [(), ("why?", "--sessions"), ("why?", "--budget", "5"), ("why?", "--profile", "x")])
def test_what_makes_no_sense_is_refused(cli, tmp_path, words):
    cli("demo", "--keep", str(tmp_path / "lore.db"))
    done = cli("ask", *words)
    assert done.code in (2, 13)
    assert "Traceback" not in done.err


def test_nothing_that_a_model_writes_acts_in_the_terminal(asking):
    """Links that look like another one, hidden text, a new title of the window: all of it is shown as it is written."""
    bad = "\x1b]8;;http://evil.example\x07safe\x1b]8;;\x07\x1b[8mhidden\x1b[2J\x9b31m\u202egnp \r\x07"
    said = f"{bad} [Log in](javascript:alert(1)) <img src=x> [1]."
    replies = [
        call(f"read\n{bad}", id=bad),
        call("read", id=bad, observations=bad),
        answer(said, quote=f"{bad} {QUOTE}"),
    ]
    done = asking("why?", replies=replies)
    assert done.code == 0
    for text in (done.out, done.err):
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", text)
    assert "[Log in](javascript:alert(1)) <img src=x>" in " ".join(done.out.split())


def test_a_bad_mark_is_shown_where_it_stands(asking):
    said = "Purged early [1, 7]. It was so [2]. See `a[9]` [1-3]."
    wrong = {"id": "#41", "first_line": 1, "last_line": 1, "quote": "words that nobody wrote"}
    good = {"id": "#41", "first_line": 35, "last_line": 35, "quote": QUOTE}
    out = " ".join(asking("why?", replies=[call("answer", text=said, citations=[good, wrong])]).out.split())
    assert "Purged early [1, 7 ✗ 7: no such citation]." in out
    assert "It was so [2 ✗ 2: not found]. (unchecked)" in out
    assert "See `a[9]` [1-3 ✗ 2: not found, 3: no such citation]." in out


def test_a_run_that_breaks_off_fails_and_shows_what_it_had(asking):
    done = asking("why?", replies=[call("search", keywords="x", observations="Tombstones, I think."), *["no"] * 9])
    assert done.code == 16
    assert "Tombstones, I think." in done.out
    assert "the run failed: 4 calls in a row" in done.err
    data = asking("why?", "--json", replies=["no"]).data
    assert data["ended_by"] == "error"


def test_no_model_by_choice_does_not_claim_that_none_is_configured(asking):
    done = asking("why do deleted files come back", "--no-model")
    assert "configured" not in done.err
    assert "No language model was asked; showing the best-matching passages." in done.err


def test_a_follow_up_goes_on_from_a_session(asking):
    asking("why?", replies=[answer("Purged early [1].")])
    done = asking("--continue", "1", "since when?", replies=[answer("Since 2022 [1].")])
    assert "Since 2022 [1]." in done.out
    assert "session 2" in done.out
    assert asking("--continue", "9", "since when?").code != 0
