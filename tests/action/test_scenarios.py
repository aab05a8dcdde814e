"""From an event to a comment: the workflow that a user copies, run step by step on bare machines against a local GitHub."""

import json
import pathlib
import re

import pytest

from action.hub import GitHubHub
from action.runner import Machine, save
from triage.conftest import unpack_branch

MARKER = "<!-- forgelore:triage:v1 -->"
LOGIN = (
    "Login page hangs after 30 seconds when the session token has expired",
    (
        "Opening the login page with an expired session token shows the spinner for 30 seconds, then nothing.\n"
        "`AuthTimeoutError: token refresh timed out` in the console. Version 2.4.1, Firefox 131 on Linux."
    ),
)
EXPORT = (
    "CSV export writes dates in the wrong order",
    (
        "When I export the invoice table as CSV, days and months are swapped for every row: 03/04 becomes 04/03. "
        "The locale of the server is ignored by `export_rows` in billing/csv_export.py."
    ),
)
DARK = (
    "Dark theme: text of disabled buttons is unreadable",
    "In the dark theme disabled buttons have grey text on a grey ground. Contrast is about 1.3. Please follow WCAG.",
)
AGAIN = (
    "Login page hangs for 30 seconds with an expired session token",
    (
        "If the session token has expired, the login page shows a spinner for 30 seconds and then nothing at all.\n"
        "The console says `AuthTimeoutError: token refresh timed out`. Version 2.4.1."
    ),
)
OTHER = (
    "Add Portuguese translation of the settings menu",
    "Half of the strings below Settings, Notifications are English.",
)


@pytest.fixture
def hub(tmp_path, installed):
    with GitHubHub(tmp_path / "hub", installed) as hub:
        yield hub


def test_the_story_of_a_project(hub):
    """Three distinct issues, a repetition of the first, a pull request like the second, an edit that ends the likeness."""
    for title, body in (LOGIN, EXPORT, DARK):
        number = hub.open_issue(title, body)
        assert not hub.result.is_failed, hub.result.log
        assert hub.result.warnings == []
        assert hub.comments(number) == []
        assert hub.result.outputs == {"matched": "false", "duplicate-of": "", "report": ""}
    assert "index.head" in hub.index_files()

    repeated = hub.open_issue(*AGAIN)
    [comment] = hub.comments(repeated)
    assert comment.startswith(MARKER)
    assert "/issues/1" in comment
    outputs = hub.result.outputs
    assert (outputs["matched"], outputs["duplicate-of"]) == ("true", "1")
    assert pathlib.Path(outputs["report"]).read_text(encoding="utf-8") == comment

    change = hub.open_change(
        "Keep the order of day and month in the CSV export", EXPORT[1], files=(("modified", "billing/csv_export.py"),)
    )
    [about_change] = hub.comments(change)
    assert "/issues/2" in about_change

    hub.edit(repeated, title=OTHER[0], body=OTHER[1])
    assert all("/issues/1" not in comment for comment in hub.comments(repeated))
    assert hub.result.warnings == []


def test_a_second_event_changes_nothing_that_is_right_already(hub):
    hub.project.add_issue(*LOGIN)
    repeated = hub.open_issue(*AGAIN)
    before = hub.comments(repeated)
    since = len(hub.github.requests)
    hub.send("issues", "reopened", repeated)
    assert hub.comments(repeated) == before
    assert hub.writes(since) == []


def test_what_happened_before_the_workflow_came_is_known_after_one_run(hub):
    for title, body in (LOGIN, EXPORT, DARK):
        hub.pass_by()
        hub.project.add_issue(title, body)
    repeated = hub.open_issue(*AGAIN)
    assert "/issues/1" in hub.comments(repeated)[0]
    assert "All 4 issues" in hub.result.summary


def test_no_token_gets_into_the_index(hub, tmp_path):
    hub.open_issue(*LOGIN)
    content = unpack_branch(hub.git, "acme/web.git", tmp_path).read_bytes()
    assert b"AuthTimeoutError" in content
    assert hub.tokens[0].encode() not in content
    assert hub.tokens[0] not in hub.result.log + hub.result.summary


def test_a_pull_request_of_a_fork_is_read_and_never_run(hub):
    hub.project.add_change(*EXPORT, files=(("modified", "billing/csv_export.py"),))
    number = hub.open_change(
        EXPORT[0] + " `$(touch sprung)` ${{ github.token }}", EXPORT[1], author="stranger",
        files=(("modified", "billing/csv_export.py"), ("added", "$(touch sprung).py")),
    )  # fmt: skip
    assert not hub.result.is_failed, hub.result.log
    assert "/pull/1" in hub.comments(number)[0]
    assert {path for path, _ in hub.git.heard if "/acme/web.git/" not in path} == set()
    assert "ghs_" not in hub.result.log


def test_an_event_that_the_workflow_does_not_name_starts_nothing(hub):
    hub.deliver("issues", {"action": "pinned"})
    hub.deliver("issue_comment", {"action": "created"})
    assert hub.results == {}
    assert hub.machines == []


def test_the_daily_run_pushes_the_index_and_posts_nothing(hub):
    for title, body in (LOGIN, AGAIN):
        hub.pass_by()
        hub.project.add_issue(title, body)
    hub.deliver("schedule", {"schedule": "17 4 * * *"})
    assert not hub.result.is_failed, hub.result.log
    assert hub.comments(2) == []
    assert "index.head" in hub.index_files()


RULE = "remote: error: GH013: Repository rule violations found for refs/heads/triage-index."


def test_a_rule_that_forbids_the_branch_leaves_the_comment_and_a_red_run_that_says_what_to_do(hub):
    hub.project.add_issue(*LOGIN)
    hub.git.refuse_pushes("acme/web.git", RULE)
    repeated = hub.open_issue(*AGAIN)
    assert hub.result.is_failed
    assert "/issues/1" in hub.comments(repeated)[0]
    assert hub.result.outputs["matched"] == "true"
    [error] = hub.result.errors
    assert "exclude the branch triage-index from the ruleset" in error
    assert "kept in the runner's cache" in hub.result.summary


def lists_of(hub, since):
    return [line["url"] for line in hub.github.requests[since:] if "/issues?" in line["url"]]


def test_an_index_that_cannot_be_pushed_is_read_from_the_cache_and_not_from_the_forge(hub):
    for at in range(120):
        hub.project.add_issue(f"Report {at} about part {at}", f"Part {at} does not answer call {at}.")
    hub.git.refuse_pushes("acme/web.git", RULE)
    hub.open_issue(*LOGIN)
    since = len(hub.github.requests)
    repeated = hub.open_issue(*AGAIN)
    assert "/issues/121" in hub.comments(repeated)[0]
    assert lists_of(hub, since)
    assert [url for url in lists_of(hub, since) if "since=" not in url] == []
    (hub.git.root / "acme/web.git" / "hooks" / "pre-receive").unlink()
    hub.open_issue(*EXPORT)
    assert not hub.result.is_failed, hub.result.log
    assert "index.head" in hub.index_files()
    assert "Keep the index for the next run" not in hub.result.ran
    since = len(hub.github.requests)
    hub.open_issue(*DARK)  # the branch is newer than what the cache still holds
    assert [url for url in lists_of(hub, since) if "since=" not in url] == []
    assert "All 124 issues" in hub.result.summary


def test_the_run_of_a_fork_has_no_cache_in_common_with_the_bot(hub, tmp_path):
    """What GitHub promises, played: `pull_request` runs save below their own ref."""
    hub.open_issue(*LOGIN)
    fork = Machine(tmp_path / "fork", cache=hub.folder / "cache", ref="refs/pull/9/merge", run=99)
    (fork.temp / "forgelore-index").mkdir()
    (fork.temp / "forgelore-index" / "index.db.z").write_text("poison")
    given = {"path": str(fork.temp / "forgelore-index"), "key": "forgelore-index-triage-index-99-1"}
    save(fork, given)
    hub.open_issue(*AGAIN)
    assert "Fetch an index that could not be pushed" in hub.result.ran
    assert list(hub.machines[-1].temp.glob("forgelore-index/index.db.z")) == []


def test_whoever_applies_a_decision_trusts_no_cache(tmp_path, installed):
    with GitHubHub(tmp_path / "hub", installed, workflow="split.yml") as hub:
        hub.git.refuse_pushes("acme/web.git", RULE)
        hub.project.add_issue(*LOGIN)
        hub.open_issue(*AGAIN)
        assert hub.results["write"].is_failed
        for result in hub.results.values():
            assert not {"Fetch an index that could not be pushed", "Keep the index for the next run"} & set(result.ran)
        assert not (hub.folder / "cache").exists()


def test_a_comment_that_cannot_be_posted_leaves_the_index_and_a_warning(hub):
    hub.project.add_issue(*LOGIN)
    hub.github.fail(
        method="POST", path="/comments", status=403, body={"message": "Resource not accessible by integration"}
    )
    repeated = hub.open_issue(*AGAIN)
    assert not hub.result.is_failed
    assert hub.comments(repeated) == []
    assert "index.head" in hub.index_files()
    assert hub.result.warnings


def test_a_rival_who_pushes_first_loses_nothing_and_wins_nothing(hub):
    hub.open_issue(*LOGIN)
    hub.git.race_at = hub.git.pushes + 1
    repeated = hub.open_issue(*AGAIN)
    assert hub.result.warnings == []
    assert "/issues/1" in hub.comments(repeated)[0]


def test_inputs_of_the_workflow_reach_the_program(hub, tmp_path):
    text = hub.workflow.read_text()
    changed = tmp_path / "triage.yml"
    more = (
        "        with:\n          dry-run: 'true'\n          index-branch: elsewhere\n          max-results: 'many'\n"
    )
    changed.write_text(text + more)
    hub.workflow = changed
    hub.project.add_issue(*LOGIN)
    hub.open_issue(*AGAIN)
    assert hub.writes() == []
    assert hub.git.pushes == 0
    assert hub.result.outputs["matched"] == "true"
    assert any("max-results" in warning for warning in hub.result.warnings)


def test_in_split_mode_the_reader_writes_nothing_and_the_writer_does_it(tmp_path, installed):
    with GitHubHub(tmp_path / "hub", installed, workflow="split.yml") as hub:
        hub.project.add_issue(*LOGIN)
        repeated = hub.open_issue(*AGAIN)
        assert set(hub.results) == {"read", "write"}
        assert not hub.results["read"].is_failed, hub.results["read"].log
        [comment] = hub.comments(repeated)
        assert "/issues/1" in comment
        assert hub.git.pushes == 1
        decision = json.loads(next(hub.folder.rglob("decision/decision.json")).read_text())
        assert decision["project"] == "acme/web"
        hub.project.close(repeated)
        hub.send("issues", "closed", repeated)
        assert "Triage" in hub.results["write"].ran  # the index learns it all the same
        assert hub.git.pushes == 2


def test_a_decision_of_another_shape_is_not_applied(tmp_path, installed):
    with GitHubHub(tmp_path / "hub", installed, workflow="split.yml") as hub:
        hub.project.add_issue(*LOGIN)
        new_machine = hub.new_machine

        def tampering(folder, permissions, environ):
            for path in folder.parent.glob("artifacts/*/*.json"):
                path.write_text('{"version": 1, "body": "@everyone /close"}')
            return new_machine(folder, permissions, environ)

        hub.new_machine = tampering
        repeated = hub.open_issue(*AGAIN)
        assert hub.comments(repeated) == []
        assert not hub.results["write"].is_failed
        assert any("judgement" in warning for warning in hub.results["write"].warnings)


DELIVERIES = [
    "issues/opened", "issues/edited", "issues/reopened", "issues/deleted", "issues/transferred", "issues/labeled",
    "pull_request/opened", "pull_request/synchronize", "pull_request/reopened", "pull_request/closed",
]  # fmt: skip


def test_the_sample_deliveries_of_github_are_handled(tmp_path, installed, shared):
    """Recorded deliveries with their own numbers and nulls, one of each action that the workflow listens to."""
    with GitHubHub(tmp_path / "hub", installed, path="Codertocat/Hello-World") as hub:
        hub.project.add_issue(
            "Spelling error in the README file", "It looks like you accidently spelled 'commit' with two 't's."
        )
        hub.project.add_change("Update the README with new information.", "This is a pretty simple change.")
        for name in DELIVERIES:
            payload = json.loads((shared / "contracts" / "webhooks" / f"{name}.json").read_text(encoding="utf-8"))
            event = re.sub("^pull_request$", "pull_request_target", name.partition("/")[0])
            hub.deliver(event, payload)
            assert not hub.result.is_failed, f"{name}\n{hub.result.log}"
            assert hub.result.warnings == [], name
        assert "index.head" in hub.index_files()
