"""Split mode with a language model: the reader asks it, it can take a warning away, and the writer never hears of it."""

import json

import pytest

from dedupe.scripted_models import VERDICT, none_of_them, numbers_in, verdict
from servers.base import Response
from servers.chat import ChatServer
from triage.test_bot import AGAIN, CRASH

KEY = "sk-s3cret-k3y"


@pytest.fixture
def model(bot):
    with ChatServer([none_of_them()]) as server:
        server.key = KEY
        bot.set(FORGELORE_LLM_BASE_URL=server.v1, FORGELORE_LLM_MODEL="scripted-model",
                FORGELORE_LLM_API_KEY_ENV="TEAM_KEY", TEAM_KEY=KEY)  # fmt: skip
        yield server


@pytest.fixture
def split(bot, model, tmp_path):
    """`split(replies)`: the reader's decision about a second report of a crash."""
    first = bot.opened(*CRASH)
    assert model.requests == [], "the plain bot holds a token that writes: it asks nobody"
    again = bot.project.add_issue(*AGAIN)
    path = tmp_path / "decision.json"

    def run(replies=None):
        model.replies = model.replies if replies is None else replies
        before = len(bot.server.requests)
        bot.happens(again, "opened", "--emit", str(path))
        writes = [line for line in bot.server.requests[before:] if line["method"] not in ("GET", "POST")]
        posts = [line["url"] for line in bot.server.requests[before:] if line["method"] == "POST"]
        assert not writes
        assert all("graphql" in url for url in posts)
        text = path.read_text()
        assert KEY not in text
        return json.loads(text)

    run.first, run.again, run.path = first, again, path
    return run


def test_a_model_that_disagrees_takes_the_warning_away(bot, model, split):
    decision = split([none_of_them()])
    assert (decision["duplicate_of"], decision["similar"]) == (None, [split.first])
    asked = len(model.asked)
    assert asked == 1
    bot.happens(split.again, "opened", "--apply", str(split.path))
    assert len(model.requests) == asked, "the writer asks no model"
    (comment,) = bot.said(split.again)
    assert "may be the same as" not in comment
    assert f"issue {split.first}" in comment or f"/issues/{split.first}" in comment


def test_a_model_that_agrees_leaves_it(bot, split):
    facts = ["cannot lock /mnt/share/.sync.lock", "sync folder is on"]
    decision = split(lambda asked: verdict(target=numbers_in(asked)[1][0], facts=facts))
    assert decision["duplicate_of"] == split.first
    bot.happens(split.again, "opened", "--apply", str(split.path))
    assert "may be the same as" in bot.said(split.again)[0]


@pytest.mark.parametrize(
    "reply",
    [
        "I think so, yes.",
        Response(500, {"error": {"message": "broken"}}),
        Response(200, "<html>"),
        json.dumps(VERDICT | {"target": 4711, "confidence": 1.0}),
        Response(401, {"error": {"message": "who are you"}}),
    ],
    ids=["prose", "failure", "garbage", "a lie", "no key"],
)
def test_a_model_that_says_nothing_leaves_it(split, reply):
    assert split([reply])["duplicate_of"] == split.first


def test_a_model_that_cannot_be_reached_is_a_note_and_no_failure(bot, model, split):
    model.fail(drop=True)
    assert split()["duplicate_of"] == split.first
    assert "the judge did not answer" in bot.summary.read_text()


def test_nothing_is_asked_where_there_is_nothing_to_warn_of(bot, model, tmp_path):
    bot.opened(*CRASH)
    other = bot.project.add_issue(
        "Please add a dark theme", "White is too bright at night, and dark colours are nicer."
    )
    path = tmp_path / "decision.json"
    bot.happens(other, "opened", "--emit", str(path))
    assert json.loads(path.read_text())["duplicate_of"] is None
    assert model.asked == []


def test_a_model_that_is_named_by_half_is_a_note_and_no_failure(bot, split):
    bot.set(FORGELORE_LLM_MODEL="")
    assert split()["duplicate_of"] == split.first
    assert "results were not reranked by a language model: no model configured" in bot.summary.read_text()
