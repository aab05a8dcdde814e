"""The forge's totals are the last thing a sync asks for. Without them nothing that was read is worth less: the documents
are built whatever happens, and only what concerns everything (a token) is told as an error.
"""

import json

import pytest

from servers.base import Response


def load_status(lab):
    (status,) = json.loads(lab.command("sync-status", "--json").stdout)["data"]
    return status


def fail_counts(lab, answer, *, is_end=False):
    """The first count is for the progress bar; those behind it are answered with `answer`, and so is the rest at the end."""
    handle, seen = lab.server.handle, []

    def failing(request):
        if b"query Counts(" in request.body:
            seen.append(1)
        is_count = b"query Counts(" in request.body or is_end
        return answer if is_count and len(seen) > 1 else handle(request)

    lab.server.handle = failing


def test_a_failed_final_count_is_a_warning_and_the_documents_are_built(github):
    github.populate()
    fail_counts(github, Response(400, {"message": "no counting today"}))
    done = github.command("sync", "acme/web", "--json")
    assert done.returncode == 0, done.stderr
    (result,) = json.loads(done.stdout)["data"]
    assert any("the next sync checks for deletions" in warning for warning in result["warnings"])
    assert result["documents"]["new"] > 0
    assert load_status(github)["runs"][0]["status"] == "succeeded"


@pytest.mark.parametrize(
    ("answer", "code"),
    [(Response(401, {"message": "Bad credentials"}), 0), (Response(429, {"message": "x"}, {"Retry-After": "9000"}), 0)],
    ids=["graphql-rejected", "limit"],
)
def test_documents_are_built_whatever_ends_the_count(github, answer, code):
    github.populate()
    fail_counts(github, answer)
    done = github.command("sync", "acme/web", "--json")
    assert done.returncode == code, done.stderr
    status = load_status(github)
    assert "document" not in status["index"], "nothing waits to be indexed"
    assert status["items"]["issue"] == 12


def test_a_token_that_is_revoked_before_the_last_count_is_told_and_the_documents_are_built(github):
    github.populate()
    fail_counts(github, Response(401, {"message": "Bad credentials"}), is_end=True)
    done = github.command("sync", "acme/web", "--json")
    assert done.returncode == 4, done.stdout
    status = load_status(github)
    assert (status["items"]["issue"], status["runs"][0]["status"]) == (12, "failed")
    assert "document" not in status["index"]


def test_a_limit_at_the_end_is_a_warning_that_says_when_to_come_back(github):
    github.populate()
    fail_counts(github, Response(429, {"message": "x"}, {"Retry-After": "9000"}))
    result = github.sync()
    assert result.status == "complete"
    assert any("the next sync checks for deletions" in one and "150 min" in one for one in result.warnings)
    github.assert_same()
