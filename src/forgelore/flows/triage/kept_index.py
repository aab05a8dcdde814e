"""The runner's cache: a folder that a runner keeps between runs, for an index that the branch does not take.

The files are those of the branch. After a push that worked only a note is left in it: a runner that saves the folder
under one name (GitLab's) then replaces what it kept before.
"""

import os
import shutil
from collections.abc import Mapping

_NOTE = "pushed"
_MAX_FILES = 16


def load_kept(folder: str) -> dict[str, str]:
    """Return name -> path of the plain files in the folder; none where there is no folder."""
    if not folder or not os.path.isdir(folder):
        return {}
    with os.scandir(folder) as found:
        return {one.name: one.path for one, _ in zip(found, range(_MAX_FILES), strict=False) if _is_plain(one)}


def _is_plain(entry: "os.DirEntry[str]") -> bool:
    return entry.is_file(follow_symlinks=False)


def save_kept(folder: str, files: Mapping[str, str]) -> bool:
    """Replace what is in the folder; returns False where there is none to use."""
    if not folder:
        return False
    _empty(folder)
    for name, path in files.items():
        shutil.copyfile(path, os.path.join(folder, name))
    return True


def clear_kept(folder: str) -> None:
    """Leave nothing of an index in the folder."""
    if folder and os.path.isdir(folder):
        _empty(folder)
        with open(os.path.join(folder, _NOTE), "w", encoding="utf-8") as file:
            file.write("the index is on its branch\n")


def _empty(folder: str) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.makedirs(folder, exist_ok=True)
