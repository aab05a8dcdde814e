"""A bot that cannot push: the run is red and says what to do, the comment stands, and nothing is read twice."""

import json
import pathlib

import pytest
from test_access import SECRET_ISSUE, GitLabPlace, Looked
from test_bot import AGAIN, CRASH, EXPORT, THEME

from forgelore.store.packing import unpack
from forgelore.surfaces.cli.main import main
from servers.githttp import GitServer
from support import GITLAB_TOKEN

RULE = "remote: error: GH013: Repository rule violations found for refs/heads/triage-index."
REFUSALS = {
    "ruleset": (RULE, "Settings > Rules > Rulesets"),
    "protected branch": (
        "remote: error: GH006: Protected branch update failed for refs/heads/x.",
        "Settings > Branches",
    ),
    "a hook that nobody knows": ("remote: your quota is spent", "your quota is spent"),
}


class Kept:
    """The bot with a folder that its runner keeps."""

    def __init__(self, bot):
        self.bot, self.folder = bot, bot.tmp_path / "kept"

    def opened(self, title, body, *, is_red=False):
        number = self.bot.project.add_issue(title, body)
        self.bot.is_red = is_red
        self.bot.happens(number, "opened", "--keep", str(self.folder))
        return number

    def refuse(self, text=RULE):
        self.bot.git.refuse_pushes("acme/web.git", text)

    def allow(self):
        (self.bot.git.root / "acme/web.git" / "hooks" / "pre-receive").unlink()

    def lists_read_whole(self, since):
        """Requests for the list of issues from its very beginning."""
        paths = [line["url"] for line in self.bot.server.requests[since:] if "/issues?" in line["url"]]
        assert paths
        return [path for path in paths if "since=" not in path]

    def names(self):
        return sorted(path.name for path in self.folder.iterdir())


@pytest.fixture
def kept(bot):
    return Kept(bot)


def errors(bot):
    return [line for line in bot.log.splitlines() if line.startswith("::error")]


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refused_push_is_red_with_what_to_do_after_the_comment_was_posted(kept, name):
    text, hint = REFUSALS[name]
    kept.bot.project.add_issue(*CRASH)
    kept.refuse(text)
    again = kept.opened(*AGAIN, is_red=True)
    assert len(kept.bot.said(again)) == 1
    assert hint in errors(kept.bot)[0]
    assert hint.replace(">", "&gt;") in kept.bot.summary.read_text() or hint in kept.bot.summary.read_text()
    assert (kept.bot.data["is_pushed"], kept.bot.data["is_kept"]) == (False, True)
    assert "index-kept=true" in kept.bot.outputs.read_text()


def test_a_token_that_may_only_read_is_red_and_names_the_permission(kept):
    kept.bot.git.set("acme/web.git", "http.receivepack", "false")
    kept.opened(*CRASH, is_red=True)
    assert "permissions: contents: write" in errors(kept.bot)[0]


def test_an_outage_during_the_push_is_no_red_run(kept):
    before_push = kept.bot.git.before_push

    def go_down(path):
        before_push(path)
        kept.bot.git.status = 503
        raise ConnectionError

    kept.bot.git.before_push = go_down
    kept.opened(*CRASH)
    assert kept.bot.data["problems"]
    assert (kept.bot.data["is_pushed"], kept.bot.data["is_kept"]) == (False, True)


def test_the_next_run_goes_on_from_the_index_that_was_kept(kept):
    kept.refuse()
    first = kept.opened(*CRASH, is_red=True)
    since = len(kept.bot.server.requests)
    again = kept.opened(*AGAIN, is_red=True)
    assert f"issue {first}" in kept.bot.said(again)[0]
    assert kept.lists_read_whole(since) == []
    kept.bot.happens(again, "edited", "--keep", str(kept.folder))  # and it knows what it has said
    assert kept.bot.data["items"][0]["comment"] == "unchanged"
    assert len(kept.bot.said(again)) == 1


def test_without_a_folder_everything_is_read_again_and_the_summary_says_so(kept):
    kept.refuse()
    kept.bot.is_red = True
    kept.bot.opened(*CRASH)
    since = len(kept.bot.server.requests)
    kept.bot.opened(*AGAIN)
    assert kept.lists_read_whole(since)
    assert "reads the whole history again" in kept.bot.summary.read_text()


def test_once_a_push_works_the_branch_has_it_all_and_the_folder_nothing(kept):
    kept.refuse()
    first = kept.opened(*CRASH, is_red=True)
    kept.allow()
    since = len(kept.bot.server.requests)
    kept.opened(*EXPORT)
    assert kept.lists_read_whole(since) == []
    assert {number for (number,) in kept.bot.index("SELECT number FROM items")} == {first, first + 1}
    assert kept.names() == ["pushed"]
    assert "index-kept=false" in kept.bot.outputs.read_text()


def test_the_newer_of_branch_and_folder_counts(kept):
    kept.opened(*THEME)
    kept.refuse()
    kept.opened(*CRASH, is_red=True)
    old = {path.name: path.read_bytes() for path in kept.folder.iterdir()}
    kept.allow()
    kept.opened(*EXPORT)
    kept.folder.mkdir(exist_ok=True)
    for name, content in old.items():
        (kept.folder / name).write_bytes(content)
    kept.bot.rewrite_index("UPDATE items SET title = 'only on the branch' WHERE number = 1")
    kept.opened(*AGAIN)
    assert kept.bot.index("SELECT title FROM items WHERE number = 1") == [("only on the branch",)]


@pytest.mark.parametrize("spoiled", [b"poison", b""])
def test_a_kept_index_that_cannot_be_read_is_left_and_told(kept, spoiled):
    kept.opened(*CRASH)
    log = json.loads(kept.bot.file("health.json"))
    log["runs"][-1]["at"] += 3_600_000
    kept.folder.mkdir(exist_ok=True)
    (kept.folder / "health.json").write_text(json.dumps(log))
    (kept.folder / "index.db.z").write_bytes(spoiled)
    again = kept.opened(*AGAIN)
    assert len(kept.bot.said(again)) == 1
    assert any("from the runner's cache" in note for note in kept.bot.data["notes"])


def test_a_link_in_the_folder_is_not_followed(kept, tmp_path):
    kept.opened(*CRASH)
    (tmp_path / "elsewhere").write_text("secret")
    kept.folder.mkdir(exist_ok=True)
    (kept.folder / "index.db.z").symlink_to(tmp_path / "elsewhere")
    kept.opened(*THEME)
    assert kept.bot.data["is_pushed"]
    assert (tmp_path / "elsewhere").read_text() == "secret"


def test_a_dry_run_keeps_nothing(kept):
    number = kept.bot.project.add_issue(*CRASH)
    kept.bot.happens(number, "opened", "--dry-run", "--keep", str(kept.folder))
    assert not kept.folder.exists()


def test_the_record_goes_on_while_nothing_can_be_pushed(kept):
    """Its silence for a week is told, though no push has left a record on the branch."""
    kept.refuse()
    kept.opened(*CRASH, is_red=True)
    path = kept.folder / "health.json"
    log = json.loads(path.read_text())
    assert "ruleset" in log["runs"][-1]["problem"]
    log["failing_since"] = log["runs"][0]["at"] = log["runs"][0]["at"] - 8 * 86_400_000
    path.write_text(json.dumps(log))
    kept.opened(*THEME, is_red=True)
    assert "failing since" in kept.bot.summary.read_text()


@pytest.fixture
def place(gitlab, tmp_path, monkeypatch, capsys):
    with GitServer(tmp_path / "git", token=GITLAB_TOKEN) as git:
        yield GitLabPlace(gitlab, git, tmp_path, monkeypatch, capsys)


def run(place, capsys, *words):
    code = main(["triage", "--json", *words])
    return code, json.loads(capsys.readouterr().out)["data"]


def test_a_kept_index_obeys_the_levels_of_today(place, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CI_PIPELINE_SOURCE", "schedule")
    folder = tmp_path / "kept"
    place.git.refuse_pushes("group/app.git", "GitLab: You are not allowed to push code to protected branches.")

    def is_kept():
        unpack(str(folder / "index.db.z"), str(tmp_path / "plain"))
        return SECRET_ISSUE.encode() in (tmp_path / "plain").read_bytes()

    code, _ = run(place, capsys, "--keep", str(folder))
    assert code != 0
    assert is_kept()
    place.project.levels = {"issues": "private"}
    run(place, capsys, "--keep", str(folder))
    assert not is_kept()
    (place.git.root / "group/app.git" / "hooks" / "pre-receive").unlink()
    code, data = run(place, capsys, "--keep", str(folder))
    assert (code, data["is_pushed"]) == (0, True)
    assert not Looked(place.git, "group/app.git", pathlib.Path(tmp_path)).holds(SECRET_ISSUE)


def test_a_branch_that_shows_too_much_and_takes_no_push_is_told_to_be_deleted(place, capsys, monkeypatch):
    monkeypatch.setenv("CI_PIPELINE_SOURCE", "schedule")
    run(place, capsys)
    place.project.levels = {"issues": "private"}
    place.git.refuse_pushes("group/app.git", "GitLab: You are not allowed to push code to protected branches.")
    code, data = run(place, capsys)
    assert code != 0
    assert any("git push origin --delete triage-index" in problem for problem in data["problems"])
