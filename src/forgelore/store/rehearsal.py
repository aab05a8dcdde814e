"""Rehearsals (dry runs): what is written to some tables is seen by the writer alone, and forgotten at the end."""

import contextlib
from collections.abc import Iterable, Iterator

from forgelore.store.db import Store


@contextlib.contextmanager
def rehearsing(store: Store, tables: Iterable[str]) -> Iterator[None]:
    """A dry run: inside, this thread reads and writes copies of the tables. The file stays, and may be read-only.

    A temporary table hides the stored one of its name (https://sqlite.org/lang_naming.html), so a dry run is the real
    run, line by line, and says the same numbers. The copies have the keys, and no references to other tables.
    """
    copied = []
    try:
        for table in tables:
            keys = store.rows("SELECT name FROM pragma_table_info(?, 'main') WHERE pk ORDER BY pk", table)
            store.run(f"CREATE TEMP TABLE {table} AS SELECT * FROM main.{table}")
            copied.append(table)
            store.run(f"CREATE UNIQUE INDEX temp.{table}_key ON {table} ({', '.join(name for (name,) in keys)})")
        yield
    finally:
        for table in copied:
            store.run(f"DROP TABLE temp.{table}")
