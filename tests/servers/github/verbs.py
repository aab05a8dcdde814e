"""What all verbs of a project share: the lock, fresh views afterwards, and how activity moves a time."""

import functools
import hashlib


def verb(method):
    """Run under the server's lock and drop the project's sorted views, which the change made stale."""

    @functools.wraps(method)
    def locked(self, *args, **kwargs):
        with self.world.lock:
            try:
                return method(self, *args, **kwargs)
            finally:
                self.changed()

    return locked


def touch(item, at: str) -> None:
    """Activity moves updated_at forward, never back, even when a history is written out of order."""
    item.updated_at = max(item.updated_at, at)


def sha(text: str) -> str:
    return hashlib.sha1(text.encode("utf-8", "surrogatepass")).hexdigest()
