"""The index branch shows nothing that one of its readers cannot read on the forge: every access level as a row.

Each row runs the bot against a local forge and a real git server, and then asks the forge itself, as each kind of reader
there is: who can read the branch, and can all of them read the item? The pushed branch is unpacked and looked through,
rows and bytes. The forge's own rules (tests/servers) are GitLab's and GitHub's, not the product's.
"""

import itertools
import json
import subprocess
import urllib.error
import urllib.request
import zlib

import apsw
import pytest
from test_bot import AGAIN, CRASH, THEME
from test_bot_gitlab import GitLabBot

from engine_tables import VECTORS, WORD_COUNTS
from forgelore.surfaces.cli.main import main
from servers.githttp import GitServer
from servers.github import Token as GitHubToken
from servers.gitlab import Token as GitLabToken
from support import GITLAB_TOKEN
from triage.conftest import unpack_branch

BRANCH = "triage-index"
VISIBILITIES = ("public", "internal", "private")
LEVELS = ("disabled", "private", "enabled", "public")
# Planted words: unlike anything else, one word each, so that neither full text nor a vocabulary may hold them.
SECRET_ISSUE, SECRET_CHANGE, SECRET_NOTE = "zqissuezq", "zqchangezq", "zqnotezq"
ODD = {"missing": None, "odd": "friends"}


def fetch(url, headers):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


class Looked:
    """The pushed branch: its index's bytes, its rows as text, and everything git holds for it."""

    def __init__(self, git, path, folder):
        self.git, self.path = git, path
        plain = unpack_branch(git, path, folder)
        self.bytes = plain.read_bytes()
        self.rows = self._rows(str(plain))

    def blob(self, name):
        command = ["git", "-C", str(self.git.root / self.path), "cat-file", "blob", f"{BRANCH}:{name}"]
        return subprocess.run(command, capture_output=True, check=True).stdout

    def _rows(self, path):
        connection = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
        told = []
        for table in tables:
            for row in connection.execute(f'SELECT * FROM "{table}"'):
                told += [f"{table}: {value!r}" for value in row]
                told += [
                    f"{table}: {text!r}" for value in row if isinstance(value, bytes) for text in [_inflated(value)]
                ]
        words = [word for word, *_ in connection.execute(WORD_COUNTS)]
        connection.close()
        return "\n".join([*told, *words])

    def holds(self, word):
        others = b"".join(self.blob(name) for name in ("health.json", "README.md"))
        return word.encode() in self.bytes or word in self.rows.lower() or word.encode() in others


def _inflated(value):
    try:
        return zlib.decompressobj().decompress(value).decode("utf-8", "replace")
    except zlib.error:
        return ""


class GitLabPlace(GitLabBot):
    """A GitLab project with a secret in an issue, in a change and in a note, and readers of every kind."""

    readers = {
        "anonymous": None, "stranger": GitLabToken("sam", access_level=0), "guest": GitLabToken("gus", access_level=10),
        "reporter": GitLabToken("rita", access_level=20), "developer": GitLabToken("dev", access_level=30),
    }  # fmt: skip

    def __init__(self, *lab_and_more):
        super().__init__(*lab_and_more)
        self.folder = lab_and_more[2]
        self.server.tokens.update({name: token for name, token in self.readers.items() if token})
        self.issue_number = self.project.add_issue(f"{CRASH[0]} {SECRET_ISSUE}", CRASH[1] + SECRET_ISSUE)
        self.change_number = self.project.add_change(f"{AGAIN[0]} {SECRET_CHANGE}", f"{AGAIN[1]} {SECRET_CHANGE}")
        self.project.comment("issue", self.issue_number, f"I say {SECRET_NOTE}")
        self.project.comment("change", self.change_number, f"I say {SECRET_NOTE}", internal=True)

    def set_levels(self, visibility, repository, level, told=()):
        self.project.visibility = visibility
        self.project.levels = {"repository": repository, "issues": level, "merge_requests": level}
        self.project.told = dict(told)

    def look(self):
        return Looked(self.git, "group/app.git", self.folder)

    def can(self, reader, path):
        headers = {"PRIVATE-TOKEN": reader} if self.readers[reader] else {}
        return fetch(f"{self.server.api_url}/projects/{self.project.id}/{path}", headers) == 200

    def leaks_to(self, path):
        """Readers of the branch who cannot read the item."""
        self.project.branch_files[BRANCH] = {"health.json": "{}"}
        on_branch = [one for one in self.readers if self.can(one, f"repository/files/health.json/raw?ref={BRANCH}")]
        return [one for one in on_branch if not self.can(one, path)]


@pytest.fixture
def gitlab_place(gitlab, tmp_path, monkeypatch, capsys):
    with GitServer(tmp_path / "git", token=GITLAB_TOKEN) as git:
        yield GitLabPlace(gitlab, git, tmp_path, monkeypatch, capsys)


ROWS = [
    *itertools.product(VISIBILITIES, ("enabled", "private"), LEVELS),
    *itertools.product(VISIBILITIES, ("public",), ("private", "enabled")),
]


@pytest.mark.parametrize(("visibility", "repository", "level"), ROWS)
def test_every_level_of_gitlab(gitlab_place, visibility, repository, level):
    """In exactly where every reader of the branch can read it; the three that GitLab itself does not allow stay out."""
    place = gitlab_place
    place.set_levels(visibility, repository, level)
    place.run(CI_PIPELINE_SOURCE="schedule")
    looked = place.look()
    is_invented = repository == "public" and visibility != "public"  # "public" is for pages alone: in doubt
    for secret, path in (
        (SECRET_ISSUE, f"issues/{place.issue_number}"),
        (SECRET_CHANGE, f"merge_requests/{place.change_number}"),
    ):
        is_safe = not place.leaks_to(path) and level != "disabled" and not is_invented
        assert looked.holds(secret) is is_safe, (secret, place.leaks_to(path))
    assert not looked.holds(SECRET_NOTE)


@pytest.mark.parametrize("visibility", VISIBILITIES)
def test_a_repository_that_is_switched_off_keeps_nothing_less_than_public(gitlab_place, visibility):
    """Nobody reads its branches now; whoever switches it on again shows them."""
    gitlab_place.set_levels(visibility, "disabled", "enabled")
    gitlab_place.run(CI_PIPELINE_SOURCE="schedule")
    assert gitlab_place.look().holds(SECRET_ISSUE) is (visibility == "public")


@pytest.mark.parametrize("feature", ["issues", "merge_requests", "repository"])
@pytest.mark.parametrize("value", ODD)
def test_a_level_that_is_missing_or_unknown_leaves_the_feature_out_and_says_so(gitlab_place, feature, value):
    told = {f"{feature}_access_level": ODD[value]}
    gitlab_place.set_levels("private" if feature == "repository" else "public", "enabled", "enabled", told)
    data = gitlab_place.run(CI_PIPELINE_SOURCE="schedule")
    looked, name = gitlab_place.look(), feature.replace("_", " ")
    assert looked.holds(SECRET_ISSUE) is (feature == "merge_requests")
    assert looked.holds(SECRET_CHANGE) is (feature == "issues")
    assert any(f"the access level of {name}" in note for note in data["notes"]), data["notes"]


@pytest.mark.parametrize("value", ODD)
def test_a_visibility_that_is_missing_or_unknown_leaves_everything_out(gitlab_place, value):
    gitlab_place.set_levels("public", "enabled", "enabled", {"visibility": ODD[value]})
    data = gitlab_place.run(CI_PIPELINE_SOURCE="schedule")
    looked = gitlab_place.look()
    assert not looked.holds(SECRET_ISSUE)
    assert not looked.holds(SECRET_CHANGE)
    assert any("visibility" in note for note in data["notes"])


def test_a_confidential_issue_is_nowhere_and_no_relation_tells_of_it(gitlab_place):
    """Strangers are not shown that an issue was closed as a duplicate of one that they cannot read."""
    project = gitlab_place.project
    hidden = project.add_issue("Hidden zqhiddenzq", "zqhiddenzq", confidential=True)
    shown = project.add_issue(*THEME)
    project.mark_duplicate(shown, hidden)
    gitlab_place.run(CI_PIPELINE_SOURCE="schedule")
    looked = gitlab_place.look()
    assert not looked.holds("zqhiddenzq")
    assert "duplicate_of" not in looked.rows


def test_the_payload_of_the_project_is_not_in_the_index(gitlab_place):
    """The bot is shown more of it than others: counts, rights, the groups that it is shared with."""
    gitlab_place.project.told = {"shared_with_groups": [{"group_name": "zqgroupzq"}]}
    gitlab_place.run(CI_PIPELINE_SOURCE="schedule")
    looked = gitlab_place.look()
    assert not looked.holds("zqgroupzq")
    assert "raw_payloads" not in looked.rows


def test_what_is_left_out_is_told_with_what_to_do(gitlab_place):
    gitlab_place.set_levels("public", "enabled", "private")
    data = gitlab_place.run(CI_PIPELINE_SOURCE="schedule")
    for name, readers in (("issues", "members"), ("merge requests", "reporters")):
        assert any(
            note.startswith(
                f"{name} are left out of the index: {readers} may read them, and everybody may read its branch"
            )
            and "Settings > General" in note
            for note in data["notes"]
        ), data["notes"]
    gitlab_place.set_levels("public", "enabled", "disabled")
    assert gitlab_place.run(CI_PIPELINE_SOURCE="schedule")["notes"] == []


def test_what_an_older_run_pushed_is_purged_by_the_next(gitlab_place):
    """An index from before the level was looked at, or changed: items, words, vectors, and every object of the branch."""
    place = gitlab_place
    place.run(CI_PIPELINE_SOURCE="schedule")
    assert place.look().holds(SECRET_ISSUE)
    old = place.git.git("group/app.git", "rev-parse", BRANCH)
    place.set_levels("public", "enabled", "private")
    data = place.run(CI_PIPELINE_SOURCE="schedule")
    assert (data["withheld"], data["removed"]) == (2, 2)
    looked = place.look()
    for secret in (SECRET_ISSUE, SECRET_CHANGE):
        assert not looked.holds(secret)
    assert f"{VECTORS}: " not in looked.rows
    assert place.git.git("group/app.git", "rev-list", "--count", "--all") == "1"
    reachable = place.git.git("group/app.git", "rev-list", "--objects", "--all").split()
    assert old not in reachable
    place.git.git("group/app.git", "gc", "--prune=now", "--quiet")
    with pytest.raises(Exception, match="exit status"):
        place.git.git("group/app.git", "cat-file", "-e", old)
    place.set_levels("public", "enabled", "enabled")  # and everything is read again when it is for everybody
    place.run(CI_PIPELINE_SOURCE="schedule")
    assert place.look().holds(SECRET_ISSUE)


def test_a_copy_of_an_older_index_is_deleted_with_it(gitlab_place):
    place = gitlab_place
    place.run(CI_PIPELINE_SOURCE="schedule")
    old = place.git.git("group/app.git", "rev-parse", BRANCH)
    place.git.git("group/app.git", "update-ref", f"refs/heads/{BRANCH}-damaged-{old[:8]}", old)
    place.set_levels("public", "enabled", "private")
    place.issue(*THEME)
    assert place.git.git("group/app.git", "branch", "--format=%(refname:short)").split() == [BRANCH]


def test_an_event_about_a_members_only_issue_leaves_nothing_anywhere(gitlab_place):
    place = gitlab_place
    place.project.levels = {"issues": "private"}
    number, data = place.issue(f"{AGAIN[0]} zqeventzq", AGAIN[1])
    assert data["items"] == []
    assert not place.look().holds("zqeventzq")
    assert "zqeventzq" not in place.log
    assert [note for note in place.project.issues[number].notes() if not note.system] == []


@pytest.mark.parametrize(
    ("visibility", "levels", "is_named"),
    [
        ("public", {}, True),
        ("public", {"merge_requests": "private"}, False),
        ("internal", {"merge_requests": "private"}, False),
        ("private", {}, False),  # guests read its issues, and not its merge requests
    ],
)
def test_a_comment_names_only_what_the_readers_of_its_page_may_read(gitlab_place, visibility, levels, is_named):
    """The only close item is a merge request: named below an issue exactly where the issue's readers can read it."""
    place = gitlab_place
    place.project.delete("issue", place.issue_number)
    place.project.visibility, place.project.levels = visibility, levels
    number, _ = place.issue(*CRASH)
    said = "".join(note.body for note in place.project.issues[number].notes() if not note.system)
    path = f"merge_requests/{place.change_number}"
    everyone = [one for one in place.readers if place.can(one, f"issues/{number}")]
    assert all(place.can(one, path) for one in everyone) is is_named
    assert (SECRET_CHANGE in said) is is_named


@pytest.mark.parametrize(("visibility", "is_named"), [("public", True), ("private", False)])
def test_a_fix_is_named_only_where_the_readers_of_the_issue_may_read_it(gitlab_place, visibility, is_named):
    """That it was fixed is told to all of them: the issue's own page says that it is closed."""
    place = gitlab_place
    place.project.visibility = visibility
    fix = place.project.add_change("Lock the file before it is opened", f"Closes #{place.issue_number}")
    place.project.merge(fix)
    place.server.clock.advance(3600)
    number, _ = place.issue(f"{CRASH[0]} {SECRET_ISSUE}", CRASH[1] + SECRET_ISSUE)
    said = "".join(note.body for note in place.project.issues[number].notes() if not note.system)
    assert " again, which " in said
    assert (f"merge_requests/{fix}" in said, f"merge request {fix}" in said) == (is_named, is_named)
    assert ("a merged change fixed earlier" in said) is not is_named


def test_a_comment_that_named_it_is_taken_back_also_where_the_issue_is_closed(gitlab_place):
    place = gitlab_place
    place.project.delete("issue", place.issue_number)
    number, _ = place.issue(*CRASH)
    said = lambda: [note.body for note in place.project.issues[number].notes() if not note.system]  # noqa: E731
    assert SECRET_CHANGE in said()[0]
    place.project.close("issue", number)
    place.project.levels = {"merge_requests": "private"}
    place.run(CI_PIPELINE_SOURCE="schedule")
    assert said() == []


@pytest.mark.parametrize(
    ("levels", "is_named"), [({}, True), ({"merge_requests": "private"}, False), ({"issues": "private"}, True)]
)
def test_triage_post_from_a_full_store_names_no_more(gitlab_place, monkeypatch, capsys, levels, is_named):
    """Everything was synced, by a member. What is posted follows the same rule as the index."""
    place = gitlab_place
    place.project.delete("issue", place.issue_number)
    number = place.project.add_issue(*CRASH)
    place.project.levels = levels
    for name in ("GITLAB_CI", "TRIGGER_PAYLOAD"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("FORGELORE_DB", str(place.folder / "lore.db"))
    for words in (["sync", "gitlab:group/app"], ["triage", f"#{number}", "--post"]):
        assert main([*words, "--json"]) == 0
        data = json.loads(capsys.readouterr().out)["data"]
    said = "".join(note.body for note in place.project.issues[number].notes() if not note.system)
    assert (SECRET_CHANGE in said) is (SECRET_CHANGE in data["report"]) is is_named


SIBLINGS = sorted({("public", *row) for row in itertools.product(VISIBILITIES, LEVELS)} | {
    (*row, "enabled") for row in itertools.product(VISIBILITIES, VISIBILITIES)
})  # fmt: skip


@pytest.mark.parametrize(("own", "visibility", "level"), SIBLINGS)
def test_every_level_of_a_sibling_on_gitlab(gitlab_place, own, visibility, level):
    """Members of one project are nobody in another: only what everybody can read is taken."""
    place = gitlab_place
    sibling = place.server.add_project("other/lib", visibility=visibility)
    sibling.levels = {"issues": level}
    sibling.add_issue(f"{AGAIN[0]} zqsiblingzq", AGAIN[1])
    place.project.visibility = own
    data = place.run(CI_PIPELINE_SOURCE="schedule", INPUT_ALSO="other/lib")
    is_public = visibility == "public" and level in ("enabled", "public")
    assert place.look().holds("zqsiblingzq") is is_public
    if not is_public and level != "disabled":
        assert any("other/lib" in note and "issues" in note for note in data["notes"]), data["notes"]


@pytest.mark.parametrize("change", [{"visibility": "internal"}, {"levels": {"issues": "private"}}])
def test_a_sibling_whose_level_changed_is_purged(gitlab_place, change):
    place = gitlab_place
    sibling = place.server.add_project("other/lib")
    sibling.add_issue(f"{AGAIN[0]} zqsiblingzq", AGAIN[1])
    place.run(CI_PIPELINE_SOURCE="schedule", INPUT_ALSO="other/lib")
    assert place.look().holds("zqsiblingzq")
    for name, value in change.items():
        setattr(sibling, name, value)
    place.issue(*THEME)
    assert not place.look().holds("zqsiblingzq")


# GitHub.


class TestGitHub:
    """Who reads a repository reads its issues and pull requests; only siblings and switches can differ."""

    readers = {
        "anonymous": None, "stranger": GitHubToken("sam", private_access=False),
        "colleague": GitHubToken("cem", private_access=False, is_colleague=True), "collaborator": GitHubToken("col"),
    }  # fmt: skip

    def fill(self, bot):
        bot.server.tokens.update({name: token for name, token in self.readers.items() if token})
        bot.server.project("acme/web").branch_files[BRANCH] = {"health.json": "{}"}
        bot.project.add_issue(f"{CRASH[0]} {SECRET_ISSUE}", CRASH[1])
        bot.project.comment(1, f"I say {SECRET_NOTE}")
        bot.project.add_change(f"Fix it {SECRET_CHANGE}", CRASH[1])
        bot.project.add_release("v1", name="zqdraftzq", body="zqdraftzq", draft=True)

    def look(self, bot):
        return Looked(bot.git, "acme/web.git", bot.tmp_path)

    def can(self, bot, reader, path, repository="acme/web"):
        headers = {"Accept": "application/vnd.github.raw+json"}
        headers |= {"Authorization": f"Bearer {reader}"} if self.readers[reader] else {}
        return fetch(f"{bot.server.api_url}/repos/{repository}/{path}", headers) == 200

    @pytest.mark.parametrize("visibility", VISIBILITIES)
    @pytest.mark.parametrize("switches", [{}, {"has_issues": False}, {"has_pull_requests": False}])
    def test_every_visibility_and_switch(self, bot, visibility, switches):
        self.fill(bot)
        bot.project.visibility = visibility
        bot.run("schedule", {})  # an index from before the switch
        assert self.look(bot).holds(SECRET_ISSUE)
        bot.project.told = switches
        bot.project.has_issues = switches.get("has_issues", True)
        bot.run("schedule", {})
        looked = self.look(bot)
        on_branch = [one for one in self.readers if self.can(bot, one, f"contents/health.json?ref={BRANCH}")]
        assert on_branch
        for secret, switch, path in (
            (SECRET_ISSUE, "has_issues", "issues/1"), (SECRET_CHANGE, "has_pull_requests", "pulls/2")
        ):  # fmt: skip
            is_on = switches.get(switch, True)
            assert looked.holds(secret) is is_on
            assert not is_on or all(self.can(bot, one, path) for one in on_branch)
        assert not looked.holds(SECRET_NOTE)
        assert not looked.holds("zqdraftzq")

    @pytest.mark.parametrize("told", [{"visibility": "friends"}, {"visibility": None, "private": None}])
    def test_a_visibility_that_nobody_knows_leaves_everything_out_and_says_so(self, bot, told):
        self.fill(bot)
        bot.project.told = told
        data = bot.run("schedule", {})
        assert not self.look(bot).holds(SECRET_ISSUE)
        assert any("visibility" in note for note in data["notes"])

    def test_an_older_server_that_says_private_alone_is_understood(self, bot):
        self.fill(bot)
        bot.project.told = {"visibility": None, "has_pull_requests": None}
        bot.run("schedule", {})
        assert self.look(bot).holds(SECRET_ISSUE)

    @pytest.mark.parametrize("own", VISIBILITIES)
    @pytest.mark.parametrize("visibility", VISIBILITIES)
    def test_every_visibility_of_a_sibling(self, bot, own, visibility):
        self.fill(bot)
        bot.project.visibility = own
        sibling = bot.server.add_project("acme/other", visibility=visibility)
        sibling.add_issue(f"{AGAIN[0]} zqsiblingzq", AGAIN[1])
        bot.set(INPUT_ALSO="acme/other")
        data = bot.run("schedule", {})
        assert self.look(bot).holds("zqsiblingzq") is (visibility == "public")
        told = [note for note in data["notes"] if "acme/other" in note]
        assert bool(told) is (visibility != "public")

    def test_items_that_were_deleted_or_moved_away_leave_it(self, bot):
        self.fill(bot)
        elsewhere = bot.server.add_project("acme/secret", private=True)
        number = bot.project.add_issue("Goes away zqmovedzq", "zqmovedzq")
        bot.run("schedule", {})
        assert self.look(bot).holds("zqmovedzq")
        bot.project.transfer(number, elsewhere)
        bot.project.delete(1)
        bot.run("schedule", {})
        looked = self.look(bot)
        assert not looked.holds("zqmovedzq")
        assert not looked.holds(SECRET_ISSUE)
