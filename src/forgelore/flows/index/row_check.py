"""Items and notes against what the forge said of them: every stored payload read again, and nothing written.

`replay` writes a row only where it differs. Run on a store that leaves out what is written, it tells which rows those
are. What has no payload (an imported project, the index of the bot) has its links read again, and its hash computed.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from forgelore.core.content import content_hash
from forgelore.errors import LostPage
from forgelore.flows.progress import Watcher
from forgelore.flows.sync.replay import BATCH, replay_items, replay_project_row
from forgelore.ports import PayloadReader
from forgelore.store.checks import Fault
from forgelore.store.db import Store, UnwrittenStore
from forgelore.store.item_batches import count_items, next_replayed_items
from forgelore.store.item_facts import find_key
from forgelore.store.item_hashes import each_hashed_item
from forgelore.store.payloads import keeps_payloads
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.replays import load_payloads
from forgelore.words import ProjectName

ReaderOf = Callable[[ProjectName], PayloadReader | None]


class RowComparison(NamedTuple):
    """What is wrong; of which items the text cannot be trusted; and of how many items everything was proved."""

    wrong: list[Fault]
    distrusted: frozenset[int]
    checked: int
    total: int


def check_rows(store: Store, reader_of: ReaderOf, watcher: Watcher) -> RowComparison:
    """Compare all items. What waits for a replay anyway is left out."""
    total = count_items(store)
    watcher.begin("rows", "items compared with their answers", total)
    changed = _find_changed(store)
    wrong: list[Fault] = []
    checked = 0
    for project in list_projects(store):
        reader = reader_of(project.name)
        keeps = reader is not None and keeps_payloads(store, project.id)
        if reader is not None and _is_altered(store, reader, project.id):
            wrong.append(("project_differs", str(project.name), project.id))
        for ids in _batches(store, project.id):
            done = replay_items(UnwrittenStore(store), reader, project.id, ids)
            lost = [one for one in ids if one in changed and not _is_restorable(store, reader, project.id, one)]
            differing = [one for one in done.restored if one not in lost]  # links of a text that is not to be trusted
            for name, found in (("row_differs", differing), ("content_differs", lost)):
                wrong += [(name, _shown(store, project, item_id), item_id) for item_id in found]
            if keeps:
                wrong += [("payload_missing", _shown(store, project, item_id), item_id) for item_id in done.incomplete]
                checked += done.read - len(done.incomplete)
            watcher.saved("rows", len(ids))
    watcher.done("rows")
    return RowComparison(wrong, changed, checked, total)


def _is_altered(store: Store, reader: PayloadReader, project_id: int) -> bool:
    try:
        return replay_project_row(UnwrittenStore(store), reader, project_id)
    except LostPage:  # a payload that says nothing proves nothing
        return False


def _find_changed(store: Store) -> frozenset[int]:
    """Return the items whose title and text are not what their hash says."""
    return frozenset(
        item.id
        for item in each_hashed_item(store)
        if content_hash(item.kind, item.title, item.body) != item.content_hash
    )


def _is_restorable(store: Store, reader: PayloadReader | None, project_id: int, item_id: int) -> bool:
    found = load_payloads(store, project_id, item_id)
    return reader is not None and found is not None and found.item is not None


def _batches(store: Store, project_id: int) -> Iterator[list[int]]:
    last = 0
    while ids := next_replayed_items(store, project_id, last, BATCH):
        last = ids[-1]
        yield ids


def _shown(store: Store, project: StoredProject, item_id: int) -> str:
    key = find_key(store, item_id)
    return f"{project.name} {key.kind} {key.number}" if key else str(item_id)
