"""Counts, as data."""

from typing import NamedTuple


class CountData(NamedTuple):
    """How many rows match: `by` state for items, by who wrote them for notes."""

    kind: str
    total: int
    by: dict[str, int]
