"""The content hash of an item: what makes two versions of it the same."""

import hashlib


def content_hash(kind: str, title: str, body: str | None) -> str:
    """Return the SHA-256 of what makes an item's content: kind, title and body, line endings aside."""
    text = f"{kind}\0{title}\0{body or ''}"
    if "\r" in text:
        text = text.replace("\r\n", "\n")
    return hashlib.sha256(text.encode()).hexdigest()
