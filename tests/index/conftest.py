"""A tracker that tests write item by item, through the code that sync and import use."""

import pytest

from forgelore.index.update import index_items
from forgelore.model import File, Item, ItemKey, Note, Project, ProjectName, Thread
from forgelore.store.items import bury, save_files, save_items
from forgelore.store.jobs import queue_documents
from forgelore.store.notes import save_threads
from forgelore.store.projects import save_project
from forgelore.store.sqlite.check import find_word_damage, sample_vectors
from forgelore.store.sqlite.fulltext import search_words
from forgelore.store.sqlite.schema import open_store
from forgelore.store.sqlite.vector_rows import count_vectors


class Tracker:
    def __init__(self, path):
        self.store = open_store(str(path))
        with self.store.transaction():
            self.project_id = save_project(self.store, Project(ProjectName("github", "github.com", "acme/web")), 1).id

    def add(self, number, title="Crash", body="It falls over.", *, kind="issue", files=(), **more):
        item = Item(
            key=ItemKey(kind, number), title=title, body=body, raw=repr((number, title, body, more)).encode(),
            **{"state": "open", "author": "ana", "created_at": 1000, "updated_at": 2000, **more},
        )  # fmt: skip
        with self.store.transaction():
            saved = save_items(self.store, self.project_id, [item])
            if files:
                save_files(self.store, self.project_id, saved.ids[item.key], [File(f, f) for f in files], None)
                queue_documents(self.store, self.project_id, [saved.ids[item.key]])
        return saved.ids[item.key]

    def say(self, number, *bodies, thread="comments", kind="issue", first=1, **more):
        """Notes of one thread, whole: what is not named is kept."""
        notes = [
            Note(f"{thread}-{at}", "ben", body, 3000 + at, raw=repr((body, more)).encode(), **more)
            for at, body in enumerate(bodies, first)
        ]
        with self.store.transaction():
            save_threads(self.store, self.project_id, [Thread(ItemKey(kind, number), thread, notes)])

    def delete(self, number, kind="issue"):
        with self.store.transaction():
            bury(self.store, self.project_id, ItemKey(kind, number), 9000)

    def index(self, **how):
        return index_items(self.store, [self.project_id], **how)

    def document(self, number, thread=""):
        """(document id, title, text) of an item or of one of its threads."""
        return self.store.row(
            "SELECT d.id, t.title, t.text FROM documents d JOIN document_texts t ON t.id = d.id"
            " JOIN items i ON i.id = d.item_id WHERE i.number = ? AND d.thread_key = ?",
            number,
            thread,
        )

    def find(self, words):
        return sorted(found.document_id for found in search_words(self.store, words, 1000))

    def word_damage(self):
        """What full text says that the texts do not, or the other way round."""
        with self.store.snapshot():
            return find_word_damage(self.store)

    def vectors(self):
        """Document -> its chunks, of every embedder; without documents that wait for new ones."""
        embedders = [row[0] for row in self.store.rows("SELECT id FROM embedders")]
        return {
            (embedder_id, one.document_id): chunks
            for embedder_id in embedders
            for one, chunks in sample_vectors(self.store, embedder_id, 1000)
        }

    def count_vectors(self):
        """How many chunks have vectors, of whichever embedder."""
        return sum(count_vectors(self.store, row[0])[1] for row in self.store.rows("SELECT id FROM embedders"))

    def value(self, sql, *bindings):
        return self.store.value(sql, *bindings)

    def run(self, sql, *bindings):
        return self.store.run(sql, *bindings)


@pytest.fixture
def tracker(tmp_path):
    made = Tracker(tmp_path / "index.db")
    yield made
    made.store.close()


@pytest.fixture
def furnished(tracker):
    """Ten issues and a change with labels, files, threads and cut texts; indexed."""
    for number in range(1, 11):
        tracker.add(
            number, f"Crash {number}", f"It falls over in module{number}. " * 3, labels=["bug", f"area-{number}"]
        )
        tracker.say(number, f"Same here with number{number}", "Thanks")
    tracker.add(11, "Mend it", "See #1", kind="change", files=["src/a.py", "src/b.py"])
    tracker.say(11, "Please rename", thread="src/a.py:4", kind="change", path="src/a.py", line=4)
    tracker.index()
    return tracker
