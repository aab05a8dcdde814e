"""A second embedder's vectors beside the first: one more cosine for pairs that are compared anyway."""

import pytest
from hashed import HashedEmbedder

from forgelore.compare.calibrate import build_sample, recalibrate
from forgelore.compare.evidence import SECOND
from forgelore.compare.rank import CompareRequest, rank_matches
from forgelore.compare.reference import scope_of
from forgelore.compare.trees import VERSION
from forgelore.index.vectors import embed_items
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import list_learned, load_sampled
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.sqlite.vector_rows import drop_wrong_seconds


class First(HashedEmbedder):
    name = "lore"


class Second(HashedEmbedder):
    """To it whatever says `word` is near, and nothing else is."""

    name = "minilm"

    def __init__(self, word="tombstone"):
        super().__init__(fingerprint="second")
        self.word, self.seen = word, []

    def embed_passages(self, passages):
        self.seen += passages
        return [[1.0, 0.1] if self.word in f"{title} {text}".lower() else [0.1, 1.0] for title, text in passages]


@pytest.fixture
def second(demo):
    made = Second()
    embed_items(demo, made, [1])
    made.seen.clear()
    return made


@pytest.fixture
def both(demo, second):
    return Retriever(demo, First(), find_second=lambda: second)


@pytest.fixture
def alone(demo):
    return Retriever(demo, First())


def like(retriever, number=154, **more):
    store = retriever.store
    subject = load_subject(store, store.value("SELECT id FROM items WHERE number = ? AND kind = 'issue'", number))
    filters = Filters(types=("issue",), not_items=(subject.item_id,))
    return rank_matches(retriever, CompareRequest(subject, filters, **more))


def test_where_all_have_one_the_ranking_is_by_both(both, second):
    ranking = like(both)
    assert ranking.scope.model.split()[:2] == ["lore+minilm", str(VERSION)]
    assert ranking.scope.model.endswith(" second")
    assert {round(match.features["cosine_2"], 1) for match in ranking.matches} <= {0.2, 1.0}
    assert second.seen == [], "stored vectors are enough"


def test_candidates_are_the_same(both, alone):
    found, before = like(both, limit=60), like(alone, limit=60)
    assert {match.hit.ref for match in found.matches} == {match.hit.ref for match in before.matches}


def test_vectors_that_are_stored_change_nothing_for_whoever_has_no_second_embedder(alone, demo):
    before = like(alone)
    embed_items(demo, Second(), [1])
    assert like(alone) == before
    assert before.scope.model.startswith("lore ")
    assert not {*SECOND} & {name for match in before.matches for name in match.features}


def test_when_one_candidate_waits_for_its_vector_the_first_embedder_decides_alone(both, alone, demo):
    third = like(both).matches[2].hit.row.item_id
    sql = "SELECT id FROM documents WHERE item_id = ? AND representation = 'item'"
    with demo.transaction():
        drop_wrong_seconds(demo, [demo.value(sql, third)])
    assert like(both) == like(alone)


def test_a_text_that_is_not_stored_is_measured_for_the_occasion(both, second):
    subject = Subject(0, 1, "issue", "The tombstone comes back", "It was deleted.", None, None)
    ranking = rank_matches(both, CompareRequest(subject, Filters(types=("issue",), project_ids=(1,))))
    assert len(second.seen) == 1 and ranking.scope.model.startswith("lore+minilm ")


def test_whose_strengths_count_is_known_before_anything_is_ranked(both, alone):
    assert scope_of(both, 1, "issue") == like(both).scope
    assert scope_of(alone, 1, "issue") == like(alone).scope


def test_what_was_learned_with_one_is_learned_again_with_both_once(both, alone, demo):
    build_sample(alone, 1, "issue", size=30)
    assert recalibrate(demo, [1], lambda: alone) == []
    said = recalibrate(demo, [1], lambda: both)
    assert ("issue", "lore+minilm") in list_learned(demo, 1)
    assert load_sampled(demo, scope_of(both, 1, "issue"))
    assert len(said) == 1 and "issues" in said[0]
    assert recalibrate(demo, [1], lambda: both) == []
