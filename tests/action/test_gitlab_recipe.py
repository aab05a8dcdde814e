"""The job of docs/triage/gitlab-ci.yml, run as a GitLab runner would against a local GitLab."""

import pytest

from action.gitlab import GitLabHub, holds
from action.test_scenarios import AGAIN, DARK, EXPORT, LOGIN, MARKER


@pytest.fixture
def hub(tmp_path, installed):
    with GitLabHub(tmp_path / "hub", installed) as hub:
        yield hub


def test_an_issue_that_repeats_another_gets_one_note(hub):
    for title, body in (LOGIN, EXPORT, DARK):
        hub.gitlab.clock.advance(3600)
        hub.project.add_issue(title, body)
    repeated = hub.open_issue(AGAIN[0], AGAIN[1] + "\n\n/close\n/label ~evil")
    assert hub.exit_code == 0, hub.log
    [note] = hub.notes("issue", repeated)
    assert note.startswith(MARKER)
    assert "/issues/1" in note
    assert not [line for line in note.splitlines() if line.lstrip("> ").startswith("/")]
    hub.trigger("issue", repeated, "update")
    assert hub.exit_code == 0, hub.log
    assert hub.notes("issue", repeated) == [note]
    assert "index.head" in hub.git.git(f"{hub.path}.git", "ls-tree", "--name-only", "triage-index").split()


def test_a_merge_request_pipeline_looks_at_its_merge_request(hub):
    hub.project.add_change(EXPORT[0], EXPORT[1], files=(("modified", "billing/csv_export.py"),))
    hub.gitlab.clock.advance(3600)
    number = hub.project.add_change(EXPORT[0] + " again", EXPORT[1], files=(("modified", "billing/csv_export.py"),))
    hub.run("merge_request_event", CI_MERGE_REQUEST_IID=str(number))
    assert hub.exit_code == 0, hub.log
    [note] = hub.notes("change", number)
    assert "/merge_requests/1" in note


def test_a_protected_branch_is_a_red_job_and_the_index_waits_in_the_cache(hub):
    hub.git.refuse_pushes(
        f"{hub.path}.git", "GitLab: You are not allowed to force push code to a protected branch on this project."
    )
    for title, body in (LOGIN, EXPORT):
        hub.open_issue(title, body)
        assert hub.exit_code != 0
        assert "Settings > Repository > Protected branches" in hub.log
    since = len(hub.gitlab.requests)
    repeated = hub.open_issue(*AGAIN)
    assert "/issues/1" in hub.notes("issue", repeated)[0]
    lists = [line["url"] for line in hub.gitlab.requests[since:] if "/issues?" in line["url"]]
    assert lists
    assert [url for url in lists if "updated_after=" not in url] == []
    (hub.git.root / f"{hub.path}.git" / "hooks" / "pre-receive").unlink()
    hub.open_issue(*DARK)
    assert hub.exit_code == 0, hub.log
    assert [path.name for path in (hub.folder / "cache").iterdir()] == ["pushed"]


def test_only_a_merge_request_s_own_pipeline_may_fail_in_silence(hub):
    """A pipeline that a webhook or a schedule started is nobody's merge request: there red means red."""
    assert "allow_failure" not in hub.job
    assert {rule["if"].split('"')[1]: rule.get("allow_failure", False) for rule in hub.job["rules"]} == {
        "trigger": False, "schedule": False, "merge_request_event": True,
    }  # fmt: skip


def test_without_a_token_the_job_does_not_start(hub):
    for rule in hub.job["rules"]:
        source = rule["if"].split('"')[1]
        assert not holds(rule["if"], {"CI_PIPELINE_SOURCE": source})
        assert holds(rule["if"], {"CI_PIPELINE_SOURCE": source, "GITLAB_TOKEN": "x"})
        assert not holds(rule["if"], {"CI_PIPELINE_SOURCE": "push", "GITLAB_TOKEN": "x"})
