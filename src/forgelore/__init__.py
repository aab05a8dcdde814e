"""forgelore: a project's issues, changes and conversations in one local file.

import forgelore

with forgelore.open("history.db") as lore:
    for hit in lore.search("deleted files come back", type="issue").hits:
        print(hit.row.title, hit.score)
"""

from typing import TYPE_CHECKING

from forgelore.version import __version__

if TYPE_CHECKING:
    import os

    from forgelore.api import History

__all__ = ["__version__", "open"]


def open(path: "str | os.PathLike[str]") -> "History":  # noqa: A001 - read as forgelore.open
    """Return the history in a database file. Raises StoreError (of `forgelore.errors`) when there is none."""
    from forgelore.api import open_lore  # here: the command line must not pay for it

    return open_lore(path)
