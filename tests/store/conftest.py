"""The engines that keep a store. What `test_*_contract.py` claims must hold on each; another engine joins ENGINES."""

import functools
import pathlib
import tempfile

import pytest

from forgelore.store.sqlite.schema import open_store


@functools.cache
def empty_sqlite():
    """The bytes of an empty database: making its tables takes longer than most tests."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "lore.db"
        open_store(str(path)).close()
        return path.read_bytes()


def open_sqlite(folder, **how):
    path = folder / "lore.db"
    if not path.exists():
        path.write_bytes(empty_sqlite())
    return open_store(str(path), **how)


ENGINES = {"sqlite": open_sqlite}


@pytest.fixture(params=ENGINES)
def opened(request, tmp_path):
    """Return a function that opens the same database once more, as another process would."""
    stores = []

    def open_again(**how):
        stores.append(ENGINES[request.param](tmp_path, **how))
        return stores[-1]

    yield open_again
    for store in reversed(stores):
        store.close()


@pytest.fixture
def store(opened):
    """An empty database, and one who sees everything."""
    return opened()
