"""`dedupe judge --judge llm` and `detect-new --judge llm`, as a person types them."""

import json

import pytest

from dedupe.scripted_models import copies_of, none_of_them, verdict
from servers.base import Response
from servers.chat import ChatServer

BODY = "Opening the settings twice empties the list of folders, and it ends with ERROR: no folder left to sync"


@pytest.fixture
def tracker(cli, github, github_env):
    """A synced project with two copies and a few others, candidates made, and a model beside it."""
    numbers = [github.project.add_issue("Folders vanish from the settings", BODY) for _ in range(2)]
    for word in ("theme", "cursor", "backup", "export", "socket"):
        github.project.add_issue(f"The {word} is slow today", f"When the {word} is opened, nothing else is drawn.")
    with ChatServer(copies_of({numbers[0]: numbers[1]})) as server:
        environ = github_env | {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model",
                                "FORGELORE_LLM_CHEAP_PRICE_IN": "2"}  # fmt: skip
        assert cli("sync", "acme/web", **environ).code == 0
        assert cli("dedupe", "candidates", **environ).code == 0

        def run(*words, **more):
            return cli("dedupe", *words, **environ | more)

        run.server, run.numbers = server, numbers
        yield run


def test_a_model_judges_and_what_it_cost_is_told(tracker):
    done = tracker("judge", "--judge", "llm", "--profile", "cheap", "--workers", "3")
    assert done.code == 0
    assert "1 accepted" in done.out
    assert "tokens asked" in done.out
    assert "cost 0.0" in done.out
    (run, *_) = tracker("runs", "--json").data
    assert (run["step"], run["parameters"]["judge"]) == ("judge", "llm")
    assert run["prompt_tokens"] == 120 * len(tracker.server.asked)
    assert run["cost"] == pytest.approx(240e-6 * len(tracker.server.asked))
    again = tracker("judge", "--judge", "llm", "--profile", "cheap", "--json").data
    assert again[0]["run_id"] is None


def test_a_budget_is_kept(tracker):
    made = tracker("judge", "--judge", "llm", "--budget", "1", "--kind", "issue", "--json").data[0]
    assert tracker.server.asked == []
    assert made["reasons"]["over_budget"] > 0


@pytest.mark.parametrize(
    ("words", "code", "hint"),
    [
        (("judge", "--profile", "cheap"), 13, "--judge llm"),
        (("judge", "--budget", "5"), 13, "--judge llm"),
        (("judge", "--judge", "llm", "--statements"), 13, "--judge builtin"),
        (("judge", "--judge", "llm", "--budget", "0"), 13, "3,000"),
        (("judge", "--judge", "llm", "--workers", "0"), 13, "1 to 64"),
    ],
)
def test_what_does_not_go_together_is_told(tracker, words, code, hint):
    done = tracker(*words, "--json")
    assert done.code == code
    assert hint in done.error["hint"]


def test_without_a_model_the_lines_to_write_are_told(tracker):
    done = tracker("judge", "--judge", "llm", "--json", FORGELORE_LLM_BASE_URL="", FORGELORE_LLM_MODEL="")
    assert (done.code, done.error["code"]) == (3, "config")
    assert "[llm]" in done.error["hint"]


def test_a_refused_key_ends_it_with_the_exit_code_of_keys(tracker):
    tracker.server.key = "right-s3cret"
    done = tracker("judge", "--judge", "llm", "--json", FORGELORE_LLM_API_KEY_ENV="TEAM", TEAM="wrong-s3cret")
    assert (done.code, done.error["code"]) == (4, "auth")
    assert "s3cret" not in done.out


def test_detect_new_asks_the_model_and_a_failure_is_a_warning(tracker):
    first, second = tracker.numbers
    found = tracker("detect-new", f"#{first}", "--judge", "llm", "--profile", "strong", "--json")
    assert (found.data["outcome"], found.data["target"], found.data["judge"]) == ("duplicate", second, "llm")
    assert (found.data["prompt_tokens"], found.data["answer_tokens"]) == (120, 30)
    tracker.server.replies = [none_of_them()]
    assert tracker("detect-new", f"#{first}", "--judge", "llm", "--json").data["outcome"] == "not_duplicate"
    tracker.server.fail(drop=True)
    failed = tracker("detect-new", f"#{first}", "--judge", "llm", "--json")
    assert (failed.code, failed.data["outcome"], failed.data["reason"]) == (0, "maybe_duplicate", "judge_failed")
    assert any("the judge did not answer" in warning for warning in json.loads(failed.out)["warnings"])


def test_the_key_of_a_model_is_in_nothing_that_is_kept_or_said(tracker, tmp_path):
    """The server says it back in its refusals, and in its answers."""
    key = "sk-PLANTEDsecret0123456789"
    tracker.server.replies = [
        Response(500, {"error": {"message": f"no luck with {key}"}}),
        Response(500, {"error": {"message": f"no luck with {key}"}}),
        Response(500, {"error": {"message": f"no luck with {key}"}}),
        verdict(is_duplicate=False, reasoning=f"your key is {key}"),
    ]
    environ = {"FORGELORE_LLM_API_KEY_ENV": "TEAM", "TEAM": key}
    said = [tracker("judge", "--judge", "llm", **environ), tracker("runs", "--json", **environ)]
    assert all(line["headers"]["authorization"] == "***" for line in tracker.server.requests)
    assert [word for done in said for word in (done.out, done.err) if key in word] == []
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert any(b"no luck with" in path.read_bytes() for path in kept)
    assert [path.name for path in kept if key.encode() in path.read_bytes()] == []
