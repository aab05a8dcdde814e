r"""The path that is meant: what people type, as paths of the project, with the names that a file had before.

    src/net/conn.py   ./conn.py   net\conn.py   /home/ana/web/src/net/conn.py   src/   src/**.py

A path is taken from the root of the project, else from the folder of the clone that one is in; what begins with a dot,
the other way round. A file is followed through renamings that merged changes and commits tell of.
"""

import ntpath
import posixpath
import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from forgelore.core.globs import MAX_STARS, count_stars, glob_matches, is_glob
from forgelore.core.suggestions import suggest
from forgelore.core.values import check_filled
from forgelore.errors import InvalidValue
from forgelore.store.db import Store
from forgelore.store.path_history import PathScope, load_known_paths, load_renames

PathKind = Literal["file", "folder", "glob"]
MAX_PATH = 4_096  # characters
_MOST_NAMES = 20  # of one file
_COMPARED = 20_000  # paths that one which nobody knows is compared with
_ABSOLUTE = re.compile(r"/|[A-Za-z]:/")


class ClonePlace(NamedTuple):
    """Where somebody is: the root of a clone, as it may be written, and the folder in it; empty outside of any."""

    roots: tuple[str, ...] = ()
    folder: str = ""


class MeantPath(NamedTuple):
    """What is looked for. `names`: paths as filters have them; of a file all its names, that which was asked for first.
    `is_known`: whether anything that is stored touches it.
    """

    shown: str
    kind: PathKind
    names: tuple[str, ...]
    is_known: bool = True

    def matches(self, path: str | None) -> bool:
        """Whether a path is one of those that are meant."""
        if not path:
            return False
        if self.kind == "glob":
            return glob_matches(self.shown, path)
        return path.startswith(self.names[0]) if self.kind == "folder" else path in self.names


def find_path(store: Store, scope: PathScope, text: str, place: ClonePlace) -> MeantPath:
    """Return what is meant by a path that was typed. Raises InvalidValue for what cannot be a path."""
    spellings = list(dict.fromkeys(spell_path(text, place)))
    if not spellings:
        raise InvalidValue(f"{text[:200]!r} is outside of the project", hint="name a path from the project's root")
    for path in spellings:
        if is_glob(path):
            if load_known_paths(store, scope, (path,), 1):
                return MeantPath(path, "glob", (path,))
        elif not path.endswith("/") and load_known_paths(store, scope, (path,), 1):
            return MeantPath(path, "file", _follow(store, scope, path))
        elif load_known_paths(store, scope, (folder := path.rstrip("/") + "/",), 1):
            return MeantPath(folder, "folder", (folder,))
    first = spellings[0]
    kind: PathKind = "glob" if is_glob(first) else "folder" if first.endswith("/") else "file"
    return MeantPath(first, kind, (first,), is_known=False)


def suggest_path(store: Store, scope: PathScope, path: str) -> str | None:
    """Return the known path that one was probably meant to be: of the same name, else one that is spelled alike."""
    name = posixpath.basename(path.rstrip("/"))
    same = load_known_paths(store, scope, (f"**/{name}",), 50) if name and not is_glob(name) else []
    if same:
        return suggest(path, same) or min(same, key=len)
    known = load_known_paths(store, scope, ("**",), _COMPARED)
    return suggest(path, known)


def spell_path(text: str, place: ClonePlace) -> Iterator[str]:
    """Yield the paths of the project that a text may mean, the likeliest first; none that leaves it."""
    check_filled("the path", text)
    if len(text) > MAX_PATH or "\0" in text:
        raise InvalidValue(f"{text[:60]!r}… cannot be a path", hint=f"{MAX_PATH:,} characters are the most")
    if count_stars(text) > MAX_STARS:
        raise InvalidValue(f"{text[:60]!r} has more than {MAX_STARS} stars", hint="write ** for everything in between")
    slashed = text.replace("\\", "/")
    for spelled in (slashed,) if _ABSOLUTE.match(slashed) else dict.fromkeys((slashed, text)):
        if _ABSOLUTE.match(spelled):
            yield from _inside(spelled, place)
            continue
        from_root, from_folder = _clean(spelled), _clean(posixpath.join(place.folder, spelled))
        dotted = spelled in (".", "..") or spelled.startswith(("./", "../"))
        yield from filter(None, (from_folder, from_root) if dotted else (from_root, from_folder))


def _inside(path: str, place: ClonePlace) -> Iterator[str]:
    """An absolute path is one of the clone's; where it is not, it may be meant from the root of the project."""
    for root in place.roots:
        base = root.replace("\\", "/").rstrip("/") + "/"
        is_below = path.startswith(base) or (ntpath.splitdrive(path)[0] and path.lower().startswith(base.lower()))
        if is_below or path.rstrip("/") + "/" == base:
            yield from filter(None, (_clean(path[len(base) :] or "."),))
            return
    if not ntpath.splitdrive(path)[0]:
        yield from filter(None, (_clean(path.lstrip("/")),))


def _clean(path: str) -> str:
    """Return a path without dots and doubled slashes; "" for one that leaves the project, `**` for all of it."""
    is_folder = path.endswith("/")
    plain = posixpath.normpath(path).lstrip("/")
    if plain == ".." or plain.startswith("../"):
        return ""
    return "**" if plain in ("", ".") else f"{plain}/" if is_folder else plain


def _follow(store: Store, scope: PathScope, path: str) -> tuple[str, ...]:
    """Return all names of a file, that which was asked for first: those it had before, of a part also those of the file
    that it was split off from, and those it got later, of a file that was split its parts. Other parts of the same file
    are files of their own.
    """
    found = {path: None}
    for is_later in (False, True):
        waiting, walked = [path], {path}
        while waiting and len(found) < _MOST_NAMES:
            for name in load_renames(store, scope, waiting.pop(0), is_later=is_later):
                if name not in walked:
                    walked.add(name)
                    found.setdefault(name)
                    waiting.append(name)
    return tuple(found)[:_MOST_NAMES]
