"""Sources of a path's history: the items, threads and commits that touched a file, are about it or name it.

Everything is bounded: of a file that everybody touches, the newest are taken, and that is told.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from forgelore.core.reading import ReadingText
from forgelore.core.search.ftsquery import build_and, parse_query
from forgelore.flows.browse.reading_text import load_item_readings, load_reading
from forgelore.flows.paths.meant_path import MeantPath
from forgelore.store.browse import ShownRow
from forgelore.store.code_hits import CommitHitRow, load_commit_hits
from forgelore.store.db import Store
from forgelore.store.engine.fulltext import search_words
from forgelore.store.filters import Filters, build_allowed
from forgelore.store.path_history import (
    PathScope,
    list_closed_by,
    list_threads_on,
    list_touching_commits,
    list_touching_items,
    load_known_paths,
)
from forgelore.store.reading import load_document_places, load_read_items

MOST_ITEMS = 500  # of each sort: touched, threads, mentions
MOST_COMMITS = 500
_MIN_NAME = 5  # letters of a file's name that is looked for without its folder
_BATCH = 100


class SourceItem(NamedTuple):
    """An item that a path's history is made from. `is_linked`: a change that touched the file closes it. `threads`:
    those that are about the file. `mentions`: section -> the
    line that names it.
    """

    row: ShownRow
    text: ReadingText
    is_touching: bool
    is_linked: bool
    threads: frozenset[str]
    mentions: dict[str, int]


class SourceCommit(NamedTuple):
    row: CommitHitRow
    text: ReadingText


class PathSources(NamedTuple):
    """All of it; `is_cut`: there is more than was taken."""

    items: list[SourceItem]
    commits: list[SourceCommit]
    is_cut: bool


def load_sources(store: Store, scope: PathScope, meant: MeantPath) -> PathSources:
    """Return what a path's history is made from, newest first within each sort."""
    touching = list_touching_items(store, scope, meant.names, MOST_ITEMS + 1)
    threads = list_threads_on(store, scope, meant.names, MOST_ITEMS + 1)
    commits = list_touching_commits(store, scope, meant.names, MOST_COMMITS + 1)
    names = _names_to_find(store, scope, meant)
    mentioning = _find_mentioning(store, scope, names)
    is_cut = len(touching) > MOST_ITEMS or len(threads) > MOST_ITEMS or len(commits) > MOST_COMMITS
    on_path: dict[int, set[str]] = {}
    for place in threads[:MOST_ITEMS]:
        on_path.setdefault(place.item_id, set()).add(place.thread_key)
    touched = frozenset(touching[:MOST_ITEMS])
    linked = frozenset(list_closed_by(store, scope, touched, MOST_ITEMS))
    ids = list(dict.fromkeys([*touching[:MOST_ITEMS], *on_path, *mentioning, *linked]))
    pattern = _mention_pattern(names, meant)
    items = []
    for row, text in _load_items(store, ids):
        mentions = _find_mentions(text, pattern) if pattern else {}
        keys = frozenset(on_path.get(row.id, ())) & {section.key for section in text.sections}
        if row.id in touched or row.id in linked or keys or mentions:
            items.append(SourceItem(row, text, row.id in touched, row.id in linked, keys, mentions))
    return PathSources(items, _load_commits(store, commits[:MOST_COMMITS]), is_cut)


def _load_items(store: Store, ids: list[int]) -> Iterable[tuple[ShownRow, ReadingText]]:
    for at in range(0, len(ids), _BATCH):
        batch = ids[at : at + _BATCH]
        rows = {row.id: row for row in load_read_items(store, batch)}
        texts = load_item_readings(store, batch)
        yield from ((rows[one], texts[one]) for one in batch if one in texts)


def _load_commits(store: Store, ids: list[int]) -> list[SourceCommit]:
    rows = load_commit_hits(store, ids)
    return [SourceCommit(rows[one], load_reading(store, f"commit:{one}")) for one in ids if one in rows]


def _names_to_find(store: Store, scope: PathScope, meant: MeantPath) -> list[str]:
    """Return what a text may call the file: its paths; its bare name where no other file has that name."""
    if meant.kind == "glob":
        return []
    names = [name for name in meant.names if "/" in name.rstrip("/")]
    if meant.kind == "file":
        bare = meant.names[0].rpartition("/")[2]
        others = load_known_paths(store, scope, (f"**/{bare}",), len(meant.names) + 1) if len(bare) >= _MIN_NAME else []
        if others and all(other in meant.names for other in others):
            names.append(bare)
    return names


def _find_mentioning(store: Store, scope: PathScope, names: list[str]) -> list[int]:
    """Return the items whose words may name the file, the best first."""
    allowed = build_allowed(Filters(project_ids=(scope.project_id,), is_public=scope.is_public))
    found: list[int] = []
    for name in names:
        quoted = name.replace('"', " ")
        expression = build_and(parse_query(f'"{quoted}"').words)
        if expression:
            found += [one.document_id for one in search_words(store, expression, MOST_ITEMS, allowed)]
    places = load_document_places(store, found)
    return list(dict.fromkeys(places[one].item_id for one in found if one in places))[:MOST_ITEMS]


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
