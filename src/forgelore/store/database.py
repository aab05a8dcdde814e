"""What a store can do, whatever engine keeps it: statements, transactions, and answers kept until somebody writes.

Everybody below `store` takes a `Store` and hands it SQL that all engines read: `store/sqlite` has the one there is.
Parameters are `?` or `?1`; ids come from the engine (`insert`, `insert_many`); lists go in by `one_of`.
"""

import abc
import functools
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar

from forgelore.errors import Refused
from forgelore.viewer import Viewer

SqlRow = tuple[Any, ...]
Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Store(abc.ABC):
    """An open database. Each thread has a connection of its own; `for_reading`: none of them can write.

    `viewer`: who reads. Functions that people read from leave out what the viewer may not see (store/filters); what is
    written, and what work reads to do its job, does not depend on it: such work asks `seen_by(EVERYTHING)`.
    """

    engine: str  # the folder beside this module that has what the engine does in its own way
    path: str
    for_reading: bool
    viewer: Viewer

    @abc.abstractmethod
    def seen_by(self, viewer: Viewer) -> Self:
        """Return the same store, connections and all, as somebody else sees it."""

    @property
    @abc.abstractmethod
    def is_in_transaction(self) -> bool:
        """True while this thread holds one open; asks for no connection."""

    @property
    @abc.abstractmethod
    def is_read_only(self) -> bool: ...

    @property
    @abc.abstractmethod
    def version(self) -> Hashable:
        """A value that differs after rows were written, by this thread or by others, and after they were undone.
        Changes of this thread to the schema do not count.
        """

    @property
    @abc.abstractmethod
    def total_changes(self) -> int:
        """How many rows this thread has written."""

    @abc.abstractmethod
    def rows(self, sql: str, *bindings: Any) -> list[SqlRow]: ...

    @abc.abstractmethod
    def each(self, sql: str, *bindings: Any) -> Iterator[SqlRow]:
        """Yield rows as they are read: for results that should not be in memory at once."""

    @abc.abstractmethod
    def row(self, sql: str, *bindings: Any) -> SqlRow | None: ...

    @abc.abstractmethod
    def value(self, sql: str, *bindings: Any) -> Any:
        """Return the first column of the first row, None where there is none."""

    @abc.abstractmethod
    def run(self, sql: str, *bindings: Any) -> int:
        """Execute one statement and return how many rows it changed."""

    @abc.abstractmethod
    def run_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...

    @abc.abstractmethod
    def insert_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> list[int]:
        """Insert rows into a table with an `id`, and return the ids that they got, in their order."""

    @abc.abstractmethod
    def insert(self, sql: str, *bindings: Any) -> int:
        """Insert one row and return its id."""

    @abc.abstractmethod
    def transaction(self) -> AbstractContextManager[None]:
        """Everything inside happens, or nothing does. Waits for another writer, then keeps others from writing."""

    @abc.abstractmethod
    def snapshot(self) -> AbstractContextManager[None]:
        """Everything read inside is of one moment, whatever a writer does meanwhile. What is written inside is
        forgotten.
        """

    @abc.abstractmethod
    def rehearse(self, tables: Iterable[str]) -> AbstractContextManager[None]:
        """A dry run: inside, this thread reads and writes copies of these tables, so that it is the real run, line by
        line, and gives the same numbers.
        """

    @abc.abstractmethod
    def dry_run(self) -> "Store":
        """Return a store that reads this one and leaves out what is written: what compares first then only compares."""

    @abc.abstractmethod
    def without_check_constraints(self) -> AbstractContextManager[None]:
        """Leave out the CHECKs inside: for many rows whose kinds, states and relations are words of our own tables."""

    @abc.abstractmethod
    def commit_durably(self) -> None:
        """Let each transaction of this thread reach the disk before it counts, whatever that costs."""

    @abc.abstractmethod
    def close(self) -> None: ...


def by_engine(
    function: Callable[Concatenate[Store, Parameters], Result],
) -> Callable[Concatenate[Store, Parameters], Result]:
    """Let a function of `store/sqlite` be the one of the same name in the folder of the store's engine."""

    @functools.wraps(function)
    def choose(store: Store, /, *args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        if store.engine == "sqlite":
            return function(store, *args, **kwargs)
        chosen: Callable[Concatenate[Store, Parameters], Result] = _of_engine(store.engine, function.__name__)
        return chosen(store, *args, **kwargs)

    return choose


@functools.cache
def _of_engine(engine: str, name: str) -> Any:
    import importlib

    for module in importlib.import_module(f"forgelore.store.{engine}").MODULES:
        if hasattr(module, name):
            return getattr(module, name)
    raise Refused("that is not there on PostgreSQL yet", hint="docs/postgres.md lists what is; a file does all of it")


Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class QueryCache(Generic[Key, Value]):
    """Answers by what was asked, at most `most` of them: the oldest makes room. One thread at a time."""

    def __init__(self, store: Store, most: int) -> None:
        self._store, self._most = store, most
        self._answers: dict[Key, Value] = {}
        self._version: Hashable = None

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
