"""A store's version: what was kept in memory is dropped whenever it may no longer be true."""

import contextlib

import pytest

from forgelore.errors import Locked, StoreError
from forgelore.store.sqlite.connection import APPLICATION_ID, SqliteStore


@pytest.fixture
def store(tmp_path):
    opened = SqliteStore(str(tmp_path / "any.db"))
    opened.run(f"PRAGMA application_id={APPLICATION_ID}")
    opened.run("CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT UNIQUE)")
    yield opened
    opened.close()


def write(store, text="a"):
    store.run("INSERT INTO notes (text) VALUES (?)", text)


def undo(store):
    with contextlib.suppress(LookupError), store.transaction():
        write(store)
        yield
        raise LookupError


def look_ahead(store):
    with store.snapshot():
        write(store)
        yield


@pytest.mark.parametrize("attempt", [undo, look_ahead])
def test_what_was_undone_has_a_version_of_its_own(store, attempt):
    """Whoever asked meanwhile saw what was never committed."""
    before = store.version
    for _ in attempt(store):
        inside = store.version
    assert store.version not in {before, inside}
    after = store.version
    write(store)
    assert store.version not in {before, inside, after}


def test_a_commit_that_fails_has_a_version_of_its_own(store):
    store.run("PRAGMA foreign_keys=ON")
    store.run("CREATE TABLE answers (note INTEGER REFERENCES notes (id) DEFERRABLE INITIALLY DEFERRED)")
    with pytest.raises(StoreError), store.transaction():
        store.run("INSERT INTO answers VALUES (9)")
        inside = store.version
    assert store.version != inside


def test_nothing_written_is_the_same_version(store):
    before = store.version
    with store.snapshot():
        assert store.version == before
    with contextlib.suppress(LookupError), store.transaction():
        raise LookupError
    with store.transaction():
        pass
    assert store.version == before


def test_a_transaction_that_did_not_begin_changes_nothing(store):
    before = store.version
    other = SqliteStore(store.path)
    with other.transaction():
        store.connection.set_busy_timeout(1)
        with pytest.raises(Locked), store.transaction():
            pass
    other.close()
    assert store.version == before


def test_no_version_comes_again_after_closing(store):
    """A connection is often made where the last one was, and counts from the same beginning."""
    writer, seen = SqliteStore(store.path), set()
    for number in range(200):
        seen.add(store.version)
        store.close()
        write(writer, str(number))
    writer.close()
    assert len(seen) == 200
