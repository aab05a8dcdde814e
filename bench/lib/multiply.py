"""A large store from a small one: rows copied under other ids, in SQL, and the full-text index rebuilt.

A million documents through the product's own writing would take most of an hour; searching them is what is measured.
The copies are exact, so a word is in ten times as many documents, and each answer has its copies beside it.
"""

import pathlib
import shutil

COPIED = {
    "items": {"id": "items", "number": "numbers"},
    "documents": {"id": "documents", "item_id": "items"},
    "document_texts": {"id": "documents"},
    "document_labels": {"document_id": "documents"},
    "document_paths": {"document_id": "documents"},
    "chunks": {"id": "chunks", "document_id": "documents"},
}
NUMBERS = 10_000_000  # between the item numbers of two copies


def multiply_store(source: pathlib.Path, target: pathlib.Path, times: int) -> None:
    """Make `target` hold everything of `source` `times` times."""
    from forgelore.store.sqlite.fulltext import refresh_common_words
    from forgelore.store.sqlite.schema import open_store

    shutil.copy(source, target)
    store = open_store(str(target), create=False)
    for pragma in ("synchronous=OFF", "foreign_keys=OFF", "ignore_check_constraints=ON", "wal_autocheckpoint=20000"):
        store.run(f"PRAGMA {pragma}")  # of a file that can be made again
    steps = {name: store.value(f"SELECT max(id) FROM {name}") for name in ("items", "documents", "chunks")}
    for copy in range(1, times):
        with store.transaction():
            for table, shifts in COPIED.items():
                _copy_rows(
                    store, table, {column: steps.get(of, NUMBERS) * copy for column, of in shifts.items()}, steps
                )
    store.run("INSERT INTO documents_fts (documents_fts) VALUES ('rebuild')")
    store.run("DELETE FROM index_facts")
    refresh_common_words(store)
    store.close()


def _copy_rows(store, table: str, shifts: dict[str, int], steps: dict[str, int]) -> None:
    names = [row[1] for row in store.rows(f"PRAGMA table_info({table})")]
    key = "id" if "id" in names else "document_id"
    first = steps[table if table in steps else "documents"]
    values = ", ".join(f"{name} + {shifts[name]}" if name in shifts else name for name in names)
    store.run(f"INSERT INTO {table} ({', '.join(names)}) SELECT {values} FROM {table} WHERE {key} <= ?", first)
