"""Payloads: what the forge said, kept once per content: hash, compress, save, read back.

They are alike, so zlib starts from a preset dictionary: a GitHub comment of 1.6 KB takes about 0.45 KB. A dictionary
never changes once shipped; a better one gets a new codec name.
"""

import hashlib
import os
import re
import zlib
from collections.abc import Iterable

from forgelore.store.database import Store

CODEC = "zlib-1"
# Part of every row hash, and so for good. Code that learns to read more asks for a replay (`migrate`).
_READER_VERSION = b"1"

# Forges put these into answers for people with enough rights. They are secrets, and we have no use for them.
_SECRETS = re.compile(
    rb'"(?:temp_clone_token|runners_token|ci_job_token|incoming_email_token|feed_token|static_object_token)"\s*:\s*"[^"]*"'
)
_KEY = re.compile(rb'"[a-z_]+"\s*:\s*')
_NULLED = re.compile(rb'_token"\s*:\s*null')

_SMALL = 9_000  # bytes, which fit into a window of 16 KB beside the dictionary

_dictionary: bytes | None = None


def row_hash(raw: bytes) -> bytes:
    """Return the 16 bytes that tell whether a row must be written again."""
    return hashlib.sha256(_READER_VERSION + raw).digest()[:16]


def without_secrets(raw: bytes) -> bytes:
    """Return the payload with token fields nulled: `"runners_token":"x"` -> `"runners_token":null`."""
    if b"token" not in raw:
        return raw
    return _SECRETS.sub(lambda match: (_KEY.match(match[0]) or match)[0] + b"null", raw)


def save_payloads(store: Store, project_id: int, resource: str, payloads: Iterable[tuple[bytes, bytes]]) -> None:
    """Save (hash, raw) pairs; one that is already there costs nothing."""
    sql = """
        INSERT INTO raw_payloads (project_id, hash, resource, codec, size, body)
        VALUES (?, ?, ?, ?, ?, ?)
        ON CONFLICT (project_id, hash) DO NOTHING
    """
    kept = ((digest, raw) for digest, raw in payloads if raw)
    store.run_many(
        sql,
        ((project_id, digest, resource, CODEC, len(raw), _compress(without_secrets(raw))) for digest, raw in kept),
    )


def drop_payloads(store: Store, project_id: int, hashes: Iterable[bytes | None]) -> None:
    """Forget payloads that a newer one replaced."""
    sql = "DELETE FROM raw_payloads WHERE project_id = ? AND hash = ?"
    store.run_many(sql, [(project_id, digest) for digest in hashes if digest])


def load_payload(store: Store, project_id: int, digest: bytes) -> bytes | None:
    """Return a payload, what the forge said; None when it is not there, or no longer what its hash says."""
    found = store.row("SELECT codec, body FROM raw_payloads WHERE project_id = ? AND hash = ?", project_id, digest)
    return unpack_payload(digest, *found) if found else None


def load_project_payload(store: Store, project_id: int) -> bytes | None:
    """Return the payload of the project itself; None as above."""
    digest = store.value("SELECT row_hash FROM projects WHERE id = ?", project_id)
    return load_payload(store, project_id, digest) if digest else None


def keeps_payloads(store: Store, project_id: int) -> bool:
    """Whether a project was fetched with its answers: an import and the bot's index keep none."""
    sql = """
        SELECT EXISTS (
          SELECT 1
          FROM raw_payloads
          WHERE project_id = ? AND resource = 'item'
        )
    """
    return bool(store.value(sql, project_id))


def unpack_payload(digest: bytes, codec: str | None, body: bytes | None) -> bytes | None:
    """Return a row's payload; None when there is none, or when it is damaged or of a codec that nobody knows."""
    if not isinstance(body, bytes) or codec != CODEC:
        return None
    try:
        raw = zlib.decompressobj(zdict=_load_dictionary()).decompress(body)
    except zlib.error:
        return None
    return raw if row_hash(raw) == digest or _NULLED.search(raw) else None


def _compress(raw: bytes) -> bytes:
    """A small window costs 22 µs to prepare and a whole one 57, more than it takes to compress a comment."""
    wbits, memory = (14, 7) if len(raw) <= _SMALL else (15, 8)
    packer = zlib.compressobj(level=1, wbits=wbits, memLevel=memory, zdict=_load_dictionary())
    return packer.compress(raw) + packer.flush()


def _load_dictionary() -> bytes:
    global _dictionary  # noqa: PLW0603 - a constant that is read on first use
    if _dictionary is None:
        path = os.path.join(os.path.dirname(__file__), "payloads.1.dict")
        with open(path, "rb") as file:
            _dictionary = file.read()
    return _dictionary
