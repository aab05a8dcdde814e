"""Whose commits these are, and which change brought them: messages of merges, addresses, .mailmap; all by real git."""

import pytest

from clones.repositories import commit_files, git, make_repository
from forgelore.api import make_history
from forgelore.errors import NotFound
from forgelore.index.left_out import GraphCommit, assign_changes, named_change
from forgelore.model import Item, Project
from forgelore.records import CommitAuthor, GitName
from forgelore.store.items import save_items
from forgelore.store.projects import save_project
from forgelore.text.links import join_people, parse_mailmap
from forgelore.viewer import Viewer
from forgelore.words import ItemKey, ProjectName


@pytest.mark.parametrize(
    ("message", "number"),
    [
        ("Merge pull request #12 from ana/fix\n\nFix it", 12), ("Fix it (#12)\n\n* more", 12), ("Fix it (!7)", 7),
        ("Merge pull request 'Fix (#1)' (#12) from ana/fix into main", 12),
        ("Merge branch 'fix' into 'main'\n\nFix it\n\nSee merge request acme/web!12", 12),
        ("Merge branch 'fix' into 'main'\n\nSee merge request !12", 12),
        ("Merge branch 'fix' into 'main'\n\nSee merge request other/project!12", 0),
        ("Merge #12: Fix it", 12), ("Merge acme/web#12: Fix it", 12), ("Merge other/web#12: Fix it", 0),
        ("Auto merge of #12 - ana:fix, r=ben", 12), ("Rollup merge of #12 - ana:fix, r=ben", 12),
        ('Revert "Fix it (#12)"', 0), ('Revert "Fix it (#12)" (#15)', 15), ("Fixes #12", 0), ("", 0),
        ("As in (#12) we do", 0), ("Fix (#99999999999999999999)", 0),
    ],
)  # fmt: skip
def test_the_change_that_a_commit_names(message, number):
    assert named_change(message, "acme/web") == number


def test_a_merge_brings_what_the_main_line_did_not_have():
    graph = {
        "m3": GraphCommit(("m2", "b1"), 3), "m2": GraphCommit(("m1", "a2"), 2), "m1": GraphCommit(()),
        "a2": GraphCommit(("a1",)), "a1": GraphCommit(("m1",)),
        "b1": GraphCommit(("b0", "c1")), "b0": GraphCommit(("a2",)), "c1": GraphCommit(("m1",), 9), "lost": GraphCommit(()),
    }  # fmt: skip
    assert assign_changes("m3", graph) == {"m3": 3, "m2": 2, "a2": 2, "a1": 2, "b1": 3, "b0": 3, "c1": 9}
    assert assign_changes("m3", {"m3": GraphCommit(("m3", "m3"), 3)}) == {"m3": 3}
    assert assign_changes("gone", graph) == {}


ANA, OLD = GitName("Ana Lind", "ana@example.org"), GitName("A.", "ana@old.example")


def test_addresses_of_a_forge_name_the_account_and_mailmap_joins_the_others():
    noreply = GitName("Ana", "12+ana-l@users.noreply.github.com")
    mailmap = parse_mailmap(
        "# people\nAna Lind <ana@example.org> <ana@old.example>\nAna Lind <ana@example.org> <12+ANA-L@users.noreply.github.com>\n<<<broken\n"
    )
    found = join_people([ANA, OLD, noreply], mailmap, [])
    assert set(found.values()) == {CommitAuthor("Ana Lind", "ana-l", "address")}


def test_mailmap_can_rename_one_name_of_a_shared_address():
    shared = GitName("Ben", "team@example.org"), GitName("Cleo", "team@example.org")
    mailmap = parse_mailmap("Benedict <ben@example.org> ben <TEAM@example.org>")
    assert [one.proper_name for one in join_people(shared, mailmap, []).values()] == ["Benedict", "Cleo"]


@pytest.mark.parametrize(
    ("written", "login"),
    [
        ([("ana", {ANA}), ("ana", {ANA})], "ana"), ([("zz9", {ANA}), ("zz9", {ANA})], "zz9"),
        ([("ana-lind", {ANA})], "ana-lind"), ([("zz9", {ANA})], None), ([("zz9", {ANA, OLD})] * 3, None),
        ([("zz9", {ANA}), ("zz9", {ANA}), ("yy8", {ANA}), ("yy8", {ANA})], None),
    ],
)  # fmt: skip
def test_changes_tell_the_account_where_they_agree(written, login):
    told = [(who, frozenset(authors)) for who, authors in written]
    assert join_people([ANA, OLD], parse_mailmap(""), told)[ANA].login == login


def test_index_code_joins_commits_with_their_changes_and_authors_with_their_accounts(lore, tmp_path):
    mine = {"GIT_AUTHOR_NAME": "Ana Lind", "GIT_AUTHOR_EMAIL": "ana@example.org"}
    repository = make_repository(tmp_path / "web", {"a.py": "1\n"})
    squashed = commit_files(repository, {"a.py": "2\n"}, "Second (#2)", **mine)
    git(repository, "checkout", "--quiet", "-b", "fix")
    inner = commit_files(repository, {"a.py": "3\n", ".mailmap": "Ana L. Lind <ana@example.org>\n"}, "Work", **mine)
    git(repository, "checkout", "--quiet", "main")
    message = "Merge pull request #3 from ana/fix\n\nWork"
    git(repository, "merge", "--quiet", "--no-ff", "--no-gpg-sign", "-m", message, "fix")
    lore.index.code(str(repository), project="acme/web")
    store = lore.app.store()
    assert store.value("SELECT login FROM commits WHERE sha = ?", inner) is None
    with store.transaction():
        project = save_project(store, Project(ProjectName("github", "github.com", "acme/web")), 1)
        changes = [
            Item(ItemKey("change", number), f"Change {number}", author="ana-x", state="merged") for number in (2, 3)
        ]
        save_items(store, project.id, changes)
    lore.index.code(str(repository), project="acme/web")  # nothing new in the clone: the items are
    rows = store.rows("SELECT m.sha, c.number, m.login FROM commits m JOIN commit_changes c ON c.commit_id = m.id")
    assert {row[0]: row[1:] for row in rows if row[0] in (squashed, inner)} == {
        squashed: (2, "ana-x"),
        inner: (3, "ana-x"),
    }
    assert sorted(row[1] for row in rows) == [2, 3, 3]
    sql = "SELECT proper_name, login, source FROM git_people WHERE mail = 'ana@example.org'"
    assert store.rows(sql) == [("Ana L. Lind", "ana-x", "changes")]


def test_who_joins_a_login_with_its_git_names_and_mails_only_members(lore, tmp_path):
    repository = make_repository(
        tmp_path / "web",
        {"src/a.py": "1\n", ".mailmap": "Ana Q. Lind <ana@home.example> <12+ana@users.noreply.github.com>\n"},
    )
    commit_files(repository, {"src/a.py": "2\n"}, GIT_AUTHOR_NAME="ana", GIT_AUTHOR_EMAIL="ana@home.example")
    commit_files(repository, {"src/a.py": "3\n"}, GIT_AUTHOR_NAME="Ben", GIT_AUTHOR_EMAIL="ben@home.example")
    lore.index.code(str(repository), project="acme/web")
    found = lore.people.who("ana")
    assert found.git_names == ("Ana Q. Lind", "ana")
    assert found.counts.commits == 2
    environ = {"FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin"}
    for include_internal, mails in ((True, ("ana@home.example",)), (False, ())):
        with make_history(
            environ, cwd=str(tmp_path), db=str(tmp_path / "lore.db"), viewer=Viewer(include_internal)
        ) as reader:
            assert reader.people.who("ana").mails == mails
    knowing = lore.people.who_knows("src/a.py")
    assert [(one.login, one.commits) for one in knowing.people] == [("ana", 2), ("Ben", 1)]
    assert knowing.people[0].last_active_at is not None
    assert lore.people.who_or_path("src/").kind == "folder"
    assert lore.people.who_or_path("Ben").login == "Ben"
    assert lore.people.who_or_path(".mailmap").path == ".mailmap"
    for unknown in ("src/none.py", "zoe"):
        with pytest.raises(NotFound):
            lore.people.who_or_path(unknown)
