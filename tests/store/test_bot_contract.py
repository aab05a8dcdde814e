"""The contract of what the bot keeps, of transcripts of `ask`, and of decisions that were read in conversations."""

import pytest
from samples import HOUR, NOW, change, index, item, note, numbers, project, save, talk, thread

from forgelore.errors import NotFound
from forgelore.model import ItemKey, Link
from forgelore.records import CheckedDecision
from forgelore.store.ask import (
    StoredStep,
    begin_session,
    end_session,
    list_sessions,
    load_session,
    load_steps,
    save_step,
)
from forgelore.store.documents import count_texts
from forgelore.store.filters import Filters
from forgelore.store.hits import load_item_documents
from forgelore.store.item_history import load_histories
from forgelore.store.item_lists import load_items, load_links
from forgelore.store.jobs import count_waiting
from forgelore.store.payloads import keeps_payloads
from forgelore.store.project_decisions import (
    DecisionSource,
    load_decision_sources,
    load_edges_to,
    load_kept_decisions,
    save_decisions,
)
from forgelore.store.projects import list_projects
from forgelore.store.triage import (
    StoredReport,
    Trust,
    forget_hidden_facts,
    forget_items,
    forget_kinds,
    forget_project,
    list_labelled,
    load_first_run,
    load_label_trust,
    load_labels_learned,
    load_report,
    load_unseen,
    save_first_run,
    save_label_trust,
    save_labels_learned,
    save_report,
)
from forgelore.viewer import EVERYTHING, PUBLIC, Viewer
from forgelore.words import JobKind

ALL = Filters()
FIRST = ItemKey("issue", 1)


@pytest.fixture
def web(store):
    return project(store)


# Reports


def test_a_report_comes_back_as_it_was_and_is_replaced_by_the_next(store, web):
    (item_id,) = save(store, web, item(1)).values()
    assert load_report(store, item_id) is None
    for report in (StoredReport(NOW, "h1", "duplicate", 5, 0.9, "url", (5, 12)), StoredReport(NOW, "h2", "silent")):
        save_report(store, web, item_id, report)
        assert load_report(store, item_id) == report


def test_an_item_is_unseen_until_its_present_text_was_looked_at(store, web):
    ids = save(store, web, item(1), item(2), item(3, created_at=NOW - HOUR), item(4, is_confidential=True))
    assert load_unseen(store, web, NOW, 9) == [ItemKey("issue", 1), ItemKey("issue", 2)]
    for number in (1, 3):
        save_report(store, web, ids[number], StoredReport(NOW, "an older text", "silent"))
    assert [key.number for key in load_unseen(store, web, NOW, 9)] == [3, 1, 2]
    save(store, web, item(1, state="closed"))
    assert [key.number for key in load_unseen(store, web, NOW, 1)] == [3]


def test_an_item_that_is_forgotten_leaves_nothing_and_whoever_named_it_is_looked_at_again(store, web):
    ids = save(store, web, item(1), item(11), item(2))
    index(store, *ids.values())
    for number, shown in ((11, (1, 2)), (2, (11,))):
        save_report(store, web, ids[number], StoredReport(NOW, "h", "duplicate", comment_url="url", shown=shown))
    assert forget_items(store, web, [FIRST, ItemKey("issue", 99)]) == 1
    assert numbers(store, ALL) == [11, 2]
    assert (count_texts(store), count_waiting(store, JobKind.EMBED)) == (2, 2)
    assert load_report(store, ids[11]).content_hash == ""
    assert load_report(store, ids[2]).content_hash == "h", "it names #11, which is not #1"


def test_kinds_that_others_may_not_read_are_forgotten_with_what_was_learned_of_them(store, web):
    save(store, web, item(1), item(2, is_confidential=True), change(3))
    save_label_trust(store, web, "change", {"bug": Trust(0.5, 0.9, 20)})
    assert forget_kinds(store, web, ["change"]) == 2
    assert numbers(store, ALL) == [1]
    assert load_label_trust(store, web, "change") == {}


def test_what_only_the_bot_was_told_is_forgotten_and_what_people_wrote_stays(store, web):
    ids = save(
        store, web, item(1, body="see #8", links=[Link("closes", 9, "issue"), Link("closes", 2, "issue")]), item(2)
    )
    forget_hidden_facts(store)
    assert {link[3] for link in load_links(store, load_items(store, [ids[1]])[ids[1]])} == {8, 2}
    assert not keeps_payloads(store, web)


def test_a_project_that_is_forgotten_leaves_others_alone(store, web):
    save(store, web, item(1))
    api = project(store, "acme/api")
    save(store, api, item(2))
    forget_project(store, web)
    assert [one.id for one in list_projects(store)] == [api]
    assert numbers(store, ALL) == [2]


def test_the_first_run_of_the_bot_stays_the_first(store, web):
    assert load_first_run(store, web) is None
    save_first_run(store, web, NOW)
    save_first_run(store, web, NOW + 1)
    assert load_first_run(store, web) == NOW


def test_trust_in_labels_is_what_was_learned_last(store, web):
    ids = save(
        store, web, item(1, labels=["bug"], updated_at=NOW), item(3),
        item(2, labels=["ui"], created_at=NOW + 1, updated_at=NOW + HOUR),
        item(4, labels=["stale"], created_at=NOW + 2, updated_at=NOW + 900 * HOUR),
        item(5, labels=["released"], created_at=NOW + 3, updated_at=NOW + HOUR, state="closed"),
    )  # fmt: skip
    save_label_trust(store, web, "issue", {"bug": Trust(0.5, 0.9, 20), "ui": Trust(0.6, 0.8, 10)})
    save_label_trust(store, web, "issue", {"ui": Trust(0.7, 0.8, 11)})
    assert load_label_trust(store, web, "issue") == {"ui": Trust(0.7, 0.8, 11)}
    assert load_labels_learned(store, web, "issue") == (0, 4)
    save_labels_learned(store, web, "issue", 2)
    assert load_labels_learned(store, web, "issue") == (2, 4)
    assert list_labelled(store, web, "issue", soon_ms=24 * HOUR, limit=1) == [ids[2]]
    assert list_labelled(store, web, "issue", soon_ms=24 * HOUR, limit=9) == [ids[2], ids[1]]


# Histories of items: what was known of them at a time


def test_what_happened_later_is_not_known_of_an_earlier_time(store, web):
    ids = save(store, web, item(1, author="ana", state="closed", closed_at=NOW + HOUR))
    talk(store, web, thread(1, note("c1", created_at=NOW + 1), note("c2", author="eve", created_at=NOW + HOUR)))
    then = load_histories(store, ids.values(), before=NOW + 2)[ids[1]]
    assert (then.is_open, then.comments, then.participants) == (True, 1, {"ana", "tom"})
    assert load_histories(store, ids.values())[ids[1]].is_open is False


# Transcripts


def test_a_session_keeps_each_step_before_it_ends(store, opened):
    session_id = begin_session(store, "why?", "m", {"limit": 5}, NOW)
    step = StoredStep(1, "I look", [("search", '{"q": "x"}', "call1")], ["#1 …"], 10, 2)
    save_step(store, session_id, step)
    other = opened()
    assert load_steps(other, session_id) == [step]
    assert load_session(other, session_id).ended_at is None
    end_session(store, session_id, "answered", "Because [1].", (10, 2), NOW + 1)
    found = load_session(other, session_id)
    assert (found.answer, found.tokens_in, found.ended_at, found.parameters) == (
        "Because [1].", 10, NOW + 1, {"limit": 5},
    )  # fmt: skip
    with pytest.raises(NotFound):
        load_session(store, session_id + 1)


def test_sessions_are_listed_newest_first(store):
    made = [begin_session(store, "why?", "m", {}, NOW) for _ in range(3)]
    assert [one.id for one in list_sessions(store, 2)] == made[:0:-1]


def test_a_transcript_of_what_members_saw_is_read_by_members_alone(store):
    inside, public = (begin_session(store, "why?", "m", {"include_internal": one}, NOW) for one in (True, False))
    read = {viewer: [one.id for one in list_sessions(store.seen_by(viewer))] for viewer in (EVERYTHING, PUBLIC)}
    assert read == {EVERYTHING: [public, inside], PUBLIC: [public]}
    assert list_sessions(store.seen_by(Viewer(project_ids=(1,)))) == []
    with pytest.raises(NotFound):
        load_session(store.seen_by(PUBLIC), inside)


# Decisions that were read in conversations


def decision(line, summary="Use one file", **fields):
    named = {
        "author": "ana", "decided_at": NOW, "paths": ("a.py",), "edges": (("supersedes", "#7"),), "replaces_line": None,
    }  # fmt: skip
    return CheckedDecision(summary, "one file", line, line + 1, **(named | fields))


def test_a_conversation_that_is_read_again_loses_what_was_kept_of_it(store, web):
    (item_id,) = save(store, web, item(1)).values()
    source = DecisionSource(item_id, "h1", 1, "m", 10, 2, 0)
    save_decisions(store, web, source, [decision(3), decision(1)], NOW)
    save_decisions(store, web, source._replace(content_hash="h2"), [decision(5, "Use two")], NOW)
    assert load_decision_sources(store, [item_id])[item_id].content_hash == "h2"
    (kept,) = load_kept_decisions(store, [item_id])[item_id]
    assert (kept.summary, kept.paths, kept.edges, kept.content_hash) == (
        "Use two", ("a.py",), (("supersedes", "#7"),), "h2",
    )  # fmt: skip


def test_a_decision_replaces_an_earlier_one_of_the_same_conversation_by_its_line(store, web):
    (item_id,) = save(store, web, item(1)).values()
    read = [decision(1, edges=()), decision(9, edges=(), replaces_line=2), decision(20, edges=(), replaces_line=15)]
    save_decisions(store, web, DecisionSource(item_id, "h", 1, "m", 0, 0, 0), read, NOW)
    first, second, third = load_kept_decisions(store, [item_id])[item_id]
    assert second.edges == (("supersedes", f"decision:{first.id}"),)
    assert (first.edges, third.edges) == ((), ())


def test_a_decision_in_a_confidential_item_replaces_nothing_in_public(store, web):
    ids = save(store, web, item(1, is_confidential=True), item(2))
    for number in (1, 2):
        save_decisions(store, web, DecisionSource(ids[number], "h", 1, "m", 0, 0, 0), [decision(number)], NOW)
    assert [row[2] for row in load_edges_to(store, web, ["#7", "#8"])] == [1, 2]
    assert [row[2] for row in load_edges_to(store.seen_by(PUBLIC), web, ["#7"])] == [2]
    assert load_edges_to(store, web, ["#8"]) == []


def test_documents_of_items_that_are_not_asked_for_stay(store, web):
    ids = save(store, web, item(1), item(2))
    index(store, *ids.values())
    forget_items(store, web, [FIRST])
    assert list(load_item_documents(store, ids.values())) == [ids[2]]
