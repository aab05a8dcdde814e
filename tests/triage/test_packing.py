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
from forgelore.store.packing import DamagedPack, pack, unpack

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
    (tmp_path / "newer").write_bytes(head(1, version=2) + segment(b"x"))
    with pytest.raises(NewerStore, match="format 2"):
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


def test_what_was_packed_before_is_copied_and_the_rest_is_new(tmp_path):
    """A store grows by an item: most of its pieces are as they were."""
    pieces = [os.urandom(packing.SEGMENT) for _ in range(20)]
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    first.write_bytes(b"".join(pieces))
    packing.pack(str(first), str(tmp_path / "first.z"))
    known = packing.unpack(str(tmp_path / "first.z"), str(tmp_path / "again.db"))
    pieces[7] = os.urandom(packing.SEGMENT)
    second.write_bytes(b"".join([*pieces, b"more"]))
    packing.pack(str(second), str(tmp_path / "second.z"), before=known)
    packing.pack(str(second), str(tmp_path / "anew.z"))
    assert (tmp_path / "second.z").read_bytes() == (tmp_path / "anew.z").read_bytes()
    packing.unpack(str(tmp_path / "second.z"), str(tmp_path / "out.db"))
    assert (tmp_path / "out.db").read_bytes() == second.read_bytes()
