"""The file of vectors beside a large store: the same answers with it and without, whatever happened to either."""

import os
import shutil
import time

import numpy as np
import pytest
from hashed import HashedEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_tables import FORGET_VECTORS, INSERT_VECTOR, VECTORS
from forgelore.index.check import check_store
from forgelore.index.repair import repair_store
from forgelore.index.vectors import embed_documents
from forgelore.records import StoredEmbedder
from forgelore.store.documents import find_embedder
from forgelore.store.sqlite import vector_memory
from forgelore.store.sqlite.schema import open_store
from forgelore.store.sqlite.vector_memory import drop_file, is_file_true, load_file, load_rows, refresh_file
from forgelore.store.sqlite.vectors import VectorCache
from forgelore.text.values import check_vector

EMBEDDER = StoredEmbedder(1, "any", "any", "any", 24)


class Shelf:
    """A store that has nothing but vectors."""

    def __init__(self, path, count=300):
        self.store = open_store(str(path))
        self.store.run("PRAGMA foreign_keys=OFF")
        self.rng = np.random.default_rng(11)
        self.last = 0
        self.add(count)

    @property
    def file(self):
        return self.store.path + "-vectors"

    def add(self, count):
        rows = self.rng.integers(-127, 128, (count, EMBEDDER.dimension), np.int8)
        ids = range(self.last + 1, self.last + count + 1)
        self.store.run_many(
            INSERT_VECTOR, [(one, one * 2, 1, row.tobytes()) for one, row in zip(ids, rows, strict=True)]
        )
        self.last += count

    def forget(self, *ids):
        self.store.run_many(FORGET_VECTORS, [(one * 2,) for one in ids])

    def nearest(self, cache=None, allowed=None):
        cache = cache or VectorCache(self.store, EMBEDDER)
        cache.refresh()
        rng = np.random.default_rng(5)
        queries = [check_vector(rng.standard_normal(24).tolist(), 24) for _ in range(6)]
        return [cache.nearest(query, 20, allowed) for query in queries]

    def nearest_without(self, allowed=None):
        """The same when there is no file."""
        os.rename(self.file, self.file + "-away")
        try:
            return self.nearest(allowed=allowed)
        finally:
            os.rename(self.file + "-away", self.file)


@pytest.fixture(autouse=True)
def _worth_it(monkeypatch):
    monkeypatch.setattr(vector_memory, "MIN_ROWS", 50)


@pytest.fixture
def shelf(tmp_path):
    made = Shelf(tmp_path / "shelf.db")
    yield made
    made.store.close()


def test_it_holds_what_the_rows_hold(shelf):
    assert refresh_file(shelf.store, EMBEDDER)
    read, mapped = load_rows(shelf.store, EMBEDDER), load_file(shelf.store, EMBEDDER)
    for mine, theirs in zip(read[:3], mapped[:3], strict=True):
        assert np.array_equal(mine, theirs)
    assert np.array_equal(np.concatenate(read.blocks), np.concatenate(mapped.blocks))
    assert mapped.blocks[0].ctypes.data % 64 == 0
    assert os.stat(shelf.file).st_mode == os.stat(shelf.store.path).st_mode


def test_a_small_store_has_none(tmp_path):
    shelf = Shelf(tmp_path / "small.db", 40)
    assert not refresh_file(shelf.store, EMBEDDER)
    assert not os.path.exists(shelf.file)
    shelf.store.close()


@given(data=st.data())
@settings(max_examples=40, deadline=None)
def test_answers_are_equal_with_it_and_without(tmp_path_factory, data):
    """After anything was added and anything is gone, for a process that comes and for one that stays."""
    shelf = Shelf(tmp_path_factory.mktemp("shelf") / "shelf.db")
    refresh_file(shelf.store, EMBEDDER)
    staying = VectorCache(shelf.store, EMBEDDER)
    shelf.nearest(staying)
    for _ in range(data.draw(st.integers(1, 4))):
        gone = data.draw(st.sets(st.integers(1, shelf.last), max_size=60))
        shelf.forget(*gone)
        shelf.add(data.draw(st.integers(0, 30)))
        if data.draw(st.booleans()):
            refresh_file(shelf.store, EMBEDDER)
        allowed = data.draw(st.sampled_from([None, np.arange(1, 300)]))
        expected = shelf.nearest_without(allowed)
        assert shelf.nearest(allowed=allowed) == expected
        assert shelf.nearest(staying, allowed) == expected
        assert is_file_true(shelf.store, EMBEDDER)
    shelf.store.close()


def test_it_is_written_again_when_it_lags(shelf):
    assert refresh_file(shelf.store, EMBEDDER)
    shelf.add(10)
    assert not refresh_file(shelf.store, EMBEDDER)
    shelf.add(10)
    assert refresh_file(shelf.store, EMBEDDER)
    assert load_file(shelf.store, EMBEDDER).total == 320
    shelf.forget(*range(1, 30))
    assert refresh_file(shelf.store, EMBEDDER)
    assert load_file(shelf.store, EMBEDDER).total == 291


def test_a_store_from_a_backup_does_not_meet_the_vectors_of_another_time(shelf, tmp_path):
    """Ids of the two agree, and what they mean does not."""
    shelf.store.run("PRAGMA wal_checkpoint(TRUNCATE)")
    backup = tmp_path / "backup.db"
    shutil.copy(shelf.store.path, backup)
    shelf.add(100)
    refresh_file(shelf.store, EMBEDDER)
    other = Shelf(tmp_path / "other.db", 0)
    other.store.close()
    shutil.copy(backup, tmp_path / "other.db")
    shutil.copy(shelf.file, str(tmp_path / "other.db-vectors"))
    other = Shelf(tmp_path / "other.db", 0)
    other.rng, other.last = np.random.default_rng(99), 300
    other.add(100)
    assert load_file(other.store, EMBEDDER) is None
    assert other.nearest() == other.nearest_without()
    assert refresh_file(other.store, EMBEDDER)
    assert other.nearest() == other.nearest_without()
    other.store.close()


def damage_cut(data):
    return data[:-1]


def damage_longer(data):
    return data + b"x"


def damage_head(data):
    return b"\xff" * 4096 + data[4096:]


def damage_rows(data):
    head = data[:4096].replace(b'"rows":300', b'"rows":-30')
    assert head != data[:4096]
    return head + data[4096:]


def damage_dimension(data):
    return data[:4096].replace(b'"dimension":24', b'"dimension":99') + data[4096:]


def damage_all(_):
    return b""


@pytest.mark.parametrize(
    "damage",
    [damage_cut, damage_longer, damage_head, damage_rows, damage_dimension, damage_all],
    ids=lambda f: f.__name__,
)
def test_what_is_not_whole_is_not_believed(shelf, damage):
    refresh_file(shelf.store, EMBEDDER)
    expected = shelf.nearest_without()
    with open(shelf.file, "rb") as file:
        data = damage(file.read())
    os.unlink(shelf.file)
    with open(shelf.file, "wb") as file:
        file.write(data)
    assert load_file(shelf.store, EMBEDDER) is None
    assert shelf.nearest() == expected
    assert refresh_file(shelf.store, EMBEDDER)
    assert load_file(shelf.store, EMBEDDER) is not None


def test_of_another_embedder_it_is_not_believed(shelf):
    refresh_file(shelf.store, EMBEDDER)
    assert load_file(shelf.store, EMBEDDER._replace(fingerprint="another")) is None


def test_whoever_has_mapped_it_keeps_it(shelf):
    refresh_file(shelf.store, EMBEDDER)
    staying = VectorCache(shelf.store, EMBEDDER)
    before = shelf.nearest(staying)
    shelf.add(200)
    refresh_file(shelf.store, EMBEDDER)
    drop_file(shelf.store)
    assert not os.path.exists(shelf.file)
    shelf.forget(*range(301, 501))
    assert shelf.nearest(staying) == before


def test_where_it_cannot_be_written_nothing_fails(shelf):
    os.mkdir(shelf.file)
    assert not refresh_file(shelf.store, EMBEDDER)
    assert os.listdir(os.path.dirname(shelf.file)).count("shelf.db-vectors") == 1
    assert not [name for name in os.listdir(os.path.dirname(shelf.file)) if name.endswith(".new")]
    assert shelf.nearest()


def test_what_a_killed_run_left_goes_with_the_next(shelf):
    old, young = shelf.file + ".1a.new", shelf.file + ".2b.new"
    for path, age_s in ((old, 9000), (young, 5)):
        with open(path, "wb") as file:
            file.write(b"half")
        os.utime(path, (time.time() - age_s,) * 2)
    refresh_file(shelf.store, EMBEDDER)
    assert not os.path.exists(old)
    assert os.path.exists(young)  # somebody may be writing it
    drop_file(shelf.store)
    assert not os.path.exists(young)


def test_embedding_writes_it_and_a_check_proves_it(demo):
    embedder = HashedEmbedder()
    [project_id] = [row[0] for row in demo.rows("SELECT id FROM projects LIMIT 1")]
    embed_documents(demo, embedder, [project_id], is_full=True, has_file=True)
    path, stored = demo.path + "-vectors", find_embedder(demo, embedder.fingerprint())
    assert load_file(demo, stored) is not None
    assert not [one.name for one in check_store(demo).findings if one.name.startswith("vector_file")]
    with open(path, "rb+") as file:
        file.seek(5000)
        file.write(b"\x01\x02\x03")
    assert [one.name for one in check_store(demo).findings] == ["vector_file_differs"]
    repaired = repair_store(demo)
    assert [one.name for one in repaired.repairs] == ["vector_file_differs"]
    assert not repaired.checked.findings
    assert load_file(demo, stored) is not None
    assert is_file_true(demo, stored)


def test_a_table_that_is_made_again_does_not_meet_the_file_of_the_lost_one(demo):
    """Its ids begin anew."""
    embedder = HashedEmbedder()
    [project_id] = [row[0] for row in demo.rows("SELECT id FROM projects LIMIT 1")]
    embed_documents(demo, embedder, [project_id], is_full=True, has_file=True)
    demo.run(f"DROP TABLE {VECTORS}")
    repair_store(demo)
    assert not os.path.exists(demo.path + "-vectors")
