"""Pages are parts of one ranking: put together they are the whole, and none says more than it knows."""

import itertools

import pytest

from engine_tables import COUNT_MATCHED_ITEMS, FORGET_VECTORS, drop_words
from forgelore.errors import InvalidValue
from forgelore.search.query import Query, QuerySetting, build_query, parse_start
from forgelore.search.run import search
from forgelore.text.refs import Hosts

SETTING = QuerySetting(None, Hosts(), 1_760_000_000_000)
MODES = ("hybrid", "lexical", "semantic")


def ask(retriever, text, *, offset=0, rescorer=None, **options):
    request = build_query(retriever.store, text, {}, SETTING, **options)
    start, seal = parse_start(offset)
    return search(retriever, request._replace(offset=start, seal=seal), rescorer=rescorer)


def ids(answer):
    return [hit.row.item_id for hit in answer.hits]


def walk(retriever, text, **options):
    """Yield the pages from the first to the last, each from where the one before ended."""
    offset = "0"
    while offset:
        answer = ask(retriever, text, offset=offset, **options)
        yield answer
        offset = answer.next_page


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("limit", [3, 7, 20, 45, 100])
def test_pages_put_together_are_the_ranking_without_gap_or_repetition(retriever, mode, limit):
    pages = list(walk(retriever, "deleted files sync", mode=mode, limit=limit))
    found = list(itertools.chain.from_iterable(map(ids, pages)))
    whole = list(itertools.chain.from_iterable(map(ids, walk(retriever, "deleted files sync", mode=mode, limit=100))))
    assert len(found) > 100 or mode == "lexical"
    assert len(found) == len(set(found))
    assert found == whole
    assert not any(page.warnings for page in pages)


@pytest.mark.parametrize("mode", MODES)
def test_the_first_hits_are_the_same_however_many_are_asked_for(retriever, mode):
    few, more, many = (ids(ask(retriever, "relay websocket", mode=mode, limit=limit)) for limit in (5, 20, 100))
    assert more[:5] == few
    assert many[:20] == more


def test_a_known_item_is_on_the_first_page_alone(retriever):
    first, second = ask(retriever, "#41", limit=2), ask(retriever, "#41", limit=2, offset=2)
    assert first.hits[0].row.number == 41
    assert (first.known_count, second.known_count) == (1, 0)
    assert not set(ids(first)) & set(ids(second))


def test_an_order_is_paged_too_and_counted(retriever):
    pages = list(walk(retriever, "label:bug sort:created", limit=9))
    found = list(itertools.chain.from_iterable(map(ids, pages)))
    assert found == ids(ask(retriever, "label:bug sort:created", limit=100))
    assert {(page.total, page.is_total_exact) for page in pages} == {(len(found), True)}


@pytest.mark.parametrize("text", ["deleted files", "sync", "relay OR websocket", "zzz deleted", "qqzz"])
def test_the_total_of_words_is_exact_on_every_page(retriever, text):
    pages = list(walk(retriever, text, mode="lexical", limit=11))
    assert {(page.total, page.is_total_exact) for page in pages} == {(sum(len(page.hits) for page in pages), True)}


def test_the_total_of_raw_words_is_exact(retriever):
    answer = search(retriever, Query("sync OR file OR the", "lexical", is_raw=True, limit=5))
    every = retriever.store.value(COUNT_MATCHED_ITEMS, "sync OR file OR the")
    assert (answer.total, answer.is_total_exact) == (every, True)


@pytest.mark.parametrize("mode", ["hybrid", "semantic"])
def test_where_meaning_takes_part_the_total_is_a_lower_bound(retriever, mode):
    pages = list(walk(retriever, "deleted files", mode=mode, limit=20))
    assert not pages[0].is_total_exact
    assert len(pages[0].hits) < pages[0].total <= sum(len(page.hits) for page in pages)
    assert pages[-1].is_total_exact  # everything has been seen


def test_a_database_that_changed_between_two_pages_is_told(retriever):
    first = ask(retriever, "deleted files", limit=5)
    again = ask(retriever, "deleted files", limit=5, offset=first.next_page)
    assert again.warnings == []
    with retriever.store.transaction():
        retriever.store.run(FORGET_VECTORS, first.hits[0].row.document_id)
        retriever.store.run(drop_words(str(first.hits[0].row.document_id)))
    later = ask(retriever, "deleted files", limit=5, offset=first.next_page)
    assert "the database has changed since" in later.warnings[-1]
    assert ask(retriever, "deleted files", limit=5, offset=5).warnings == []  # a number alone remembers nothing


def test_a_page_of_another_question_is_told_as_one(retriever):
    other = ask(retriever, "relay", limit=5).next_page
    assert "of another query, or the database" in ask(retriever, "deleted files", offset=other).warnings[-1]


@pytest.mark.parametrize("offset", [-1, 10_001, "x", "", "5:", "5:zzzzzzzzzz", "5:9f2c01d3ab7", "٣", "1.5"])
def test_a_page_that_cannot_begin_there_is_refused(offset):
    with pytest.raises(InvalidValue, match="no page starts at"):
        parse_start(offset)


def test_behind_the_end_there_is_nothing(retriever):
    answer = ask(retriever, "deleted files", mode="lexical", offset=5000)
    assert (answer.hits, answer.next_page) == ([], "")
    assert answer.total > 0
