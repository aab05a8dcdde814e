"""The pass over bytes: whoever multiplies gives the same numbers, and the answer is that of a scan in floats."""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hashed import HashedEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_tables import INSERT_VECTOR
from forgelore.records import StoredEmbedder
from forgelore.store.documents import find_embedder
from forgelore.store.sqlite import vector_memory
from forgelore.store.sqlite import vectors as vector_scan
from forgelore.store.sqlite.schema import open_store
from forgelore.store.sqlite.vector_memory import NUMKONG, NUMPY, VectorRows, choose_kernel, load_rows
from forgelore.store.sqlite.vectors import NearestSearch, VectorCache, VectorScan
from forgelore.text.values import check_vector, pack_vector

SEEDS = st.integers(0, 2**32 - 1)


def drawn_bytes(seed, rows, width):
    return np.random.default_rng(seed).integers(-128, 128, (rows, width), np.int8)


def drawn_rows(rng, count, width, *, repeats):
    """Rows of several blocks, packed as the store has them; some documents have several, some rows are equal."""
    floats = rng.standard_normal((count, width))
    floats[rng.random(count) < repeats] = floats[0]
    packed = [pack_vector((row / np.linalg.norm(row)).astype(np.float32)) for row in floats]
    whole = np.frombuffer(b"".join(one.data for one in packed), np.int8).reshape(count, width)
    blocks = tuple(np.split(whole, sorted(rng.integers(0, count, 3))))
    scales = np.asarray([one.scale for one in packed], np.float32)
    documents = rng.permutation(count // 2 + 1)[rng.integers(0, count // 2 + 1, count)] + 1
    return VectorRows(np.arange(1, count + 1), documents, scales, tuple(block for block in blocks if len(block)))


def scan_in_floats(rows, query, places, count):
    """The oracle: every row as floats, sorted whole."""
    matrix = np.concatenate(rows.blocks).astype(np.float64)[places]
    cosines = np.einsum("ij,j->i", matrix, query.astype(np.float64)) * rows.scales[places]
    order = np.lexsort((rows.document_ids[places], -cosines))[:count]
    return places[order], cosines[order]


def usual_query(rng, width):
    return check_vector(rng.standard_normal(width).tolist(), width)


def wide_query(rng, width):
    """Numbers whose products with bytes do not sum exactly: the order of summing shows in the last digits. (Those of
    usual vectors do: 24 bits and 8, of about one size, in a float of 64.)
    """
    return check_vector((rng.standard_normal(width) * 10 ** rng.uniform(-12, 0, width)).tolist(), width)


def scan_whole(rows, query, places=None):
    scan = VectorScan(rows, query, places)
    assert scan.work() or not len(scan)
    return scan


@given(seed=SEEDS, rows=st.integers(1, 3000), width=st.integers(1, 1600))
@settings(max_examples=60, deadline=None)
def test_numpy_multiplies_as_numkong_does(seed, rows, width):
    """To the last unit, also where sums are too large for a float of 32 bits."""
    block = drawn_bytes(seed, min(rows, 2_000_000 // width), width)
    row = drawn_bytes(seed + 1, 1, width)[0]
    exact = (block.astype(np.int64) @ row.astype(np.int64)).astype(np.float32)
    assert np.array_equal(NUMPY.multiply(block, row), exact)
    assert np.array_equal(NUMKONG.multiply(block, row), exact)
    squares = np.einsum("ij,ij->i", block, block, dtype=np.int64).astype(np.float32)
    assert np.array_equal(NUMPY.square(block), squares)
    assert np.array_equal(NUMKONG.square(block), squares)


@given(
    seed=SEEDS, width=st.integers(2, 96), repeats=st.sampled_from([0.0, 0.1, 0.9]), share=st.floats(0.01, 1),
    draw=st.sampled_from([usual_query, wide_query]),
)  # fmt: skip
@settings(max_examples=100, deadline=None)
def test_the_best_rows_are_those_of_a_scan_in_floats(seed, width, repeats, share, draw):
    """In the same order, equal rows included; within any part of the rows."""
    rng = np.random.default_rng(seed)
    rows = drawn_rows(rng, 400, width, repeats=repeats)
    query = draw(rng, width)
    places = np.flatnonzero(rng.random(400) < share)
    for count in (1, 7, 64, 1000):
        found, cosines = scan_whole(rows, query, places).best(count)
        expected, exact = scan_in_floats(rows, query, places, count)
        assert np.array_equal(rows.document_ids[found], rows.document_ids[expected])
        assert cosines.tolist() == exact.tolist()
    assert np.array_equal(scan_whole(rows, query).best(9)[1], scan_in_floats(rows, query, np.arange(400), 9)[1])


@given(seed=SEEDS, width=st.integers(2, 1600), size=st.integers(3, 40))
@settings(max_examples=60, deadline=None)
def test_equal_rows_have_one_cosine_wherever_they_stand(seed, width, size):
    """Alone, as one of two, among many, also across the slices that are measured at once."""
    rng = np.random.default_rng(seed)
    row = rng.integers(1, 128, width, np.int8)
    others = rng.integers(-127, 128, (size, width), np.int8)
    blocks = [row[None], np.stack([row, row]), np.stack([others[0], row]), np.concatenate([others, [row]])]
    blocks.append(np.tile(row, (3 * size, 1)))
    ids = np.arange(sum(map(len, blocks)))
    scale = np.float32(1 / np.linalg.norm(row.astype(np.float64)))
    rows = VectorRows(ids, ids, np.full(len(ids), scale), tuple(blocks))
    places = np.flatnonzero((np.concatenate(blocks) == row).all(axis=1))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vector_scan, "_SLICE", 2 * size)
        _, cosines = scan_whole(rows, wide_query(rng, width), places).best(len(places))
    assert len(places) >= 5 + 3 * size
    assert len(set(cosines.tolist())) == 1


@given(seed=SEEDS, repeats=st.sampled_from([0.0, 0.01, 0.9]), count=st.integers(1, 11))
@settings(max_examples=40, deadline=None)
def test_the_best_of_many_rows_are_those_of_a_scan_in_floats(seed, repeats, count):
    """Enough of them that the last wanted score is looked for among the best of each column."""
    rng = np.random.default_rng(seed)
    rows = drawn_rows(rng, 6_000, 8, repeats=repeats)
    query = usual_query(rng, 8)
    found, cosines = scan_whole(rows, query).best(count)
    expected, exact = scan_in_floats(rows, query, np.arange(6_000), count)
    assert np.array_equal(rows.document_ids[found], rows.document_ids[expected])
    assert cosines.tolist() == exact.tolist()


@given(seed=SEEDS, share=st.sampled_from([None, 0.0, 0.1, 0.9]), threads=st.integers(2, 6))
@settings(max_examples=60, deadline=None)
def test_threads_that_share_the_rows_find_what_one_finds(seed, share, threads):
    """And one of them knows that it was the last."""
    rng = np.random.default_rng(seed)
    rows = drawn_rows(rng, 900, 16, repeats=0.1)
    query = usual_query(rng, 16)
    places = None if share is None else np.flatnonzero(rng.random(900) < share)
    scan = VectorScan(rows, query, places)
    with ThreadPoolExecutor(threads) as pool:
        ends = [one.result() for one in [pool.submit(scan.work) for _ in range(threads)]]
    assert sum(ends) == (len(scan) > 0)
    for one, other in zip(scan.best(20), scan_whole(rows, query, places).best(20), strict=True):
        assert one.tolist() == other.tolist()


def test_a_document_of_many_chunks_does_not_hide_the_others():
    """The nearest hundreds of rows are all of the first document: looking deeper finds the other three."""
    rng = np.random.default_rng(5)
    rows = drawn_rows(rng, 1_000, 8, repeats=0.0)
    query = usual_query(rng, 8)
    order, _ = scan_in_floats(rows, query, np.arange(1_000), 1_000)
    documents = np.ones(1_000, np.int64)
    documents[order[-3:]] = [2, 3, 4]
    rows = rows._replace(document_ids=documents)
    found = NearestSearch(rows, 4, lambda: VectorScan(rows, query)).work()
    assert [one.document_id for one in found] == [1, 2, 3, 4]
    assert [one.chunk_id for one in found] == [int(rows.chunk_ids[place]) for place in (order[0], *order[-3:])]


@pytest.mark.parametrize("kernel", ["numkong", "numpy"])
def test_searches_are_equal_whoever_multiplies(demo, kernel, monkeypatch):
    embedder = HashedEmbedder()
    stored = find_embedder(demo, embedder.fingerprint())
    queries = [
        check_vector(embedder.embed_query(row[0]), stored.dimension)
        for row in demo.rows("SELECT title FROM items ORDER BY id LIMIT 200")
    ]
    if kernel == "numpy":
        monkeypatch.setitem(sys.modules, "numkong", None)  # as where it is not installed
    choose_kernel.cache_clear()
    cache = VectorCache(demo, stored)
    cache.refresh()
    assert choose_kernel().name == kernel
    for query in queries:
        rows, cosines = scan_in_floats(cache.rows, query, np.arange(cache.rows.total), 400)
        best = {}
        for place, cosine in zip(rows, cosines, strict=True):
            best.setdefault(int(cache.rows.document_ids[place]), (float(cosine), int(cache.rows.chunk_ids[place])))
        assert [(one.document_id, one.cosine, one.chunk_id) for one in cache.nearest(query, 50)] == [
            (document, *found) for document, found in best.items()
        ][:50]
    monkeypatch.undo()
    choose_kernel.cache_clear()


def test_any_bytes_come_back_as_they_were_saved(tmp_path, monkeypatch):
    """Vectors are joined as if they were text: NUL, half a character and whatever else must not matter. Blocks end
    anywhere, ids that are gone are passed over, and rows that are no vectors are left out.
    """
    monkeypatch.setattr(vector_memory, "_BLOCK", 100)
    store = open_store(str(tmp_path / "bytes.db"))
    store.run("PRAGMA foreign_keys=OFF")
    vectors = drawn_bytes(7, 997, 32)
    vectors[:8] = np.arange(256).astype(np.int8).reshape(8, 32)
    vectors[8] = 0
    ids = np.cumsum(np.random.default_rng(3).integers(1, 9, 997)) + 1000
    store.run_many(
        INSERT_VECTOR, [(int(one), int(one) * 3, 1, row.tobytes()) for one, row in zip(ids, vectors, strict=True)]
    )
    store.run_many(INSERT_VECTOR, [(1, 7, 1, b"short"), (int(ids[-1]) + 5_000, 8, 2, bytes(32)), (2, 9, 1, bytes(33))])
    rows = load_rows(store, StoredEmbedder(1, "any", "any", "any", 32))
    store.close()
    assert rows.chunk_ids.tolist() == ids.tolist()
    assert rows.document_ids.tolist() == (ids * 3).tolist()
    assert np.array_equal(np.concatenate(rows.blocks), vectors)
    assert max(map(len, rows.blocks)) <= 100
    lengths = np.linalg.norm(np.concatenate(rows.blocks) * rows.scales[:, None], axis=1)
    assert lengths == pytest.approx([float(row.any()) for row in vectors], abs=1e-6)
