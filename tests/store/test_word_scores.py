"""Word scores: what is added up in memory ranks as full text itself does, and never outlives a change of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dedupe.tracker import WORDS, item, ordinary, write
from forgelore.store.filters import Filters, build_allowed, load_allowed
from forgelore.store.sqlite.fulltext import quote, search_words
from forgelore.store.sqlite.schema import open_store
from forgelore.store.sqlite.word_scores import WordScores

TERMS = [*WORDS, "wallet of", "in case", "is", "7", "nobody", 'a "quoted" word', "the wallet"]


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = open_store(str(tmp_path_factory.mktemp("words") / "lore.db"))
    changes = [item(number, f"Some wallet {number}", "the wallet of a change", kind="change") for number in (200, 201)]
    write(store, [*map(ordinary, range(1, 120)), *changes])
    yield store
    store.close()


def resolve(store, **filters):
    """What filters allow, with the marks of it."""
    allowed = build_allowed(store, Filters(types=("issue",), **filters))
    ids = {int(one) for one in load_allowed(store, allowed).split(",")}
    return allowed._replace(marks=bytes(one in ids for one in range(max(ids) + 1)))


def ask_full_text(store, terms, limit, allowed):
    expression = " OR ".join(quote(term) for term, times in terms for _ in range(times))
    return search_words(store, expression, limit, allowed)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(
    asked=st.lists(
        st.lists(
            st.tuples(st.sampled_from(TERMS), st.integers(1, 2)), min_size=1, max_size=12, unique_by=lambda x: x[0]
        ),
        min_size=1,
        max_size=4,
    ),
    limit=st.integers(1, 40),
    left_out=st.integers(1, 119),
    max_bytes=st.sampled_from([1_000, 10_000, 10_000_000]),
)
def test_sums_rank_documents_as_full_text_does(store, asked, limit, left_out, max_bytes):
    scores, within = WordScores(max_bytes=max_bytes), resolve(store).marks
    allowed = resolve(store, not_items=(left_out,))
    for terms in asked:
        found = scores.search(store, terms, 10_000, marks=allowed.marks, within=within)
        expected = ask_full_text(store, terms, 10_000, allowed)
        known = {one.document_id: one.score for one in expected}
        assert {one.document_id for one in found} == known.keys()
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], rel=1e-5, abs=1e-9)
        assert all(one.score == pytest.approx(known[one.document_id], rel=1e-5, abs=1e-9) for one in found)
        assert scores.search(store, terms, limit, marks=allowed.marks, within=within) == found[:limit]
        assert scores.kept_bytes <= max(max_bytes, 2_000)


def test_equal_documents_come_in_the_order_of_their_ids(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    write(store, [item(number, "The same words", "in each of them") for number in range(1, 30)])
    allowed = resolve(store)
    found = WordScores().search(store, [("same", 2), ("each", 1)], 7, marks=allowed.marks, within=allowed.marks)
    assert found == sorted(found)[:7]
    assert [one.document_id for one in found] == [
        one.document_id for one in ask_full_text(store, [("same", 2), ("each", 1)], 7, allowed)
    ]
    store.close()


def test_what_was_kept_does_not_outlive_a_change_of_full_text(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    write(store, map(ordinary, range(1, 30)))
    scores, terms = WordScores(), [("wallet", 1), ("peer", 1)]
    other = open_store(store.path)
    for number in (40, 5):  # a new item, and one with another text
        before = resolve(store)
        scores.search(store, terms, 50, marks=before.marks, within=before.marks)
        write(other, [item(number, "wallet and peer", "peer")])
        now = resolve(store)
        found = scores.search(store, terms, 50, marks=now.marks, within=now.marks)
        expected = ask_full_text(store, terms, 50, now)
        assert [one.document_id for one in found] == [one.document_id for one in expected]
        assert [one.score for one in found] == pytest.approx([one.score for one in expected], rel=1e-5)
    other.close()
    store.close()


def test_another_scope_gets_nothing_of_the_one_before(store):
    scores, issues = WordScores(), resolve(store)
    scores.search(store, [("wallet", 1)], 50, marks=issues.marks, within=issues.marks)
    changes = build_allowed(store, Filters(types=("change",)))
    ids = {int(one) for one in load_allowed(store, changes).split(",")}
    marks = bytes(one in ids for one in range(max(ids) + 1))
    found = scores.search(store, [("wallet", 1)], 50, marks=marks, within=marks)
    assert {one.document_id for one in found} == ids
