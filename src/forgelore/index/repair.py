"""The repair of what a check found: what is derived is made again, and rows from the answers of their forge.

A repair mends, checks, and mends again what that brought to light (a table that was made again is empty, a row that was
restored has an old document), until a check is clean or nothing changes any more. Each step is a transaction of its
own, and doing it twice is doing it once: a repair that was cut off is simply run again. What cannot be made from
anything else is left as it is, and the finding says what to do.

The steps of a repair: for each group of findings, what makes them good again.

The order matters. Tables come before their rows, rows before what is made from them, and removing a document needs a
full-text index that fits its texts.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from msgspec import Struct, structs

from forgelore.errors import EmbedderError
from forgelore.index.check import AGAIN, Checked, CheckRequest, Finding, check_store
from forgelore.index.part_checks import find_stale
from forgelore.index.update import update_index
from forgelore.ports.embedder import Embedder
from forgelore.ports.progress import Watcher
from forgelore.store.candidates import drop_cards
from forgelore.store.checks import (
    blank_unreadable,
    drop_documents,
    drop_malformed_learned,
    drop_orphans,
    fill_gaps,
    forget_all_rows,
    forget_document_lists,
    forget_unproved_rows,
    load_owners,
    mend_jobs,
    place_rows,
    rebuild_indexes,
    set_id_counters,
    split_words,
)
from forgelore.store.code import forget_all_code
from forgelore.store.database import Store
from forgelore.store.items import load_hashed_items, save_content_hash
from forgelore.store.jobs import count_waiting, queue_documents
from forgelore.store.payloads import keeps_payloads
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.replay import forget_lost_payloads, forget_rows
from forgelore.store.sqlite.check import measure_vectors
from forgelore.store.sqlite.fulltext import refresh_common_words, remake_full_text
from forgelore.store.sqlite.schema import DERIVED, find_gaps
from forgelore.store.sqlite.vector_memory import drop_file, refresh_file
from forgelore.store.sqlite.vector_rows import (
    count_second_vectors,
    count_vectors,
    drop_second_vectors,
    drop_wrong_seconds,
    drop_wrong_vectors,
    find_malformed_seconds,
    forget_unused_dimensions,
    mark_stale,
    queue_unembedded,
)
from forgelore.store.stats import find_current_embedder, list_embedders, save_dimension
from forgelore.sync.replay import replay_items, replay_project_row
from forgelore.text.values import content_hash
from forgelore.words import JobKind


class RepairContext(NamedTuple):
    """A store under repair: what the last check found, by name, and what people should know afterwards (as keys)."""

    store: Store
    request: CheckRequest
    findings: dict[str, Finding]
    notes: dict[str, None]

    def rows(self, *names: str) -> list[int]:
        return sorted(frozenset[int]().union(*(self.findings[name].rows for name in names if name in self.findings)))

    def projects(self, item_ids: list[int]) -> dict[int, tuple[StoredProject, list[int]]]:
        """Return project -> itself and those of these items that belong to it."""
        known = {project.id: project for project in list_projects(self.store)}
        found: dict[int, tuple[StoredProject, list[int]]] = {}
        for project_id, item_id in load_owners(self.store, item_ids):
            found.setdefault(project_id, (known[project_id], []))[1].append(item_id)
        return found


def _make_tables(context: RepairContext) -> None:
    gaps = find_gaps(context.store)
    drop_file(context.store)  # ids of a table that is made again begin anew, and mean other vectors
    fill_gaps(context.store, gaps)
    emptied = [gap.name for gap in gaps if gap.type == "table" and gap.name not in DERIVED]
    if emptied:
        with context.store.transaction():
            _forget_rows(context, emptied)
        context.notes[f"made again, and empty: {', '.join(emptied)}; to fill them, {AGAIN}"] = None


def _forget_rows(context: RepairContext, emptied: list[str]) -> None:
    """Let the next full sync or import write rows again whose parts or payloads are gone."""
    if "raw_payloads" in emptied:
        forget_all_rows(context.store)
    elif {"item_labels", "item_files"} & set(emptied):
        forget_unproved_rows(context.store)


def _reindex(context: RepairContext) -> None:
    rebuild_indexes(context.store)


def _blank_texts(context: RepairContext) -> None:
    with context.store.transaction():
        blank_unreadable(context.store)
    remake_full_text(context.store)


def _drop_orphans(context: RepairContext) -> None:
    with context.store.transaction():
        if drop_orphans(context.store):
            context.notes[f"what hung on items that are gone was removed; to bring them back, {AGAIN}"] = None
    remake_full_text(context.store)


def _place_rows(context: RepairContext) -> None:
    with context.store.transaction():
        place_rows(context.store)


def _restore_rows(context: RepairContext) -> None:
    """Items and notes become again what the forge said, links what their texts say."""
    for project, item_ids in context.projects(context.rows("row_differs")).values():
        with context.store.transaction():
            replay_items(context.store, context.request.reader_of(project.name), project.id, item_ids)


def _restore_projects(context: RepairContext) -> None:
    for project in list_projects(context.store):
        reader = context.request.reader_of(project.name)
        if reader is not None:
            with context.store.transaction():
                replay_project_row(context.store, reader, project.id)


def _distrust_items(context: RepairContext) -> None:
    """An item that differs from its hash: when its document says the same as it does, the hash is wrong. Else nobody
    can tell what it was; the next full sync or import writes it again.
    """
    store = context.store
    ids = context.rows("content_differs")
    stale = set(find_stale(store, ids))
    with store.transaction():
        for item in load_hashed_items(store, ids):
            if item.id in stale:
                forget_rows(store, [item.id])
            else:
                save_content_hash(store, item.id, content_hash(item.kind, item.title, item.body))


def _forget_payloads(context: RepairContext) -> None:
    for project, item_ids in context.projects(context.rows("payload_missing")).values():
        with context.store.transaction():
            forget_lost_payloads(context.store, project.id, item_ids)


def _split_words(context: RepairContext) -> None:
    with context.store.transaction():
        split_words(context.store, context.rows("terms_differ"))
    remake_full_text(context.store)


def _make_words(context: RepairContext) -> None:
    remake_full_text(context.store)


def _count_words(context: RepairContext) -> None:
    refresh_common_words(context.store, is_forced=True)


def _drop_cards(context: RepairContext) -> None:
    """Forget cards that cannot be trusted, with their documents. Only who made them can make them again."""
    ids = context.rows("card_differs")
    with context.store.transaction():
        drop_cards(context.store, ids)
        for project, item_ids in context.projects(ids).values():
            queue_documents(context.store, project.id, item_ids)
    context.notes["intent cards were dropped; to make them again, run: forgelore dedupe intent"] = None


def _drop_documents(context: RepairContext) -> None:
    """Forget documents whose text cannot be trusted; their items are indexed again."""
    with context.store.transaction():
        drop_documents(context.store, context.rows("text_missing", "text_differs"))


def _queue_items(context: RepairContext) -> None:
    """Index items again. Without its hashes a document gets its labels and paths anew, and its text if that differs."""
    store = context.store
    ids = context.rows("document_of_deleted_item", "item_without_document", "document_outdated")
    with store.transaction():
        forget_document_lists(store, ids)
        for project, item_ids in context.projects(ids).values():
            queue_documents(store, project.id, item_ids)
    if "document_of_deleted_item" in context.findings:
        context.notes[f"items that are marked as gone are found no more; if they are not gone, {AGAIN}"] = None
    _tell_unproved(context)


def _tell_unproved(context: RepairContext) -> None:
    """A document that differs from its item may be the one that is right: without payloads nobody can tell. The item
    is believed, and a new import writes it again.
    """
    unproved = [
        item_id
        for project, item_ids in context.projects(context.rows("document_outdated")).values()
        if not keeps_payloads(context.store, project.id)
        for item_id in item_ids
    ]
    if unproved:
        with context.store.transaction():
            forget_rows(context.store, unproved)
        context.notes[
            f"{len(unproved):,} documents were made again from items that no stored answer of a forge proves; if"
            f" somebody changed those items, {AGAIN}"
        ] = None


def _forget_code(context: RepairContext) -> None:
    """Files and commits come from clones, which have them still."""
    with context.store.transaction():
        forget_all_code(context.store)
    context.notes["files and commits were forgotten; to bring them back, run: forgelore index-code"] = None


def _drop_vectors(context: RepairContext) -> None:
    """Forget vectors of documents that have a wrong one. When only a sample was compared, more are wrong: all go."""
    store, current = context.store, find_current_embedder(context.store)
    is_sampled = current is not None and count_vectors(store, current[0])[0] > context.request.sample
    chunks = context.rows("vector_of_other_text", "vector_malformed", "vector_incomplete")
    documents = context.rows("vector_differs")
    with store.transaction():
        drop_wrong_vectors(store, documents, chunks)
        if documents and is_sampled and current:
            for project in list_projects(store):
                mark_stale(store, current[0], project.id)
        forget_unused_dimensions(store)


def _write_vector_file(context: RepairContext) -> None:
    drop_file(context.store)
    for embedder in list_embedders(context.store):
        refresh_file(context.store, embedder)


def _drop_seconds(context: RepairContext) -> None:
    """Forget second vectors that are wrong; when only a sample was compared, all. The next `embed` makes them again."""
    store, wrong = context.store, context.rows("second_vector_wrong")
    is_sampled = sum(one.items for one in count_second_vectors(store)) > context.request.sample
    is_differing = not set(wrong) <= set(find_malformed_seconds(store))
    with store.transaction():
        drop_wrong_seconds(store, wrong)
        if is_differing and is_sampled:
            drop_second_vectors(store)
    context.notes["vectors of the second embedder are missing; run: forgelore embed"] = None


def _set_dimensions(context: RepairContext) -> None:
    with context.store.transaction():
        for embedder_id, dimension in measure_vectors(context.store).dimensions.items():
            save_dimension(context.store, embedder_id, dimension)


def _queue_vectors(context: RepairContext) -> None:
    current = find_current_embedder(context.store)
    if current:
        with context.store.transaction():
            queue_unembedded(context.store, current[0])


def _forget_learned(context: RepairContext) -> None:
    with context.store.transaction():
        drop_malformed_learned(context.store)
    context.notes["what was learned from known duplicates is gone in part; run: forgelore calibrate"] = None


def _set_counters(context: RepairContext) -> None:
    drop_file(context.store)  # an id may have been given twice
    with context.store.transaction():
        set_id_counters(context.store)


def _mend_jobs(context: RepairContext) -> None:
    with context.store.transaction():
        mend_jobs(context.store)


STEPS: tuple[tuple[tuple[str, ...], Callable[[RepairContext], None]], ...] = (
    (("table_missing", "index_missing", "trigger_extra"), _make_tables),
    (("index_damaged",), _reindex),
    (("text_unreadable",), _blank_texts),
    (("code_differs",), _forget_code),
    (("broken_references", "text_without_document"), _drop_orphans),
    (("row_misplaced", "note_misplaced"), _place_rows),
    (("project_differs",), _restore_projects),
    (("row_differs",), _restore_rows),
    (("content_differs",), _distrust_items),
    (("payload_missing",), _forget_payloads),
    (("terms_differ",), _split_words),
    (("words_missing", "words_extra", "words_damaged", "words_lost"), _make_words),
    (("words_miscounted",), _count_words),
    (("card_differs",), _drop_cards),
    (("text_missing", "text_differs"), _drop_documents),
    (("document_of_deleted_item", "item_without_document", "document_outdated"), _queue_items),
    (("embedder_altered",), _set_dimensions),
    (("vector_of_other_text", "vector_malformed", "vector_incomplete", "vector_differs"), _drop_vectors),
    (("vector_file_differs",), _write_vector_file),
    (("second_vector_wrong",), _drop_seconds),
    (("document_without_vectors",), _queue_vectors),
    (("learned_malformed",), _forget_learned),
    (("id_counter_wrong",), _set_counters),
    (("job_of_nothing", "job_miscounted"), _mend_jobs),
)


_ROUNDS = 5
_HOPELESS = frozenset(["damaged_file", "source_missing"])
# What these leave behind is seen by the next check: documents are not built on half of the truth.
_FIRST = frozenset(["table_missing", "text_unreadable"])
_LOSES_VECTORS = frozenset(["embedder_altered", "broken_references"])


class Repair(Struct, frozen=True):
    """What a repair did about a finding: how many there were, and how many are left."""

    name: str
    found: int
    left: int


class Repaired(Struct, frozen=True):
    """What was mended, what a check says now, and what people should know of how it was done."""

    repairs: list[Repair]
    checked: Checked
    notes: list[str]


def repair_store(store: Store, request: CheckRequest | None = None) -> Repaired:
    """Mend what can be mended. Damaged pages are left as they are: what could be read of them cannot be trusted."""
    request = request or CheckRequest()
    checked = check_store(store, request)
    found: dict[str, int] = {}
    notes: dict[str, None] = {}
    before: dict[str, int] | None = None
    for number in range(_ROUNDS):
        now = {finding.name: finding.count for finding in checked.findings}
        found = now | found
        if not now or now == before or _HOPELESS & now.keys():
            break
        before = now
        again = structs.replace(request, watcher=_RoundWatcher(request.watcher, number))
        _mend(RepairContext(store, again, {finding.name: finding for finding in checked.findings}, notes))
        checked = check_store(store, again)
    left = {finding.name: finding.count for finding in checked.findings}
    return Repaired([Repair(name, count, left.get(name, 0)) for name, count in found.items()], checked, list(notes))


class _RoundWatcher(Watcher):
    """Keeps the parts of one round apart from those of the others, which have the same names."""

    def __init__(self, watcher: Watcher, number: int) -> None:
        self._watcher, self._number = watcher, number

    def begin(self, resource: str, title: str, total: int | None) -> None:
        self._watcher.begin(f"{resource} {self._number}", title, total)

    def saved(self, resource: str, rows: int) -> None:
        self._watcher.saved(f"{resource} {self._number}", rows)

    def done(self, resource: str) -> None:
        self._watcher.done(f"{resource} {self._number}")


def _mend(context: RepairContext) -> None:
    for names, step in STEPS:
        if any(name in context.findings for name in names):
            step(context)
    if not _FIRST & context.findings.keys():
        _update_index(context)


def _update_index(context: RepairContext) -> None:
    store, request = context.store, context.request
    projects = [project.id for project in list_projects(store)]
    update = update_index(
        store, projects, partial(_embedder_of_the_others, context), watcher=request.watcher, now_ms=request.now_ms
    )
    if isinstance(update.failure, EmbedderError):
        context.notes[f"some vectors could not be made: {update.failure.message}"] = None
    elif update.failure is not None:
        raise update.failure
    if count := count_waiting(store, JobKind.EMBED):
        context.notes[f"{count:,} documents wait for their vectors; run: forgelore embed"] = None


def _embedder_of_the_others(context: RepairContext) -> Embedder | None:
    """Return the embedder of the settings if vectors wait, and if those that are there are of it."""
    store, embedder = context.store, context.request.embedder
    is_lost = any(name.startswith("vector_") or name in _LOSES_VECTORS for name in context.findings)
    if embedder is None or not (count_waiting(store, JobKind.EMBED) or is_lost):
        return None
    is_ours = find_current_embedder(store, embedder.fingerprint()) or (is_lost and not find_current_embedder(store))
    return embedder if is_ours else None
