"""The contract of what a forge says: projects, items, notes, links, people, payloads. Equal rows write nothing."""

import pytest
from samples import HOUR, NOW, change, item, note, numbers, project, save, talk, thread, written_by

from forgelore.model import Detail, File, Involvement, ItemKey, Label, Link, Member, ProjectName
from forgelore.store.closings import load_roles
from forgelore.store.documents import next_items
from forgelore.store.filters import Filters
from forgelore.store.item_lists import (
    list_newest,
    load_backlinks,
    load_files_of,
    load_items,
    load_labels_of,
    load_links,
    load_public_item,
    load_threads,
)
from forgelore.store.items import (
    bury,
    load_fact,
    load_fetch_times,
    load_kinds,
    move_urls,
    replace_silent_reviews,
    save_details,
    save_items,
)
from forgelore.store.links import load_fix, load_original
from forgelore.store.notes import remember_fetch, save_thread_states
from forgelore.store.payloads import (
    keeps_payloads,
    load_payload,
    load_project_payload,
    row_hash,
    save_payloads,
    unpack_payload,
)
from forgelore.store.people import (
    PersonScope,
    find_spelling,
    list_writers,
    load_reviewers,
    load_token_owners,
    save_token_owner,
)
from forgelore.store.projects import find_by_last_part, find_project, list_projects, save_labels, save_members
from forgelore.words import NoteScope

ALL = Filters()
WEB = ProjectName("github", "github.com", "acme/web")


@pytest.fixture
def web(store):
    return project(store)


# Projects


def test_a_renamed_project_keeps_its_rows_and_answers_to_its_old_name(store):
    before = project(store, forge_id=7)
    save(store, before, item(1))
    assert project(store, "acme/site", forge_id=7) == before
    found = find_project(store, WEB)
    assert (found.id, found.name.path) == (before, "acme/site")
    assert numbers(store, Filters(project_ids=(before,))) == [1]


def test_a_project_that_takes_the_name_of_another_does_not_take_its_rows(store):
    first = project(store, forge_id=7)
    save(store, first, item(1))
    second = project(store, forge_id=8)
    assert second != first
    assert find_project(store, WEB).id == second
    assert numbers(store, Filters(project_ids=(second,))) == []
    assert numbers(store, Filters(project_ids=(first,))) == [1]


def test_a_project_is_found_whatever_the_capitals_and_by_its_last_part_while_one_has_it(store, web):
    assert find_project(store, ProjectName("github", "github.com", "Acme/WEB")).id == web
    assert find_by_last_part(store, "web").id == web
    project(store, "other/web")
    assert find_by_last_part(store, "web") is None


def test_projects_are_listed_by_host_and_path(store):
    for path in ("b/one", "a/two", "A/one"):
        project(store, path)
    assert [one.name.path for one in list_projects(store)] == ["A/one", "a/two", "b/one"]


def test_an_equal_project_and_equal_labels_and_members_write_nothing(store):
    def write():
        web = project(store, default_branch="main")
        save_labels(store, web, [Label("bug", "red"), Label("ui")], is_complete=True)
        save_members(store, web, [Member("Ana", "write")])

    write()
    assert written_by(store, write) == 0


def test_members_that_the_forge_no_longer_lists_are_forgotten(store, web):
    save_members(store, web, [Member("Ana", "write"), Member("tom", "admin")])
    save_members(store, web, [Member("Ana", "admin")])
    assert load_roles(store, web) == {"ana": "admin"}


# Items


def test_a_page_of_items_tells_what_is_new_what_changed_and_what_stayed(store, web):
    save(store, web, item(1), item(2))
    saved = save_items(store, web, [item(1), item(2, "Another title"), item(3)])
    assert [key.number for key in saved.new] == [3]
    assert [key.number for key in saved.changed] == [2]
    assert len(set(saved.ids.values())) == 3


def test_an_equal_page_writes_nothing(store, web):
    def write():
        save(store, web, item(1, body="see #2", labels=["bug"], assignees=["ana"]), change(2))

    write()
    assert written_by(store, write) == 0


def test_of_two_rows_with_one_number_the_last_counts(store, web):
    save(store, web, item(1, "First"), item(1, "Last"))
    assert load_public_item(store, save(store, web, item(1, "Last"))[1]).title == "Last"


def test_a_list_that_does_not_know_the_head_of_a_change_keeps_what_its_details_said(store, web):
    save(store, web, change(1))
    detail = Detail(ItemKey("change", 1), b"{1}", files=[File("a.py", "a.py")], head_sha="abc")
    assert save_details(store, web, [detail]) == 1
    save(store, web, change(1, "Another title"))
    assert load_fact(store, web, ItemKey("change", 1), "head_sha") == "abc"


def test_equal_details_write_nothing_and_new_ones_replace_the_files(store, web):
    (item_id,) = save(store, web, change(1)).values()
    key = ItemKey("change", 1)
    save_details(store, web, [Detail(key, b"{1}", files=[File("a.py", "a.py"), File("b.py", "b.py")])])
    again = Detail(key, b"{1}", files=[File("a.py", "a.py"), File("b.py", "b.py")])
    assert written_by(store, lambda: save_details(store, web, [again])) == 0
    save_details(store, web, [Detail(key, b"{2}", files=[File("c.py", "b.py", "renamed")])])
    assert load_files_of(store, [item_id]) == {item_id: [("c.py", "b.py", "renamed")]}


def test_labels_of_an_item_are_those_of_its_last_payload(store, web):
    save(store, web, item(1, labels=["bug", "ui"]))
    (item_id,) = save(store, web, item(1, labels=["ui", "wontfix"])).values()
    assert load_labels_of(store, [item_id]) == {item_id: ["ui", "wontfix"]}


def test_a_buried_item_leaves_every_list_and_comes_back_when_the_forge_shows_it_again(store, web):
    save(store, web, item(1), item(2))
    assert bury(store, web, ItemKey("issue", 1), NOW) == 1
    assert bury(store, web, ItemKey("issue", 1), NOW) == 0, "it was buried before"
    assert numbers(store, ALL) == [2]
    save(store, web, item(1))
    assert sorted(numbers(store, ALL)) == [1, 2]


def test_another_number_of_comments_asks_for_the_conversation_again(store, web):
    key = ItemKey("issue", 1)
    save(store, web, item(1, comment_count=2))
    remember_fetch(store, web, key, NOW, "etag")
    save(store, web, item(1, "Another title", comment_count=2))
    assert load_fetch_times(store, web, [key]) == {key: NOW}
    save(store, web, item(1, "Another title", comment_count=1))
    assert load_fetch_times(store, web, [key]) == {key: None}


def test_an_issue_that_became_a_change_is_known_as_a_change(store, web):
    save(store, web, item(1), change(1), item(2))
    bury(store, web, ItemKey("issue", 1), NOW)
    assert load_kinds(store, web, [1, 2, 3]) == {1: "change", 2: "issue"}


def test_pages_of_a_renamed_project_get_their_new_addresses_and_no_others(store, web):
    old, new = "https://github.com/acme/web", "https://github.com/acme/site"
    ids = save(store, web, item(1, url=f"{old}/issues/1"), item(2, url=f"{old}-two/issues/2"))
    move_urls(store, web, old, new)
    assert load_public_item(store, ids[1]).url == f"{new}/issues/1"
    assert load_public_item(store, ids[2]).url == f"{old}-two/issues/2"


@pytest.mark.parametrize("sort", ["updated", "created", "number", "comments"])
def test_the_order_of_a_list_is_total_so_that_no_page_repeats_or_misses_an_item(store, web, sort):
    save(store, web, *(item(number, comment_count=1) for number in (3, 1, 4, 2, 5)))
    newest, oldest = (numbers(store, ALL, sort=sort, is_ascending=up) for up in (False, True))
    assert newest == oldest[::-1] == [5, 4, 3, 2, 1]
    assert [numbers(store, ALL, sort=sort, limit=limit) for limit in (1, 2, 4)] == [[5], [5, 4], [5, 4, 3, 2]]


def test_items_of_one_moment_are_listed_newest_first_in_one_order(store, web):
    ids = save(store, web, *(item(number) for number in (1, 2, 3)), item(4, created_at=None))
    assert list_newest(store, web, "issue", limit=9) == [ids[3], ids[2], ids[1]]


def test_walking_by_id_meets_every_item_once(store, web):
    ids = save(store, web, *(item(number) for number in range(1, 8)))
    save(store, project(store, "acme/api"), item(1))
    met, last = [], 0
    while page := next_items(store, web, last, 3):
        met, last = met + page, page[-1]
    assert met == sorted(ids.values())


# Notes


def notes_of(store, item_id):
    return [one for thread in load_threads(store, [item_id])[item_id] for one in thread.notes]


def test_an_equal_conversation_writes_nothing(store, web):
    save(store, web, item(1))

    def write():
        talk(store, web, thread(1, note("c1", "like #2"), note("c2")), complete={ItemKey("issue", 1): NoteScope.ALL})

    write()
    assert written_by(store, write) == 0


def test_only_a_complete_conversation_shows_that_a_note_is_gone(store, web):
    (item_id,) = save(store, web, item(1)).values()
    talk(store, web, thread(1, note("c1"), note("c2")))
    talk(store, web, thread(1, note("c2")))
    assert len(notes_of(store, item_id)) == 2
    done = talk(store, web, thread(1, note("c2")), complete={ItemKey("issue", 1): NoteScope.ALL})
    assert (done.written, done.removed) == (0, 1)
    assert [one.key for one in notes_of(store, item_id)] == ["c2"]


def test_a_complete_part_of_a_conversation_says_nothing_of_the_others(store, web):
    (item_id,) = save(store, web, change(1)).values()
    stream = thread(1, note("c1"), kind="change")
    talk(store, web, stream, thread(1, note("r1", path="a.py"), kind="change", key="r1"))
    talk(store, web, complete={ItemKey("change", 1): NoteScope.LINE_COMMENTS})
    assert [one.key for one in notes_of(store, item_id)] == ["c1"]


def test_a_reader_who_is_shown_no_internal_note_does_not_delete_those_of_another(store, web):
    (item_id,) = save(store, web, item(1)).values()
    both = {ItemKey("issue", 1): NoteScope.ALL}
    hidden = [note("c2", is_internal=True), note("c3", is_internal=True)]
    talk(store, web, thread(1, note("c1"), *hidden, note("c4", is_system=True)), complete=both)
    talk(store, web, thread(1, note("c1")), complete=both)
    assert [one.key for one in notes_of(store, item_id)] == ["c1", "c2", "c3", "c4"]
    talk(store, web, thread(1, note("c1"), hidden[0]), complete=both)
    assert [one.key for one in notes_of(store, item_id)] == ["c1", "c2", "c4"]


def test_notes_of_unknown_items_are_left_out_and_named(store, web):
    save(store, web, item(1))
    done = talk(store, web, thread(1, note("c1")), thread(9, note("c2")))
    assert (done.written, done.unknown) == (1, [ItemKey("issue", 9)])


def test_notes_of_one_moment_keep_the_order_of_their_numbers(store, web):
    (item_id,) = save(store, web, item(1)).values()
    talk(store, web, thread(1, note("c10"), note("c9"), note("c11")))
    assert [one.key for one in notes_of(store, item_id)] == ["c9", "c10", "c11"]


def test_a_stream_of_comments_changes_no_resolution(store, web):
    (item_id,) = save(store, web, change(1)).values()
    key = ItemKey("change", 1)
    talk(store, web, thread(1, note("r1"), kind="change", key="r1"))
    state = thread(1, kind="change", key="r1", is_resolved=True, resolved_by="ana")
    assert save_thread_states(store, web, [state]) == 1
    assert save_thread_states(store, web, [state]) == 0
    talk(store, web, thread(1, note("r1"), kind="change", key="r1"))
    assert load_threads(store, [item_id])[item_id][0].resolved_by == "ana"
    talk(store, web, thread(1, note("r1"), kind="change", key="r1"), complete={key: NoteScope.ALL})
    assert load_threads(store, [item_id])[item_id][0].resolved_by is None


# Links


def links_of(store, item_id):
    return load_links(store, load_items(store, [item_id])[item_id])


def test_a_note_that_changes_says_only_what_it_says_now(store, web):
    ids = save(store, web, item(1), item(2), item(3))
    talk(store, web, thread(1, note("c1", "Duplicate of #2")))
    talk(store, web, thread(1, note("c1", "see #3")))
    assert [link[:4] for link in links_of(store, ids[1])] == [("mentions", "", None, 3)]


def test_no_item_links_to_itself_and_a_link_into_the_project_names_no_project(store, web):
    ids = save(store, web, item(1, body="as in #1, Acme/Web#2, https://github.com/acme/web/issues/2 and acme/api#2"))
    assert {link[1:4] for link in links_of(store, ids[1])} == {
        ("", None, 2), ("", "issue", 2), ("acme/api", None, 2),
    }  # fmt: skip


def test_backlinks_are_of_live_items_each_once(store, web):
    ids = save(store, web, item(1), item(2, body="#1 and again #1"), item(3, body="#1"), item(4))
    bury(store, web, ItemKey("issue", 3), NOW)
    one = load_items(store, [ids[1]])[ids[1]]
    assert load_backlinks(store, one) == (("mentions", "issue", 2, "It fails", "#2"),)


def test_the_fix_of_an_issue_is_the_merged_change_that_closed_it_last(store, web):
    merged = {"state": "merged", "body": "Fixes #1"}
    ids = save(
        store, web, item(1, state="closed"), change(2, merged_at=NOW, **merged), change(3, merged_at=NOW + 1, **merged),
        change(4, body="Fixes #1"),
    )  # fmt: skip
    assert load_fix(store, ids[1]).number == 3
    assert load_fix(store, ids[2]) is None


def test_what_people_call_a_duplicate_names_the_original_only_where_the_forge_marked_it(store, web):
    ids = save(store, web, item(1), item(2, body="Duplicate of #1"))
    assert load_original(store, ids[2], is_marked=False) is None
    assert load_original(store, ids[2], is_marked=True).number == 1
    save(store, web, item(2, links=[Link("duplicate_of", 1, "issue")]))
    assert load_original(store, ids[2], is_marked=False).number == 1


# People


def test_a_login_is_found_whatever_its_capitals_and_as_it_is_mostly_spelled(store, web):
    save(store, web, item(1, author="Ana"), item(2, author="Ana"), item(3, author="@ana"), item(4, assignees=["Bob"]))
    assert find_spelling(store, PersonScope("ANA")) == "Ana"
    assert find_spelling(store, PersonScope("bob")) == "Bob"
    assert find_spelling(store, PersonScope("eve")) is None


def test_writers_are_listed_by_how_much_they_wrote(store, web):
    save(store, web, item(1, author="ana"))
    talk(store, web, thread(1, note("c1"), note("c2"), note("c3", author="bot", is_system=True)))
    assert list_writers(store) == ["tom", "ana"]


def test_a_remark_takes_back_no_approval_and_a_dismissal_does(store, web):
    (item_id,) = save(store, web, change(1, author="ana")).values()

    def reviewed(*verdicts):
        reviews = [Involvement("tom", "reviewed", one, "review", NOW + at) for at, one in enumerate(verdicts)]
        replace_silent_reviews(store, web, item_id, reviews)
        (found,) = load_reviewers(store, item_id)
        return found.verdict

    assert reviewed("approved", "commented") == "approved"
    assert reviewed("approved", "dismissed") == "dismissed"
    assert reviewed("commented") == "commented"


def test_the_owner_of_a_token_is_whom_its_host_named_last(store):
    for at, (host, login) in enumerate([("github.com", "ana"), ("codeberg.org", "Ana2"), ("github.com", "bea")]):
        save_token_owner(store, host, login, NOW + at)
    assert load_token_owners(store, ["github.com", "codeberg.org"]) == ["bea", "Ana2"]
    assert load_token_owners(store, ["gitlab.com"]) == []


# Payloads


def test_a_payload_comes_back_as_it_was_and_goes_when_a_newer_one_replaces_it(store, web):
    first, second = item(1), item(1, "Another title")
    save(store, web, first)
    assert load_payload(store, web, row_hash(first.raw)) == first.raw
    save(store, web, second)
    assert load_payload(store, web, row_hash(first.raw)) is None
    assert load_payload(store, web, row_hash(second.raw)) == second.raw


def test_a_payload_keeps_no_token(store, web):
    raw = b'{"name": "web", "runners_token": "s3cret"}'
    save_payloads(store, web, "project", [(row_hash(raw), raw)])
    assert load_payload(store, web, row_hash(raw)) == b'{"name": "web", "runners_token": null}'


def test_a_payload_that_is_not_what_its_hash_says_is_none(store, web):
    raw = b'{"number": 1}'
    save_payloads(store, web, "item", [(b"x" * 16, raw)])
    assert load_payload(store, web, b"x" * 16) is None
    assert unpack_payload(row_hash(raw), "of tomorrow", b"") is None


def test_an_import_keeps_no_answers_of_items(store, web):
    save_items(store, web, [item(1)], keep_raw=False)
    assert load_project_payload(store, web)
    assert not keeps_payloads(store, web)
    save_items(store, web, [item(2)])
    assert keeps_payloads(store, web)


def test_what_happened_an_hour_apart_is_listed_newest_first(store, web):
    save(store, web, item(1, updated_at=NOW + HOUR), item(2, updated_at=NOW), item(3, updated_at=None))
    assert numbers(store, ALL, sort="updated") == [1, 3, 2]
