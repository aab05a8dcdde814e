"""The index on a branch of the project: real git, against a real git server on this machine."""

import contextlib
import os
import pathlib
import subprocess
import sys
import threading
import time

import pytest

from forgelore.errors import (
    AuthError,
    ConfigError,
    ForgeError,
    InvalidValue,
    NotFound,
    RateLimited,
    StateMoved,
    StateRefused,
)
from forgelore.forges import branch as branch_module
from forgelore.forges.branch import MAX_SHOWN, Scene, StateBranch, explain
from forgelore.forges.git import Address, GitResult, build_environ, parse_address
from forgelore.profiles import GITHUB, GITLAB
from servers.githttp import GitServer, has_backend

pytestmark = pytest.mark.skipif(not has_backend(), reason="this machine's git has no http-backend")

TOKEN = "ghs_planted0secret1of2the3tests"
REPO = "acme/web.git"
BRANCH = "forgelore-index"
OTHER_WORLDS = {
    "GIT_DIR": "/nowhere",
    "GIT_TRACE_CURL": "1",
    "GIT_CONFIG_PARAMETERS": "'core.sshCommand=false'",
    "GIT_ASKPASS": "/bin/false",
    "GIT_SSL_NO_VERIFY": "1",
}


class Forge:
    """A server with one repository, and clones of its index branch that do not know of each other."""

    def __init__(self, tmp_path, server):
        self.tmp_path, self.server = tmp_path, server
        self.url = server.create(REPO)
        self.clones = 0
        self.sleeps = []

    def branch(self, *, url=None, token=TOKEN, name=BRANCH, environ=None, **more):
        self.clones += 1
        self.folder = self.tmp_path / f"clone{self.clones}"
        return StateBranch(
            url or self.url,
            name,
            token=token,
            folder=str(self.folder),
            environ=os.environ if environ is None else environ,
            marks=("index.db",),
            sleep=self.sleeps.append,
            **more,
        )

    def file(self, text, name="index"):
        path = self.tmp_path / f"{name}-{len(text)}-{hash(text)}"
        path.write_bytes(text.encode() if isinstance(text, str) else text)
        return str(path)

    def put(self, text, expected=None, **more):
        return self.branch(**more).push({"index.db": self.file(text)}, expected=expected, message="Update the index")

    def git(self, *words, feed=""):
        return self.server.git(REPO, *words, feed=feed)

    def text(self):
        return self.git("show", f"{BRANCH}:index.db")


@pytest.fixture
def forge(tmp_path, home):
    with GitServer(tmp_path / "served", token=TOKEN) as server:
        yield Forge(tmp_path, server)


def content(pulled):
    return {name: pathlib.Path(path).read_bytes() for name, path in pulled.files.items()}


# What a run sees.


def test_a_missing_branch_is_no_error(forge):
    assert forge.branch().pull() is None


def test_what_was_pushed_is_pulled(forge):
    binary = bytes(range(256)) * 9_000  # past the size from which git streams
    files = {"index.db.z": forge.file(binary), "health.json": forge.file("{}")}
    commit = forge.branch().push(files, expected=None, message="Update the index")
    pulled = forge.branch().pull()
    assert pulled.commit == commit
    assert content(pulled) == {"index.db.z": binary, "health.json": b"{}"}
    assert all(path.startswith(str(forge.folder)) for path in pulled.files.values())


def test_one_object_pulls_and_pushes_again_and_again(forge):
    state, commit = forge.branch(), None
    for turn in "abc":
        commit = state.push({"index.db": forge.file(turn)}, expected=commit, message="turn")
        pulled = state.pull()
        assert pulled.commit == commit
        assert content(pulled) == {"index.db": turn.encode()}


def test_a_second_pull_gets_what_another_runner_pushed(forge):
    first = forge.put("one")
    state = forge.branch()
    before = state.pull()
    second = forge.put("two", expected=first)
    after = state.pull()
    assert (before.commit, after.commit) == (first, second)
    assert (content(before), content(after)) == ({"index.db": b"one"}, {"index.db": b"two"})


def test_the_branch_has_always_one_commit(forge):
    commit = None
    for text in ("one", "two", "three"):
        commit = forge.put(text, expected=commit)
    assert forge.git("rev-list", BRANCH) == commit
    assert forge.git("log", "-1", "--format=%an <%ae> %cn %s", BRANCH) == (
        "forgelore <noreply@forgelore.invalid> forgelore Update the index [skip ci]"
    )
    assert forge.git("ls-tree", "--name-only", BRANCH) == "index.db"


def test_no_workflow_is_started_twice_by_a_message_that_says_so_already(forge):
    forge.branch().push({"a": forge.file("a")}, expected=None, message="Update\n\nthe index [skip ci]")
    assert forge.git("log", "-1", "--format=%B", BRANCH).strip() == "Update the index [skip ci]"


def test_nothing_of_the_project_is_fetched_but_the_branch(forge):
    blob = forge.git("hash-object", "-w", "--stdin", feed="secret source")
    tree = forge.git("mktree", feed=f"100644 blob {blob}\tmain.c\n")
    forge.git("update-ref", "refs/heads/main", forge.git("commit-tree", tree, "-m", "code"))
    forge.put("one")
    state = forge.branch()
    state.pull()
    for repository in forge.folder.glob("*/state.git"):
        known = subprocess.run(
            ["git", "-C", repository, "cat-file", "--batch-check", "--batch-all-objects"],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        assert known.count("\n") == 3  # commit, tree, blob
    assert not list(forge.folder.rglob("main.c"))


def test_a_folder_may_be_named_from_here(forge, tmp_path):
    """Before Python 3.12 a temporary folder in a relative one is relative too, and git runs elsewhere."""
    commit = forge.put("one")
    pulled = StateBranch(forge.url, BRANCH, token=TOKEN, folder="here", environ=os.environ).pull()
    assert pulled.commit == commit
    assert pulled.files == {"index.db": str(tmp_path / "here" / commit / "index.db")}


def test_a_repository_in_a_folder_works_too(forge, tmp_path):
    url = f"file://{tmp_path}/served/{REPO}"
    commit = forge.put("one", url=url, token=None)
    assert forge.branch(url=url, token=None).pull().commit == commit


# A file in parts.


def part_files(forge, count, start=0):
    return [forge.file(os.urandom(20_000), f"part{at}") for at in range(start, start + count)]


def read_parts(pulled):
    return list(pulled.each_part())


def test_parts_are_pulled_in_their_order(forge):
    paths = part_files(forge, 300)  # more than a folder holds
    forge.branch().push({"index.db": forge.file("x")}, expected=None, message="parts", parts=paths)
    pulled = forge.branch().pull()
    assert read_parts(pulled) == [pathlib.Path(path).read_bytes() for path in paths]
    assert content(pulled) == {"index.db": b"x"}


def test_only_parts_that_changed_travel(forge):
    """The commit has no parent, and still git does not send what the server has."""
    paths = part_files(forge, 200)
    commit = forge.branch().push({"index.db": forge.file("x")}, expected=None, message="parts", parts=paths)
    state = forge.branch()
    before = read_parts(state.pull())
    forge.server.received = 0
    new = part_files(forge, 2, start=200)
    parts = [*[None] * 70, new[0], *[None] * 129, new[1]]
    state.push({"index.db": forge.file("y")}, expected=commit, message="two parts", parts=parts)
    assert forge.server.received < 4 * 20_000
    after = read_parts(forge.branch().pull())
    assert [at for at in range(200) if before[at] != after[at]] == [70]
    assert (after[70], len(after)) == (pathlib.Path(new[0]).read_bytes(), 201)
    assert forge.git("rev-list", "--count", BRANCH) == "1"


def test_fewer_parts_leave_none_of_the_old_behind(forge):
    commit = forge.branch().push(
        {"index.db": forge.file("x")}, expected=None, message="five", parts=part_files(forge, 5)
    )
    state = forge.branch()
    before = read_parts(state.pull())
    state.push({"index.db": forge.file("x")}, expected=commit, message="two", parts=[None, None])
    assert read_parts(forge.branch().pull()) == before[:2]


def test_a_refused_push_of_parts_can_be_repeated(forge):
    commit = forge.branch().push(
        {"index.db": forge.file("x")}, expected=None, message="five", parts=part_files(forge, 5)
    )
    state = forge.branch()
    before = read_parts(state.pull())
    (new,) = part_files(forge, 1, start=9)
    changed = {"files": {"index.db": forge.file("x")}, "expected": commit, "parts": [None, new, None, None, None]}
    forge.server.bad_answers, forge.server.status = 9, 503
    with pytest.raises(ForgeError):
        state.push(message="refused", **changed)
    forge.server.status = None
    assert read_parts(forge.branch().pull()) == before
    state.push(message="again", **changed)
    after = read_parts(forge.branch().pull())
    assert [at for at in range(5) if before[at] != after[at]] == [1]


def test_a_part_that_no_program_of_ours_wrote_is_not_read(forge):
    blob = forge.git("hash-object", "-w", "--stdin", feed="x" * 200_000)
    inner = forge.git("mktree", feed=f"100644 blob {blob}\t00\n")
    parts = forge.git("mktree", feed=f"040000 tree {inner}\t00\n")
    tree = forge.git("mktree", feed=f"100644 blob {blob}\tindex.db\n040000 tree {parts}\tparts\n")
    forge.git("update-ref", f"refs/heads/{BRANCH}", forge.git("commit-tree", tree, "-m", "large"))
    with pytest.raises(StateRefused):
        forge.branch().pull()


# Two runners.


def test_who_pushes_onto_something_unseen_is_told(forge):
    first = forge.put("one")
    forge.put("two", expected=first)
    with pytest.raises(StateMoved):
        forge.put("late", expected=first)
    assert forge.text() == "two"


def test_two_first_runs_do_not_overwrite_each_other(forge):
    forge.put("one")
    with pytest.raises(StateMoved):
        forge.put("late", expected=None)
    assert forge.text() == "one"


def test_a_branch_that_was_deleted_meanwhile_is_not_brought_back_unseen(forge):
    first = forge.put("one")
    forge.git("update-ref", "-d", f"refs/heads/{BRANCH}")
    with pytest.raises(StateMoved):
        forge.put("two", expected=first)
    assert forge.branch().pull() is None


def test_a_branch_that_moves_while_the_push_is_on_its_way_is_told(forge):
    """Past the moment in which git compares the branch with what was pulled: the server's lock finds it."""
    first = forge.put("one")
    forge.server.race_at = 2
    with pytest.raises(StateMoved):
        forge.put("two", expected=first)
    rival = forge.branch().pull()
    assert rival.commit != first
    assert forge.put("two", expected=rival.commit) == forge.git("rev-parse", BRANCH)


@pytest.mark.parametrize("is_first", [True, False])
def test_of_two_pushes_at_the_same_moment_one_wins_and_one_is_told(forge, is_first):
    expected = None if is_first else forge.put("start")
    forge.server.meeting = threading.Barrier(2)
    outcomes = {}

    def push(text):
        try:
            outcomes[text] = state_of[text].push({"index.db": forge.file(text)}, expected=expected, message="race")
        except ForgeError as error:
            outcomes[text] = type(error)

    state_of = {text: forge.branch() for text in ("left", "right")}
    threads = [threading.Thread(target=push, args=(text,)) for text in state_of]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lost = [text for text, outcome in outcomes.items() if outcome is StateMoved]
    assert len(lost) == 1, outcomes
    (won,) = set(outcomes) - set(lost)
    assert forge.text() == won
    assert forge.git("rev-parse", BRANCH) == outcomes[won]


RUNNER = """
import os, sys
from forgelore.errors import StateMoved
from forgelore.forges.branch import StateBranch
url, folder, name = sys.argv[1:]
state = StateBranch(url, "forgelore-index", token=os.environ["TOKEN"], folder=folder, environ=os.environ)
done = 0
while done < 3:
    pulled = state.pull()
    lines = open(pulled.files["log"]).read() if pulled else ""
    path = os.path.join(folder, "next")
    with open(path, "w") as file:
        file.write(f"{lines}{name}{done}\\n")
    try:
        state.push({"log": path}, expected=pulled.commit if pulled else None, message="add a line")
        done += 1
    except StateMoved:
        print("moved", flush=True)
"""


def test_two_processes_that_write_at_once_lose_nothing(forge, tmp_path):
    runners = [
        subprocess.Popen(
            [sys.executable, "-c", RUNNER, forge.url, str(tmp_path / name), name], env={**os.environ, "TOKEN": TOKEN}
        )
        for name in "ab"
    ]
    assert [runner.wait(timeout=60) for runner in runners] == [0, 0]
    lines = forge.git("show", f"{BRANCH}:log").split()
    assert sorted(lines) == [f"{name}{number}" for name in "ab" for number in range(3)]
    assert forge.git("rev-list", "--count", BRANCH) == "1"


@pytest.mark.parametrize("is_first", [True, False])
def test_a_push_whose_answer_is_lost_is_known_to_have_arrived(forge, is_first):
    expected = None if is_first else forge.put("zero")
    forge.server.hang_up_after_push = True
    commit = forge.put("one", expected=expected)
    assert forge.git("rev-parse", BRANCH) == commit
    assert len(forge.sleeps) == 1


def test_a_bad_moment_of_the_server_passes(forge):
    first = forge.put("one")
    forge.server.bad_answers, forge.server.status = 1, 503
    assert forge.branch().pull().commit == first
    forge.server.bad_answers = 1
    forge.put("two", expected=first)
    assert forge.text() == "two"
    assert forge.sleeps == [0.5, 0.5]


def test_a_server_that_stays_bad_is_left_after_some_tries(forge):
    forge.server.status = 500
    with pytest.raises(ForgeError):
        forge.branch().pull()
    assert len(forge.server.heard) == 1 + len(forge.sleeps) == 3


# Copies that older versions made are deleted.


def test_a_copy_is_deleted_and_what_only_looks_like_one_stays(forge):
    first = forge.put("an index")
    for name in (f"damaged-{first[:8]}", "damaged-12345678", f"damaged-{first[:8]}-mine", "damaged"):
        forge.git("update-ref", f"refs/heads/forgelore-index-{name}", first)
    assert forge.branch().drop_copies() == [f"forgelore-index-damaged-{first[:8]}"]
    assert forge.branch().drop_copies() == []
    left = forge.git("branch", "--format=%(refname:short)").split()
    ends = ("", "-damaged", "-damaged-12345678", f"-damaged-{first[:8]}-mine")
    assert set(left) == {f"forgelore-index{end}" for end in ends}


# What is not ours is left alone.


def tree_of(forge, *rows):
    blob = forge.git("hash-object", "-w", "--stdin", feed="text")
    inner = forge.git("mktree", feed=f"100644 blob {blob}\tinner\n")
    listing = "".join(row.format(blob=blob, tree=inner) + "\n" for row in rows)
    return forge.git("commit-tree", forge.git("mktree", "--missing", feed=listing), "-m", "somebody's")


@pytest.mark.parametrize(
    "row",
    [
        "040000 tree {tree}\tsrc",
        "040000 tree {tree}\tparts",
        "120000 blob {blob}\tlink",
        "160000 commit 1111111111111111111111111111111111111111\tmodule",
        "100644 blob {blob}\t-rf",
        "100644 blob {blob}\twith blank",
        "100644 blob {blob}\té",
    ],
)
def test_a_branch_that_is_no_index_is_neither_read_nor_replaced(forge, row):
    """A slip in the settings names a branch of code: its history must not be thrown away."""
    commit = tree_of(forge, "100644 blob {blob}\tindex.db", row)
    forge.git("update-ref", f"refs/heads/{BRANCH}", commit)
    with pytest.raises(StateRefused, match="left untouched") as refusal:
        forge.branch().pull()
    assert "another name" in refusal.value.hint
    assert forge.git("rev-parse", BRANCH) == commit


def test_the_default_branch_is_never_the_index(forge):
    forge.git("update-ref", "refs/heads/main", tree_of(forge, "100644 blob {blob}\tREADME.md"))
    with pytest.raises(StateRefused):
        forge.branch(name="main").pull()


def test_an_index_that_became_the_default_branch_is_still_ours(forge):
    """The first push into an empty repository makes its branch the default."""
    commit = forge.put("one", name="main")
    assert forge.branch(name="main").pull().commit == commit


def test_a_flat_branch_that_somebody_repaired_by_hand_is_read(forge):
    commit = tree_of(forge, "100644 blob {blob}\tindex.db")
    forge.git("update-ref", f"refs/heads/{BRANCH}", commit)
    assert content(forge.branch().pull()) == {"index.db": b"text"}


# Refusals, each with what to do.

RULES = """error: GH013: Repository rule violations found for refs/heads/forgelore-index.
Review all repository rules at https://github.com/acme/web/rules?ref=refs%2Fheads%2Fforgelore-index

- Cannot create ref due to creations being restricted."""
PROTECTED = """error: GH006: Protected branch update failed for refs/heads/forgelore-index.
error: Cannot force-push to this branch"""
LARGE = """error: File index.db is 123.45 MB; this exceeds GitHub's file size limit of 100.00 MB
error: GH001: Large files detected. You may want to try Git Large File Storage"""
GITLAB_RULE = "GitLab: You are not allowed to push code to protected branches on this project."
GITLAB_FORCE = "GitLab: You are not allowed to force push code to a protected branch on this project."


@pytest.mark.parametrize(
    ("text", "profile", "hint"),
    [
        (RULES, GITHUB, "exclude the branch forgelore-index from the ruleset"),
        (PROTECTED, GITHUB, "Settings > Rules > Rulesets"),
        (LARGE, GITHUB, "too large for an index"),
        ("no such luck", GITHUB, "ruleset"),
        (GITLAB_RULE, GITLAB, "Settings > Repository > Protected branches"),
        (GITLAB_FORCE, GITLAB, "Settings > Repository > Protected branches"),
    ],
    ids=["ruleset", "protected", "large", "hook", "gitlab", "gitlab-force"],
)
def test_a_rule_of_the_repository_is_a_refusal_that_names_the_setting(forge, text, profile, hint):
    forge.server.refuse_pushes(REPO, text)
    with pytest.raises(StateRefused) as refusal:
        forge.put("one", profile=profile)
    assert text.split(".")[0].split("\n")[0][:40] in refusal.value.message
    assert hint in refusal.value.hint


def test_a_server_that_forbids_all_forced_pushes_is_not_asked_again_and_again(forge):
    first = forge.put("one")
    forge.server.set(REPO, "receive.denyNonFastForwards", "true")
    with pytest.raises(StateRefused):
        forge.put("two", expected=first)


def test_a_file_that_no_forge_takes_is_refused_before_it_travels(forge, tmp_path):
    path = tmp_path / "huge"
    with open(path, "wb") as file:
        file.truncate((100 << 20) + (1 << 20))
    with pytest.raises(StateRefused, match=r"index.db has 101 MB.*100 MB"):
        forge.branch().push({"index.db": str(path)}, expected=None, message="huge")
    assert forge.server.heard == []


def test_a_pulled_file_that_was_never_pushed_from_here_is_not_unpacked(forge, monkeypatch):
    forge.put("12345")
    monkeypatch.setattr(branch_module, "MAX_FILE", 4)
    with pytest.raises(StateRefused):
        forge.branch().pull()


@pytest.mark.parametrize("token", ["wrong-token", None])
@pytest.mark.parametrize("verb", ["pull", "put"])
def test_a_wrong_or_missing_token_is_an_error_of_tokens(forge, token, verb):
    with pytest.raises(AuthError) as refusal:
        forge.branch(token=token).pull() if verb == "pull" else forge.put("one", token=token)
    assert refusal.value.is_rejected is bool(token)
    assert ("wrong" if token else "GITHUB_TOKEN") in refusal.value.hint


@pytest.mark.parametrize(
    ("profile", "words", "hint"),
    [
        (GITHUB, "Permission to acme/web.git denied to github-actions[bot].", "contents: write"),
        (GITHUB, "Write access to repository not granted.", "contents: write"),
        (GITLAB, "You are not allowed to upload code to this project.", "Settings > Access tokens"),
    ],
)
def test_a_token_without_the_permission_hears_which_one(forge, profile, words, hint):
    forge.server.status, forge.server.words = 403, words
    with pytest.raises(AuthError) as refusal:
        forge.put("one", profile=profile)
    assert words in refusal.value.message
    assert hint in refusal.value.hint
    assert not refusal.value.is_rejected


@pytest.mark.parametrize(
    ("status", "kind"),
    [(404, NotFound), (429, RateLimited), (500, ForgeError), (503, ForgeError)],
)
def test_an_answer_of_the_server_becomes_the_error_that_says_who_acts(forge, status, kind):
    forge.server.status = status
    for act in (forge.branch().pull, lambda: forge.put("one")):
        with pytest.raises(kind) as refusal:
            act()
        assert refusal.value.hint


def test_an_archived_repository_takes_nothing(forge):
    forge.server.status, forge.server.words = 403, "This repository was archived so it is read-only."
    with pytest.raises(StateRefused, match="archived"):
        forge.put("one")


def test_a_repository_that_is_not_there_is_not_a_missing_branch(forge, tmp_path):
    for url in (f"{forge.server.url}/acme/nothing.git", f"file://{tmp_path}/nothing.git"):
        with pytest.raises(NotFound):
            forge.branch(url=url).pull()


def test_a_server_that_is_not_there_is_an_error_of_the_network(forge, tmp_path):
    with GitServer(tmp_path / "gone") as server:
        url = f"{server.url}/{REPO}"
    with pytest.raises(ForgeError, match=r"127\.0\.0\.1") as refusal:
        forge.branch(url=url).pull()
    assert "network" in refusal.value.hint


def processes_with(word):
    """The commands that run with this word in their line: git starts helpers of its own."""
    lines = []
    for path in pathlib.Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            lines.append(path.read_text(errors="replace"))
    return [line for line in lines if word in line]


def test_a_server_that_never_answers_is_left_and_its_git_ended(forge):
    forge.server.stall = threading.Event()
    with pytest.raises(ForgeError, match=r"longer than 0\.5 s"):
        forge.branch(timeout_s=0.5).pull()
    for _ in range(40):
        if not processes_with(forge.url):
            break
        time.sleep(0.05)
    assert not processes_with(forge.url)


def test_a_machine_without_git_is_told_so(forge, tmp_path):
    with pytest.raises(ConfigError, match="git is not on PATH"):
        forge.branch(environ={"PATH": str(tmp_path)}).pull()


def test_a_git_that_is_too_old_is_told_so(forge, tmp_path):
    """Before 2.31 git does not read settings from its environment, and would go without token and without hedges."""
    old = tmp_path / "bin" / "git"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho git version 2.30.2\n")
    old.chmod(0o755)
    with pytest.raises(ConfigError, match=r"git 2\.30 is too old"):
        forge.branch(environ={"PATH": f"{old.parent}:{os.environ['PATH']}"}).pull()


# Words of others.


def scene(**more):
    address = Address("https://github.com/acme/web.git", "github.com", "https://github.com/")
    return Scene(**{"address": address, "branch": BRANCH, "has_token": True, "profile": GITHUB, **more})


@pytest.mark.parametrize(
    "status",
    [
        "[rejected] (non-fast-forward)",
        "[rejected] (stale info)",
        "[rejected] (fetch first)",
        "[remote rejected] (cannot lock ref 'refs/heads/x': is at 1111 but expected 2222)",
        "[remote rejected] (failed to update ref)",
        "[remote rejected] (cannot lock ref 'refs/heads/x': reference already exists)",
        "[remote rejected] (incorrect old value provided)",
    ],
)
def test_every_wording_of_a_lost_race_is_a_lost_race(status):
    done = GitResult(
        1, f"To https://github.com/acme/web.git\n!\t1:refs/heads/{BRANCH}\t{status}\nDone\n", "error: failed"
    )
    assert isinstance(explain(done, scene()), StateMoved)


def test_the_name_of_a_branch_or_repository_does_not_pass_for_a_refusal():
    address = Address("https://example.org/acme/protected branch.git", "example.org", "https://example.org/")
    done = GitResult(1, "!\t1:refs/heads/GH013\t[rejected] (stale info)\n", f"error: failed to push to '{address.url}'")
    assert isinstance(explain(done, scene(address=address, branch="GH013")), StateMoved)


def test_what_a_server_says_cannot_act_and_is_bounded():
    said = "remote: \x1b]0;title\x07GH013: no\x1b[2J\u202e" + "x" * 5_000 + "\nremote: ::error::more\r\n"
    message = explain(GitResult(1, "", said), scene()).message
    assert len(message) < MAX_SHOWN + 100
    assert message.isprintable()


def test_a_server_that_repeats_the_token_does_not_get_it_into_a_message(forge):
    import base64

    encoded = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
    forge.server.refuse_pushes(REPO, f"GH013 you sent {TOKEN} as {encoded}")
    with pytest.raises(StateRefused) as refusal:
        forge.put("one")
    assert "you sent *** as ***" in refusal.value.message
    assert TOKEN not in repr(refusal.value)


def test_a_short_token_does_not_hide_what_was_said():
    done = GitResult(1, f"!\t1:refs/heads/{BRANCH}\t[rejected] (stale info)\n", "")
    assert isinstance(explain(done, scene(), secrets=["a", "t"]), StateMoved)


# The token, and everybody else's git.


def test_the_token_travels_as_a_header_and_nowhere_else(forge, tmp_path):
    """A git in front of git writes down its arguments; the files of the scratch repository are searched."""
    spy, seen = tmp_path / "bin" / "git", tmp_path / "seen"
    spy.parent.mkdir()
    real = subprocess.run(["which", "git"], capture_output=True, text=True, check=True).stdout.strip()
    spy.write_text(f'#!/bin/sh\necho "$@" >> {seen}\nexec {real} "$@"\n')
    spy.chmod(0o755)
    state = forge.branch(environ={**os.environ, "PATH": f"{spy.parent}:{os.environ['PATH']}"})
    state.push({"index.db": forge.file("one")}, expected=None, message="one")
    state.pull()
    assert all("authorization" in headers for _, headers in forge.server.heard)
    assert "push" in seen.read_text()
    assert TOKEN not in seen.read_text()
    assert "Authorization" not in seen.read_text()
    for path in forge.folder.rglob("*"):
        assert path.is_dir() or TOKEN.encode() not in path.read_bytes()


def test_the_user_before_the_token_can_be_chosen(forge):
    import base64

    forge.branch(profile=GITLAB).pull()
    header = forge.server.heard[0][1]["authorization"]
    assert base64.b64decode(header.split()[1]).decode() == f"oauth2:{TOKEN}"


def test_a_redirect_to_another_host_gets_no_token_and_no_request(forge, tmp_path):
    first = forge.put("one")
    with GitServer(tmp_path / "elsewhere") as thief:
        thief.create(REPO)
        forge.server.redirect_to = thief.url
        for act in (forge.branch().pull, lambda: forge.put("two", expected=first)):
            with pytest.raises(ForgeError, match="moved to another address") as refusal:
                act()
            assert "present name" in refusal.value.hint
        assert thief.heard == []


def test_the_token_belongs_to_one_host_in_the_settings_of_git():
    address = parse_address("https://GitHub.example.com:8443/acme/web.git")
    environ = build_environ(address, "/f", credentials="u:t", environ={})
    values = [value for value in environ.values() if "xtraHeader" in value]
    assert values == ["http.https://github.example.com:8443/.extraHeader"]


def test_a_token_in_the_address_is_taken_out_before_git_sees_it():
    assert parse_address("https://x-access-token:abc@github.com/a/b.git").url == "https://github.com/a/b.git"


@pytest.mark.parametrize(
    "url",
    [
        "http://github.com/a/b.git",
        "ssh://git@github.com/a/b.git",
        "git@github.com:a/b.git",
        "ext::sh -c id",
        "--upload-pack=id",
        "https://github.com/a b",
        "https://github.com/a\nb",
        "https://a@b@github.com/x",
        "/srv/git/x.git",
    ],
)
def test_addresses_that_could_do_something_else_are_refused(url):
    with pytest.raises(ConfigError):
        parse_address(url)


@pytest.mark.parametrize(
    "name", ["", "-x", "a b", "a..b", "a/", "/a", "a.lock", "a/b.lock/c", "a:b", "a~1", "+a", "é", "a\n", "x."]
)
def test_names_that_are_no_branches_are_refused(name):
    with pytest.raises(InvalidValue):
        StateBranch("https://github.com/a/b.git", name, token=None, folder="here", environ={})


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".gitmodules", "a\nb", "-x"])
def test_names_that_are_no_plain_files_are_not_pushed(forge, name):
    with pytest.raises(InvalidValue):
        forge.branch().push({name: forge.file("x")}, expected=None, message="x")


def test_what_is_no_commit_is_not_expected(forge):
    with pytest.raises(InvalidValue):
        forge.put("x", expected="HEAD")


def test_a_token_with_a_line_break_is_refused_and_not_shown(forge):
    with pytest.raises(ConfigError) as refusal:
        forge.branch(token="abc\r\nX-Other: 1")
    assert "abc" not in refusal.value.message


def test_settings_hooks_helpers_and_prompts_of_the_machine_play_no_part(forge, home, tmp_path):
    """Each of these would leave a mark, send us elsewhere or fail."""
    mark = tmp_path / "mark"
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    for name in ("pre-push", "reference-transaction", "post-checkout"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {mark}\nexit 1\n")
        (hooks / name).chmod(0o755)
    (home / ".gitconfig").write_text(
        f"[core]\n\thooksPath = {hooks}\n\tattributesFile = {home}/attributes\n"
        f'[credential]\n\thelper = "!touch {mark}; false"\n'
        f'[url "http://127.0.0.1:9/"]\n\tinsteadOf = {forge.server.url}\n'
        f'[filter "lfs"]\n\tclean = touch {mark}\n\trequired = true\n'
        f"[commit]\n\tgpgSign = true\n[push]\n\tgpgSign = true\n[init]\n\ttemplateDir = {tmp_path}\n"
    )
    (home / "attributes").write_text("* filter=lfs text=auto eol=crlf\n")
    (home / ".netrc").write_text("machine 127.0.0.1 login somebody password else\n")
    text = "line\r\nline\n"
    commit = forge.put(text, environ={**os.environ, **OTHER_WORLDS})
    assert content(forge.branch(environ={**os.environ, **OTHER_WORLDS}).pull()) == {"index.db": text.encode()}
    assert forge.git("rev-parse", BRANCH) == commit
    with pytest.raises(AuthError):
        forge.branch(token=None, environ=os.environ).pull()
    assert not mark.exists()


def test_git_gets_to_know_only_what_it_needs():
    environ = {
        "PATH": "/bin",
        "GITHUB_TOKEN": "t",
        "HOME": "/root",
        "GIT_SSH": "x",
        "HTTPS_PROXY": "http://p:1",
        **OTHER_WORLDS,
    }
    address = parse_address("https://github.com/a/b.git")
    known = build_environ(address, "/f", credentials=None, environ={**environ, "SSL_CERT_FILE": "/ca"})
    assert known["GIT_SSL_CAINFO"] == "/ca"
    assert known["HTTPS_PROXY"] == "http://p:1"
    assert known["HOME"] == "/f"
    assert known["GIT_ALLOW_PROTOCOL"] == "https"
    assert not {
        "GITHUB_TOKEN",
        "GIT_SSH",
        "GIT_DIR",
        "GIT_TRACE_CURL",
        "GIT_CONFIG_PARAMETERS",
        "GIT_SSL_NO_VERIFY",
    } & set(known)
    near = build_environ(parse_address("http://127.0.0.1:1/a.git"), "/f", credentials=None, environ=environ)
    assert "HTTPS_PROXY" not in near
