"""Stores of older versions: what later migrations made is taken away, so that this program brings it back."""

import re
from collections.abc import Callable

from forgelore.store.sqlite.schema import load_migrations

# What a migration did to rows and takes for undone.
_UNDO = {
    "thread_facts": """
        UPDATE documents
        SET author = thread_author, created_at = thread_created_at, updated_at = thread_updated_at
        WHERE representation = 'thread'
    """
}
_COLUMN = re.compile(r"ALTER TABLE (\w+) ADD COLUMN (\w+)")


def forget_migrations(run: Callable[[str], object], *, after: int) -> None:
    """Take a store for one of version `after`. What a migration did to rows, or dropped, mostly stays as it is."""
    for migration in reversed([one for one in load_migrations() if one.number > after]):
        if migration.name == "open_words":
            continue  # copies tables: the copies are as good as what they were made from
        if migration.name in _UNDO:
            run(_UNDO[migration.name])
        for table in reversed(re.findall(r"^CREATE (?:VIRTUAL )?TABLE (\w+)", migration.sql, re.MULTILINE)):
            run(f"DROP TABLE IF EXISTS {table}")
        for index in re.findall(r"^CREATE INDEX (\w+)", migration.sql, re.MULTILINE):
            run(f"DROP INDEX IF EXISTS {index}")
        for table, column in _COLUMN.findall(migration.sql):
            run(f"ALTER TABLE {table} DROP COLUMN {column}")
    run(f"DELETE FROM schema_version WHERE version > {after}")
