"""A check of rows that is one SQL statement, and what such statements share."""

from typing import NamedTuple

UNION = "\nUNION ALL\n"


class SqlCheck(NamedTuple):
    """`sql` returns (what people call it, id of the row to repair) of everything that is wrong."""

    name: str
    sql: str


def has_no_job(kind: str, row: str) -> str:
    """Return the condition that a row of items or documents, by its alias, does not wait for a job of a kind."""
    return f"""NOT EXISTS (
        SELECT 1
        FROM jobs j
        WHERE j.project_id = {row}.project_id AND j.kind = '{kind}' AND j.key = CAST({row}.id AS TEXT)
    )"""
