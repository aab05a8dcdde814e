r"""The sources of a path's history: items, threads and commits that touched a file, are about it or name it.

Everything is bounded: for a file that everybody touches, only the newest are taken, and the answer says so.
What people type is resolved to paths of the project, with the names that a file had before:

    src/net/conn.py   ./conn.py   net\conn.py   /home/ana/web/src/net/conn.py   src/   src/**.py

A path is taken from the root of the project, else from the current folder of the clone; one that begins with a dot, the
other way round. Renamings are followed through merged changes and commits.
"""

import ntpath
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from forgelore.browse.reading_text import load_item_readings, load_reading
from forgelore.errors import InvalidValue
from forgelore.search.ftsquery import build_and, parse_words
from forgelore.store.commits import load_commits
from forgelore.store.database import Store
from forgelore.store.documents import load_document_places
from forgelore.store.filters import Filters, build_allowed
from forgelore.store.item_lists import load_items
from forgelore.store.paths import (
    list_closed_by,
    list_threads_on,
    list_touching_commits,
    list_touching_items,
    load_known_paths,
    load_renames,
)
from forgelore.store.sqlite.fulltext import search_words
from forgelore.text.globs import MAX_STARS, count_stars, glob_matches, is_glob
from forgelore.text.items import StoredCommit, StoredItem
from forgelore.text.reading import ReadingText
from forgelore.text.values import check_filled, suggest

PathKind = Literal["file", "folder", "glob"]
MAX_PATH = 4_096  # characters
_MAX_NAMES = 20  # of one file
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


def find_path(store: Store, project_id: int, text: str, place: ClonePlace) -> MeantPath:
    """Return what is meant by a path that was typed. Raises InvalidValue for what cannot be a path."""
    spellings = list(dict.fromkeys(spell_path(text, place)))
    if not spellings:
        raise InvalidValue(f"{text[:200]!r} is outside the project", hint="name a path from the project's root")
    for path in spellings:
        if is_glob(path):
            if load_known_paths(store, project_id, (path,), 1):
                return MeantPath(path, "glob", (path,))
        elif not path.endswith("/") and load_known_paths(store, project_id, (path,), 1):
            return MeantPath(path, "file", _follow(store, project_id, path))
        elif load_known_paths(store, project_id, (folder := path.rstrip("/") + "/",), 1):
            return MeantPath(folder, "folder", (folder,))
    first = spellings[0]
    kind: PathKind = "glob" if is_glob(first) else "folder" if first.endswith("/") else "file"
    return MeantPath(first, kind, (first,), is_known=False)


def suggest_path(store: Store, project_id: int, path: str) -> str | None:
    """Return the known path that one was probably meant to be: of the same name, else one that is spelled alike."""
    name = posixpath.basename(path.rstrip("/"))
    same = load_known_paths(store, project_id, (f"**/{name}",), 50) if name and not is_glob(name) else []
    if same:
        return suggest(path, same) or min(same, key=len)
    known = load_known_paths(store, project_id, ("**",), _COMPARED)
    return suggest(path, known)


def spell_path(text: str, place: ClonePlace) -> Iterator[str]:
    """Yield the paths of the project that a text may mean, the likeliest first; none that leaves it."""
    check_filled("the path", text)
    if len(text) > MAX_PATH or "\0" in text:
        raise InvalidValue(f"path too long: {text[:60]!r}…", hint=f"use at most {MAX_PATH:,} characters")
    if count_stars(text) > MAX_STARS:
        raise InvalidValue(
            f"{text[:60]!r} has more than {MAX_STARS} wildcards", hint="use ** to match everything in between"
        )
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


def _follow(store: Store, project_id: int, path: str) -> tuple[str, ...]:
    """Return all names of a file, that which was asked for first: those it had before, of a part also those of the file
    that it was split off from, and those it got later, of a file that was split its parts. Other parts of the same file
    are files of their own.
    """
    found = {path: None}
    for is_later in (False, True):
        waiting, walked = [path], {path}
        while waiting and len(found) < _MAX_NAMES:
            for name in load_renames(store, project_id, waiting.pop(0), is_later=is_later):
                if name not in walked:
                    walked.add(name)
                    found.setdefault(name)
                    waiting.append(name)
    return tuple(found)[:_MAX_NAMES]


MAX_ITEMS = 500  # of each sort: touched, threads, mentions
MAX_COMMITS = 500
_MIN_NAME = 5  # letters of a file's name that is looked for without its folder
_BATCH = 100


class SourceItem(NamedTuple):
    """An item that a path's history is made from. `is_linked`: a change that touched the file closes it. `threads`:
    those that are about the file. `mentions`: section -> the
    line that names it.
    """

    row: StoredItem
    text: ReadingText
    is_touching: bool
    is_linked: bool
    threads: frozenset[str]
    mentions: dict[str, int]


SourceCommit = tuple[StoredCommit, ReadingText]


class PathSources(NamedTuple):
    """All of it; `is_cut`: there is more than was taken."""

    items: list[SourceItem]
    commits: list[SourceCommit]
    is_cut: bool


def load_sources(store: Store, project_id: int, meant: MeantPath) -> PathSources:
    """Return what a path's history is made from, newest first within each sort."""
    touching = list_touching_items(store, project_id, meant.names, MAX_ITEMS + 1)
    threads = list_threads_on(store, project_id, meant.names, MAX_ITEMS + 1)
    commits = list_touching_commits(store, project_id, meant.names, MAX_COMMITS + 1)
    names = _names_to_find(store, project_id, meant)
    mentioning = _find_mentioning(store, project_id, names)
    is_cut = len(touching) > MAX_ITEMS or len(threads) > MAX_ITEMS or len(commits) > MAX_COMMITS
    on_path: dict[int, set[str]] = {}
    for item_id, key in threads[:MAX_ITEMS]:
        on_path.setdefault(item_id, set()).add(key)
    touched = frozenset(touching[:MAX_ITEMS])
    linked = frozenset(list_closed_by(store, touched, MAX_ITEMS))
    ids = list(dict.fromkeys([*touching[:MAX_ITEMS], *on_path, *mentioning, *linked]))
    pattern = _mention_pattern(names, meant)
    items = []
    for row, text in load_source_items(store, ids):
        mentions = _find_mentions(text, pattern) if pattern else {}
        keys = frozenset(on_path.get(row.id, ())) & {section.key for section in text.sections}
        if row.id in touched or row.id in linked or keys or mentions:
            items.append(SourceItem(row, text, row.id in touched, row.id in linked, keys, mentions))
    return PathSources(items, _load_commits(store, commits[:MAX_COMMITS]), is_cut)


def load_source_items(store: Store, ids: list[int]) -> Iterable[tuple[StoredItem, ReadingText]]:
    """Yield items with their reading texts, those that the viewer may read."""
    for at in range(0, len(ids), _BATCH):
        batch = ids[at : at + _BATCH]
        rows = load_items(store, batch)
        texts = load_item_readings(store, batch)
        yield from ((rows[one], texts[one]) for one in batch if one in texts)


def _load_commits(store: Store, ids: list[int]) -> list[SourceCommit]:
    rows = load_commits(store, ids)
    return [(rows[one], load_reading(store, f"commit:{one}")) for one in ids if one in rows]


def _names_to_find(store: Store, project_id: int, meant: MeantPath) -> list[str]:
    """Return what a text may call the file: its paths; its bare name where no other file has that name."""
    if meant.kind == "glob":
        return []
    names = [name for name in meant.names if "/" in name.rstrip("/")]
    if meant.kind == "file":
        bare = meant.names[0].rpartition("/")[2]
        others = (
            load_known_paths(store, project_id, (f"**/{bare}",), len(meant.names) + 1) if len(bare) >= _MIN_NAME else []
        )
        if others and all(other in meant.names for other in others):
            names.append(bare)
    return names


def _find_mentioning(store: Store, project_id: int, names: list[str]) -> list[int]:
    """Return the items whose words may name the file, the best first."""
    allowed = build_allowed(store, Filters(project_ids=(project_id,)))
    found: list[int] = []
    for name in names:
        quoted = name.replace('"', " ")
        expression = build_and(parse_words(f'"{quoted}"'))
        if expression:
            found += [one.document_id for one in search_words(store, expression, MAX_ITEMS, allowed)]
    places = load_document_places(store, found)
    return list(dict.fromkeys(places[one][0] for one in found if one in places))[:MAX_ITEMS]


def _mention_pattern(names: list[str], meant: MeantPath) -> re.Pattern[str] | None:
    if not names:
        return None
    either = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
    behind = r"" if meant.kind == "folder" else r"(?![\w/-]|\.\w)"
    page = r"/(?:blob|raw|tree|src/branch|src/commit)/[^\s/]{1,100}/"  # of the file, on a forge
    return re.compile(rf"(?:(?<![\w/.-])(?:\./)?|{page})(?:{either}){behind}")


def _find_mentions(text: ReadingText, pattern: re.Pattern[str]) -> dict[str, int]:
    """Return section -> the first line of it, among those that people wrote, that names the file."""
    found: dict[str, int] = {}
    for part in text.parts:
        for number in range(part.first, part.last + 1):
            if part.section not in found and pattern.search(text.lines[number - 1]):
                found[part.section] = number
    return found
