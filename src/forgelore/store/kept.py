"""What a store answered, kept in memory for as long as it stays true: until something is written, by anybody."""

from collections.abc import Hashable
from typing import Generic, TypeVar

from forgelore.store.db import Store

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class KeptAnswers(Generic[Key, Value]):
    """Answers by what was asked, about `most` of them. One thread at a time."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._answers: dict[Key, Value] = {}
        self._version: tuple[int, int, int] | None = None

    def current(self) -> dict[Key, Value]:
        """Return those that are still true, to look into and to add to."""
        version = self._store.version
        if version != self._version or len(self._answers) >= self._most:
            self._answers, self._version = {}, version
        return self._answers
