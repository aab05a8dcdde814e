"""A packed file becomes the same file again, or a clear refusal."""

import hashlib
import os
import pathlib
import struct
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forgelore.errors import NewerStore, StoreError
from forgelore.store import packing
from forgelore.store.packing import DamagedPack, join, pack, split, unpack

SLOW = settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@pytest.fixture
def plain(tmp_path):
    """Some segments and a half of text and noise, with segments made small."""
    path = tmp_path / "plain"
    path.write_bytes((b"all work and no play " * 500 + os.urandom(3_000)) * 12)
    return path


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(packing, "SEGMENT", 16_384)


@pytest.fixture
def packed(plain, tmp_path):
    pack(str(plain), str(tmp_path / "packed"))
    return tmp_path / "packed"


def refused(path, tmp_path):
    """Unpack a file that must be refused; returns the message, and checks that nothing was left behind."""
    out = tmp_path / "out"
    with pytest.raises(DamagedPack) as refusal:
        unpack(str(path), str(out))
    assert not list(tmp_path.glob("out*"))
    return str(refusal.value)


def head(size, digest=bytes(32), version=1):
    return struct.pack(">8sHQ32s", b"\x93LORE\r\n\x1a", version, size, digest)


def segment(plain, size=None):
    data = zlib.compress(plain)
    return struct.pack(">II", len(data), len(plain) if size is None else size) + data


@SLOW
@given(data=st.binary(max_size=70_000) | st.integers(0, 200_000).map(lambda size: b"ab" * size))
def test_what_was_packed_comes_back(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    pack(str(tmp_path / "a"), str(tmp_path / "b"))
    unpack(str(tmp_path / "b"), str(tmp_path / "c"))
    assert (tmp_path / "c").read_bytes() == data


def test_a_packed_file_is_smaller_and_equal_for_equal_input(plain, packed, tmp_path):
    pack(str(plain), str(tmp_path / "again"))
    assert packed.stat().st_size < plain.stat().st_size / 2
    assert packed.read_bytes() == (tmp_path / "again").read_bytes()


def test_the_format_is_the_one_that_is_written_down(tmp_path):
    """A branch holds files of older versions for months: the layout must not drift."""
    data = b"hello, store"
    (tmp_path / "by-hand").write_bytes(head(len(data), hashlib.sha256(data).digest()) + segment(data))
    unpack(str(tmp_path / "by-hand"), str(tmp_path / "out"))
    assert (tmp_path / "out").read_bytes() == data


def test_an_earlier_file_is_replaced_only_by_a_whole_one(plain, packed, tmp_path):
    out = tmp_path / "out.db"
    out.write_bytes(b"the old one")
    damaged = tmp_path / "damaged"
    damaged.write_bytes(packed.read_bytes()[:-1])
    with pytest.raises(DamagedPack):
        unpack(str(damaged), str(out))
    assert out.read_bytes() == b"the old one"
    unpack(str(packed), str(out))
    assert out.read_bytes() == plain.read_bytes()


@SLOW
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_file_cut_off_anywhere_is_refused(packed, tmp_path, share):
    whole = packed.read_bytes()
    (tmp_path / "cut").write_bytes(whole[: int(len(whole) * share)])
    assert refused(tmp_path / "cut", tmp_path)


@SLOW
@given(share=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_a_flipped_bit_anywhere_is_noticed(packed, tmp_path, share, bit):
    data = bytearray(packed.read_bytes())
    data[int(len(data) * share)] ^= 1 << bit
    (tmp_path / "flipped").write_bytes(data)
    assert refused(tmp_path / "flipped", tmp_path)


def test_a_missing_last_segment_is_told_as_bytes_that_are_missing(tmp_path):
    data = b"x" * 100
    (tmp_path / "short").write_bytes(head(200) + segment(data))
    assert "100 of 200 bytes are missing" in refused(tmp_path / "short", tmp_path)


def test_what_is_not_a_packed_file_is_called_so(tmp_path):
    (tmp_path / "other").write_bytes(b"SQLite format 3\0" * 100)
    assert "not a packed store" in refused(tmp_path / "other", tmp_path)


def test_a_newer_version_is_no_damage(tmp_path):
    (tmp_path / "newer").write_bytes(head(1, version=3) + segment(b"x"))
    with pytest.raises(NewerStore, match="format 3"):
        unpack(str(tmp_path / "newer"), str(tmp_path / "out"))


def test_a_bomb_is_refused_before_it_is_opened(tmp_path):
    (tmp_path / "bomb").write_bytes(head(3_000_000_000))
    assert "3,000,000,000" in refused(tmp_path / "bomb", tmp_path)


@pytest.mark.parametrize("size", [0, 1, 9_999, 16_384, 16_385, 1 << 31])
def test_a_segment_that_holds_more_than_it_says_is_never_inflated_whole(tmp_path, size):
    """10 MB of zeros in 10 KB: memory stays at what was announced."""
    (tmp_path / "bomb").write_bytes(head(1 << 30) + segment(bytes(10_000_000), size=size))
    assert "size" in refused(tmp_path / "bomb", tmp_path)


def test_segments_never_add_up_to_more_than_the_head_says(tmp_path):
    (tmp_path / "more").write_bytes(head(150) + segment(bytes(100)) * 2)
    assert "impossible size" in refused(tmp_path / "more", tmp_path)


def test_a_store_that_could_not_be_unpacked_is_not_packed(plain, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "MAX_PLAIN", 50_000)
    with pytest.raises(StoreError, match="50,000"):
        pack(str(plain), str(tmp_path / "out"))
    assert not list(tmp_path.glob("out*"))


def test_a_file_that_is_not_there_leaves_nothing_behind(tmp_path):
    with pytest.raises(FileNotFoundError):
        pack(str(tmp_path / "nowhere"), str(tmp_path / "out"))
    assert not list(pathlib.Path(tmp_path).glob("out*"))


def parts_of(store, known=()):
    """The parts that `split` wrote, those that were known from there."""
    return [pathlib.Path(path).read_bytes() if path else known[at] for at, path in enumerate(store.parts)]


@SLOW
@given(data=st.binary(max_size=70_000) | st.integers(0, 200_000).map(lambda size: b"ab" * size))
def test_what_was_split_comes_back(tmp_path, data):
    (tmp_path / "a").write_bytes(data)
    store = split(str(tmp_path / "a"), str(tmp_path / "parts"))
    join(store.head, parts_of(store), str(tmp_path / "c"))
    assert (tmp_path / "c").read_bytes() == data


@pytest.fixture
def store(plain, tmp_path):
    found = split(str(plain), str(tmp_path / "parts"))
    return found.head, parts_of(found)


def test_only_parts_that_changed_are_written_again(plain, store, tmp_path):
    head, parts = store
    known = join(head, parts, str(tmp_path / "here.db"))
    data = bytearray(plain.read_bytes())
    data[3 * packing.SEGMENT + 5] ^= 1
    (tmp_path / "here.db").write_bytes(bytes(data) + b"one more row" * 2_000)
    again = split(str(tmp_path / "here.db"), str(tmp_path / "again"), known=known)
    assert [at for at, path in enumerate(again.parts) if path] == [3, *range(len(parts) - 1, len(again.parts))]
    join(again.head, parts_of(again, parts), str(tmp_path / "out.db"))
    assert (tmp_path / "out.db").read_bytes() == (tmp_path / "here.db").read_bytes()


@pytest.mark.parametrize("spoil", ["missing", "swapped", "flipped", "cut", "bomb", "of another store"])
def test_parts_that_do_not_belong_together_are_refused(store, tmp_path, spoil):
    head, parts = store
    if spoil == "missing":
        parts.pop()
    elif spoil == "swapped":
        parts[0], parts[1] = parts[1], parts[0]
    elif spoil == "flipped":
        parts[2] = parts[2][:50] + bytes([parts[2][50] ^ 1]) + parts[2][51:]
    elif spoil == "cut":
        parts[2] = parts[2][:-9]
    elif spoil == "bomb":
        parts[2] = zlib.compress(bytes(10_000_000))
    else:
        parts[2] = zlib.compress(os.urandom(packing.SEGMENT))
    with pytest.raises(DamagedPack):
        join(head, parts, str(tmp_path / "out"))
    assert not list(tmp_path.glob("out*"))


def test_the_head_of_parts_is_no_packed_file(store, tmp_path):
    (tmp_path / "head").write_bytes(store[0])
    assert "unknown format" in refused(tmp_path / "head", tmp_path)
