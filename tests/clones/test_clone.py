"""Clones read by git: what is there, what is odd, and that nothing in a hostile clone runs."""

import os
import pathlib

import pytest

from clones.repositories import commit_entries, commit_files, git, make_repository, write_blob
from forgelore.errors import ForgeError, NotFound
from forgelore.forges.clone import LocalClone
from forgelore.forges.git import GitReader, read_environ


def open_clone(folder, **more):
    return LocalClone(str(folder), {**os.environ, **more})


def contents(clone):
    files = clone.list_files(clone.find_head())
    texts = dict(clone.read([one.blob for one in files]))
    return {one.path: texts[one.blob] for one in files if one.blob in texts}


def test_the_files_of_the_last_commit_are_read_and_not_the_working_tree(tmp_path):
    folder = make_repository(tmp_path / "a", {"src/a.py": "x = 1\n", "b.txt": b"\xff\x00"})
    (folder / "src/a.py").write_text("x = 2\n")
    (folder / "new.py").write_text("")
    clone = open_clone(folder)
    assert contents(clone) == {"src/a.py": b"x = 1\n", "b.txt": b"\xff\x00"}
    assert set(clone.measure([one.blob for one in clone.list_files(clone.find_head())]).values()) == {6, 2}


def test_a_folder_inside_a_clone_means_the_whole_clone(tmp_path):
    folder = make_repository(tmp_path / "a", {"src/a.py": "", "b.txt": "b"})
    assert set(contents(open_clone(folder / "src"))) == {"src/a.py", "b.txt"}


def test_a_bare_clone_a_worktree_and_a_shallow_clone_are_clones(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    commit_files(folder, {"a.py": "2\n", "b.py": "3\n"}, "Second")
    git(tmp_path, "clone", "--quiet", "--bare", str(folder), "bare.git")
    git(folder, "worktree", "add", "--quiet", "--detach", str(tmp_path / "beside"))
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{folder}", "shallow")
    for name in ("bare.git", "beside", "shallow"):
        clone = open_clone(tmp_path / name)
        assert contents(clone) == {"a.py": b"2\n", "b.py": b"3\n"}
        assert clone.is_shallow == (name == "shallow")


def test_a_shallow_clone_does_not_pretend_that_its_oldest_commit_added_everything(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    commit_files(folder, {"b.py": "2\n"}, "Second")
    commit_files(folder, {"c.py": "3\n"}, "Third")
    git(tmp_path, "clone", "--quiet", "--depth=2", f"file://{folder}", "shallow")
    clone = open_clone(tmp_path / "shallow")
    commits = clone.read_commits(clone.list_commits(clone.find_head(), 10))
    assert [(one.message, one.paths) for one in commits] == [("Third", ("c.py",)), ("Second", ())]


def test_a_repository_without_commits_has_no_head(tmp_path):
    assert open_clone(make_repository(tmp_path / "a")).find_head() is None


@pytest.mark.parametrize("name", ["nothing", "file", "plain"])
def test_what_is_no_repository_is_told(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotFound) as found:
        open_clone(tmp_path / name)
    assert str(tmp_path / name) in found.value.message


def test_commits_have_author_times_message_and_paths(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    commit_files(folder, {"src/b.py": "2\n"}, "Add b\n\nBecause of #12.", gone=["a.py"])
    clone = open_clone(folder)
    last, first = clone.read_commits(clone.list_commits(clone.find_head(), 10))
    assert (last.author, last.login, last.message) == ("Ana Lind", "ana", "Add b\n\nBecause of #12.")
    assert (last.authored_at, last.paths, last.is_merge) == (1_709_294_400_000, ("a.py", "src/b.py"), False)
    assert (first.message, first.paths) == ("Begin", ("a.py",))


def test_a_merge_has_no_paths_and_a_path_that_looks_like_a_commit_is_a_path(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    first = git(folder, "rev-parse", "HEAD")
    git(folder, "checkout", "--quiet", "-b", "side")
    commit_files(folder, {first: "2\n", ":100644 x": "3\n"}, "Side")
    git(folder, "checkout", "--quiet", "main")
    commit_files(folder, {"c.py": "3\n"}, "Main")
    git(folder, "merge", "--quiet", "--no-ff", "-m", "Merge side", "side")
    clone = open_clone(folder)
    found = {one.message: one for one in clone.read_commits(clone.list_commits(clone.find_head(), 10))}
    assert found["Merge side"].is_merge
    assert {name: one.paths for name, one in found.items()} == {
        "Merge side": (), "Main": ("c.py",), "Side": tuple(sorted([first, ":100644 x"])), "Begin": ("a.py",),
    }  # fmt: skip


def test_a_commit_in_another_encoding_and_a_garbled_one_are_read(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    tree = git(folder, "rev-parse", "HEAD^{tree}").encode()
    raw = b"tree " + tree + b"\nauthor \xd6mer <o@x> 12 +0000\ncommitter broken\nencoding ISO-8859-1\n\ncaf\xe9\n"
    commit = git(folder, "hash-object", "-t", "commit", "-w", "--stdin", "--literally", feed=raw)
    (one,) = open_clone(folder).read_commits([commit])
    assert (one.author, one.message, one.authored_at, one.committed_at) == ("Ömer", "café", 12_000, None)


def test_a_blob_that_is_not_there_is_left_out(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    absent = "0" * 39 + "1"
    clone = open_clone(folder)
    there = clone.list_files(clone.find_head())[0].blob
    assert clone.measure([absent, there]) == {there: 2}
    assert list(clone.read([absent, there, absent])) == [(there, b"1\n")]


def test_a_tree_that_names_itself_a_billion_times_ends_somewhere(tmp_path):
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    blob = write_blob(folder, b"x")
    tree = git(folder, "mktree", feed=b"".join(b"100644 blob %b\tf%d\n" % (blob.encode(), n) for n in range(10)))
    for _ in range(9):
        tree = git(folder, "mktree", feed=b"".join(b"040000 tree %b\td%d\n" % (tree.encode(), n) for n in range(10)))
    reader = GitReader(str(folder), read_environ(os.devnull, os.environ), max_output=8 << 20)
    with pytest.raises(ForgeError, match="exceeds 8 MB"):
        reader.ask("ls-tree", "-r", "-z", tree)


def test_git_that_hangs_is_ended(tmp_path):
    """A pipe in place of an object list: git waits for somebody to write into it."""
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    (folder / ".git/packed-refs").unlink(missing_ok=True)
    os.mkfifo(folder / ".git/packed-refs")
    reader = GitReader(str(folder), read_environ(os.devnull, os.environ), timeout_s=0.5)
    with pytest.raises(ForgeError, match="longer than"):
        reader.ask("for-each-ref")


HOSTILE = """
[core]
    fsmonitor = touch {proof}
    hooksPath = hooks
    pager = touch {proof}
    sshCommand = touch {proof}
    gitProxy = touch {proof}
    alternateRefsCommand = touch {proof}
    attributesFile = attributes
[diff]
    external = touch {proof}
[diff "own"]
    textconv = touch {proof}
    command = touch {proof}
[filter "own"]
    smudge = touch {proof}
    clean = touch {proof}
    process = touch {proof}
[log]
    showSignature = true
[gpg]
    program = touch {proof}
[alias]
    ls-tree = !touch {proof}
    rev-list = !touch {proof}
[extensions]
    partialClone = origin
[remote "origin"]
    url = ext::touch {proof}
    promisor = true
    uploadpack = touch {proof}
[credential]
    helper = !touch {proof}
"""


def test_nothing_that_a_clone_names_runs(tmp_path):
    """Also where it pretends that content is to be fetched: its remote is a command."""
    folder = make_repository(tmp_path / "a", {"a.py": "1\n", ".gitattributes": "* filter=own diff=own\n"})
    commit_files(folder, {"b.py": "2\n"})
    proof = tmp_path / "proof"
    clone = open_clone(folder)
    blobs = [one.blob for one in clone.list_files(clone.find_head())]
    with (folder / ".git/config").open("a") as config:
        config.write(HOSTILE.format(proof=proof))
    hooks = folder / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-checkout", "reference-transaction", "fsmonitor-watchman"):
        (hooks / name).write_text(f"#!/bin/sh\ntouch {proof}\n")
        (hooks / name).chmod(0o755)
    for one in (folder / ".git/objects" / blobs[0][:2]).iterdir():
        one.unlink()
    clone = open_clone(folder, GIT_EXTERNAL_DIFF=f"touch {proof}", GIT_SSH_COMMAND=f"touch {proof}")
    head = clone.find_head()
    assert len(clone.list_files(head)) == 3
    clone.measure(blobs)
    try:
        found = dict(clone.read(blobs))
    except ForgeError:
        found = {}
    assert blobs[0] not in found
    assert len(clone.read_commits(clone.list_commits(head, 10))) == 2
    assert not proof.exists()


def test_nobody_elses_settings_are_read(tmp_path, monkeypatch):
    """GIT_DIR of a hook that forgelore runs in would make every clone that one."""
    other = make_repository(tmp_path / "other", {"other.py": "1\n"})
    folder = make_repository(tmp_path / "a", {"a.py": "1\n"})
    assert set(contents(open_clone(folder, GIT_DIR=str(other / ".git")))) == {"a.py"}


def test_odd_entries_of_a_tree_are_listed_as_they_are(tmp_path):
    folder = make_repository(tmp_path / "a")
    blob = write_blob(folder, b"x")
    commit_entries(folder, [
        ("120000", "blob", blob, "link"), ("160000", "commit", "1" * 40, "module"), ("100644", "blob", blob, b"\xff.py"),
        ("100755", "blob", blob, "new\nline"),
    ])  # fmt: skip
    clone = open_clone(folder)
    found = {one.path: one.mode for one in clone.list_files(clone.find_head())}
    assert found == {"link": "120000", "module": "160000", "\udcff.py": "100644", "new\nline": "100755"}
    assert pathlib.Path(clone.folder) == folder
