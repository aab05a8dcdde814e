"""forgelore: a project's issues, changes and conversations in one local file.

import forgelore

with forgelore.open("history.db") as lore:
    for hit in lore.search("deleted files come back", type="issue").hits:
        print(hit.title, hit.url)
"""

from typing import TYPE_CHECKING

from forgelore.version import __version__

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from forgelore.api import History

__all__ = ["__version__", "open"]


def open(  # noqa: A001 - read as forgelore.open
    path: "str | os.PathLike[str]", *, create: bool = False, environ: "Mapping[str, str] | None" = None
) -> "History":
    """Return the history in a database file. Raises StoreError (of `forgelore.errors`) when there is none, unless it is
    to be made. Settings and tokens are those of the command line; `environ` takes the place of the variables.
    """
    from forgelore.api import open_history  # here: the command line must not pay for it

    return open_history(path, create=create, environ=environ)
