"""A file is followed through renames with edits, chains of them, splits, merges and back; real repositories by git."""

import pytest

from clones.repositories import commit_files, git, make_repository
from forgelore.forges.clone import LocalClone


def text(first, last):
    return "".join(f"def function_{at}(value):\n    return value * {at} + {at % 7}\n\n\n" for at in range(first, last))


def read_all(folder):
    clone = LocalClone(str(folder), {"PATH": "/usr/bin:/bin"})
    return {one.sha: one for one in clone.read_commits(clone.list_commits(clone.find_head(), 1_000))}


def renames_of(folder, sha):
    return read_all(folder)[sha].renames


@pytest.fixture
def repository(tmp_path):
    return make_repository(tmp_path / "web", {"src/old.py": text(0, 40), "README.md": "# Web\n"})


def test_a_file_that_is_renamed_and_edited_in_one_commit_is_followed(repository):
    edited = text(0, 30) + "LIMIT = 3\n"
    sha = commit_files(repository, {"src/new.py": edited}, "Move it", gone=["src/old.py"])
    assert renames_of(repository, sha) == (("src/old.py", "src/new.py"),)
    assert set(read_all(repository)[sha].paths) == {"src/old.py", "src/new.py"}


def test_a_file_that_only_took_the_place_of_another_is_not(repository):
    sha = commit_files(repository, {"src/new.py": "import os\n\nprint(os.name)\n" * 30}, gone=["src/old.py"])
    assert renames_of(repository, sha) == ()


def test_a_file_that_is_split_keeps_both_parts(repository):
    parts = {"src/a.py": "import a\n" + text(0, 20), "src/b.py": "import b\n" + text(20, 40)}
    sha = commit_files(repository, parts, "Split it", gone=["src/old.py"])
    assert renames_of(repository, sha) == (("src/old.py", "src/a.py"), ("src/old.py", "src/b.py"))


def test_a_part_that_leaves_a_file_that_stays_is_linked_with_it_and_a_copy_is_not(repository):
    parts = {"src/old.py": text(0, 20), "src/b.py": text(20, 40)}
    sha = commit_files(repository, parts, "Take a half out")
    assert renames_of(repository, sha) == (("src/old.py", "src/b.py"),)
    copied = {"src/old.py": text(0, 20) + "MORE = 1\n", "src/copy.py": text(0, 20)}
    assert renames_of(repository, commit_files(repository, copied, "Copy it")) == ()


def test_empty_files_are_not_taken_for_one_another(repository):
    commit_files(repository, {"src/__init__.py": ""})
    sha = commit_files(repository, {"lib/__init__.py": ""}, gone=["src/__init__.py"])
    assert renames_of(repository, sha) == ()


def test_a_partial_clone_still_tells_what_moved_as_it_was(repository):
    moved = commit_files(repository, {"docs/README.md": "# Web\n"}, gone=["README.md"])
    edited = commit_files(repository, {"src/new.py": text(0, 30)}, gone=["src/old.py"])
    blob = git(repository, "rev-parse", f"{edited}:src/new.py")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    (repository / "src/new.py").unlink()
    found = read_all(repository)
    assert found[moved].renames == (("README.md", "docs/README.md"),)
    assert found[edited].renames == ()


def names(lore, path):
    return set(lore.paths.history(path, project="web").names)


def test_history_follows_chains_merges_and_a_way_back(lore, repository):
    commit_files(repository, {"src/mid.py": text(2, 40)}, "First", gone=["src/old.py"])
    git(repository, "checkout", "--quiet", "-b", "side")
    commit_files(repository, {"lib/last.py": text(4, 40)}, "Second, on a branch", gone=["src/mid.py"])
    git(repository, "checkout", "--quiet", "main")
    commit_files(repository, {"README.md": "# Web 2\n"}, "Meanwhile")
    git(repository, "merge", "--quiet", "--no-ff", "--no-gpg-sign", "-m", "Merge side", "side")
    lore.index.code(str(repository), project="web")
    every = {"src/old.py", "src/mid.py", "lib/last.py"}
    assert names(lore, "lib/last.py") == names(lore, "src/mid.py") == names(lore, "src/old.py") == every
    commit_files(repository, {"src/old.py": text(5, 40)}, "And back", gone=["lib/last.py"])
    lore.index.code(str(repository), project="web")
    assert names(lore, "src/old.py") == every
    titles = [one.title for one in lore.paths.history("src/old.py", project="web").entries]
    assert {"First", "Second, on a branch", "And back", "Begin"} <= set(titles)


def test_a_part_has_the_history_of_the_whole_and_not_that_of_the_other_part(lore, repository):
    parts = {"src/a.py": text(0, 20), "src/b.py": text(20, 40)}
    commit_files(repository, parts, "Split it", gone=["src/old.py"])
    commit_files(repository, {"src/b.py": text(20, 41)}, "Only b")
    lore.index.code(str(repository), project="web")
    assert names(lore, "src/a.py") == {"src/a.py", "src/old.py"}
    assert names(lore, "src/b.py") == {"src/b.py", "src/old.py"}
    assert names(lore, "src/old.py") == {"src/old.py", "src/a.py", "src/b.py"}
    assert "Only b" not in [one.title for one in lore.paths.history("src/a.py", project="web").entries]


def test_a_store_that_was_indexed_before_gets_renames_by_the_next_run_and_loses_nothing(lore, repository):
    commit_files(repository, {"src/new.py": text(0, 30)}, "Move it", gone=["src/old.py"])
    lore.index.code(str(repository), project="web")
    store = lore.app.store()
    before = store.rows("SELECT id, sha, message FROM commits ORDER BY id")
    # As the migration leaves a store of an earlier version.
    store.run("DELETE FROM commit_renames")
    store.run("UPDATE commits SET has_renames = 0, mail = NULL, parents = ''")
    store.run("UPDATE code_trees SET history_commit = ''")
    assert names(lore, "src/new.py") == {"src/new.py"}
    lore.index.code(str(repository), project="web")
    assert names(lore, "src/new.py") == {"src/new.py", "src/old.py"}
    assert store.rows("SELECT id, sha, message FROM commits ORDER BY id") == before
    assert store.value("SELECT count(*) FROM commits WHERE mail IS NULL") == 0
