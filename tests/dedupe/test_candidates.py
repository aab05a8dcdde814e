"""`dedupe candidates`: who is compared with whom, what is kept of it, and that a second run has nothing to do."""

import contextlib
import subprocess
import sys
import time

import pytest

from dedupe.tracker import id_of, item, job, number_of, ordinary, words_only, write
from forgelore.dedupe.candidates import CandidateSetting, make_candidates, rank_batch, rank_source
from forgelore.store.candidates import each_latest_set, list_sources
from forgelore.store.decisions import list_runs
from forgelore.store.filters import Filters, build_allowed, load_allowed
from forgelore.store.sqlite.schema import open_store

TEXT = "Opening the settings twice empties the list of folders, and the program ends with ERROR: no folder left to sync"


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


@pytest.fixture
def tracker(store):
    copies = [item(number, "Folders vanish from the settings", TEXT) for number in (101, 102, 103)]
    closed = [item(number, f"Folders vanish again, part {number}", TEXT, state="closed") for number in range(110, 117)]
    other = item(120, "Folders vanish from the settings", TEXT, kind="change")
    hidden = item(121, "Folders vanish from the settings", TEXT, is_confidential=True)
    write(store, [*map(ordinary, range(1, 80)), *copies, *closed, other, hidden])
    return store


def make(store, kind="issue", **more):
    setting = CandidateSetting(**{name: more.pop(name) for name in ("k", "min_score", "states") if name in more})
    return make_candidates(job(store, 5), words_only(store), kind, setting, **more)


def candidates_of(store, number):
    found = next(one for one in each_latest_set(store, 1, "issue") if number_of(store, one.item_id) == number)
    return found, {number_of(store, one.item_id): one for one in found.members}


def test_copies_find_each_other_whichever_came_first(tracker):
    make(tracker)
    for number in (101, 102, 103):
        _, members = candidates_of(tracker, number)
        offered = [one for one, member in members.items() if member.is_offered]
        assert offered[:2] == sorted({101, 102, 103} - {number})
        assert {members[one].sameness for one in offered[:2]} == {"same_text"}


def test_closed_ones_are_shown_beside_and_never_offered(tracker):
    make(tracker, k=2)
    found, members = candidates_of(tracker, 101)
    shown = [one for one in found.members if not one.is_offered]
    assert sum(one.is_offered for one in found.members) == 2
    assert len(shown) == 4
    assert {one.state for one in shown} == {"closed"}
    assert [one.rank for one in found.members] == [1, 2, 3, 4, 5, 6]
    assert [one.is_offered for one in found.members] == [True, True, False, False, False, False]
    assert not {101, 120, 121} & set(members), "itself, the other kind and what is confidential are no candidates"


def test_each_candidate_has_its_numbers(tracker):
    make(tracker)
    _, members = candidates_of(tracker, 101)
    copy = members[102]
    assert copy.similarity == 1.0
    assert copy.features["same"] == 1.0
    assert copy.features["title"] == 1.0
    assert any("no folder left to sync" in mark for mark in copy.marks)
    assert 0 not in copy.features.values()


def test_nothing_below_the_least_similarity_is_kept(tracker):
    made = make(tracker, min_score=1.0)
    assert made.sources == 82
    assert made.empty == 79
    found, _ = candidates_of(tracker, 101)
    assert {one.sameness for one in found.members} == {"same_text"}


def test_a_second_run_has_nothing_to_do(tracker):
    first, second = make(tracker), make(tracker)
    assert (first.made, first.unchanged, first.stale_marked) == (82, 0, 0)
    assert (second.made, second.unchanged, second.run_id) == (0, 82, None)
    assert first.missing_embeddings == 82, "there are no vectors in this store"
    (run,) = list_runs(tracker, 1)
    assert run.status == "done"
    assert run.counters["members_written"] == first.members_written > 0
    assert run.parameters["k"] == 4


def test_only_what_changed_is_looked_at_again(tracker):
    make(tracker)
    write(tracker, [item(101, "Folders vanish from the settings", TEXT + " again")])
    again = make(tracker)
    assert (again.made, again.unchanged, again.stale_marked) == (1, 81, 1)
    other = make(tracker, k=5)
    assert (other.made, other.stale_marked) == (82, 82)
    assert make(tracker, k=5, full=True).made == 82


def test_a_closed_item_is_no_source(tracker):
    make(tracker)
    assert not [one for one in each_latest_set(tracker, 1, "issue") if number_of(tracker, one.item_id) == 110]


def test_a_run_that_is_stopped_goes_on_later(tracker):
    answers = iter([False] * 10)
    stopped = make_candidates(job(tracker, 5, lambda: next(answers, True)), words_only(tracker), "issue")
    assert stopped.is_stopped
    assert 0 < stopped.made < 82
    assert list_runs(tracker, 1)[0].status == "stopped"
    compared = {number_of(tracker, one.item_id) for one in each_latest_set(tracker, 1, "issue")}
    assert compared == {*range(80 - len(compared) + 3, 80), 101, 102, 103}  # the newest first
    rest = make(tracker)
    assert rest.made == 82 - stopped.made
    assert rest.stale_marked == 0


def test_an_item_that_is_gone_has_no_candidates(tracker):
    gone = id_of(tracker, 103)
    tracker.run("UPDATE items SET deleted_at = 1 WHERE id = ?", gone)
    assert rank_source(words_only(tracker), gone, CandidateSetting()) is None
    assert rank_source(words_only(tracker), 10**6, CandidateSetting()) is None


@contextlib.contextmanager
def opened_again(path):
    store = open_store(path)
    try:
        yield words_only(store)
    finally:
        store.close()


def test_two_processes_find_what_one_finds(tracker):
    from functools import partial

    from forgelore.dedupe.candidates import rank_in_processes

    ids = [id_of(tracker, number) for number in (101, 102, 103, 1, 2, 3, 4, 5, 6, 7)]
    alone = [rank_source(words_only(tracker), item_id, CandidateSetting()) for item_id in ids]
    opening = partial(opened_again, tracker.path)
    assert list(rank_in_processes(opening, ids, CandidateSetting(), workers=2)) == alone


def test_a_killed_run_goes_on_where_it_was(tracker):
    """kill -9 in the middle: every kept set is whole, and the next run makes the others."""
    code = (
        "from dedupe.tracker import job, words_only\n"
        "from forgelore.dedupe.candidates import make_candidates\n"
        "from forgelore.store.sqlite.schema import open_store\n"
        f"store = open_store({tracker.path!r})\n"
        "make_candidates(job(store), words_only(store), 'issue')\n"
    )
    victim = subprocess.Popen([sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{code}"])
    until = time.monotonic() + 60
    while not tracker.value("SELECT count(*) FROM candidate_sets") and time.monotonic() < until:
        time.sleep(0.02)
    victim.kill()
    victim.wait()
    kept = tracker.value("SELECT count(*) FROM candidate_sets")
    rest = make(tracker)
    assert kept > 0
    assert rest.made == 82 - kept
    assert tracker.value("SELECT count(DISTINCT item_id) FROM candidate_sets WHERE is_fresh") == 82
    assert [run.status for run in list_runs(tracker, 1)][-1] == ("running" if kept < 82 else "done")


def test_a_batch_reads_one_moment_and_leaves_out_the_item_itself(tracker):
    retriever = words_only(tracker)
    items = list_sources(tracker, 1, "issue")[:6]
    alone = [rank_source(retriever, item_id, CandidateSetting()) for item_id in items]
    assert rank_batch(retriever, items, CandidateSetting()) == alone
    assert all(one.item_id != found.item_id for found in alone for one in found.members)


@pytest.mark.parametrize("project_ids", [(), (1,)])
def test_a_scope_without_items_is_the_one_that_the_filters_give(tracker, project_ids):
    """It is made from the scope with them, which is resolved once for all items of a project."""
    retriever = words_only(tracker)
    for left_out in [(id_of(tracker, 101),), (id_of(tracker, 101), id_of(tracker, 102), 10**9)]:
        filters = Filters(types=("issue",), project_ids=project_ids, not_items=left_out)
        found = retriever.scope(filters, with_vectors=True)
        expected = sorted(map(int, load_allowed(tracker, build_allowed(tracker, filters)).split(",")))
        assert found.ids.tolist() == expected
        assert [at for at, mark in enumerate(found.allowed.marks) if mark] == expected
