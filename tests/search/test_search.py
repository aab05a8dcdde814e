"""Search as people and programs meet it: any text, any mode, whatever the embedder does."""

import threading

import numpy as np
import pytest
from hashed import HashedEmbedder
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forgelore
from engine_tables import FORGET_VECTORS
from forgelore.app import App
from forgelore.errors import EmbedderUnreachable, InvalidValue, StoreError
from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.search.ftsquery import parse_words
from forgelore.search.hits import weigh_query
from forgelore.search.query import Query
from forgelore.search.retriever import Retriever
from forgelore.search.run import FUSION_K, search
from forgelore.store.documents import find_embedder
from forgelore.store.filters import Filters
from forgelore.store.jobs import queue_documents
from forgelore.store.sqlite.check import sample_vectors
from forgelore.store.sqlite.connection import SqliteStore
from forgelore.store.sqlite.schema import open_store
from forgelore.store.sqlite.vectors import VectorCache
from forgelore.text.values import unpack_vector
from forgelore.viewer import EVERYTHING, PUBLIC

ANY = st.text(st.characters(exclude_categories=("Cs",)), max_size=200)


def refs(answer):
    return [hit.row.number for hit in answer.hits]


def test_words_and_meaning_are_both_told(retriever):
    hit = search(retriever, Query("deleted files come back")).hits[0]
    assert hit.row.number in (41, 145)
    assert hit.lexical_rank and hit.vector_rank
    by_words, by_meaning = weigh_query(retriever, parse_words("deleted files come back")).lists
    assert by_meaning == by_words, "plain language is found by meaning as much as by words"
    told = by_words / (FUSION_K + hit.lexical_rank) + by_meaning / (FUSION_K + hit.vector_rank)
    assert hit.rrf == pytest.approx(told)
    assert hit.score == pytest.approx(hit.rrf * (FUSION_K + 1) / 2)
    assert {"deleted", "files"} <= set(hit.words)


def test_each_mode_uses_its_own_list(retriever):
    lexical = search(retriever, Query("deleted files", "lexical"))
    semantic = search(retriever, Query("deleted files", "semantic"))
    assert all(hit.vector_rank is None and hit.lexical_rank for hit in lexical.hits)
    assert all(hit.lexical_rank is None and hit.vector_rank for hit in semantic.hits)
    assert max(hit.score for hit in lexical.hits) <= 0.5


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("resolver.rs:218", 27), ("ChunkCache::insert", 101), ("chunk cache insert", 101), ("chunkcache", 101),
        ("LNT-6001", 35), ("discovery.enabled", 76), ("PUID", 107), ("merge_base", 27), ("std::shared_ptr<ChunkRef>", 58),
    ],
)  # fmt: skip
def test_identifiers_are_found_as_they_are_written(retriever, query, number):
    assert number in refs(search(retriever, Query(query, "lexical", limit=10)))


def test_a_beginning_is_enough(retriever):
    assert 27 in refs(search(retriever, Query("resolv*", "lexical", limit=50)))
    assert search(retriever, Query("resolvxyz*", "lexical")).hits == []


@pytest.mark.parametrize(
    "query", ["-deleted", 'deleted" OR title:', "NEAR(deleted", "deleted*", "NOT deleted", "^deleted"]
)
def test_what_fts5_would_take_for_syntax_is_text(retriever, query):
    assert 41 in refs(search(retriever, Query(query, "lexical", limit=100)))


@pytest.mark.parametrize("query", ["", "   ", "?!", "\x00", "…"])
def test_a_query_without_words_finds_nothing(retriever, query):
    assert search(retriever, Query(query)).hits == []


def test_a_query_of_a_megabyte_is_answered_from_its_first_words(retriever):
    answer = search(retriever, Query("deleted files " + "lorem " * 170_000))
    assert any("long" in warning for warning in answer.warnings)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(text=ANY, mode=st.sampled_from(["hybrid", "lexical", "semantic"]))
def test_any_text_is_a_query(retriever, text, mode):
    try:
        answer = search(retriever, Query(text, mode, limit=5))
    except forgelore.errors.EmbeddingFailed:
        assert mode == "semantic"  # this embedder has no vector for a text without words, and says so
        return
    for hit in answer.hits:
        assert all(0 <= start < end <= len(hit.snippet.text) for start, end in hit.snippet.marks)


def test_what_matched_is_marked(retriever):
    hit = next(hit for hit in search(retriever, Query("chunk cache", "lexical")).hits if hit.row.number == 101)
    marked = {hit.snippet.text[start:end].lower() for start, end in hit.snippet.marks}
    assert any("chunk" in word for word in marked)


def test_a_hit_by_meaning_alone_has_a_snippet_without_marks(retriever):
    hits = search(retriever, Query("qqqq zzzz", "semantic")).hits
    assert hits and all(hit.snippet.text and not hit.snippet.marks for hit in hits if hit.row.text.strip())


def test_raw_mode_takes_fts5_syntax_and_explains_its_errors(retriever):
    raw = search(retriever, Query("title: deleted NOT title: offline", "lexical", is_raw=True))
    assert 41 not in refs(raw)
    for broken in ("AND", '"open', "title:", "nocolumn: x", "a NEAR("):
        with pytest.raises(InvalidValue) as caught:
            search(retriever, Query(broken, "lexical", is_raw=True))
        assert "raw mode takes FTS5 syntax" in caught.value.hint


def test_without_an_embedder_words_answer_with_a_warning(demo):
    for embedder in (None, HashedEmbedder(is_down=True), HashedEmbedder(fingerprint="another")):
        answer = search(Retriever(demo, embedder), Query("deleted files come back"))
        assert answer.hits and answer.mode == "lexical"
        assert "words only" in answer.warnings[0]
        with pytest.raises(EmbedderUnreachable):
            search(Retriever(demo, embedder), Query("deleted files", "semantic"))


def test_documents_without_vectors_are_named(demo):
    queue_documents(demo, 1, [1])
    demo.run("UPDATE items SET body = body || ' more' WHERE id = 1")
    index_items(demo, [1])
    answer = search(Retriever(demo, HashedEmbedder()), Query("deleted"))
    assert "1 documents have no vectors yet" in answer.warnings[0]


def test_an_empty_store_says_that_nothing_is_indexed(tmp_path):
    store = open_store(str(tmp_path / "empty.db"))
    answer = search(Retriever(store), Query("anything"))
    assert answer.is_nothing_indexed and answer.hits == []
    store.close()


def test_one_hit_per_item_and_the_best_document_tells(retriever):
    items = [hit.row.item_id for hit in search(retriever, Query("lantern sync", limit=100)).hits]
    assert len(items) == len(set(items)) == 100


def test_results_do_not_depend_on_what_was_asked_before(demo):
    first = Retriever(demo, HashedEmbedder())
    search(first, Query("relay websocket", filters=Filters(types=("issue",))))
    again = [hit.row.document_id for hit in search(first, Query("deleted files")).hits]
    fresh = [hit.row.document_id for hit in search(Retriever(demo, HashedEmbedder()), Query("deleted files")).hits]
    assert again == fresh


def every_vector(store, embedder_id):
    return [unpack_vector(packed) for _, chunks in sample_vectors(store, embedder_id, 10_000) for *_, packed in chunks]


def test_vectors_in_memory_follow_the_store(demo):
    """New, changed and removed documents are seen at the next query, and equal a fresh reading of everything: asked for
    by each vector that is there or was.
    """
    embedder = HashedEmbedder()
    resident = VectorCache(demo, find_embedder(demo, embedder.fingerprint()))
    resident.refresh()
    queries = every_vector(demo, resident.embedder.id)
    writer = SqliteStore(demo.path)
    for change in (
        "UPDATE items SET title = title || ' zebra' WHERE id IN (3, 40)",
        "UPDATE items SET deleted_at = 1 WHERE id IN (5, 6)",
        "UPDATE items SET deleted_at = NULL WHERE id = 5",
    ):
        with writer.transaction():
            writer.run(change)
            queue_documents(writer, 1, [3, 5, 6, 40])
        index_items(writer, [1])
        embed_documents(writer, embedder, [1])
        resident.refresh()
        fresh = VectorCache(demo, resident.embedder)
        fresh.refresh()
        queries += every_vector(demo, resident.embedder.id)
        assert len(fresh.nearest(queries[0], 10_000)) == demo.value("SELECT count(*) FROM documents")
        assert resident.nearest(queries[0], 10_000) == fresh.nearest(queries[0], 10_000)
        assert [resident.nearest(query, 3) for query in queries] == [fresh.nearest(query, 3) for query in queries]
    writer.close()


@pytest.mark.parametrize("share", [0.02, 0.5], ids=["few are marked as gone", "many are left out"])
def test_a_search_that_was_prepared_sees_the_rows_of_that_moment(demo, share):
    """It may begin in another thread, after the rows were read anew."""
    embedder = HashedEmbedder()
    resident = VectorCache(demo, find_embedder(demo, embedder.fingerprint()))
    resident.refresh()
    query = every_vector(demo, resident.embedder.id)[0]
    allowed = np.asarray([row[0] for row in demo.rows("SELECT id FROM documents WHERE id % 3 > 0")], np.int64)
    gone = 0
    for within in (None, allowed):
        expected, prepared = resident.nearest(query, 50, within), resident.prepare(query, 50, within)
        gone += int(resident.rows.total * share)
        demo.run_many(FORGET_VECTORS, demo.rows("SELECT id FROM documents ORDER BY id LIMIT ?", gone))
        resident.refresh()
        assert resident.nearest(query, 50, within) != expected
        assert prepared.work() == expected


def test_the_nearest_are_those_a_loop_would_find(demo):
    embedder = HashedEmbedder()
    resident = VectorCache(demo, find_embedder(demo, embedder.fingerprint()))
    resident.refresh()
    query = embedder.embed_query("panic in resolver").astype(np.float32)
    query /= np.linalg.norm(query)
    best = {}
    for document, chunks in sample_vectors(demo, resident.embedder.id, 10_000):
        best[document.document_id] = max(float(unpack_vector(packed) @ query) for *_, packed in chunks)
    expected = sorted(best.values(), reverse=True)[:50]
    assert [near.cosine for near in resident.nearest(query, 50)] == pytest.approx(expected, abs=1e-6)
    allowed = np.asarray(sorted(best)[::7], np.int64)
    within = sorted((best[int(one)] for one in allowed), reverse=True)
    assert [near.cosine for near in resident.nearest(query, 1000, allowed)] == pytest.approx(within, abs=1e-6)


def test_readers_never_wait_for_a_writer_and_never_see_half_a_document(demo):
    """While every document is written anew in another thread, each hit that is shown is whole."""
    stop, seen = threading.Event(), []

    def write():
        writer = SqliteStore(demo.path)
        for turn in range(6):
            with writer.transaction():
                writer.run("UPDATE items SET body = ? || char(10) || body", f"turn{turn} begin")
                writer.run("UPDATE items SET body = body || char(10) || ?", f"turn{turn} end")
                queue_documents(writer, 1, [row[0] for row in writer.rows("SELECT id FROM items")])
            index_items(writer, [1])
        writer.close()
        stop.set()

    thread = threading.Thread(target=write)
    thread.start()
    reader = Retriever(SqliteStore(demo.path), HashedEmbedder())
    while not stop.is_set():
        for hit in search(reader, Query("turn0 turn1 turn2 begin", limit=50)).hits:
            if hit.row.representation == "item":
                begun = {f"turn{n}" for n in range(6) if f"turn{n} begin" in hit.row.text}
                ended = {f"turn{n}" for n in range(6) if f"turn{n} end" in hit.row.text}
                assert begun == ended
                seen.append(len(begun))
    thread.join()
    reader.store.close()
    assert seen


def test_python_gets_the_same_answers(demo_path, monkeypatch):
    monkeypatch.setenv("FORGELORE_EMBEDDER", "none")
    with forgelore.open(demo_path) as lore:
        answer = lore.search("deleted files come back", type="issue", state="closed", after="2023-01-01", limit=5)
        assert answer.hits[0].row.number in (41, 145)
        assert all(hit.row.kind == "issue" and hit.row.state == "closed" for hit in answer.hits)


def test_python_is_told_when_there_is_no_database(tmp_path):
    with pytest.raises(StoreError, match="no database"):
        forgelore.open(tmp_path / "none.db")


def test_confidential_items_are_left_out_for_others(demo):
    demo.run("UPDATE items SET is_confidential = 1 WHERE number = 41 AND kind = 'issue'")
    queue_documents(demo, 1, [demo.value("SELECT id FROM items WHERE number = 41")])
    index_items(demo, [1])
    retriever = Retriever(demo, HashedEmbedder())
    assert 41 in refs(search(retriever, Query("deleted files come back")))
    assert 41 not in refs(search(retriever.seen_by(PUBLIC), Query("deleted files come back")))


def test_the_app_knows_no_such_embedder(demo):
    with pytest.raises(InvalidValue, match="unknown embedder"):
        App({}, cwd="/", db=demo.path, viewer=EVERYTHING).embedder("wishes")
