"""The contract of code: files and their chunks, commits, and what is known of a path."""

import pytest
from samples import NOW, change, item, note, project, save, talk, thread, written_by

from forgelore.model import Detail, File, Involvement, ItemKey
from forgelore.records import CodeChunk, Commit, CommitAuthor, GitName
from forgelore.store.code import (
    CodeFile,
    CodeTree,
    allow_files,
    count_files,
    each_file,
    find_files_at,
    find_loose_parts,
    forget_all_code,
    forget_left_out,
    list_first_chunks,
    list_newest_commits,
    load_chunks,
    load_code_hits,
    load_code_tree,
    load_file,
    load_known_files,
    load_left_out,
    move_file,
    remove_files,
    save_code_tree,
    save_file,
    save_left_out,
)
from forgelore.store.commits import (
    complete_commits,
    count_commits,
    find_commits,
    list_commits_of,
    list_incomplete,
    load_commit_paths,
    load_commits,
    load_git_names,
    load_renames_of,
    load_shas,
    remove_commits,
    save_commit_changes,
    save_commits,
    save_git_people,
)
from forgelore.store.filters import Filters
from forgelore.store.items import replace_silent_reviews, save_details
from forgelore.store.paths import (
    count_changes_by_path,
    list_closed_by,
    list_closers,
    list_path_people,
    list_threads_on,
    list_touching_commits,
    list_touching_items,
    list_tree_paths,
    load_known_paths,
    load_last_touch,
    load_paths_of,
    load_renames,
    load_weights,
)
from forgelore.viewer import Viewer

ONLY_SQLITE = "code and commits have no words on PostgreSQL yet, and index-code is refused there"

TEXT = "def load():\n    pass\n\ndef save():\n    pass\n"
CHUNKS = [CodeChunk(1, 2, "load", ("load",)), CodeChunk(4, 5, "save", ())]
NOBODY = Viewer(includes_internal=True, project_ids=())


@pytest.fixture
def web(store):
    return project(store)


def file(path="src/a.py", text=TEXT, blob="b1", language="python", chunks=CHUNKS):
    return CodeFile(path, blob, language, len(text), text, chunks)


def commit(sha, *paths, at=NOW, **fields):
    named = {"author": "Ana", "login": None, "message": f"Mend {sha}", "is_merge": False}
    return Commit(sha=sha, authored_at=at, committed_at=at, paths=paths, **(named | fields))


def files_of(store, project_id, number, *files):
    save_details(store, project_id, [Detail(ItemKey("change", number), repr(files).encode(), files=list(files))])


# Files


def test_a_file_is_written_in_place_of_what_stood_at_its_path(store, web):
    save_file(store, web, file())
    save_file(store, web, file(text="def load():\n", blob="b2", chunks=CHUNKS[:1]))
    ((path, known),) = load_known_files(store, web).items()
    assert (path, known.blob) == ("src/a.py", "b2")
    assert load_chunks(store, known.id) == CHUNKS[:1]
    assert [one.text for one in each_file(store)] == ["def load():\n"]
    assert find_loose_parts(store) == []


def test_a_file_that_moves_keeps_its_id_and_its_chunks(store, web):
    save_file(store, web, file())
    before = load_known_files(store, web)["src/a.py"].id
    move_file(store, before, "lib/b.py")
    assert load_known_files(store, web)["lib/b.py"].id == before
    assert load_chunks(store, before) == CHUNKS
    remove_files(store, [before])
    assert (load_known_files(store, web), find_loose_parts(store)) == ({}, [])


def test_a_found_chunk_has_its_lines_its_file_and_the_commit_of_its_tree(store, web):
    save_code_tree(store, web, CodeTree("c1", "c1", "r1"), NOW)
    save_code_tree(store, web, CodeTree("c2", "c2", "r1"), NOW)
    save_file(store, web, file())
    hits = load_code_hits(store, range(1, 9))
    assert [(one.lines, one.tree_commit) for one in hits.values()] == [
        (("def load():", "    pass"), "c2"), (("def save():", "    pass"), "c2"),
    ]  # fmt: skip
    assert load_code_tree(store, web).tree_commit == "c2"
    assert load_code_tree(store, project(store, "acme/api")) == CodeTree()


def test_filters_of_code_are_projects_and_paths_and_nothing_has_an_author(store, web):
    for path in ("src/b.py", "src/a.py", "docs/a.md"):
        save_file(store, web, file(path))
    first = {
        filters: [hit.path for hit in load_code_hits(store, list_first_chunks(store, filters, 9)).values()]
        for filters in (Filters(), Filters(paths=("src/",)), Filters(authors=("ana",)))
    }
    assert [sorted(paths) for paths in first.values()] == [
        ["docs/a.md", "src/a.py", "src/b.py"],
        ["src/a.py", "src/b.py"],
        [],
    ]
    assert allow_files(store, Filters()) == ("", ())
    assert len(list_first_chunks(store, Filters(), 1)) == 1


def test_languages_are_counted_most_first_of_a_project_or_all(store, web):
    for path, language in (("a.py", "python"), ("b.rs", "rust"), ("c.py", "python"), ("d.go", "go")):
        save_file(store, web, file(path, language=language))
    assert list(count_files(store).items()) == [("python", 2), ("go", 1), ("rust", 1)]
    assert count_files(store, project(store, "acme/api")) == {}


def test_files_that_are_left_out_are_remembered_with_the_reason(store, web):
    save_left_out(store, web, [("a.bin", "b1", "binary"), ("b.py", "b2", "too large")])
    save_left_out(store, web, [("b.py", "b3", "generated")])
    assert load_left_out(store, web) == {"a.bin": ("b1", "binary"), "b.py": ("b3", "generated")}
    save_file(store, web, file())
    assert sorted(list_tree_paths(store, web, "")) == ["a.bin", "b.py", "src/a.py"]
    assert list_tree_paths(store, web, "src/") == ["src/a.py"]
    forget_left_out(store, web, ["a.bin"])
    assert list(load_left_out(store, web)) == ["b.py"]


def test_code_and_commits_of_a_project_that_is_not_shown_are_not_found(store, web):
    save_file(store, web, file())
    save_commits(store, web, [commit("aa", "src/a.py")])
    (file_id,), ((commit_id, *_),) = find_files_at(store, "src/a.py", None), find_commits(store, "aa", None)
    assert load_file(store, file_id).body == TEXT
    hidden = store.seen_by(NOBODY)
    assert find_files_at(hidden, "src/a.py", None) == []
    assert load_file(hidden, file_id) is None
    assert list_first_chunks(hidden, Filters(), 9) == []
    assert find_commits(hidden, "aa", None) == []
    assert load_commits(hidden, [commit_id]) == {}
    assert list_newest_commits(hidden, Filters(), 9) == []


# Commits


def test_a_commit_that_is_known_is_not_written_again(store, web):
    def write():
        save_commits(store, web, [commit("aa", "a.py"), commit("bb", "b.py")])

    write()
    assert written_by(store, write) == 0
    assert (load_shas(store, web), count_commits(store, web)) == ({"aa", "bb"}, 2)
    assert list_incomplete(store, web) == []


def test_a_commit_is_found_by_how_its_name_begins(store, web):
    save_commits(store, web, [commit("abc1"), commit("abd2"), commit("b")])
    assert [one.sha for one in find_commits(store, "ab", None)] == ["abc1", "abd2"]
    assert [one.sha for one in find_commits(store, "ab", web, limit=1)] == ["abc1"]
    assert find_commits(store, "", None) == []


def test_what_an_earlier_version_left_out_of_a_commit_is_added(store, web):
    save_commits(store, web, [commit("aa", "b.py")])
    ((commit_id, *_),) = find_commits(store, "aa", None)
    complete_commits(store, web, [commit("aa", renames=[("a.py", "b.py")], parents=["00", "11"], mail="a@x.io")])
    assert load_renames_of(store, commit_id) == {"b.py": "a.py"}
    assert load_commits(store, [commit_id])[commit_id].parents == "00 11"


def test_commits_that_left_the_history_go_with_all_they_had(store, web):
    save_commits(store, web, [commit("aa", "a.py", renames=[("z.py", "a.py")]), commit("bb", "a.py")])
    remove_commits(store, web, ["aa", "zz"])
    assert load_shas(store, web) == {"bb"}
    assert find_loose_parts(store) == []
    assert load_renames(store, web, "a.py", is_later=False) == []


def test_commits_are_listed_newest_first_and_oldest_first_in_a_total_order(store, web):
    save_commits(store, web, [commit("aa"), commit("bb"), commit("cc", at=NOW + 1)])
    found = [list_newest_commits(store, Filters(), 9, is_ascending=up) for up in (False, True)]
    names = [[load_commits(store, [one])[one].sha for one in ids] for ids in found]
    assert names == [["cc", "aa", "bb"], ["aa", "bb", "cc"]]


def test_the_changes_of_commits_are_those_that_were_worked_out_last(store, web):
    save_commits(store, web, [commit("aa"), commit("bb", at=NOW + 1)])
    first, second = (find_commits(store, one, None)[0].id for one in ("aa", "bb"))
    save_commit_changes(store, web, {first: 5, second: 5})
    assert list_commits_of(store, web, 5, 9) == [first, second]
    assert written_by(store, lambda: save_commit_changes(store, web, {first: 5, second: 5})) == 0
    save_commit_changes(store, web, {second: 6})
    assert (list_commits_of(store, web, 5, 9), list_commits_of(store, web, 6, 9)) == ([], [second])


def test_authors_of_commits_get_their_logins_and_lose_them(store, web):
    save_commits(store, web, [commit("aa", mail="a@x.io"), commit("bb", mail="b@x.io")])
    name = GitName("Ana", "a@x.io")
    save_git_people(store, web, {name: CommitAuthor("Ana Lind", "ana", "changes")})
    commits = load_commits(store, [one.id for one in find_commits(store, "aa", None)])
    assert [one.login for one in commits.values()] == ["ana"]
    assert load_git_names(store, "ANA", []) == [GitName("Ana Lind", "a@x.io")]
    save_git_people(store, web, {})
    commits = load_commits(store, commits)
    assert [one.login for one in commits.values()] == [None]


def test_forgetting_code_leaves_the_history_of_the_forge(store, web):
    (item_id,) = save(store, web, item(1)).values()
    save_file(store, web, file())
    save_commits(store, web, [commit("aa", "a.py")])
    forget_all_code(store)
    assert (count_files(store), count_commits(store, web)) == ({}, 0)
    assert load_weights(store, [item_id])


# Paths


def test_changes_that_touch_a_path_are_found_by_its_old_name_too_newest_first(store, web):
    ids = save(store, web, change(1), change(2, created_at=NOW + 1), change(3))
    files_of(store, web, 1, File("src/b.py", "src/a.py", "renamed"))
    files_of(store, web, 2, File("src/a.py", "src/a.py"))
    assert list_touching_items(store, web, ("src/a.py",), 9) == [ids[2], ids[1]]
    assert list_touching_items(store, web, ("src/b.py",), 9) == [ids[1]]
    assert list_touching_items(store, web, ("src/",), 1) == [ids[2]]
    assert load_paths_of(store, web, ids.values()) == {ids[1]: {"src/a.py", "src/b.py"}, ids[2]: {"src/a.py"}}
    assert count_changes_by_path(store, web, ["src/a.py", "src/z.py"]) == {"src/a.py": 2, "src/z.py": 0}


def test_names_of_a_file_are_those_that_merged_changes_and_commits_say(store, web):
    save(store, web, change(1, state="merged"), change(2))
    files_of(store, web, 1, File("b.py", "a.py", "renamed"))
    files_of(store, web, 2, File("b.py", "x.py", "renamed"))
    save_commits(store, web, [commit("aa", "b.py", renames=[("z.py", "b.py")])])
    assert load_renames(store, web, "b.py", is_later=False) == ["a.py", "z.py"]
    assert load_renames(store, web, "a.py", is_later=True) == ["b.py"]


def test_people_of_a_path_are_those_who_did_most_a_change_counting_twice(store, web):
    ids = save(store, web, change(1, author="ana"), change(2, author="tom", state="closed"))
    for number in (1, 2):
        files_of(store, web, number, File("a.py", "a.py"))
    reviews = [Involvement(name, "reviewed", "approved", "review", NOW) for name in ("bea", "ana")]
    replace_silent_reviews(store, web, ids[1], reviews)
    save_commits(store, web, [commit("aa", "a.py", login="bea"), commit("bb", "a.py", login="x", is_merge=True)])
    found = list_path_people(store, web, ("a.py",), 0, 9)
    assert [one[:4] for one in found] == [("ana", 1, 0, 0), ("bea", 0, 1, 1)]
    assert list_path_people(store, web, ("a.py",), NOW + 1, 9) == []


def test_commits_and_threads_on_a_path_are_found(store, web):
    (item_id,) = save(store, web, change(1)).values()
    talk(store, web, thread(1, note("r1", path="a.py"), kind="change", key="r1"))
    save_commits(store, web, [commit("aa", "a.py", at=NOW), commit("bb", "a.py", at=NOW + 1), commit("cc", "b.py")])
    assert list_threads_on(store, web, ("a.py",), 9) == [(item_id, "r1")]
    newest, older = list_touching_commits(store, web, ("a.py",), 9)
    assert [load_commits(store, [one])[one].sha for one in (newest, older)] == ["bb", "aa"]
    assert load_commit_paths(store, newest) == ["a.py"]
    assert load_last_touch(store, web, "a.py") == ("Ana", NOW + 1)
    assert sorted(load_known_paths(store, web, ("*.py",), 9)) == ["a.py", "b.py"]


def test_a_change_weighs_what_others_say_of_it_and_of_what_it_closes(store, web):
    ids = save(
        store, web, item(1, author="tom"), change(2, author="ana", body="Fixes #1"), item(3, author="bea", body="#2"),
        item(4, author="ana", body="#2"),
    )  # fmt: skip
    talk(store, web, thread(1, note("c1", author="eve"), note("c2", author="ana"), note("c3", author="eve")))
    assert load_weights(store, [ids[2]])[ids[2]] == (ids[2], 1, 1, 0)
    assert list_closed_by(store, [ids[2]], 9) == [ids[1]]


def test_who_closes_the_items_of_others_with_a_comment_is_learned(store, web):
    for number, author in ((1, "ana"), (2, "bea"), (3, "tom")):
        save(store, web, item(number, author=author, state="closed", closed_at=NOW + 5))
        talk(store, web, thread(number, note(f"c{number}", created_at=NOW + 4)))
    assert list_closers(store, web, authors=2, within_ms=10) == ["tom"]
    assert list_closers(store, web, authors=3, within_ms=10) == [], "one's own item shows no right"
