"""`stats --check --repair`: makes good what a check found, in two steps with a check behind each.

1. The file: tables and indexes that are missing or damaged, unreadable texts, rows that belong to nothing or name
   another owner, impossible counters and jobs.
2. What it holds: rows become what the stored answers of their forge say (`sync/replay`), and what is derived is built
   again by the code that built it first (`index/update`). Of vectors, which take minutes, only those that are missing
   or wrong are made again.

Each part is a transaction of its own, and doing it twice is doing it once: a repair that was cut off is simply run
again. What cannot be made from anything else is left as it is, and the finding says what to do.
"""

from collections.abc import Collection
from functools import partial

from msgspec import structs

from forgelore.errors import EmbedderError
from forgelore.index.check import CheckRequest, check_store, find_stale
from forgelore.index.findings import AGAIN, Checked, Repair, Repaired
from forgelore.index.update import reindex_items, update_index
from forgelore.ports.embedder import Embedder
from forgelore.ports.progress import Watcher
from forgelore.store.candidates import drop_cards
from forgelore.store.code import forget_all_code
from forgelore.store.database import Store
from forgelore.store.documents import find_current_embedder, list_embedders, save_dimension
from forgelore.store.item_lists import load_items
from forgelore.store.items import save_content_hash
from forgelore.store.jobs import count_waiting
from forgelore.store.payloads import keeps_payloads
from forgelore.store.projects import list_projects
from forgelore.store.replay import forget_lost_payloads, forget_rows
from forgelore.store.sqlite.check import measure_vectors
from forgelore.store.sqlite.fulltext import refresh_common_words, remake_full_text
from forgelore.store.sqlite.repair import (
    blank_unreadable,
    drop_nonsense,
    drop_orphans,
    fill_gaps,
    forget_document_lists,
    load_owned,
    place_rows,
    rebuild_indexes,
    set_id_counters,
)
from forgelore.store.sqlite.vector_memory import drop_file, refresh_file
from forgelore.store.sqlite.vector_rows import (
    count_second_vectors,
    count_vectors,
    drop_second_vectors,
    drop_unowned_vectors,
    drop_wrong_seconds,
    drop_wrong_vectors,
    find_malformed_seconds,
    forget_unused_dimensions,
    mark_stale,
    queue_unembedded,
)
from forgelore.sync.replay import replay_items, replay_project_row
from forgelore.text.values import content_hash
from forgelore.words import JobKind

_HOPELESS = frozenset(["damaged_file", "source_missing"])
_OF_FILE = frozenset([
    "table_missing", "index_missing", "index_damaged", "trigger_extra", "text_unreadable", "broken_references",
    "text_without_document", "row_misplaced", "note_misplaced", "id_counter_wrong", "job_of_nothing",
    "job_miscounted", "learned_malformed",
])  # fmt: skip
_OF_VECTORS = frozenset([
    "embedder_altered", "vector_malformed", "vector_file_differs", "vector_incomplete", "vector_of_other_text",
    "vector_differs", "second_vector_wrong", "document_without_vectors",
])  # fmt: skip


def repair_store(store: Store, request: CheckRequest | None = None) -> Repaired:
    """Mend what can be mended. Damaged pages are left as they are: what could be read of them cannot be trusted."""
    request = request or CheckRequest()
    notes: list[str] = []
    has_lost_vectors = False
    first = checked = check_store(store, request)
    if _OF_FILE & first.rows.keys() and not _HOPELESS & first.rows.keys():
        has_lost_vectors = _mend_file(store, first, notes)
        request = structs.replace(request, watcher=_watch_again(request.watcher))
        checked = check_store(store, request)
    found = _counts(checked) | _counts(first)
    if found and not _HOPELESS & found.keys():
        request = structs.replace(request, watcher=_watch_again(request.watcher))
        _rebuild(store, request, checked, notes)
        _make_vectors(store, request, notes, may_begin=has_lost_vectors)
        _write_vector_file(store)
        checked = check_store(store, request)
    left = _counts(checked)
    return Repaired([Repair(name, count, left.get(name, 0)) for name, count in found.items()], checked, notes)


def _counts(checked: Checked) -> dict[str, int]:
    return {finding.name: finding.count for finding in checked.findings}


def _watch_again(watcher: Watcher) -> Watcher:
    """Keep the stages of a step apart from those of the step before, which have the same names."""
    return Watcher(lambda event: watcher.tell(event._replace(stage=f"{event.stage}, again" if event.stage else "")))


def _mend_file(store: Store, checked: Checked, notes: list[str]) -> bool:
    """Mend tables, indexes and rows; returns whether there were vectors of an embedder that is gone."""
    drop_file(store)  # ids of a table that is made again begin anew, and mean other vectors
    if emptied := fill_gaps(store):
        notes.append(f"recreated empty: {', '.join(emptied)}; to fill them, {AGAIN}")
    if "index_damaged" in checked.rows:
        rebuild_indexes(store)
    with store.transaction():
        blank_unreadable(store)
        if drop_orphans(store):
            notes.append(f"data of items that are gone was removed; to restore it, {AGAIN}")
        has_lost_vectors = drop_unowned_vectors(store) > 0
        place_rows(store)
        if "id_counter_wrong" in checked.rows:
            set_id_counters(store)
        if drop_nonsense(store):
            notes.append("some calibration data is gone; run: forgelore calibrate")
    remake_full_text(store)
    return has_lost_vectors


def _rebuild(store: Store, request: CheckRequest, checked: Checked, notes: list[str]) -> None:
    _restore_rows(store, request, checked)
    distrusted = _find_distrusted(store, checked.ids("content_differs"))
    if checked.rows.keys() - _OF_VECTORS:
        _rebuild_documents(store, request, checked, distrusted, notes)
    _drop_wrong_vectors(store, request, checked)
    if wrong := checked.ids("second_vector_wrong"):
        _drop_wrong_seconds(store, request, wrong)
        notes.append("vectors of the second embedder are missing; run: forgelore embed")


def _restore_rows(store: Store, request: CheckRequest, checked: Checked) -> None:
    """Projects, items and notes become again what the forge said, links what their texts say."""
    for project in list_projects(store):
        reader = request.reader_of(project.name)
        with store.transaction():
            if reader is not None and project.id in checked.rows.get("project_differs", ()):
                replay_project_row(store, reader, project.id)
            replay_items(store, reader, project.id, load_owned(store, project.id, checked.ids("row_differs")))
            forget_lost_payloads(store, project.id, load_owned(store, project.id, checked.ids("payload_missing")))


def _find_distrusted(store: Store, item_ids: list[int]) -> list[int]:
    """An item differs from its hash: when its document says the same as it does, the hash is wrong. Else nobody can
    tell what it was; the next full sync or import writes it again, and until then its document is left alone.
    """
    stale = find_stale(store, item_ids)
    with store.transaction():
        forget_rows(store, stale)
        for item in load_items(store, (one for one in item_ids if one not in stale)).values():
            save_content_hash(store, item.id, content_hash(item.kind, item.title, item.body))
    return stale


def _rebuild_documents(
    store: Store, request: CheckRequest, checked: Checked, distrusted: Collection[int], notes: list[str]
) -> None:
    """Build all documents again, and full text before: taking a document out needs words that match its text."""
    remake_full_text(store)
    cards, outdated = checked.ids("card_differs"), checked.ids("document_outdated")
    with store.transaction():
        drop_cards(store, cards)
        if "code_differs" in checked.rows:
            forget_all_code(store)
        forget_document_lists(store, outdated)
        # The document may be the one that is right: without payloads nobody can tell. A new import decides.
        projects = [project.id for project in list_projects(store)]
        unproved = [
            item_id
            for project_id in projects
            if not keeps_payloads(store, project_id)
            for item_id in load_owned(store, project_id, outdated)
        ]
        forget_rows(store, unproved)
    reindex_items(store, projects, without=distrusted, watcher=request.watcher, now_ms=request.now_ms)
    refresh_common_words(store, is_forced=True)
    if cards:
        notes.append("intent cards were dropped; to recreate them, run: forgelore dedupe intent")
    if "code_differs" in checked.rows:
        notes.append("files and commits were removed; to restore them, run: forgelore index-code")
    if "document_of_deleted_item" in checked.rows:
        notes.append(f"items marked as gone are no longer found; if they still exist, {AGAIN}")
    if unproved:
        notes.append(
            f"{len(unproved):,} documents were made again from items that no stored answer of a forge confirms; if"
            f" somebody changed those items, {AGAIN}"
        )


def _drop_wrong_vectors(store: Store, request: CheckRequest, checked: Checked) -> None:
    """Forget vectors of documents that have a wrong one. When only a sample was compared, more are wrong: all go."""
    current = find_current_embedder(store)
    is_sampled = current is not None and count_vectors(store, current[0])[0] > request.sample
    with store.transaction():
        malformed, sizes = measure_vectors(store)
        for embedder_id, dimension in sizes.items():
            save_dimension(store, embedder_id, dimension)
        if sizes:
            malformed, _ = measure_vectors(store)
        chunks = [*checked.ids("vector_of_other_text", "vector_incomplete"), *(chunk_id for *_, chunk_id in malformed)]
        differing = checked.ids("vector_differs")
        drop_wrong_vectors(store, differing, chunks)
        if differing and is_sampled and current:
            for project in list_projects(store):
                mark_stale(store, current[0], project.id)
        forget_unused_dimensions(store)
        if current:
            queue_unembedded(store, current[0])


def _drop_wrong_seconds(store: Store, request: CheckRequest, wrong: list[int]) -> None:
    """The same for vectors of the second embedder. The next `embed` makes them again."""
    is_sampled = sum(one.items for one in count_second_vectors(store)) > request.sample
    is_differing = not set(wrong) <= set(find_malformed_seconds(store))
    with store.transaction():
        drop_wrong_seconds(store, wrong)
        if is_differing and is_sampled:
            drop_second_vectors(store)


def _make_vectors(store: Store, request: CheckRequest, notes: list[str], *, may_begin: bool) -> None:
    """Make what waits, with the embedder of the settings if the other vectors are of it, or if all were lost."""
    projects = [project.id for project in list_projects(store)]
    make_embedder = partial(_find_embedder, store, request.embedder, may_begin=may_begin)
    update = update_index(store, projects, make_embedder, watcher=request.watcher, now_ms=request.now_ms)
    if isinstance(update.failure, EmbedderError):
        notes.append(f"some vectors could not be computed: {update.failure.message}")
    elif update.failure is not None:
        raise update.failure
    if count := count_waiting(store, JobKind.EMBED):
        notes.append(f"{count:,} documents have no vectors yet; run: forgelore embed")


def _find_embedder(store: Store, embedder: Embedder | None, *, may_begin: bool) -> Embedder | None:
    if embedder is None or not (may_begin or count_waiting(store, JobKind.EMBED)):
        return None
    is_ours = find_current_embedder(store, embedder.fingerprint()) or (may_begin and not find_current_embedder(store))
    return embedder if is_ours else None


def _write_vector_file(store: Store) -> None:
    drop_file(store)
    for embedder in list_embedders(store):
        refresh_file(store, embedder)
