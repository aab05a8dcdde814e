"""The contract of reading: documents, filters, hits, exports, and what a viewer may not see, in every way to read it."""

import pytest
from samples import HOUR, NOW, change, index, item, note, numbers, project, save, talk, thread, written_by

from forgelore.errors import NotFound
from forgelore.model import Detail, File, ItemKey, Link
from forgelore.store.ask import begin_session, list_sessions
from forgelore.store.documents import (
    count_allowed,
    count_texts,
    load_document_places,
    load_sorted,
    remove_documents,
)
from forgelore.store.filters import Filters, build_allowed
from forgelore.store.hits import (
    load_document_of,
    load_hits,
    load_item_documents,
    load_known,
    load_own_texts,
    load_permitted,
    load_subject,
    load_texts,
)
from forgelore.store.item_lists import (
    count_by_group,
    count_discussion_threads,
    count_internal,
    count_live,
    count_live_by_kind,
    find_items,
    find_live,
    load_backlinks,
    load_discussion_threads,
    load_items,
    load_listed,
    load_stated_links,
    load_threads,
    next_exported,
)
from forgelore.store.items import save_details
from forgelore.store.jobs import count_jobs, count_waiting, fail_job, finish_job, load_failures, ready_jobs
from forgelore.store.known_values import count_labels, has_path, has_value, list_values
from forgelore.store.notes import count_notes, find_miscounted, load_conversation, sum_comment_counts
from forgelore.store.paths import list_threads_on, list_touching_items, load_known_paths
from forgelore.store.people import PersonScope, find_spelling, list_writers
from forgelore.store.person_items import count_mentions, count_written, load_assigned, load_mentioned, load_written
from forgelore.store.person_items import count_notes as count_notes_by
from forgelore.store.projects import find_named, find_project, has_other_projects, list_projects
from forgelore.store.stats import count_kinds, load_queues
from forgelore.text.items import StoredItem
from forgelore.text.refs import Hosts, Ref
from forgelore.viewer import EVERYTHING, PUBLIC, Viewer
from forgelore.words import JobKind, ProjectName

ALL = Filters()


@pytest.fixture
def web(store):
    return project(store)


# Documents


def test_documents_that_stayed_the_same_cost_no_write(store, web):
    (item_id,) = save(store, web, item(1, body="Lost", labels=["bug"])).values()
    talk(store, web, thread(1, note("c1")))
    assert index(store, item_id) == [(2, 0, 0, 0)]
    assert written_by(store, lambda: index(store, item_id)) == 0
    assert index(store, item_id) == [(0, 0, 2, 0)]


def test_a_new_label_touches_a_document_and_a_new_text_has_it_embedded_again(store, web):
    (item_id,) = save(store, web, item(1)).values()
    index(store, item_id)
    for kind in (JobKind.DOCUMENT, JobKind.EMBED):
        for job in ready_jobs(store, web, kind, NOW + HOUR, 100):
            finish_job(store, web, job)
    save(store, web, item(1, labels=["bug"]))
    assert (index(store, item_id), count_waiting(store, JobKind.EMBED)) == ([(0, 1, 0, 0)], 0)
    save(store, web, item(1, "Another title", labels=["bug"]))
    assert (index(store, item_id), count_waiting(store, JobKind.EMBED)) == ([(0, 1, 0, 0)], 1)
    (document,) = load_item_documents(store, [item_id]).values()
    assert load_texts(store, [document])[document][0] == "Another title"


def test_a_document_that_goes_takes_its_text_and_its_waiting_work_along(store, web):
    (item_id,) = save(store, web, item(1)).values()
    index(store, item_id)
    remove_documents(store, web, load_item_documents(store, [item_id]).values())
    assert (count_texts(store), count_waiting(store, JobKind.EMBED)) == (0, 0)


def test_what_the_forge_says_and_what_only_members_read_is_in_no_document(store, web):
    (item_id,) = save(store, web, item(1)).values()
    talk(store, web, thread(1, note("c1", "closed this", is_system=True), note("c2", "secret", is_internal=True)))
    assert index(store, item_id) == [(1, 0, 0, 0)]


def test_each_item_is_listed_once_by_its_own_document_in_a_total_order(store, web):
    ids = save(store, web, *(item(number) for number in (2, 3, 1)))
    talk(store, web, thread(1, note("c1")))
    index(store, *ids.values())
    newest, oldest = (load_sorted(store, None, "created", is_ascending=up, limit=9) for up in (False, True))
    assert newest == oldest[::-1] == [load_item_documents(store, [ids[number]])[ids[number]] for number in (3, 2, 1)]
    assert count_allowed(store, None) == 3


# Filters: one row of the table is one question, asked of lists, of counts and of documents


@pytest.fixture
def tracker(store, web):
    shared = {"milestone": "v1", "assignees": ["Tom"], "comment_count": 3}
    ids = save(
        store, web,
        item(1, author="ana", labels=["bug", "ui"], **shared),
        item(2, author="@ana", labels=["Bug"], state="closed", created_at=NOW + HOUR, body="ask @bea"),
        item(3, author="tom", created_at=NOW + 2 * HOUR, updated_at=NOW + 9 * HOUR),
        change(4, author="bea", state="merged", created_at=None),
    )  # fmt: skip
    talk(store, web, thread(3, note("c1", author="ana"), note("c2", "@eve", author="eve", is_internal=True)))
    files = [File("src/new.py", "src/old.py", "renamed"), File("docs/a.md", "docs/a.md")]
    save_details(store, web, [Detail(ItemKey("change", 4), b"{}", files=files)])
    index(store, *ids.values())
    return store


ASKED = {
    "nothing": (ALL, [1, 2, 3, 4]),
    "a kind": (Filters(types=("change",)), [4]),
    "one of two kinds": (Filters(types=("issue", "change")), [1, 2, 3, 4]),
    "states": (Filters(states=("closed", "merged")), [2, 4]),
    "an author, with or without an @": (Filters(authors=("ANA",)), [1, 2]),
    "all of several labels": (Filters(labels=("bug", "ui")), [1]),
    "one of several labels": (Filters(any_labels=(("ui", "bug"),)), [1, 2]),
    "created since": (Filters(after=NOW + HOUR), [2, 3]),
    "created before": (Filters(before=NOW + HOUR), [1]),
    "updated since, or created": (Filters(updated_after=NOW + HOUR), [2, 3]),
    "updated before": (Filters(updated_before=NOW + 9 * HOUR), [1, 2]),
    "a milestone": (Filters(milestones=("V1",)), [1]),
    "an assignee": (Filters(assignees=("@tom",)), [1]),
    "many comments": (Filters(min_comments=2), [1]),
    "few comments, counted where the forge did not": (Filters(min_comments=1, max_comments=2), [3]),
    "a commenter": (Filters(commenters=("ana",)), [3]),
    "somebody who is mentioned": (Filters(mentions=("bea",)), [2]),
    "somebody who has to do with it": (Filters(involves=("tom",)), [1, 3]),
    "no label": (Filters(missing=("label",)), [3, 4]),
    "no milestone and no assignee": (Filters(missing=("milestone", "assignee")), [2, 3, 4]),
    "a file": (Filters(paths=("docs/a.md",)), [4]),
    "the old name of a file": (Filters(paths=("src/old.py",)), [4]),
    "all below a folder": (Filters(paths=("src/",)), [4]),
    "a glob": (Filters(paths=("**/*.md",)), [4]),
    "no such file": (Filters(paths=("src",)), []),
    "not some items": (Filters(authors=("ana",), without=(Filters(labels=("ui",)),)), [2]),
    "neither of two": (Filters(without=(Filters(authors=("ana",)), Filters(types=("change",)))), [3]),
    "an unknown project": (Filters(project_ids=(99,)), []),
}


@pytest.mark.parametrize("name", ASKED)
def test_a_filter_means_the_same_to_a_list_a_count_and_documents(tracker, name):
    filters, expected = ASKED[name]
    assert sorted(numbers(tracker, filters)) == expected
    assert sum(count_by_group(tracker, "items", filters).values()) == len(expected)
    allowed = build_allowed(tracker, filters)
    if "comments" not in name:  # those are counted for lists alone where the forge did not
        assert count_allowed(tracker, allowed) == len(expected)


def test_a_public_view_does_not_tell_who_wrote_or_is_named_internally(tracker):
    public = tracker.seen_by(PUBLIC)
    for filters in (Filters(commenters=("eve",)), Filters(involves=("eve",)), Filters(mentions=("eve",))):
        assert (numbers(tracker, filters), numbers(public, filters)) == ([3], [])
        assert 3 in numbers(public, Filters(without=(filters,))), "what is left out would tell it, too"


# Viewers


SECRET = "key ends in 77"


@pytest.fixture
def hidden(store):
    """A project with one confidential issue, about everything that can be asked; (store, project id, item id)."""
    web = project(store)
    said = item(
        1, "It leaks", body=f"{SECRET}, cc @bea", author="eve", assignees=["bea"], labels=["security"], milestone="v9",
        is_confidential=True, links=[Link("closes", 2, "issue")],
    )  # fmt: skip
    ids = save(store, web, said)
    talk(store, web, thread(1, note("c1", "@bea look", author="mallory", path="src/key.py"), key="t1"))
    files = [File("src/key.py", "src/key.py")]
    save_details(store, web, [Detail(ItemKey("issue", 1), b"{}", files=files)])
    index(store, ids[1])
    fail_job(store, web, ready_jobs(store, web, EMBED, NOW, 1)[0], "503", NOW)
    begin_session(store, "who knows?", "m", {"include_internal": True}, NOW)
    return store, web, ids[1]


SECOND = StoredItem(2, 1, "github", "github.com", "acme/web", "issue", 2, "")
BEA, EVE, MALLORY = PersonScope("bea"), PersonScope("eve"), PersonScope("mallory")
EMBED = JobKind.EMBED
# What is asked, of whom nothing may be learned: of a confidential item, and of a project that is not shown.
WAYS = {
    "list": lambda store, web, _: load_listed(store, ALL, sort="number", limit=9),
    "count": lambda store, web, _: count_by_group(store, "items", ALL),
    "count notes": lambda store, web, _: count_by_group(store, "notes", ALL),
    "count threads": lambda store, web, _: count_by_group(store, "threads", ALL),
    "count live": lambda store, web, _: count_live(store),
    "count live of a project": lambda store, web, _: count_live_by_kind(store, web),
    "find by columns": lambda store, web, _: find_items(store, {"number": 1}),
    "find live": lambda store, web, _: find_live(store, web, "issue", 1),
    "find by number": lambda store, web, _: load_known(store, Ref("", 1, "issue")),
    "documents": lambda store, web, _: count_allowed(store, build_allowed(store, ALL)),
    "document of an item": lambda store, web, item_id: load_document_of(store, item_id),
    "sorted documents": lambda store, web, _: load_sorted(
        store, build_allowed(store, ALL), "created", is_ascending=True, limit=9
    ),
    "counts of documents": lambda store, web, _: count_kinds(store),
    "backlinks": lambda store, web, _: load_backlinks(store, SECOND._replace(project_id=web)),
    "notes of a project": lambda store, web, _: count_notes(store, web),
    "labels": lambda store, web, _: count_labels(store, None),
    "values of labels": lambda store, web, _: list_values(store, "label"),
    "values of milestones": lambda store, web, _: list_values(store, "milestone"),
    "values of assignees": lambda store, web, _: list_values(store, "assignee"),
    "values of authors": lambda store, web, _: list_values(store, "author"),
    "a label": lambda store, web, _: has_value(store, "label", "security"),
    "an author": lambda store, web, _: has_value(store, "author", "mallory"),
    "a person": lambda store, web, _: has_value(store, "person", "bea"),
    "a path": lambda store, web, _: has_path(store, "src/key.py"),
    "paths": lambda store, web, _: load_known_paths(store, web, ("src/",), 9),
    "items that touch a path": lambda store, web, _: list_touching_items(store, web, ("src/",), 9),
    "threads on a path": lambda store, web, _: list_threads_on(store, web, ("src/",), 9),
    "a login": lambda store, web, _: [find_spelling(store, one) for one in (BEA, EVE, MALLORY) if find_spelling(store, one)],
    "writers": lambda store, web, _: list_writers(store),
    "assigned work": lambda store, web, _: load_assigned(store, BEA),
    "mentions": lambda store, web, _: load_mentioned(store, BEA),
    "number of mentions": lambda store, web, _: count_mentions(store, BEA),
    "written items": lambda store, web, _: load_written(store, EVE),
    "number of written items": lambda store, web, _: count_written(store, EVE),
    "number of written notes": lambda store, web, _: count_notes_by(store, MALLORY)[0],
    "waiting work": lambda store, web, _: count_waiting(store, EMBED),
    "jobs": lambda store, web, _: count_jobs(store, web),
    "failures": lambda store, web, _: load_failures(store, web, 9),
    "queues": lambda store, web, _: [one for one in load_queues(store).values() if one.waiting],
    "transcripts": lambda store, web, _: list_sessions(store),
}  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_a_public_view_learns_nothing_of_a_confidential_item(hidden, way):
    store, *place = hidden
    assert not WAYS[way](store.seen_by(PUBLIC), *place)


@pytest.mark.parametrize("way", WAYS)
def test_a_view_of_other_projects_learns_nothing_of_this_one(hidden, way):
    store, *place = hidden
    assert not WAYS[way](store.seen_by(Viewer(includes_internal=True, project_ids=(99,))), *place)
    assert not WAYS[way](store.seen_by(Viewer(includes_internal=True, project_ids=())), *place)


@pytest.mark.parametrize("way", WAYS)
def test_who_may_see_everything_is_answered_in_every_way(hidden, way):
    """Or the tests above would hold of a store that is empty."""
    store, web, item_id = hidden
    assert WAYS[way](store.seen_by(EVERYTHING), web, item_id)
    if way != "transcripts":
        assert WAYS[way](store.seen_by(Viewer(includes_internal=True, project_ids=(web,))), web, item_id)


def test_a_view_of_some_projects_finds_no_others_by_name(store, web):
    api = project(store, "acme/api")
    seen, hosts = store.seen_by(Viewer(project_ids=(api,))), Hosts()
    assert [one.id for one in list_projects(seen)] == [api]
    assert find_project(seen, ProjectName("github", "github.com", "acme/web")) is None
    assert find_named(seen, "acme/web", hosts) is None
    assert find_named(store, "acme/web", hosts).id == web
    assert not has_other_projects(seen, api)


def test_the_viewer_of_a_store_does_not_travel_to_others_who_share_it(store, web):
    save(store, web, item(1, is_confidential=True))
    public = store.seen_by(PUBLIC)
    assert (numbers(public, ALL), numbers(store, ALL)) == ([], [1])
    assert numbers(public.seen_by(EVERYTHING), ALL) == [1]


# Hits


def test_a_hit_says_of_a_thread_what_its_item_says_or_what_is_its_own(store, web):
    ids = save(store, web, item(1, author="ana", labels=["ui", "bug"], body="Lost"))
    talk(store, web, thread(1, note("c1", author="tom", created_at=NOW + 1, path="a.py")))
    index(store, ids[1])
    own = load_item_documents(store, ids.values())[ids[1]]
    known = load_document_places(store, range(own, own + 9))
    (of_thread,) = [one for one, (_, key) in known.items() if key]
    hits = load_hits(store, known)
    assert (hits[own].labels, hits[own].thread, hits[own].full_ref) == (("bug", "ui"), None, "acme/web#1")
    assert (hits[of_thread].author, hits[of_thread].thread) == ("ana", ("tom", NOW + 1, NOW + 1, ("a.py",)))
    assert load_hits(store, known, of_threads=True)[of_thread].author == "tom"
    assert [row[:2] for row in load_own_texts(store, known)] == [(ids[1], "ana")]


def test_of_given_documents_those_are_returned_that_filters_allow(tracker):
    documents = load_sorted(tracker, None, "created", is_ascending=True, limit=9)
    allowed = build_allowed(tracker, Filters(states=("open",)))
    assert len(load_permitted(tracker, allowed, tuple(documents))) == 2


def test_a_number_means_the_items_of_its_kind_and_projects(store, web):
    save(store, web, item(1), change(2))
    other = project(store, "acme/api")
    save(store, other, item(1))
    assert len(load_known(store, Ref("", 1))) == 2
    assert len(load_known(store, Ref("", 1), [other])) == 1
    assert load_known(store, Ref("", 2, "issue")) == []


def test_an_item_that_is_not_there_is_not_found(store):
    with pytest.raises(NotFound):
        load_subject(store, 7)


def test_what_an_agent_reads_of_an_item_leaves_internal_notes_out(store, web):
    (item_id,) = save(store, web, item(1)).values()
    talk(store, web, thread(1, note("c1"), note("c2", is_internal=True), note("c3", is_system=True)))
    assert load_items(store, [item_id])[item_id].title == "It fails"
    (said,) = load_threads(store, [item_id], by_people=True)[item_id]
    assert [one.key for one in said.notes] == ["c1"]


# Exports and conversations


def test_an_export_meets_every_live_item_once_in_the_order_of_numbers(store, web):
    save(store, web, item(2), change(1), item(1), item(3, is_confidential=True))
    met, last = [], (0, "")
    while page := next_exported(store.seen_by(PUBLIC), web, last, 2):
        last = (page[-1].number, page[-1].kind)
        met += [(one.number, one.kind) for one in page]
    assert met == [(1, "change"), (1, "issue"), (2, "issue")]
    assert len(next_exported(store, web, (0, ""), 9)) == 4
    assert count_internal(store, web) == 1


def test_an_export_has_the_links_that_no_text_says_and_internal_notes_only_on_request(store, web):
    (item_id,) = save(store, web, item(1, body="see #5", links=[Link("closes", 2, "issue")])).values()
    talk(store, web, thread(1, note("c1"), note("c2", is_internal=True)))
    assert load_stated_links(store, [item_id]) == {item_id: [("closes", "", "issue", 2, "forge", False, "")]}
    threads = [load_threads(one, [item_id])[item_id] for one in (store.seen_by(PUBLIC), store)]
    assert [[len(thread.notes) for thread in each] for each in threads] == [[1], [2]]


def test_a_conversation_is_miscounted_until_it_was_read_after_the_last_update(store, web):
    save(store, web, item(1, comment_count=2), item(2, comment_count=0))
    talk(store, web, thread(1, note("c1")))
    assert load_conversation(store, web, ItemKey("issue", 1)).sizes == {"comments": 1}
    assert sum_comment_counts(store, web) == 2
    assert find_miscounted(store, web) == ["issue:1"]
    talk(store, web, thread(1, note("c2")))
    assert find_miscounted(store, web) == []


def test_threads_are_discussions_where_their_forge_calls_them_so(store, web):
    save(store, web, item(1))
    talk(store, web, thread(1, note("c1")))
    assert count_discussion_threads(store, ALL) == 0, "on GitHub a discussion is an item"
    assert load_discussion_threads(store, ALL, sort="updated", limit=9) == []
