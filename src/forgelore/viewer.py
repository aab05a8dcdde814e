"""Who reads a history: everything, what is public, or some projects of it.

A viewer is given when a history is opened, and travels with its store. `store/filters` makes SQL conditions of it, and
nothing else looks at what it allows: a function that reads for somebody asks there, and takes no flag of its own.
"""

from typing import NamedTuple


class Viewer(NamedTuple):
    """What somebody may see: confidential items and internal notes too, and of which projects (None: of all)."""

    includes_internal: bool = False
    project_ids: tuple[int, ...] | None = None

    def without_internal(self) -> "Viewer":
        return self._replace(includes_internal=False)


EVERYTHING = Viewer(includes_internal=True)
PUBLIC = Viewer()
