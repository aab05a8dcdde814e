"""Places that a person knows: paths and the folders above them, by how often they changed or reviewed what is there."""

from collections.abc import Iterable
from typing import NamedTuple

_DEPTH = 2  # folders of a path that make an area: src/net/conn.py is in src/net


class KnownPlace(NamedTuple):
    """A path, or a folder: how many of somebody's changes touch it, of the changes they reviewed, of their commits."""

    path: str
    written: int
    reviewed: int
    commits: int

    @property
    def weight(self) -> int:
        """Writing shows twice what reading does. A commit is often part of a change that is counted already."""
        return 2 * self.written + self.reviewed + self.commits


def best_places(places: Iterable[KnownPlace], limit: int) -> tuple[KnownPlace, ...]:
    """Return the best known, best first."""
    return tuple(sorted(places, key=lambda one: (-one.weight, one.path))[:limit])


def areas_of(touched: Iterable[tuple[KnownPlace, frozenset[str]]]) -> list[KnownPlace]:
    """Return the folders of paths, each thing counted once in a folder however many of its files it touches.

    With a path comes what touched it: `w12` a change that was written, `r7` one that was reviewed, `c3` a commit.
    """
    found: dict[str, set[str]] = {}
    for place, things in touched:
        folders = place.path.split("/")[:-1][:_DEPTH]
        if folders:
            found.setdefault("/".join(folders) + "/", set()).update(things)
    return [KnownPlace(path, *(_count(things, mark) for mark in "wrc")) for path, things in found.items()]


def _count(things: set[str], mark: str) -> int:
    return sum(thing.startswith(mark) for thing in things)
