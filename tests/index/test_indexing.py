"""Items into documents: what a document holds, and that nothing is written which did not change."""

import pytest

from forgelore.errors import Stopped, StoreError
from forgelore.index import update as indexing
from forgelore.index.update import count_indexed, index_items, reindex_items
from forgelore.index.vectors import embed_documents
from forgelore.ports.progress import Watcher
from forgelore.store.sqlite.connection import SqliteStore
from forgelore.store.sqlite.fulltext import add_text, count_documents, remove_text
from forgelore.store.sqlite.schema import load_migrations, migrate, open_store
from forgelore.store.sqlite.vector_rows import count_vectors
from forgelore.store.sqlite.vectors import load_vectors
from forgelore.text import documents
from forgelore.text.documents import keep_notes
from index.embedder import Hashed


def test_an_item_and_each_of_its_threads_become_documents(tracker):
    tracker.add(1, "Login fails", "After the upgrade.")
    tracker.say(1, "Same here", "Since 2.1")
    tracker.say(1, "Why this?", thread="a.py:3", path="a.py")
    done = tracker.index()
    assert (done.new, done.changed, done.removed, done.failed) == (3, 0, 0, 0)
    assert tracker.document(1)[1:] == ("Login fails", "After the upgrade.")
    assert tracker.document(1, "comments")[1:] == ("Login fails", "Same here\n\nSince 2.1")
    assert tracker.document(1, "a.py:3")[1:] == ("Login fails", "Why this?")
    assert tracker.find("upgrade") == [tracker.document(1)[0]]
    assert tracker.value("SELECT count(*) FROM jobs WHERE kind = 'document'") == 0
    assert tracker.value("SELECT count(*) FROM jobs WHERE kind = 'embed'") == 3


def test_what_filters_ask_for_is_in_columns_and_not_in_the_text(tracker):
    tracker.add(1, labels=["needs-triage"], state="closed", author="zoe", files=["deep/path.py"], url="https://x/1")
    tracker.index()
    assert tracker.store.row("SELECT kind, state, author, created_at, updated_at, url FROM documents") == (
        "issue", "closed", "zoe", 1000, 2000, "https://x/1",
    )  # fmt: skip
    assert tracker.store.rows("SELECT name FROM document_labels") == [("needs-triage",)]
    assert tracker.store.rows("SELECT path FROM document_paths") == [("deep/path.py",)]
    assert tracker.find("triage OR closed OR zoe OR deep") == []


@pytest.mark.parametrize("secret", [{"is_system": True}, {"is_internal": True}])
def test_system_and_internal_notes_are_in_no_document(tracker, secret):
    tracker.add(1)
    tracker.say(1, "in the open")
    tracker.say(1, "plutonium", first=2, **secret)
    tracker.say(1, "plutonium alone", thread="d1", **secret)
    tracker.index()
    assert tracker.find("plutonium") == []
    assert tracker.value("SELECT count(*) FROM document_texts WHERE text LIKE '%plutonium%'") == 0
    assert tracker.document(1, "d1") is None
    assert tracker.document(1, "comments")[2] == "in the open"


def test_a_note_that_becomes_internal_leaves_the_document(tracker):
    tracker.add(1)
    tracker.say(1, "plutonium")
    tracker.index()
    tracker.say(1, "plutonium", is_internal=True)
    assert tracker.index().removed == 1
    assert tracker.find("plutonium") == []


def test_indexing_twice_writes_nothing_the_second_time(furnished):
    before = furnished.store.total_changes
    done = furnished.index()
    assert furnished.store.total_changes == before
    assert done.total_written == 0


def test_an_item_that_was_touched_but_says_the_same_costs_only_its_job(furnished):
    furnished.store.run(
        "INSERT INTO jobs (project_id, kind, key, queued_at) SELECT project_id, 'document', id, 0 FROM items"
    )
    before = furnished.store.total_changes
    done = furnished.index()
    assert (done.unchanged, done.total_written) == (22, 0)
    assert furnished.store.total_changes - before == 11  # the jobs


def test_a_new_label_touches_no_text_and_asks_for_no_vector(furnished):
    furnished.run("DELETE FROM jobs")
    texts = furnished.store.rows("SELECT * FROM document_texts")
    furnished.add(1, "Crash 1", "It falls over in module1. " * 3, labels=["bug", "urgent"])
    assert furnished.index().changed == 2  # the item and its thread
    assert furnished.store.rows("SELECT * FROM document_texts") == texts
    assert furnished.value("SELECT count(*) FROM jobs") == 0
    names = furnished.store.rows(
        "SELECT DISTINCT name FROM document_labels WHERE document_id = ? ORDER BY name", furnished.document(1)[0]
    )
    assert names == [("bug",), ("urgent",)]


def test_a_new_note_changes_only_its_thread(furnished):
    furnished.say(1, "another place", thread="other")
    furnished.index()
    furnished.run("DELETE FROM jobs")
    furnished.say(1, "one more word", first=3)
    done = furnished.index()
    assert (done.new, done.changed, done.unchanged) == (0, 1, 2)
    thread = furnished.document(1, "comments")
    assert thread[2].endswith("one more word")
    assert furnished.store.rows("SELECT key FROM jobs WHERE kind = 'embed'") == [(str(thread[0]),)]


def test_an_edited_text_is_found_by_its_new_words_and_not_by_its_old_ones(furnished):
    furnished.add(1, "Crash 1", "Everything is fine with the zeppelin")
    furnished.index()
    assert furnished.find("zeppelin") == [furnished.document(1)[0]]
    assert furnished.document(1)[0] not in furnished.find("module1")
    assert furnished.word_damage() == []


def test_a_deleted_item_leaves_nothing_behind(furnished):
    ids = {furnished.document(1)[0], furnished.document(1, "comments")[0]}
    embed_documents(furnished.store, Hashed(), [1])
    assert count_vectors(furnished.store, 1) == (22, 22)
    furnished.delete(1)
    assert furnished.index().removed == 2
    for table, column in [("documents", "id"), ("document_texts", "id"), ("document_labels", "document_id"),
                          ("document_paths", "document_id"), ("jobs", "key")]:  # fmt: skip
        left = {int(row[0]) for row in furnished.store.rows(f"SELECT {column} FROM {table}")}
        assert not left & ids, table
    assert furnished.find("module1 OR number1") == []
    assert count_documents(furnished.store) == 20
    assert furnished.word_damage() == []
    assert count_vectors(furnished.store, 1) == (20, 20)
    assert load_vectors(furnished.store, 1, ids) == {}


def test_a_thread_whose_last_note_is_gone_leaves_and_the_rest_stays(furnished):
    furnished.run("DELETE FROM threads WHERE item_id = (SELECT id FROM items WHERE number = 2)")
    furnished.run("INSERT INTO jobs (project_id, kind, key, queued_at) SELECT 1, 'document', id, 0 FROM items WHERE number = 2")  # fmt: skip
    assert furnished.index().removed == 1
    assert furnished.document(2, "comments") is None
    assert furnished.document(2) is not None


def test_a_full_run_leaves_equal_documents_alone(furnished):
    before = furnished.store.total_changes
    done = reindex_items(furnished.store, [1])
    assert (done.new, done.changed, done.unchanged, done.removed) == (0, 0, 22, 0)
    assert furnished.store.total_changes == before


def test_a_full_run_renews_terms_that_older_rules_made(furnished):
    document_id, title, text = furnished.document(1)
    remove_text(furnished.store, document_id, title, text, "")
    furnished.run("UPDATE document_texts SET terms = 'oldrules' WHERE id = ?", document_id)
    add_text(furnished.store, document_id, title, text, "oldrules")
    assert furnished.index().changed == 0
    assert reindex_items(furnished.store, [1]).changed == 1
    assert furnished.find("oldrules") == []
    assert furnished.word_damage() == []


def test_a_full_run_builds_what_no_job_asks_for(tracker):
    tracker.add(1)
    tracker.run("DELETE FROM jobs")
    assert tracker.index().new == 0
    assert reindex_items(tracker.store, [1]).new == 1


LONG = documents.MAX_CHARS


@pytest.mark.parametrize(
    ("sizes", "reason", "kept"),
    [
        ([10, 20, 30], None, 3),
        ([LONG + 1], "single_note_oversized", 1),
        ([LONG - 10, 20], "first_last_oversized", 2),
        ([LONG * 2, 20, 20], "first_last_oversized", 2),
        ([100, LONG, 100], "token_limit_middle_drop", 3),
        ([LONG // 4] * 10, "token_limit_middle_drop", None),
    ],
)
def test_long_threads_are_cut_at_notes_with_a_reason(sizes, reason, kept):
    bodies = [chr(ord("a") + at) * size for at, size in enumerate(sizes)]
    found, why = keep_notes(bodies)
    assert why == reason
    assert len("\n\n".join(found)) <= LONG
    assert kept is None or len(found) == kept
    if reason == "token_limit_middle_drop":
        assert found[0] == bodies[0]
        assert found[-1] == bodies[-1]
        (marker,) = [note for note in found if note.startswith("[... ")]
        assert marker == f"[... {len(bodies) - len(found) + 1} notes omitted for length ...]"


def test_the_reason_of_a_cut_is_stored_and_counted(tracker):
    tracker.add(1)
    tracker.say(1, *["x" * 9000] * 6)
    tracker.index()
    assert tracker.store.rows("SELECT truncated_reason FROM documents WHERE is_truncated") == [("token_limit_middle_drop",)]  # fmt: skip
    assert count_indexed(tracker.store, [1]) == (2, 1)


def test_an_older_database_queues_everything_it_has(tmp_path):
    old = SqliteStore(str(tmp_path / "old.db"))
    migrate(old, load_migrations()[:3])
    old.run("INSERT INTO projects (forge, host, path, path_key, added_at) VALUES ('github', 'h', 'a/b', 'a/b', 1)")
    for number, deleted_at in ((1, None), (2, None), (3, 5)):
        old.run(
            "INSERT INTO items (project_id, kind, number, title, body, content_hash, row_hash, deleted_at)"
            " VALUES (1, 'issue', ?, 'Old title', 'old text', 'x', x'00', ?)", number, deleted_at,
        )  # fmt: skip
    old.close()
    store = open_store(str(tmp_path / "old.db"))
    assert store.value("SELECT count(*) FROM jobs WHERE kind = 'document'") == 2
    assert index_items(store, [1]).new == 2
    store.close()


@pytest.mark.parametrize("index", [index_items, reindex_items])
def test_an_item_that_cannot_be_indexed_waits_with_its_reason_and_stops_no_other(tracker, monkeypatch, index):
    for number in range(1, 6):
        tracker.add(number, f"Title {number}")
    build = indexing.build_documents

    def build_or_fail(source, card):
        if source.title == "Title 3":
            raise ValueError("cannot be built")
        return build(source, card)

    monkeypatch.setattr(indexing, "build_documents", build_or_fail)
    done = index(tracker.store, [1])
    assert (done.new, done.failed) == (4, 1)
    assert tracker.store.rows("SELECT attempt_count, last_error FROM jobs WHERE kind = 'document'") == [
        (1, "ValueError: cannot be built")
    ]


def test_a_store_that_fails_blames_no_item(tracker, monkeypatch):
    tracker.add(1)

    def fail(*_args, **_more):
        raise StoreError("no space left")

    monkeypatch.setattr(indexing, "save_documents", fail)
    with pytest.raises(StoreError):
        tracker.index()
    assert tracker.value("SELECT attempt_count FROM jobs WHERE kind = 'document'") == 0


@pytest.mark.parametrize("index", [index_items, reindex_items])
def test_a_stop_ends_between_batches_and_the_next_run_goes_on(tracker, monkeypatch, index):
    monkeypatch.setattr(indexing, "BATCH", 2)
    for number in range(1, 6):
        tracker.add(number)
    with pytest.raises(Stopped):
        index(tracker.store, [1], should_stop=lambda: True)
    assert tracker.value("SELECT count(*) FROM documents") == 2
    assert index(tracker.store, [1]).new == 3


def test_progress_tells_the_total_and_adds_up(tracker):
    told = []

    for number in range(1, 4):
        tracker.add(number)
    tracker.index(watcher=Watcher(told.append))
    assert [(event.done, event.expected, event.is_finished) for event in told] == [
        (0, 3, False), (3, 3, False), (3, 3, True),
    ]  # fmt: skip
