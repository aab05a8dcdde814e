"""What a store answered, kept in memory for as long as it stays true: until something is written, by anybody."""

from collections.abc import Hashable, Mapping
from typing import Generic, TypeVar

from forgelore.store.db import Store

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class KeptAnswers(Generic[Key, Value]):
    """Answers by what was asked, at most `most` of them: the oldest makes room. One thread at a time."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._answers: dict[Key, Value] = {}
        self._version: tuple[int, int, int] | None = None

    def current(self) -> Mapping[Key, Value]:
        """Return those that are still true. Look here before asking the store: what is kept next is of this moment."""
        version = self._store.version
        if version != self._version:
            self._answers, self._version = {}, version
        return self._answers

    def keep(self, key: Key, value: Value) -> None:
        """Keep what the store answered since."""
        if key not in self._answers and len(self._answers) >= self._most:
            del self._answers[next(iter(self._answers))]
        self._answers[key] = value
