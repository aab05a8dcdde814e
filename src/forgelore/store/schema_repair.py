"""Tables and indexes that a file lacks, made again: the writing side of `store/schema_check`."""

import contextlib
from collections.abc import Iterator

from forgelore.store.code_files import CODE_TABLES, forget_all_code
from forgelore.store.db import Store
from forgelore.store.engine.remake import remake_full_text
from forgelore.store.engine.tables import CODE_REMADE, REMADE
from forgelore.store.schema_check import SOURCES, SchemaGap, expected_schema, find_gaps, load_schema


def fill_gaps(store: Store, gaps: list[SchemaGap]) -> None:
    """Make what is missing, empty; what cannot be made again stays missing. The full text is filled from its texts."""
    tables = [gap.name for gap in gaps if gap.type == "table" and gap.name not in SOURCES]
    expected = expected_schema()
    with _without_references(store), store.transaction():
        for gap in gaps:
            if gap.type == "trigger":
                store.run(f"DROP TRIGGER IF EXISTS {_quoted(gap.name)}")
        for name in tables:
            if name not in (*REMADE, *CODE_REMADE):
                store.run(f"DROP TABLE IF EXISTS {name}")
                store.run(expected[name].sql)
        present = load_schema(store)
        for gap in find_gaps(store):
            if gap.type == "index" and expected[gap.name].table in present:
                store.run(f"DROP INDEX IF EXISTS {gap.name}")
                store.run(expected[gap.name].sql)
        if not {*CODE_REMADE, *CODE_TABLES}.isdisjoint(tables):
            forget_all_code(store)
    if tables:
        remake_full_text(store)


@contextlib.contextmanager
def _without_references(store: Store) -> Iterator[None]:
    """Dropping a table deletes its rows first, and with them what hangs on them: not here."""
    store.run("PRAGMA foreign_keys=OFF")
    try:
        yield
    finally:
        store.run("PRAGMA foreign_keys=ON")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
