"""The engine for PostgreSQL: what `store/sqlite` does in SQLite's own way, by the same names (`database.by_engine`).

What is missing here is refused by name: checks and repairs, and the words of code and commits.
"""

from forgelore.store.postgres import connection, fulltext, schema, vectors

MODULES = (schema, fulltext, vectors, connection)
