"""The index from Python: documents, vectors, numbers, checks and repairs, with answers that have names."""

import json

import pytest

import forgelore
from forgelore.api import BuiltDocuments
from forgelore.errors import ConfigError, InvalidValue, NotFound, Stopped
from forgelore.viewer import EVERYTHING
from servers.embedding import EmbeddingServer


@pytest.fixture
def server():
    with EmbeddingServer() as found:
        yield found


@pytest.fixture
def history(tmp_path, server):
    environ = {
        "FORGELORE_EMBEDDER": "openai", "FORGELORE_EMBEDDER_URL": server.v1, "HOME": str(tmp_path / "home"),
        "FORGELORE_EMBEDDER_MODEL": "nomic-embed-text",
    }  # fmt: skip
    lines = [{"kind": "issue", "number": n, "title": f"Window {n} flickers", "body": "words"} for n in range(1, 6)]
    source = tmp_path / "in.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with forgelore.open(tmp_path / "lore.db", environ=environ, create=True, viewer=EVERYTHING) as found:
        found.sync.import_file(source, project="old", index="none")
        yield found


def test_documents_and_vectors_are_made_together(history):
    done = history.index.update("old")
    assert (done.documents.new, done.vectors.embedded, done.warnings) == (5, 5, ())
    assert history.index.update().documents.new == 0


def test_vectors_may_wait(history):
    done = history.index.update(index="documents")
    assert (done.documents.new, done.vectors) == (5, None)
    assert history.index.stats().vectors.pending == 5
    assert history.index.embed().embedded == 5
    assert history.index.stats().vectors.coverage == 1.0


def test_a_server_that_is_away_is_a_warning_and_the_words_are_there(history, server):
    server.stop()
    done = history.index.update()
    assert done.documents.new == 5
    assert done.vectors is None
    assert [warning.partition(":")[0] for warning in done.warnings] == ["5 vectors are pending"]


def test_documents_are_built_again_and_equal_ones_stay(history):
    assert history.index.build_documents("old") == BuiltDocuments(
        5, 0, 0, 0, 0, total=5, truncated=0, by_type={"issue": 5}
    )
    assert history.index.build_documents(full=True) == BuiltDocuments(
        0, 0, 5, 0, 0, total=5, truncated=0, by_type={"issue": 5}
    )
    with pytest.raises(NotFound):
        history.index.build_documents("nowhere")


def test_without_an_embedder_there_is_nothing_to_embed_with(history):
    with pytest.raises(ConfigError, match="switched off"):
        history.index.embed(embedder="none")
    with pytest.raises(InvalidValue, match="unknown embedder"):
        history.index.embed(embedder="nobody")


def test_numbers_have_names(history):
    stats = history.index.stats()
    assert stats.documents.total == 0
    assert stats.queues["document"].waiting == 5
    assert stats.file.path == history.path
    history.index.update()
    stats = history.index.stats()
    assert stats.documents.by_kind == {"issue": {"item": 5}}
    assert (stats.vectors.embedded, stats.vectors.embedder.model) == (5, "nomic-embed-text")
    assert stats.full_text.indexed == 5


def test_a_check_finds_what_is_wrong_and_a_repair_mends_it(history):
    history.index.update()
    assert history.index.check().findings == []
    store = history.app.store()
    with store.transaction():
        store.connection.execute("UPDATE document_texts SET text = 'other words' WHERE id = 1")
    assert "text_differs" in {finding.name for finding in history.index.check(sample=0).findings}
    repaired = history.index.repair()
    assert ("text_differs", 0) in {(repair.name, repair.left) for repair in repaired.repairs}
    assert repaired.checked.findings == []


def test_a_check_says_why_no_vector_was_made_again(history):
    history.index.update()
    (vectors,) = [proof for proof in history.index.check(sample=0).proofs if "vectors were recomputed" in proof.what]
    assert (vectors.checked, vectors.total, vectors.why) == (0, 5, "--sample 0")
    (vectors,) = [proof for proof in history.index.check().proofs if "vectors were recomputed" in proof.what]
    assert (vectors.checked, vectors.why) == (5, "")


def test_what_is_running_can_be_stopped(history):
    history.stop.set()
    with pytest.raises(Stopped):
        history.index.update()
    assert not history.is_writing
