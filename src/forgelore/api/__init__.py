"""forgelore from Python: `forgelore.open("history.db").search("deleted files come back")`.

Everything that a surface does goes through `History`, so that all of them give the same answers. The public names are
those of `__init__.pyi`, which this file reads: the nouns of a history, and what their methods take and return. They are
loaded when they are first asked for: a command that only lists pays for nothing else.
"""

import os
import re
from importlib import import_module

assert __spec__ is not None
_LIST = __spec__.loader.get_data(os.path.join(os.path.dirname(__file__), "__init__.pyi"))  # also inside a zip file
_HOMES = {name: home for home, name in re.findall(r"^from (\S+) import (\w+) as", _LIST.decode(), re.MULTILINE)}

__all__ = list(_HOMES)


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
