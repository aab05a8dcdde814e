"""What deduplication keeps: sets that go stale, one accepted decision per source, the last word of a person."""

import pytest

from forgelore.model import ItemKey, ProjectName
from forgelore.store.candidates import (
    Candidate,
    CandidateSet,
    each_latest_set,
    list_clusters,
    list_settled,
    load_versions,
    replace_clusters,
    save_set,
)
from forgelore.store.closings import JournalEntry, begin_write, end_write, list_writes, load_closed_onto
from forgelore.store.decisions import (
    Decision,
    HumanDecision,
    begin_run,
    each_override,
    end_run,
    is_accepted,
    list_accepted,
    list_judged_sets,
    list_runs,
    load_run,
    save_counters,
    save_decision,
    save_override,
)
from forgelore.store.sqlite.schema import open_store
from forgelore.store.triage import forget_items, forget_project
from forgelore.sync.archive import import_lines

LINE = b'{"kind": "issue", "number": %d, "title": "%s", "state": "open"}\n'


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    write(store, {1: b"one", 2: b"two", 3: b"three"})
    yield store
    store.close()


def write(store, titles):
    import_lines(store, ProjectName("local", "local", "p"), [LINE % one for one in titles.items()], 0)


def id_of(store, number):
    return store.value("SELECT id FROM items WHERE number = ?", number)


def make_set(store, number, *, k=4):
    member = Candidate(1, id_of(store, 3), 1, "open", True, 0.5, 2.0, 0.97, None, "similar", ("E0308",))
    source, version = id_of(store, number), load_versions(store, [id_of(store, number)])[id_of(store, number)][0]
    new = CandidateSet(1, source, version, "raw", "m", k, 0.75, "open", members=(member,))
    with store.transaction():
        return new, *save_set(store, new, 1_000)


def decide(store, number, target, outcome="accepted", set_id=None, **more):
    facts = dict.fromkeys(Decision._fields) | {"policy": "batch", "judge": "builtin", "model": "", "prompt_hash": ""}
    facts |= {"verdict": "", "reason": "", "prompt_tokens": 0, "answer_tokens": 0, "confidence": 0.9}
    new = Decision(**facts | {"project_id": 1, "item_id": id_of(store, number), "outcome": outcome, "set_id": set_id,
                                 "target_id": id_of(store, target), **more})  # fmt: skip
    with store.transaction():
        return save_decision(store, new, 1_000)


def fresh(store, **more):
    return [found.id for found in each_latest_set(store, 1, "issue", **more)]


def test_a_newer_set_makes_the_earlier_one_stale(store):
    _, _, none = make_set(store, 1)
    new, second, one = make_set(store, 1)
    assert (none, one) == (0, 1)
    assert fresh(store) == [second]
    (found,) = each_latest_set(store, 1, "issue")
    assert found.members[0].marks == ("E0308",)
    assert found.members[0].is_offered is True
    assert list_settled(store, 1, "issue", new) == {id_of(store, 1)}
    assert list_settled(store, 1, "issue", new._replace(k=5)) == set()


def test_an_edited_source_makes_its_set_stale(store):
    _, made, _ = make_set(store, 1)
    write(store, {1: b"one, edited"})
    assert fresh(store) == []
    assert fresh(store, allows_stale=True) == [made]


def test_a_closed_source_has_no_set_to_judge(store):
    make_set(store, 1)
    store.run("UPDATE items SET state = 'closed' WHERE number = 1")
    assert fresh(store, allows_stale=True) == []


def test_one_accepted_decision_per_source(store):
    decide(store, 1, 2)
    decide(store, 1, 3)
    assert [one[:2] for one in list_accepted(store, 1, "issue")] == [(id_of(store, 1), id_of(store, 3))]
    decide(store, 1, 3, outcome="rejected", reason="low_confidence")
    assert not is_accepted(store, id_of(store, 1))
    decide(store, 2, 3, policy="online", outcome="duplicate")
    assert list_accepted(store, 1, "issue") == []


def test_a_target_that_is_gone_is_no_edge(store):
    decide(store, 1, 2)
    store.run("UPDATE items SET deleted_at = 1 WHERE number = 2")
    assert list_accepted(store, 1, "issue") == []


def test_what_failed_is_judged_again(store):
    _, first, _ = make_set(store, 1)
    _, second, _ = make_set(store, 2)
    decide(store, 1, 3, set_id=first)
    decide(store, 2, 3, outcome="skipped", reason="judge_failed", set_id=second)
    assert list_judged_sets(store, 1, "builtin", "") == {first}
    assert list_judged_sets(store, 1, "llm", "m") == set()


def test_the_last_word_of_a_person_counts(store):
    pair = HumanDecision(1, 2, "accept", "ann", 5)
    with store.transaction():
        for said in (pair, pair._replace(decision="reject", said_at=6), HumanDecision(3, 0, "split", "ann", 7)):
            save_override(store, 1, said)
    assert [(one.decision, one.said_at) for one in each_override(store, 1)] == [("reject", 6), ("split", 7)]


def test_clusters_are_replaced_as_a_whole(store):
    with store.transaction():
        replace_clusters(store, 1, "issue", [(1, "age", [1, 2])], 5)
        assert replace_clusters(store, 1, "issue", [(2, "open", [1, 2, 3])], 6) == 1
    (found,) = list_clusters(store, 1, "issue")
    assert (found.canonical_id, found.chosen_by, found.members) == (2, "open", (1, 2, 3))


def test_a_run_tells_how_far_it_came(store):
    with store.transaction():
        run = begin_run(store, 1, "judge", {"min_edge": 0.85}, 10)
        save_counters(store, run, {"accepted": 3}, tokens=(100, 20), cost=0.5)
    assert load_run(store, run).status == "running"
    with store.transaction():
        end_run(store, run, "done", 20)
    (found,) = list_runs(store, 1, step="judge")
    assert found.counters == {"accepted": 3}
    assert (found.prompt_tokens, found.cost, found.ended_at, found.parameters) == (100, 0.5, 20, {"min_edge": 0.85})
    assert list_runs(store, 1, step="plan") == []


def test_the_journal_outlives_items_runs_and_projects(store):
    """The bot forgets items and projects for good; what was written to a forge stays known, and under its number."""
    with store.transaction():
        begin_run(store, 1, "plan", {}, 10)
        run = begin_run(store, 1, "apply", {}, 10, of_run=1)
        new = JournalEntry(run, 1, ItemKey("issue", 2), "ana", "close", {"target": 1}, {"labels": ["bug"]})
        entry = begin_write(store, new, 20)
        end_write(store, entry.id, "done", {"closed_by": "ana", "closed_at": 21}, 22)
    assert load_closed_onto(store, 1) == {id_of(store, 2): id_of(store, 1)}
    with store.transaction():
        forget_items(store, 1, [ItemKey("issue", 2)])
    (kept,) = list_writes(store, run, ItemKey("issue", 2))
    assert (kept.key, kept.account, kept.status, kept.answer) == (
        ItemKey("issue", 2), "ana", "done", {"closed_by": "ana", "closed_at": 21},
    )  # fmt: skip
    with store.transaction():
        forget_project(store, 1)
    assert list_writes(store, run) == [kept]
    write(store, {1: b"one"})
    with store.transaction():
        assert begin_run(store, store.value("SELECT id FROM projects"), "plan", {}, 30) == run + 1
