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
    path: "str | os.PathLike[str]", *, create: bool = False, environ: "Mapping[str, str] | None" = None,
    include_internal: bool = False,
) -> "History":  # fmt: skip
    """Return the history in a database file. Raises StoreError (of `forgelore.errors`) when there is none, unless it is
    to be made. Settings and tokens are those of the command line; `environ` takes the place of the variables.
    Confidential items and internal notes are there only with `include_internal`, and no later call can change that.
    """
    from forgelore.api import open_history  # here: the command line must not pay for it

    return open_history(path, create=create, environ=environ, include_internal=include_internal)
