"""Making the full-text index anew from the texts, whatever state it is in."""

from forgelore.store.db import Store
from forgelore.store.engine.tables import CARD_TEXT, CODE_REMADE, CODE_TEXTS, FULL_TEXT, REMADE, SHADOWS, texts_of
from forgelore.store.schema_check import expected_schema


def remake_full_text(store: Store) -> None:
    """Drop the full-text tables and fill new ones.

    FTS5 opens a table before it drops it, and refuses one that is broken: so its entry is taken out of the schema by
    hand, and its shadows, plain tables by then, are dropped one by one.
    """
    expected = expected_schema()
    with store.transaction():
        store.run("PRAGMA writable_schema=ON")
        store.run("DELETE FROM main.sqlite_schema WHERE name IN (?, ?, ?)", *REMADE)
        store.run("PRAGMA writable_schema=RESET")
        for shadow in SHADOWS:
            store.run(f"DROP TABLE IF EXISTS {FULL_TEXT}_{shadow}")
            store.run(f"DROP TABLE IF EXISTS {CARD_TEXT}_{shadow}")
        for name in REMADE:
            store.run(expected[name].sql)
        for name in (FULL_TEXT, CARD_TEXT):  # FTS5's own 'rebuild' would give each the texts of both
            store.run(f"INSERT INTO {name} (rowid, title, text, terms) {texts_of(name)}")


def remake_code_words(store: Store) -> None:
    """Make the full text of code and commits anew, empty, whatever state it is in. In a transaction."""
    expected = expected_schema()
    store.run("PRAGMA writable_schema=ON")
    store.run("DELETE FROM main.sqlite_schema WHERE name IN (?, ?, ?, ?)", *CODE_REMADE)
    store.run("PRAGMA writable_schema=RESET")
    for name in CODE_TEXTS:
        for shadow in SHADOWS:
            store.run(f"DROP TABLE IF EXISTS {name}_{shadow}")
    for name in CODE_REMADE:
        store.run(expected[name].sql)
