r"""Packing a store, compressed and checked by a sum: how it travels, as one file or in parts.

    head       8 bytes   \x93 "LORE" \r \n \x1a: a text conversion on the way damages it visibly
               2 bytes   version: 1 a file, 2 the head of parts
               8 bytes   size of the plain bytes
              32 bytes   SHA-256 of the plain bytes; of parts: of their SHA-256s, one after the other
    segment    4 bytes   size of the compressed bytes
               4 bytes   size of the plain bytes, at most 4 MiB; written: 64 KiB
               …         zlib, level 1
    …                    further segments, up to the end of the file

In parts the head is a file of its own, and each 64 KiB of the store are another: zlib, level 1. One more item changes
some sixty of seven hundred parts, and only those have to travel again.

Numbers are big-endian. Segments stand alone, so that two threads work on them (zlib lets go of Python's lock), and at
most `AHEAD` of them are in memory. Level 1 makes 19.8 MB of a 52 MB store in 0.4 s; level 6 makes 18.0 MB in 0.9 s.
"""

import contextlib
import hashlib
import os
import struct
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import BinaryIO, NamedTuple, TypeVar

from forgelore.errors import NewerStore, StoreError

MAX_PLAIN = 2_000_000_000  # bytes: more is a bomb, or a store that no runner should pull for one issue
MAX_SEGMENT = 4 << 20
SEGMENT = 1 << 16
THREADS = 2
AHEAD = 64  # segments that wait or are worked on

_TOO_LARGE = "the project is too large for an index on a branch: leave the input also empty, or remove the workflow"
_MAGIC = b"\x93LORE\r\n\x1a"
_AS_FILE, _IN_PARTS = 1, 2
_SUM = 32  # bytes of a SHA-256
_HEAD = struct.Struct(">8sHQ32s")
_LENGTHS = struct.Struct(">II")

Part = TypeVar("Part")


class DamagedPack(ValueError):
    """The packed file is not whole, not ours, of another version or a bomb; says which."""


def pack(path_in: str, path_out: str) -> None:
    """Write `path_in`, compressed, to `path_out`, which appears whole or not at all."""
    with open(path_in, "rb") as plain, _replacing(path_out) as packed:
        packed.write(_HEAD.pack(_MAGIC, _AS_FILE, 0, b""))
        size, digest = 0, hashlib.sha256()

        def read() -> Iterator[bytes]:
            nonlocal size
            for segment in _read_plain(plain):
                size += len(segment)
                digest.update(segment)
                yield segment

        for segment in _side_by_side(_deflate, read()):
            packed.write(segment)
        packed.seek(0)
        packed.write(_HEAD.pack(_MAGIC, _AS_FILE, size, digest.digest()))


def unpack(path_in: str, path_out: str) -> None:
    """Write what was packed into `path_in` to `path_out`, which appears whole and with the right sum or not at all."""
    with open(path_in, "rb") as packed, _replacing(path_out) as plain:
        size, expected = _read_head(packed.read(_HEAD.size), _AS_FILE)
        left, digest = size, hashlib.sha256()
        for segment in _side_by_side(_inflate, _read_segments(packed, size)):
            left -= len(segment)
            digest.update(segment)
            plain.write(segment)
        if left:
            raise DamagedPack(f"the packed file is cut off: {left:,} of {size:,} bytes are missing")
        if digest.digest() != expected:
            raise DamagedPack("the packed file is damaged: its checksum does not match")


class SplitStore(NamedTuple):
    """A store in parts. `parts`: the file of each, in their order; None for one that is as it was."""

    head: bytes
    parts: list[str | None]


def split(path_in: str, folder: str, *, known: Sequence[bytes] = ()) -> SplitStore:
    """Write the parts of a store into a folder, but for those with the sums that `join` returned (`known`)."""
    os.makedirs(folder, exist_ok=True)
    sums, size = hashlib.sha256(), 0
    parts: list[str | None] = []

    def shrink(part: tuple[int, bytes]) -> bytes:
        at, plain = part
        digest = hashlib.sha256(plain).digest()
        is_known = at < len(known) and known[at] == digest
        return digest if is_known else digest + zlib.compress(plain, 1)

    with open(path_in, "rb") as plain:
        for at, found in enumerate(_side_by_side(shrink, enumerate(_read_plain(plain)))):
            sums.update(found[:_SUM])
            path = os.path.join(folder, str(at)) if len(found) > _SUM else None
            if path is not None:
                with open(path, "wb") as file:
                    file.write(found[_SUM:])
            parts.append(path)
        size = plain.tell()
    return SplitStore(_HEAD.pack(_MAGIC, _IN_PARTS, size, sums.digest()), parts)


def join(head: bytes, parts: Iterable[bytes], path_out: str) -> list[bytes]:
    """Write the store that was split to `path_out`, which appears whole and with the right sum or not at all; returns
    the sum of each part.
    """
    size, expected = _read_head(head, _IN_PARTS)
    count, digests = -(-size // SEGMENT), []

    def grow(part: tuple[int, bytes]) -> bytes:
        plain = _inflate((min(SEGMENT, size - part[0] * SEGMENT), part[1]))
        return hashlib.sha256(plain).digest() + plain

    with _replacing(path_out) as plain:
        for found in _side_by_side(grow, zip(range(count), parts, strict=False)):
            digests.append(found[:_SUM])
            plain.write(memoryview(found)[_SUM:])
        if len(digests) < count:
            raise DamagedPack(f"the packed store is cut off: {count - len(digests):,} of {count:,} parts are missing")
        if hashlib.sha256(b"".join(digests)).digest() != expected:
            raise DamagedPack("the packed store is damaged: its checksum does not match")
    return digests


def _read_plain(file: BinaryIO) -> Iterator[bytes]:
    size = 0
    while segment := file.read(SEGMENT):
        size += len(segment)
        if size > MAX_PLAIN:
            raise StoreError(f"a store of more than {MAX_PLAIN:,} bytes is not packed", hint=_TOO_LARGE)
        yield segment


def _deflate(plain: bytes) -> bytes:
    packed = zlib.compress(plain, 1)
    return _LENGTHS.pack(len(packed), len(plain)) + packed


def _inflate(segment: tuple[int, bytes]) -> bytes:
    size, packed = segment
    stream = zlib.decompressobj()
    try:
        plain = stream.decompress(packed, size + 1)  # never more than was announced, whatever the bytes say
    except zlib.error as error:
        raise DamagedPack(f"the packed file is damaged: {error}") from error
    if len(plain) != size or not stream.eof or stream.unused_data:
        raise DamagedPack("the packed file is damaged: a segment has the wrong size")
    return plain


def _read_head(head: bytes, wanted: int) -> tuple[int, bytes]:
    """Return the size of the plain bytes and their sum; `wanted` is the version that belongs here."""
    if head[: len(_MAGIC)] != _MAGIC:
        raise DamagedPack("not a packed store, or its header is damaged")
    if len(head) < _HEAD.size:
        raise DamagedPack("the packed file is cut off in its first bytes")
    _, version, size, digest = _HEAD.unpack(head)
    if version > _IN_PARTS:
        raise NewerStore(f"packed by a newer program (format {version}, this one reads {_IN_PARTS})", hint="update it")
    if version != wanted:
        raise DamagedPack(f"the packed file has an unknown format ({version})")
    if size > MAX_PLAIN:
        raise DamagedPack(f"the packed file would unpack to {size:,} bytes; the limit is {MAX_PLAIN:,}")
    return size, digest


def _read_segments(packed: BinaryIO, size: int) -> Iterator[tuple[int, bytes]]:
    """Yield (plain size, compressed bytes); never promises more plain bytes than the head does."""
    while lengths := packed.read(_LENGTHS.size):
        if len(lengths) < _LENGTHS.size:
            raise DamagedPack("the packed file is cut off between two segments")
        length, plain = _LENGTHS.unpack(lengths)
        size -= plain
        if size < 0 or not 0 < plain <= MAX_SEGMENT or length > 2 * MAX_SEGMENT:
            raise DamagedPack("the packed file is damaged: a segment has an impossible size")
        segment = packed.read(length)
        if len(segment) < length:
            raise DamagedPack("the packed file is cut off inside a segment")
        yield plain, segment


def _side_by_side(work: Callable[[Part], bytes], parts: Iterable[Part]) -> Iterator[bytes]:
    """Yield `work(part)` in the order of the parts, made by `THREADS` threads a few parts ahead."""
    with ThreadPoolExecutor(THREADS) as threads:
        waiting: deque[Future[bytes]] = deque()
        for part in parts:
            waiting.append(threads.submit(work, part))
            if len(waiting) == AHEAD:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


@contextlib.contextmanager
def _replacing(path: str) -> Iterator[BinaryIO]:
    """Open a file beside `path` that takes its name at the end, or vanishes when something fails."""
    beside = f"{path}.{os.getpid()}.part"
    try:
        with open(beside, "wb") as file:
            yield file
        os.replace(beside, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(beside)
        raise
