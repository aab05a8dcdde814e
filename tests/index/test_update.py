"""Documents, then vectors: one update of the index, in which an embedder may fail and the store may not."""

import pytest

from forgelore.errors import ConfigError, EmbedderUnreachable, Stopped, StoreError
from forgelore.index.update import update_index
from forgelore.ports.progress import Watcher
from index.embedder import DIMENSION, Hashed


class Parts(Watcher):
    """Remembers which parts were begun."""

    def __init__(self):
        super().__init__(self.hear)
        self.begun = []

    def hear(self, event):
        if not event.done:
            self.begun.append((event.stage, event.expected))


@pytest.fixture
def filled(tracker):
    for number in (1, 2, 3):
        tracker.add(number, f"Crash {number}", f"It falls over in module{number}.")
    return tracker


def update(tracker, make_embedder=Hashed, **how):
    return update_index(tracker.store, [tracker.project_id], make_embedder, **how)


def raising(error):
    def make():
        raise error

    return make


def test_documents_get_their_vectors_in_the_same_update(filled):
    watcher = Parts()
    done = update(filled, watcher=watcher)
    assert (done.documents.new, done.vectors.embedded, done.vectors.waiting) == (3, 3, 0)
    assert (done.failure, done.waiting) == (None, 0)
    assert watcher.begun == [("documents", 3), ("vectors", 3)]


def test_a_second_update_asks_for_nothing_and_writes_nothing(filled):
    update(filled)
    embedder, before = Hashed(), filled.store.total_changes
    done = update(filled, lambda: embedder)
    assert (done.documents.total_written, done.vectors.embedded, embedder.batches) == (0, 0, [])
    assert filled.store.total_changes == before


def test_without_an_embedder_there_are_documents_and_nothing_failed(filled):
    done = update(filled, lambda: None)
    assert (done.documents.new, done.vectors, done.failure, done.waiting) == (3, None, None, 0)
    assert update_index(filled.store, [filled.project_id]).vectors is None


@pytest.mark.parametrize("error", [EmbedderUnreachable("nobody answers"), ConfigError("no key", hint="set it")])
def test_an_embedder_that_cannot_be_made_is_told_with_what_waits(filled, error):
    done = update(filled, raising(error))
    assert (done.documents.new, done.vectors, done.waiting) == (3, None, 3)
    assert done.failure is error


def test_an_embedder_that_dies_keeps_what_it_made_and_the_next_update_goes_on(filled):
    filled.add(4, "Long", "\n".join(f"line {number} speaks of topic{number} at length" for number in range(200)))
    done = update(filled, lambda: Hashed(dies_after=1))
    assert (done.failure.message, done.vectors) == ("the service is gone", None)
    assert done.waiting == filled.value("SELECT count(*) FROM jobs WHERE kind = 'embed'") > 0
    again = update(filled)
    assert again.vectors.embedded == done.waiting
    assert again.vectors.waiting == 0


def test_documents_that_get_no_vector_are_counted(filled):
    filled.add(4, "Poison", "poison")
    done = update(filled, lambda: Hashed(spoil={"poison": [0.0] * DIMENSION}))
    assert (done.vectors.embedded, done.vectors.failed, done.vectors.waiting, done.failure) == (3, 1, 1, None)


def test_an_embedder_is_made_after_the_documents(filled):
    """A model is loaded, or a service asked, with the full text already there."""
    counts = []

    def make():
        counts.append(filled.value("SELECT count(*) FROM documents"))

    update(filled, make)
    assert counts == [3]


def test_what_is_wrong_with_the_store_is_raised(filled):
    with pytest.raises(StoreError):
        update(filled, raising(StoreError("the disk is full")))


def test_a_stop_ends_the_update_between_two_batches(filled):
    with pytest.raises(Stopped):
        update(filled, should_stop=lambda: True)
    assert filled.value("SELECT count(*) FROM documents") == 3
    assert filled.count_vectors() == 0


def test_retry_times_are_of_the_clock_that_is_handed_in(filled):
    filled.add(4, "Poison", "poison")
    spoiled = Hashed(spoil={"poison": [0.0] * DIMENSION})
    update(filled, lambda: spoiled, now_ms=lambda: 1_000)
    due = filled.value("SELECT next_attempt_at FROM jobs WHERE kind = 'embed'")
    assert 1_000 < due < 10_000_000
    assert filled.value("SELECT added_at FROM embedders") == 1_000
    assert update(filled, now_ms=lambda: due - 1).vectors.embedded == 0
    assert update(filled, now_ms=lambda: due).vectors.embedded == 1
