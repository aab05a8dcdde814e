"""The same bot inside GitLab CI: a webhook's body or a merge request's pipeline in, one note out."""

import json
import re

import pytest
from test_bot import AGAIN, CRASH, EXPORT, THEME

from forgelore.surfaces.cli.main import main
from servers.githttp import GitServer
from servers.gitlab import Token
from support import GITLAB_TOKEN
from triage.conftest import let_everybody_write


class GitLabBot:
    def __init__(self, lab, git, tmp_path, monkeypatch, capsys):
        self.project, self.server, self.git = lab.project, lab.server, git
        let_everybody_write(self.project)
        self._tmp_path, self._monkeypatch, self._capsys = tmp_path, monkeypatch, capsys
        git.create("group/app.git")
        lab.server.tokens[GITLAB_TOKEN] = Token("triage-bot", "Triage", scopes=("api",))
        for name, value in {
            "GITLAB_CI": "true", "CI_PROJECT_PATH": "group/app", "CI_SERVER_URL": git.url,
            "CI_API_V4_URL": self.server.api_url, "GITLAB_TOKEN": GITLAB_TOKEN, "FORGELORE_EMBEDDER": "lore",
            "FORGELORE_REQUESTS_PER_SECOND": "100",
        }.items():  # fmt: skip
            monkeypatch.setenv(name, value)

    def run(self, hook=None, **variables):
        for name in ("TRIGGER_PAYLOAD", "CI_MERGE_REQUEST_IID"):
            self._monkeypatch.delenv(name, raising=False)
        if hook is not None:
            path = self._tmp_path / "hook.json"
            path.write_text(json.dumps(hook), encoding="utf-8")
            variables["TRIGGER_PAYLOAD"] = str(path)
        for name, value in variables.items():
            self._monkeypatch.setenv(name, value)
        code = main(["triage", "--json"])
        out, self.log = self._capsys.readouterr()
        data = json.loads(out)["data"]
        assert (code, data["problems"]) == (0, []), data
        return data

    def issue(self, title, body="", **more):
        number = self.project.add_issue(title, body, **more)
        hook = {"object_kind": "issue", "object_attributes": {"iid": number, "action": "open"}}
        return number, self.run(hook)


@pytest.fixture
def bot(gitlab, tmp_path, monkeypatch, capsys):
    with GitServer(tmp_path / "git", token=GITLAB_TOKEN) as git:
        yield GitLabBot(gitlab, git, tmp_path, monkeypatch, capsys)


def test_an_issue_hears_what_it_repeats_through_a_note(bot):
    first, _ = bot.issue(*CRASH)
    bot.issue(*THEME)
    _, data = bot.issue(*AGAIN)
    (item,) = data["items"]
    assert (item["outcome"], item["first"], item["comment"]) == ("duplicate", first, "created")
    edited = {"object_kind": "issue", "object_attributes": {"iid": item["number"], "action": "update"}}
    assert bot.run({**edited, "changes": {"title": {}}})["items"][0]["comment"] == "unchanged"
    assert bot.run({**edited, "changes": {"labels": {}}})["items"] == []


def test_a_merge_request_is_compared_in_its_own_pipeline(bot):
    files = [("modified", "src/export/ics.py")]
    first = bot.project.add_change(*EXPORT, files=files)
    bot.run(CI_MERGE_REQUEST_IID=str(first))
    second = bot.project.add_change("Calendar export loses time zones", EXPORT[1] + " Again.", files=files)
    data = bot.run(CI_MERGE_REQUEST_IID=str(second))
    assert data["items"][0]["first"] == first


def test_confidential_issues_are_neither_indexed_nor_named(bot):
    bot.project.add_issue(*CRASH, confidential=True)
    _, data = bot.issue(*AGAIN)
    assert data["items"][0]["outcome"] == "silent"
    assert data["covered"]["known"] == 1


def test_text_that_would_run_as_a_quick_action_does_nothing(bot):
    bot.issue(CRASH[0], "/close\n/duplicate #1\n" + CRASH[1])
    number, data = bot.issue(AGAIN[0], "/close\n/label ~bug\n" + AGAIN[1])
    assert data["items"][0]["comment"] == "created"
    assert not any(line.startswith("/") for line in data["items"][0]["report"].splitlines())
    assert bot.project.issues[number].state == "opened"


def test_a_schedule_catches_up(bot):
    bot.issue(*THEME)
    bot.project.add_issue(*CRASH)
    number = bot.project.add_issue(*AGAIN)
    data = bot.run(CI_PIPELINE_SOURCE="schedule")
    assert number in [item["number"] for item in data["items"]]


def test_the_weekly_digest_is_a_note_that_refers_to_nothing(bot):
    place = bot.project.add_issue("Digest of similar issues", "The bot writes here.")
    bot.issue(*CRASH)
    bot.server.clock.advance(60)
    said = {"INPUT_REPORT": "digest", "INPUT_DIGEST_ISSUE": str(place)}
    bot.run(**said)
    number, data = bot.issue(*AGAIN)
    assert data["items"][0]["comment"] == "nothing"
    data = bot.run(CI_PIPELINE_SOURCE="schedule")
    assert "the weekly digest was posted below issue 1" in data["notes"]
    digests = [note.body for note in bot.project.issues[place].notes() if "forgelore:digest" in note.body]
    (digest,) = digests
    assert f"[issue {number}: " in digest
    assert digest.count("#forgelore.triage)") == 2, "no cross reference"


def test_a_merge_request_that_closed_it_makes_it_a_possible_regression(bot):
    first, _ = bot.issue(*CRASH)
    change = bot.project.add_change("Lock another file", f"Closes #{first}")
    bot.project.merge(change)
    assert bot.project.issues[first].state == "closed"
    bot.server.clock.advance(3600)
    _, data = bot.issue(*AGAIN)
    assert data["items"][0]["outcome"] == "regression"
    assert re.search(rf"again, which \[merge request {change}\]\(\S+\) fixed earlier", data["items"][0]["report"])


def test_closed_alone_is_not_fixed(bot):
    first, _ = bot.issue(*CRASH)
    bot.project.close("issue", first)
    bot.server.clock.advance(3600)
    _, data = bot.issue(*AGAIN)
    assert data["items"][0]["outcome"] == "duplicate"
    assert "(closed)" in data["items"][0]["report"]
    assert "add anything new there" not in data["items"][0]["report"]


def test_a_match_that_was_closed_as_a_duplicate_names_the_original(bot):
    original = bot.project.add_issue("Shares cannot be used as folders of the desktop client", "Neither SMB nor NFS.")
    first, _ = bot.issue(*CRASH)
    bot.project.mark_duplicate(first, original)
    bot.server.clock.advance(3600)
    _, data = bot.issue(*CRASH)
    report = data["items"][0]["report"]
    assert f"has the same text as [issue {first}](" in report
    assert f"(closed in favour of [issue {original}](" in report
    assert "which is open). Please add anything new there" in report
