"""Documents into vectors: what is refused is told, what is saved is kept, and two embedders never mix."""

import math

import pytest

import engine_tables
from forgelore.errors import EmbedderUnreachable, EmbeddingFailed, Stopped
from forgelore.index.vectors import MAX_ATTEMPTS, embed_documents
from forgelore.store.sqlite.vector_rows import count_vectors, packed_size
from forgelore.store.sqlite.vectors import load_unembedded, load_vectors
from index.embedder import DIMENSION, Hashed


def embed(tracker, embedder, **how):
    return embed_documents(tracker.store, embedder, [tracker.project_id], **how)


def waiting(tracker):
    return tracker.value("SELECT count(*) FROM jobs WHERE kind = 'embed'")


def make_due(tracker):
    """Time goes by: every job that failed may be tried again."""
    tracker.run("UPDATE jobs SET next_attempt_at = 1 WHERE next_attempt_at IS NOT NULL")


def test_every_document_gets_vectors_and_a_second_run_asks_for_none(furnished):
    done = embed(furnished, Hashed())
    assert (done.embedded, done.failed, done.waiting) == (22, 0, 0)
    again = Hashed()
    before = furnished.store.total_changes
    assert embed(furnished, again).embedded == 0
    assert again.batches == []
    assert furnished.store.total_changes == before


def test_a_vector_is_stored_as_bytes_that_fit_the_text_and_the_embedder(furnished):
    embed(furnished, Hashed())
    assert furnished.store.rows("SELECT name, model, dimension FROM embedders") == [("hashed", "bag-of-words", DIMENSION)]  # fmt: skip
    vectors = furnished.vectors()
    assert len(vectors) == 22
    assert {packed_size(*packed) for chunks in vectors.values() for _, _, packed in chunks} == {DIMENSION}
    assert load_unembedded(furnished.store, 1, [document_id for _, document_id in vectors]) == []


def test_a_long_text_gets_one_vector_per_span_and_loses_none_of_it(tracker):
    text = "\n".join(f"line {number} speaks of topic{number} at some length" for number in range(60))
    tracker.add(1, "Long", text)
    tracker.index()
    embed(tracker, Hashed())
    (chunks,) = tracker.vectors().values()
    spans = [chunk[:2] for chunk in chunks]
    assert len(spans) > 3
    assert spans[0][0] == 0
    assert spans[-1][1] == len(text)
    assert all(f"topic{number} " in " ".join(text[a:b] for a, b in spans) for number in range(60))


@pytest.mark.parametrize(
    ("instead", "reason"),
    [
        ([math.nan] * DIMENSION, "NaN"),
        ([math.inf] + [0.0] * (DIMENSION - 1), "NaN or infinity"),
        ([0.0] * DIMENSION, "zero"),
        ([1.0] * (DIMENSION + 1), "17 dimensions instead of 16"),
        ([], "not a vector"),
        ("text", "not a vector"),
        (EmbeddingFailed("too long for the model"), "too long for the model"),
    ],
    ids=["nan", "infinity", "zero", "dimension", "empty", "no vector", "refused"],
)
def test_a_refused_vector_is_recorded_with_its_reason_and_the_others_are_saved(furnished, instead, reason):
    done = embed(furnished, Hashed(spoil={"module7": instead}))
    assert (done.embedded, done.failed, done.waiting) == (21, 1, 1)
    key, attempts, error = furnished.store.row("SELECT key, attempt_count, last_error FROM jobs WHERE kind = 'embed'")
    assert (int(key), attempts) == (furnished.document(7)[0], 1)
    assert reason in error
    assert load_vectors(furnished.store, 1, [furnished.document(7)[0]]) == {}


def test_a_batch_that_comes_back_with_the_wrong_count_is_refused_whole(furnished):
    """Nobody can say which vector belongs to which text."""
    done = embed(furnished, Hashed(spoil={"module7": "nothing"}))
    assert done.failed == 4
    assert "3 vectors for 4 texts" in furnished.value("SELECT last_error FROM jobs WHERE kind = 'embed'")


def test_a_batch_that_fails_by_itself_is_recorded_and_the_next_goes_on(furnished):
    error = EmbeddingFailed("cannot digest this")
    error.is_raised = True
    done = embed(furnished, Hashed(spoil={"module7": error}))
    assert (done.embedded, done.failed) == (18, 4)


def test_after_five_attempts_a_document_rests_until_somebody_asks(furnished):
    bad = Hashed(spoil={"module7": [0.0] * DIMENSION})
    for attempt in range(1, MAX_ATTEMPTS + 1):
        assert embed(furnished, bad).failed == 1
        assert furnished.value("SELECT attempt_count FROM jobs WHERE kind = 'embed'") == attempt
        make_due(furnished)
    asked = len(bad.batches)
    assert (embed(furnished, bad).failed, len(bad.batches)) == (0, asked)
    good = Hashed()
    assert embed(furnished, good).waiting == 1
    assert good.batches == []
    assert embed(furnished, good, is_retry=True).embedded == 1
    assert waiting(furnished) == 0


def test_a_failure_waits_for_its_turn(furnished):
    bad = Hashed(spoil={"module7": [0.0] * DIMENSION})
    embed(furnished, bad)
    assert embed(furnished, bad).failed == 0
    assert furnished.value("SELECT attempt_count FROM jobs WHERE kind = 'embed'") == 1


def test_retrying_takes_only_what_failed(furnished):
    embed(furnished, Hashed(spoil={"module7": [0.0] * DIMENSION}))
    furnished.add(50, "Fresh", "never tried")
    furnished.index()
    good = Hashed()
    assert embed(furnished, good, is_retry=True).embedded == 1
    assert all("module7" in text for text in good.texts)
    assert waiting(furnished) == 1
    assert furnished.value("SELECT count(*) FROM jobs WHERE attempt_count = 0 AND last_attempt_at IS NOT NULL") == 0


def test_a_document_is_counted_as_failed_once_however_often_it_is_tried(furnished, monkeypatch):
    """A run that takes minutes tries again what failed at its beginning."""
    monkeypatch.setattr("forgelore.store.jobs.next_attempt_at", lambda now, _attempts, _jitter: now)
    done = embed(furnished, Hashed(spoil={"module7": [0.0] * DIMENSION}))
    assert furnished.value("SELECT attempt_count FROM jobs WHERE kind = 'embed'") == MAX_ATTEMPTS
    assert (done.embedded, done.failed) == (21, 1)


def test_another_embedder_embeds_everything_anew_and_the_old_vectors_go_at_the_end(furnished):
    embed(furnished, Hashed("1"))
    old = furnished.count_vectors()
    interrupted = Hashed("2", dimension=32, dies_after=2)
    with pytest.raises(EmbedderUnreachable):
        embed(furnished, interrupted)
    assert count_vectors(furnished.store, 1)[1] == old  # search goes on with these
    done = embed(furnished, Hashed("2", dimension=32))
    assert (done.waiting, done.dropped) == (0, old)
    assert furnished.store.rows("SELECT fingerprint, dimension FROM embedders") == [("hashed 2 32", 32)]
    assert {packed_size(*packed) for chunks in furnished.vectors().values() for _, _, packed in chunks} == {32}


def test_documents_that_the_new_embedder_gives_up_do_not_keep_the_old_vectors(furnished):
    embed(furnished, Hashed("1"))
    bad = Hashed("2", spoil={"module7": [0.0] * DIMENSION})
    for _ in range(MAX_ATTEMPTS):
        embed(furnished, bad)
        make_due(furnished)
    assert furnished.store.rows("SELECT fingerprint FROM embedders") == [("hashed 2 16",)]
    assert waiting(furnished) == 1


def test_who_comes_back_to_an_embedder_gets_what_changed_meanwhile(furnished):
    embed(furnished, Hashed("1"))
    furnished.add(1, "Crash 1", "rewritten while the other one worked")
    furnished.index()
    with pytest.raises(EmbedderUnreachable):
        embed(furnished, Hashed("2", dies_after=3))
    furnished.run("DELETE FROM jobs WHERE key = ?", str(furnished.document(1)[0]))  # the other one had it done
    back = Hashed("1")
    embed(furnished, back)
    assert "rewritten while the other one worked" in back.texts
    assert len(furnished.vectors()) == furnished.value("SELECT count(*) FROM documents")
    assert furnished.store.rows("SELECT fingerprint FROM embedders") == [("hashed 1 16",)]


def test_a_try_with_an_embedder_that_does_not_answer_costs_the_other_one_nothing(furnished):
    embed(furnished, Hashed("1"))
    with pytest.raises(EmbedderUnreachable):
        embed(furnished, Hashed("2", dies_after=0))
    assert waiting(furnished) == 22
    back = Hashed("1")
    assert embed(furnished, back).waiting == 0
    assert back.batches == []
    assert furnished.store.rows("SELECT fingerprint FROM embedders") == [("hashed 1 16",)]


def test_a_service_that_goes_away_keeps_what_was_saved_and_blames_no_document(tracker):
    for number in range(1, 201):
        tracker.add(number, f"Title {number}", f"word{number}")
    tracker.index()
    with pytest.raises(EmbedderUnreachable):
        embed(tracker, Hashed(dies_after=20))
    saved = tracker.count_vectors()
    assert 0 < saved < 200
    assert waiting(tracker) == 200 - saved
    assert tracker.value("SELECT count(*) FROM jobs WHERE attempt_count > 0") == 0
    assert embed(tracker, Hashed()).embedded == 200 - saved


def test_a_document_that_is_edited_while_it_is_embedded_is_not_done(tracker):
    tracker.add(1, "Title", "before")
    tracker.index()

    def edit():
        if tracker.document(1)[2] == "before":
            tracker.add(1, "Title", "after")
            tracker.index()

    embedder = Hashed(during=edit)
    done = embed(tracker, embedder)
    assert embedder.texts == ["before", "after"]
    assert done.embedded == 1
    assert waiting(tracker) == 0
    assert tracker.count_vectors() == 1
    assert load_unembedded(tracker.store, 1, [tracker.document(1)[0]]) == []


def test_a_document_that_is_deleted_while_it_is_embedded_comes_not_back(tracker):
    tracker.add(1, "Title", "short-lived")
    tracker.index()

    def delete():
        tracker.delete(1)
        tracker.index()

    assert embed(tracker, Hashed(during=delete)).embedded == 0
    assert tracker.count_vectors() == 0
    assert waiting(tracker) == 0


def test_a_stop_ends_between_transactions_and_the_next_run_goes_on(tracker):
    for number in range(1, 101):
        tracker.add(number, f"Title {number}", f"word{number}")
    tracker.index()
    with pytest.raises(Stopped):
        embed(tracker, Hashed(), should_stop=lambda: True)
    assert 0 < waiting(tracker) < 100
    assert embed(tracker, Hashed()).waiting == 0


def test_one_project_can_be_embedded_alone(furnished):
    furnished.run("INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (2, 'github', 'h', 'b/c', 'b/c', 0)")  # fmt: skip
    assert embed_documents(furnished.store, Hashed(), [2]).embedded == 0
    assert waiting(furnished) == 22


def test_a_full_run_makes_every_vector_anew(furnished):
    embed(furnished, Hashed())
    before = furnished.vectors()
    furnished.run(engine_tables.ZERO_VECTORS)
    embedder = Hashed()
    done = embed(furnished, embedder, is_full=True)
    assert (done.embedded, done.failed, done.waiting) == (22, 0, 0)
    assert len(embedder.texts) == furnished.count_vectors()
    assert furnished.vectors() == before
    assert embed(furnished, Hashed()).embedded == 0


def test_a_full_run_that_was_cut_off_goes_on_and_old_vectors_stay_until_then(furnished):
    for number in range(20, 400):
        furnished.add(number, f"Crash {number}", f"It falls over in module{number}")
    furnished.index()
    embed(furnished, Hashed())
    count = furnished.count_vectors()
    first = Hashed(dies_after=50)
    with pytest.raises(EmbedderUnreachable):
        embed(furnished, first, is_full=True)
    assert furnished.count_vectors() == count, "search by meaning finds everything meanwhile"
    left = waiting(furnished)
    assert 0 < left < count
    second = Hashed()
    assert embed(furnished, second, is_full=True).embedded == left
    assert len(second.texts) < count
    third = Hashed()
    embed(furnished, third, is_full=True)
    assert len(third.texts) == count, "the last one came to its end: this one begins anew"


def test_a_full_run_of_one_project_leaves_the_others_alone(furnished):
    embed(furnished, Hashed())
    embedder = Hashed()
    embed_documents(furnished.store, embedder, [], is_full=True)
    assert embedder.texts == []


def test_a_text_that_keeps_failing_does_not_keep_a_full_run_from_beginning_anew(furnished):
    embed(furnished, Hashed())
    embed(furnished, Hashed(spoil={"module3": [0.0] * DIMENSION}), is_full=True)
    assert waiting(furnished) > 0
    embedder = Hashed()
    embed(furnished, embedder, is_full=True)
    assert len(embedder.texts) == furnished.count_vectors()
    assert waiting(furnished) == 0
