"""Vectors of a second embedder beside the first: made where they are missing, dropped where nobody wants them."""

import pytest

from engine_tables import DOUBLE_SECONDS, SWAP_SECONDS
from forgelore.api import open_history
from forgelore.errors import EmbedderUnreachable, EmbeddingFailed
from forgelore.index.check import CheckRequest, check_store
from forgelore.index.repair import repair_store
from forgelore.index.stats import load_stats
from forgelore.index.vectors import embed_documents, embed_items, forget_items
from forgelore.store.sqlite.vector_rows import (
    NOTHING,
    SecondVectors,
    count_waiting_texts,
    has_second_vectors,
    load_second_vectors,
)
from index.embedder import Hashed


class Beside(Hashed):
    """The same bags of words under another name, with other sizes."""

    name = "beside"

    def __init__(self, version="1", **how):
        super().__init__(version, dimension=24, **how)

    def fingerprint(self):
        return f"beside {self.version}"


def second_of(tracker, number, embedder):
    item_id = tracker.value("SELECT id FROM items WHERE number = ? AND kind = 'issue'", number)
    return load_second_vectors(tracker.store, embedder.fingerprint(), [item_id]).get(item_id)


def embed(tracker, embedder, **how):
    return embed_items(tracker.store, embedder, [tracker.project_id], **how)


def test_every_item_gets_one_and_threads_get_none(furnished):
    beside = Beside()
    assert embed(furnished, beside) == 11
    assert load_stats(furnished.store).vectors.second == SecondVectors("beside 1", 11)
    assert len(second_of(furnished, 3, beside).data) == 24
    assert has_second_vectors(furnished.store, "beside 1", furnished.project_id, "issue")


def test_what_has_one_is_not_asked_for_again(furnished):
    embed(furnished, Beside())
    again, before = Beside(), furnished.store.total_changes
    assert (embed(furnished, again), again.batches, furnished.store.total_changes) == (0, [], before)


def test_a_new_text_makes_the_old_vector_count_for_nothing_until_it_is_made_again(furnished):
    beside = Beside()
    embed(furnished, beside)
    furnished.add(3, "Another title", "Another text", updated_at=5000)
    furnished.index()
    assert second_of(furnished, 3, beside) is None and second_of(furnished, 4, beside) is not None
    assert (embed(furnished, beside), second_of(furnished, 3, beside) is not None) == (1, True)


def test_another_version_of_the_embedder_replaces_all(furnished):
    embed(furnished, Beside())
    assert embed(furnished, Beside("2")) == 11
    assert load_stats(furnished.store).vectors.second == SecondVectors("beside 2", 11)


def test_a_run_that_is_cut_off_goes_on_where_it_was(tracker):
    for number in range(1, 151):
        tracker.add(number, f"Crash {number}", f"It falls over in module{number}.")
    tracker.index()
    with pytest.raises(EmbedderUnreachable):
        embed(tracker, Beside(dies_after=1))
    left = count_waiting_texts(tracker.store, "beside 1", tracker.project_id)
    assert left == 150 - 64
    assert not has_second_vectors(tracker.store, "beside 1", tracker.project_id, "issue")
    assert embed(tracker, Beside()) == left


def test_a_text_that_is_refused_is_not_asked_for_again(furnished):
    refused = EmbeddingFailed("too odd")
    refused.is_raised = True
    beside = Beside(spoil={"module3": refused})
    assert embed(furnished, beside) == 11
    assert second_of(furnished, 3, beside) == NOTHING
    assert embed(furnished, beside) == 0


def test_the_first_embedder_and_its_vectors_do_not_notice(furnished):
    embed_documents(furnished.store, Hashed(), [furnished.project_id])
    before = furnished.vectors()
    embed(furnished, Beside())
    assert furnished.vectors() == before
    done = embed_documents(furnished.store, Hashed("2"), [furnished.project_id])
    assert done.dropped and load_stats(furnished.store).vectors.second == SecondVectors("beside 1", 11)


def test_they_go_with_their_items_and_when_nobody_wants_them(furnished):
    embed(furnished, Beside())
    furnished.delete(3)
    furnished.index()
    assert load_stats(furnished.store).vectors.second.items == 10
    assert forget_items(furnished.store, [furnished.project_id + 1]) == 0
    assert load_stats(furnished.store).vectors.second.items == 10
    assert (forget_items(furnished.store), forget_items(furnished.store)) == (10, 0)
    assert load_stats(furnished.store).vectors.second is None


@pytest.mark.parametrize("damage", [DOUBLE_SECONDS, SWAP_SECONDS])
def test_a_check_finds_wrong_ones_and_a_repair_forgets_them(furnished, damage):
    embed_documents(furnished.store, Hashed(), [furnished.project_id])
    embed(furnished, Beside())
    request = CheckRequest(Hashed(), Beside())
    assert check_store(furnished.store, request).findings == []
    furnished.run(damage)
    assert [one.name for one in check_store(furnished.store, request).findings] == ["second_vector_wrong"]
    repaired = repair_store(furnished.store, request)
    assert repaired.checked.findings == []
    assert any("second embedder" in note for note in repaired.notes)
    assert embed(furnished, Beside()) > 0
    assert check_store(furnished.store, request).findings == []


def test_a_check_says_that_none_could_be_made_again(furnished):
    embed(furnished, Beside())
    proofs = {proof.what: proof for proof in check_store(furnished.store).proofs}
    proof = proofs["items whose second vectors were recomputed"]
    assert (proof.checked, proof.total) == (0, 11) and "not installed" in proof.why


ONE_LINE = b'{"kind": "issue", "number": 1, "title": "Crash", "body": "It falls over."}\n'


@pytest.mark.parametrize(("setting", "items"), [("minilm", 1), ("none", None)])
def test_minilm_is_stored_beside_lore_where_it_is_installed_and_wanted(tmp_path, setting, items):
    pytest.importorskip("forgelore_minilm")
    path = tmp_path / "tracker.jsonl"
    path.write_bytes(ONE_LINE)
    environ = {"HOME": str(tmp_path), "FORGELORE_EMBEDDER": "lore", "FORGELORE_SECOND_EMBEDDER": "minilm"}
    with open_history(tmp_path / "a.db", environ=environ, create=True) as history:
        history.sync.import_file(str(path), project="acme")
        stats = history.index.stats().vectors
        assert (stats.embedder.name, stats.second.items) == ("lore", 1)
    with open_history(tmp_path / "a.db", environ=environ | {"FORGELORE_SECOND_EMBEDDER": setting}) as history:
        history.index.update()
        second = history.index.stats().vectors.second
        assert (second and second.items) == items
