"""Counts, as data."""

from typing import NamedTuple


class CountData(NamedTuple):
    """How many rows match: `by` state for items (`threads`: discussions that are threads below items), by who wrote
    them for notes (`people`, `system`: the forge itself).
    """

    kind: str
    total: int
    by: dict[str, int]
