"""Drift that was made by hand is seen and mended; a sound store has nothing to say."""

import threading

import apsw
import pytest

import engine_tables
from forgelore.index.check import CheckRequest
from forgelore.index.check import check_store as check_all
from forgelore.index.findings import MEANINGS
from forgelore.index.repair import repair_store as repair_all
from forgelore.index.stats import EmbedderStats, load_stats
from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.model import Item, ItemKey
from forgelore.ports.progress import Watcher
from forgelore.store.items import save_items
from forgelore.store.sqlite.fulltext import remove_text
from forgelore.store.sqlite.schema import open_store
from forgelore.store.stats import WaitingQueue
from index.embedder import DIMENSION, Hashed


def check_store(store):
    return check_all(store).findings


def repair_store(store):
    return repair_all(store).repairs


@pytest.fixture
def sound(furnished):
    embed_documents(furnished.store, Hashed(), [1])
    assert check_store(furnished.store) == []
    return furnished


@pytest.fixture
def spoil(sound):
    """Change the file behind the program's back: no foreign keys, no triggers."""

    def run(*statements):
        sound.run("PRAGMA foreign_keys=OFF")
        for statement in statements:
            sound.run(statement)
        sound.run("PRAGMA foreign_keys=ON")

    return run


ONE = "(SELECT d.id FROM documents d JOIN items i ON i.id = d.item_id WHERE i.number = 1 AND d.representation = 'item')"
DRIFT = {
    "words_missing": [engine_tables.lose_words(ONE)],
    "words_extra": [engine_tables.GHOST_WORDS],
    "words_damaged": [
        f"UPDATE document_texts SET text = replace(text, 'module1', 'moduleX') WHERE id = {ONE}",
    ],
    "text_missing": [
        engine_tables.drop_words(ONE),
        f"DELETE FROM document_texts WHERE id = {ONE}",
    ],
    "text_without_document": [
        "INSERT INTO document_texts (id, title, text, terms) VALUES (9999, 'ghost', 'ghost', '')",
        engine_tables.GHOST_WORDS,
    ],
    "text_differs": [f"UPDATE documents SET content_hash = zeroblob(32) WHERE id = {ONE}"],
    "document_of_deleted_item": ["UPDATE items SET deleted_at = 5 WHERE number = 1"],
    "item_without_document": [
        f"UPDATE documents SET item_id = (SELECT id FROM items WHERE number = 2), thread_key = 'x' WHERE id = {ONE}",
    ],
    "document_outdated": [f"UPDATE documents SET state = 'closed' WHERE id = {ONE}"],
    **{name: [statement] for name, statement in engine_tables.vector_drift(ONE).items()},
    "job_of_nothing": ["INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'embed', '999', 0)"],
    "job_miscounted": [
        "INSERT INTO jobs (project_id, kind, key, queued_at, attempt_count) VALUES (1, 'threads', 'issue:1', 0, -1)"
    ],
    "broken_references": ["INSERT INTO document_labels (project_id, document_id, name) VALUES (1, 999, 'ghost')"],
}


def names(store):
    return {finding.name for finding in check_store(store)}


@pytest.mark.parametrize("name", DRIFT)
def test_drift_is_seen_and_mended(sound, spoil, name):
    spoil(*DRIFT[name])
    findings = {finding.name: finding for finding in check_store(sound.store)}
    assert name in findings
    assert findings[name].count == 1
    assert findings[name].examples
    assert findings[name].meaning == MEANINGS[name]
    repairs = {repair.name: repair for repair in repair_store(sound.store)}
    assert (repairs[name].found, repairs[name].left) == (1, 0)
    assert check_store(sound.store) == []
    embed_documents(sound.store, Hashed(), [1])
    assert load_stats(sound.store).vectors.coverage == 1.0
    assert repair_store(sound.store) == []


@pytest.mark.parametrize(
    ("name", "statement"),
    [
        *engine_tables.further_drift(ONE),
        ("embedder_altered", f"UPDATE embedders SET dimension = {DIMENSION + 1}"),
        ("job_of_nothing", "INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'document', '999', 0)"),
        ("job_of_nothing", "INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'document', 'x', 0)"),
        (
            "job_miscounted",
            "INSERT INTO jobs (project_id, kind, key, queued_at, last_attempt_at) VALUES (1, 'detail', 'change:1', 0, 5)",
        ),
        ("document_outdated", "UPDATE notes SET is_internal = 1 WHERE body LIKE '%number1'"),
        ("document_outdated", "UPDATE notes SET body = 'edited' WHERE body LIKE '%number1'"),
        ("document_outdated", "DELETE FROM document_labels WHERE name = 'area-1'"),
        ("document_outdated", "INSERT INTO document_paths (project_id, document_id, path) VALUES (1, 1, 'odd')"),
        ("document_outdated", "UPDATE documents SET state = 'closed' WHERE id = 1"),
        ("broken_references", "UPDATE documents SET item_id = 999 WHERE id = 1"),
    ],
)  # fmt: skip
def test_other_forms_of_it_are_seen_and_mended_too(sound, spoil, name, statement):
    spoil(statement)
    assert name in names(sound.store)
    repair_store(sound.store)
    assert check_store(sound.store) == []


def test_the_text_of_an_internal_note_does_not_survive_a_repair(sound, spoil):
    spoil("UPDATE notes SET is_internal = 1 WHERE body LIKE '%number1'")
    assert sound.find("number1")
    repair_store(sound.store)
    assert sound.find("number1") == []


def test_wrong_vectors_of_a_sample_have_all_of_them_made_anew(sound):
    """Only some were looked at: nobody knows which of the others are wrong too."""
    before = sound.vectors()
    sound.run(engine_tables.SAME_VECTOR_FOR_ALL)
    request = CheckRequest(embedder=Hashed(), sample=3)
    found = check_all(sound.store, request)
    assert {finding.name for finding in found.findings} == {"vector_differs"}
    assert (found.proofs[-1].checked, found.proofs[-1].total) == (3, 22)
    repaired = repair_all(sound.store, request)
    assert (repaired.checked.findings, repaired.notes) == ([], [])
    assert sound.vectors() == before


def test_without_its_embedder_a_check_says_that_no_vector_was_made_again(sound):
    for request, why in (
        (CheckRequest(), "no embedder is configured"),
        (CheckRequest(embedder=Hashed("2")), "they belong to hashed bag-of-words, which is not the configured embedder"),
        (CheckRequest(embedder=Hashed(dies_after=0)), "the service is gone"),
    ):  # fmt: skip
        found = check_all(sound.store, request)
        assert found.findings == []
        assert (found.proofs[-1].checked, found.proofs[-1].total, found.proofs[-1].why) == (0, 22, why)


def test_a_repair_without_its_embedder_says_that_vectors_wait(sound):
    sound.run(engine_tables.DOUBLE_VECTORS)
    repaired = repair_all(sound.store)
    assert repaired.checked.findings == []
    assert repaired.notes == ["22 documents have no vectors yet; run: forgelore embed"]
    embed_documents(sound.store, Hashed(), [1])
    assert check_all(sound.store, CheckRequest(embedder=Hashed())).findings == []


def test_a_changed_title_is_not_copied_into_the_index(sound):
    """Without a payload nobody can tell what it was; the document may be all that is left of it."""
    sound.run("UPDATE items SET title = 'a lie' WHERE number = 1")
    assert names(sound.store) == {"content_differs"}
    repaired = repair_all(sound.store)
    (finding,) = repaired.checked.findings
    assert finding.name == "content_differs"
    assert "sync --full" in finding.remedy
    assert "import" in finding.remedy
    assert sound.document(1)[1] == "Crash 1"
    sound.add(1, "Crash 1", "It falls over in module1. " * 3, labels=["bug", "area-1"])
    sound.index()
    assert check_store(sound.store) == []
    assert sound.value("SELECT title FROM items WHERE number = 1") == "Crash 1"


def test_a_watcher_is_told_how_far_a_check_is(sound):
    told = []

    def hear(event):
        if not event.done:
            told.append((event.title, event.expected))

    check_all(sound.store, CheckRequest(embedder=Hashed(), watcher=Watcher(hear)))
    assert told == [
        ("items compared with their answers", 11), ("texts compared", 22), ("items compared with their documents", 11),
        ("vectors recomputed", 22),
    ]  # fmt: skip


def test_everything_at_once_is_mended(sound, spoil):
    for statements in DRIFT.values():
        spoil(*statements)
    assert len(names(sound.store)) >= 8
    repair_store(sound.store)
    assert check_store(sound.store) == []


def test_a_repair_touches_nothing_that_a_forge_said(sound, spoil):
    tables = ("projects", "items", "item_labels", "item_files", "threads", "notes", "item_links", "raw_payloads", "sync_cursors")  # fmt: skip
    for name in ("words_damaged", "text_differs", "vector_malformed", "broken_references"):
        spoil(*DRIFT[name])
    before = {table: sound.store.rows(f"SELECT * FROM {table}") for table in tables}
    repair_store(sound.store)
    assert {table: sound.store.rows(f"SELECT * FROM {table}") for table in tables} == before


def test_waiting_work_is_no_drift(sound):
    sound.add(1, "Crash 1", "edited and not yet indexed")
    sound.delete(2)
    sound.add(90, "Brand new")
    assert check_store(sound.store) == []
    sound.index()
    assert check_store(sound.store) == []


def test_a_word_that_runs_past_the_beginning_of_a_long_text_is_not_reported_lost(tracker):
    tracker.add(1, "Crash", f"{'crash ' * 660}{'ab' * 40} and so on")
    tracker.index()
    assert check_store(tracker.store) == []


def test_a_broken_reference_of_the_forges_own_rows_is_told_and_left_alone(sound, spoil):
    spoil("UPDATE notes SET thread_id = 999 WHERE id = 1")
    repairs = {repair.name: repair for repair in repair_store(sound.store)}
    assert repairs["broken_references"].left == 1
    assert sound.value("SELECT count(*) FROM notes WHERE thread_id = 999") == 1


def test_a_check_writes_nothing(sound):
    before = (sound.value("PRAGMA data_version"), sound.value("SELECT count(*) FROM sqlite_schema"))
    other = apsw.Connection(sound.store.path)
    seen = other.execute("PRAGMA data_version").get
    check_store(sound.store)
    assert (sound.value("PRAGMA data_version"), sound.value("SELECT count(*) FROM sqlite_schema")) == before
    assert other.execute("PRAGMA data_version").get == seen
    assert sound.value("SELECT count(*) FROM sqlite_temp_schema") == 0
    other.close()


def test_a_check_runs_while_somebody_writes_and_sees_no_half_of_it(sound):
    """The writer holds the file and has done half of its work; then it goes on while the check reads."""
    writer = open_store(sound.store.path)
    with writer.transaction():
        text = writer.row("SELECT id, title, text, terms FROM document_texts WHERE id = 1")
        writer.run("DELETE FROM document_texts WHERE id = 1")
        assert check_store(sound.store) == []
        remove_text(writer, *text)
        assert check_store(sound.store) == []
    writer.close()
    assert "text_missing" in names(sound.store)


def test_checks_hold_while_another_thread_indexes(sound):
    errors, stop = [], threading.Event()

    def work():
        store = open_store(sound.store.path)
        try:
            for turn in range(200):
                if stop.is_set():
                    break
                item = Item(ItemKey("issue", 3), "Crash", f"turn {turn}", raw=str(turn).encode())
                with store.transaction():
                    save_items(store, 1, [item])
                index_items(store, [1])
        except Exception as error:
            errors.append(error)
        finally:
            store.close()

    worker = threading.Thread(target=work)
    worker.start()
    findings = [check_store(sound.store) for _ in range(10)]
    stop.set()
    worker.join()
    assert errors == []
    assert findings == [[]] * 10


def test_a_damaged_file_is_told_and_not_repaired(tracker, tmp_path):
    for number in range(1, 400):
        tracker.add(number, f"Title {number}", "text " * 200)
    tracker.index()
    tracker.run("PRAGMA wal_checkpoint(TRUNCATE)")
    tracker.store.close()
    path = tmp_path / "index.db"
    data = bytearray(path.read_bytes())
    for page in range(8192 * 150, len(data) - 8192, 8192 * 3):
        data[page : page + 200] = b"\xff" * 200
    path.write_bytes(bytes(data))
    store = open_store(str(path))
    assert names(store) == {"damaged_file"}
    (repair,) = repair_store(store)
    assert repair.left == repair.found > 0
    store.close()


def test_stats_count_what_is_there(sound):
    sound.say(1, *["x" * 9000] * 6)
    sound.add(1, "Crash 1", "new words")
    sound.index()
    embed_documents(sound.store, Hashed(spoil={"new words": [0.0] * DIMENSION}), [1])
    sound.add(60, "waits")
    sound.run("INSERT INTO jobs (project_id, kind, key, queued_at) VALUES (1, 'threads', 'issue:60', 0)")
    stats = load_stats(sound.store)
    assert stats.documents.total == 22
    assert stats.documents.by_kind == {"change": {"item": 1, "thread": 1}, "issue": {"item": 10, "thread": 10}}
    assert stats.documents.truncated_by == {"token_limit_middle_drop": 1}
    assert stats.full_text.indexed == 22
    vectors = stats.vectors
    assert (vectors.embedded, vectors.pending, vectors.failed) == (21, 0, 1)
    assert vectors.coverage == round(21 / 22, 4)
    assert vectors.embedder == EmbedderStats("hashed", "bag-of-words", DIMENSION)
    assert vectors.chunks == sum(map(len, sound.vectors().values()))
    assert stats.queues["document"] == WaitingQueue(1, 0, ())
    assert stats.queues["threads"].waiting == 1
    (error,) = stats.queues["embed"].errors
    assert "zero" in error.error
    assert stats.file.schema_version == sound.value("SELECT max(version) FROM schema_version")
    assert stats.file.bytes > 0


def test_vectors_of_another_embedder_are_not_counted(sound):
    assert load_stats(sound.store, "hashed 1 16").vectors.embedded == 22
    assert load_stats(sound.store, "something else").vectors.embedded == 0


def test_stats_of_an_empty_store(tmp_path):
    store = open_store(str(tmp_path / "empty.db"))
    stats = load_stats(store)
    assert stats.documents.total == 0
    assert stats.vectors.coverage is None
    assert check_store(store) == []
    store.close()
