"""An item as the query: what it resembles, and why."""

import pytest
from hashed import HashedEmbedder

from forgelore.compare.calibration import Distributions
from forgelore.compare.rank import CompareRequest, _similarities, _Weighed, find_similar
from forgelore.errors import EmbedderUnreachable
from forgelore.records import BestMatch
from forgelore.search.fusion import Fused
from forgelore.search.query import parse_start
from forgelore.search.retriever import Retriever
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject


def subject_of(store, number, kind="issue"):
    return load_subject(store, store.value("SELECT id FROM items WHERE number = ? AND kind = ?", number, kind))


def like(retriever, number, mode="hybrid", **filters):
    subject = subject_of(retriever.store, number)
    within = Filters(**{"types": ("issue",), "not_items": (subject.item_id,), **filters})
    return find_similar(retriever, CompareRequest(subject, within, mode))


def numbers(answer):
    return [hit.hit.row.number for hit in answer.hits]


@pytest.mark.parametrize(("number", "original"), [(154, 101), (159, 131), (140, 107), (11, 8), (31, 27)])
def test_a_repetition_finds_its_original_by_words(retriever, number, original):
    assert original in numbers(like(retriever, number, "lexical"))


def test_it_says_which_telling_words_both_have(retriever):
    hit = next(found.hit for found in like(retriever, 154).hits if found.hit.row.number == 101)
    assert "rss" in hit.words or "chunkcache" in hit.words or "lanternd" in hit.words
    assert hit.vector_score is not None


def test_it_never_finds_itself_or_another_kind(retriever):
    hits = like(retriever, 41).hits
    assert 41 not in [hit.hit.row.number for hit in hits]
    assert {hit.hit.row.kind for hit in hits} == {"issue"}
    assert {hit.hit.row.representation for hit in hits} == {"item"}


def test_only_what_was_there_before(retriever):
    subject = subject_of(retriever.store, 41)
    hits = like(retriever, 41, before=subject.created_at).hits
    assert hits and all(hit.hit.row.created_at < subject.created_at for hit in hits)


def test_a_text_that_is_not_in_the_store(retriever):
    subject = Subject(0, 1, "issue", "Deleted files come back after weeks offline", "", None, None)
    assert 41 in numbers(find_similar(retriever, CompareRequest(subject, Filters(types=("issue",)))))


@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
def test_pages_are_parts_of_one_ranking(retriever, mode):
    subject = subject_of(retriever.store, 41)
    request = CompareRequest(subject, Filters(types=("issue",), not_items=(subject.item_id,)), mode, 100)
    whole = find_similar(retriever, request)
    pages, start, seal = [], 0, ""
    while True:
        page = find_similar(retriever, request._replace(limit=7, offset=start, seal=seal))
        assert (page.total, page.offset) == (whole.total, start)
        assert (page.chance is None) == (start > 0 or whole.chance is None)
        pages += numbers(page)
        if not page.next_page:
            break
        start, seal = parse_start(page.next_page)
    assert pages == numbers(whole)
    assert len(pages) == whole.total > 60, "behind the candidates that are compared too"


def test_a_page_of_another_ranking_is_told(retriever):
    subject = subject_of(retriever.store, 41)
    request = CompareRequest(subject, Filters(types=("issue",), not_items=(subject.item_id,)), limit=5)
    after, seal = parse_start(find_similar(retriever, request).next_page)
    narrower = request._replace(filters=request.filters._replace(states=("open",)))
    assert "changed" in find_similar(retriever, narrower._replace(offset=after, seal=seal)).warnings[-1]


@pytest.mark.parametrize("title", ["", "!!!", "日本語", "zzqx"])
def test_an_item_that_says_nothing_known_resembles_nothing_by_words(retriever, title):
    subject = Subject(0, 1, "issue", title, "", None, None)
    assert find_similar(retriever, CompareRequest(subject, Filters(), "lexical")).hits == []


def test_without_an_embedder_words_compare_with_a_warning(demo):
    answer = like(Retriever(demo, HashedEmbedder(fingerprint="another")), 154)
    assert answer.mode == "lexical" and "words only" in answer.warnings[0] and answer.hits
    with pytest.raises(EmbedderUnreachable):
        like(Retriever(demo, None), 154, "semantic")


def test_a_copy_among_others_raises_nothing_that_is_ranked_below():
    """What is ranked lower never reads as nearer; a copy is as near as can be, and says nothing about the rest."""
    distribution = Distributions.of([BestMatch(strength / 100, None) for strength in range(100)])

    def weighed(number, strength, same=0.0):
        return _Weighed(Fused(number, 0.0, 0.0, (), ()), {"same": same}, strength, None, number)

    order = [weighed(1, 0.5), weighed(2, 0.1, same=0.9), weighed(3, 0.9), weighed(4, 0.2), weighed(5, 0.0, same=1.0)]
    found = _similarities(order, distribution)
    assert found[3] == found[1] < found[2] < found[5] == 1.0
    assert found[4] < found[1]
