"""Discussions: items on GitHub, threads below items on GitLab; listed, counted and fetched by the one word."""

import pytest

from forgelore.api import History
from support import GitHubLab, GitLabLab


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """A history with a project of either forge."""
    folder = tmp_path_factory.mktemp("both")
    path = str(folder / "both.db")
    with GitHubLab(folder) as github, GitLabLab(folder) as gitlab:
        github.populate(issues=4, changes=2, discussions=5)
        gitlab.populate(issues=8, changes=6)
        for lab in (github, gitlab):
            lab.app = lab.new_app(db=path)
            lab.sync()
        with History(github.app) as history:
            yield history


def test_a_thread_is_listed_by_its_first_line_with_the_ref_of_what_it_is_below(both):
    store = both.app.store()
    listed = both.list_items("discussions", sort="created", limit=1000)
    threads = [one for one in listed if one.kind == "thread"]
    assert {one.kind for one in listed} == {"thread", "discussion"}, "both kinds, and which is which"
    assert [one.created_at for one in listed] == sorted((one.created_at for one in listed), reverse=True)
    one = threads[0]
    key = one.url.rpartition("note_")[2]
    row = store.row("""
        SELECT n.author, n.body, i.number, i.kind
        FROM notes n
        JOIN items i ON i.id = n.item_id
        JOIN projects p ON p.id = i.project_id
        WHERE n.key = ? AND p.forge = 'gitlab'
    """, key)  # fmt: skip
    assert (one.author, one.title, one.number) == (row[0], row[1].strip().splitlines()[0][:200], row[2])
    assert one.ref == f"{one.project}{'!' if row[3] == 'change' else '#'}{row[2]}"
    assert (both.get(one.ref).number, both.get(one.ref).kind) == (row[2], row[3])
    assert {one.state for one in threads} >= {None}


def test_discussions_and_threads_are_sorted_together(both):
    for sort, key_of in (("number", lambda row: row.number), ("updated", lambda row: row.updated_at)):
        found = both.list_items("discussions", sort=sort, limit=1000)
        assert sorted(found, key=key_of, reverse=True) == found
        assert found[:7] == both.list_items("discussions", sort=sort, limit=7)


def test_internal_threads_are_no_discussions(both):
    store = both.app.store()
    before = {one.url for one in both.list_items("discussions", limit=1000)}
    with store.transaction():
        store.run("UPDATE notes SET is_internal = 1 WHERE thread_id % 2 = 0")
    try:
        after = both.list_items("discussions", limit=1000)
        hidden = {key for (key,) in store.rows("SELECT key FROM notes WHERE is_internal")}
        assert len(after) < len(before)
        assert not hidden & {(one.url or "").rpartition("note_")[2] for one in after if one.kind == "thread"}
    finally:
        with store.transaction():
            store.run("UPDATE notes SET is_internal = 0 WHERE thread_id % 2 = 0")


def test_a_count_of_discussions_says_how_many_are_threads(both):
    threads = sum(one.kind == "thread" for one in both.list_items("discussions", limit=1000))
    counted = both.count("discussions")
    assert (counted.total, counted.by["threads"]) == (5 + threads, threads)
    assert sum(counted.by.values()) == counted.total


@pytest.fixture
def typed(cli, gitlab):
    """A hand at the keyboard, beside a project of GitLab."""
    gitlab.populate(issues=5, changes=3)
    gitlab.server.tokens[gitlab.good_token].scopes = ("api",)

    def run(*words):
        return cli(*words, FORGELORE_REQUESTS_PER_SECOND="100", FORGELORE_EMBEDDER="none",
                   **gitlab.environ(gitlab.good_token))  # fmt: skip

    return run


def test_ingesting_discussions_of_gitlab_brings_threads_and_what_they_are_below(typed, gitlab):
    done = typed("ingest", "--type", "discussions", gitlab.name_text)
    assert done.code == 0, done.err
    listed = typed("list", "discussions", "--limit", "1000", "--json").data
    assert listed
    assert {one["kind"] for one in listed} == {"thread"}
    assert typed("count", "discussions").out == f"Discussions: {len(listed)}  ({len(listed)} threads)\n"
    assert typed("count", "issues", "--json").data["total"] == 5
    assert typed("count", "releases", "--json").data["total"] == 0, "nothing else was asked for"
    assert typed("list", "discussions").out.splitlines()[0].split()[0] == listed[0]["ref"]


def test_a_later_ingest_of_discussions_brings_a_new_thread(typed, gitlab):
    typed("ingest", "--type", "discussions", gitlab.name_text)
    gitlab.time.pass_by(600)
    gitlab.project.discuss("issue", 2, "a quokka sat on the cable")
    assert typed("ingest", "--type", "discussions", gitlab.name_text).code == 0
    newest = typed("list", "discussions", "--limit", "1", "--json").data[0]
    assert (newest["title"], newest["ref"], newest["kind"]) == ("a quokka sat on the cable", "#2", "thread")


def test_notes_of_people_and_of_the_forge_are_told_apart(typed, gitlab):
    typed("sync", gitlab.name_text)
    counted = typed("count", "notes", "--json").data
    assert set(counted["by"]) == {"people", "system"}
    assert counted["by"]["system"] > 0
    people, system = counted["by"]["people"], counted["by"]["system"]
    assert typed("count", "notes").out == f"Notes: {people + system}  ({people} user notes, {system} system notes)\n"
    none = typed("count", "notes", "--author", "nobody")
    assert none.out == "Notes: 0  (0 user notes, 0 system notes)\n"
