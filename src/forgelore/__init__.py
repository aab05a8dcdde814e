"""forgelore: a project's issues, changes and conversations in one local file.

import forgelore

with forgelore.open("history.db") as lore:
    for hit in lore.search("deleted files come back", type="issue").hits:
        print(hit.title, hit.url)
"""

from typing import TYPE_CHECKING

from forgelore.version import __version__
from forgelore.viewer import EVERYTHING, PUBLIC, Viewer

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    from forgelore.api import History

__all__ = ["EVERYTHING", "PUBLIC", "Viewer", "__version__", "open"]


def open(  # noqa: A001 - read as forgelore.open
    path: "str | os.PathLike[str]", *, create: bool = False, environ: "Mapping[str, str] | None" = None,
    viewer: Viewer = PUBLIC, include_internal: bool | None = None,
) -> "History":  # fmt: skip
    """Return the history in a database file. Raises StoreError (of `forgelore.errors`) when there is none, unless it is
    to be made. Settings and tokens are those of the command line; `environ` takes the place of the variables.
    `viewer`: what is there for whoever reads: PUBLIC, which leaves out confidential items and internal notes,
    EVERYTHING, or a Viewer of some projects. No later call can change that. (`include_internal` is its older name.)
    """
    if include_internal is not None:
        import warnings

        text = "include_internal is deprecated: write viewer=forgelore.EVERYTHING, or leave it out"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        viewer = EVERYTHING if include_internal else viewer.without_internal()

    from forgelore.api import open_history  # here: the command line must not pay for it

    return open_history(path, create=create, environ=environ, viewer=viewer)
