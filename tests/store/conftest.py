"""The engines that keep a store. What `test_*_contract.py` claims must hold on each; another engine joins `opened`."""

import functools
import importlib.util
import pathlib
import tempfile

import pytest

from forgelore.store.sqlite.schema import open_store

HAS_DRIVER = importlib.util.find_spec("psycopg") is not None  # the core tests run where it is not
collect_ignore = [] if HAS_DRIVER else ["test_postgres.py"]


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


def pytest_generate_tests(metafunc):
    """Run what opens a store on each engine, but for a module that names its own."""
    if "opened" in metafunc.fixturenames:
        engines = ["sqlite"]
        if HAS_DRIVER and not hasattr(metafunc.module, "ONLY_SQLITE"):
            engines.append(pytest.param("postgres", marks=pytest.mark.postgres))
        metafunc.parametrize("opened", engines, indirect=True)


@pytest.fixture
def opened(request, tmp_path):
    """Return a function that opens the same database once more, as another process would."""
    stores, open_one = [], functools.partial(open_sqlite, tmp_path)
    if request.param == "postgres":
        import postgres
        from forgelore.store.postgres.schema import open_postgres

        open_one = functools.partial(open_postgres, postgres.empty_database())

    def open_again(**how):
        stores.append(open_one(**how))
        return stores[-1]

    yield open_again
    for store in reversed(stores):
        store.close()


@pytest.fixture
def store(opened):
    """An empty database, and one who sees everything."""
    return opened()
