"""`stats --check`: whether each part of the index is what it is made from.

A check reads one moment of the file, also while a sync writes, and changes nothing. Almost everything is compared row
by row: tables with those of a new file, rows with the answers of the forge, links with texts, documents with rows,
hashes and split words with texts, full text with texts. Three things would cost too much and are proved by a sample,
another one each time: rare words that are looked up, documents that are asked for by their own words, documents whose
vectors are made again. A `Proof` tells how large it was.

What a check can find: the name of each finding, what it means, and what to do about it when a repair cannot help.

A name is stable: programs read it. `docs/check.md` tells the same to people.

Items and notes against what the forge said of them: every stored payload read again, and nothing written.

`replay` writes a row only where it differs. Run on a store that leaves out what is written, it tells which rows those
are. What has no payload (an imported project, the index of the bot) has its links read again, and its hash computed.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec import Struct, field

from forgelore.errors import CorruptStore, LoreError, LostPage
from forgelore.index.part_checks import (
    compare_seconds,
    compare_vectors,
    find_altered_cards,
    find_altered_texts,
    find_outdated,
    find_wrong_code,
)
from forgelore.ports.embedder import Embedder
from forgelore.ports.forge import PayloadReader
from forgelore.ports.progress import Watcher
from forgelore.store.checks import Fault, find_broken_references, find_damage, find_unreadable, find_wrong
from forgelore.store.database import DryRunStore, Store
from forgelore.store.item_lists import count_items, next_replayed_items
from forgelore.store.items import each_hashed_item, find_key
from forgelore.store.payloads import keeps_payloads
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.replay import load_payloads
from forgelore.store.sqlite.check import (
    SampledDocument,
    compare_words,
    find_unmatched,
    find_word_damage,
    measure_vectors,
    sample_vectors,
)
from forgelore.store.sqlite.fulltext import count_cards, count_documents
from forgelore.store.sqlite.schema import SOURCES, find_gaps
from forgelore.store.sqlite.vector_memory import is_file_true
from forgelore.store.sqlite.vector_rows import count_second_vectors, count_vectors, find_malformed_seconds
from forgelore.store.stats import find_current_embedder, list_embedders
from forgelore.sync.replay import BATCH, replay_items, replay_project_row
from forgelore.text.dates import machine_ms
from forgelore.text.values import content_hash
from forgelore.words import ProjectName

_EXAMPLES = 5
AGAIN = "run: forgelore sync --full; an imported project: import its file again"


class Meaning(Struct, frozen=True):
    text: str
    remedy: str = ""  # empty: a repair mends all of it


class Finding(Struct, frozen=True):
    """Something in the file that is not as it should be. `rows` are what a repair must touch."""

    name: str
    count: int
    examples: list[str]
    meaning: str
    remedy: str = ""
    rows: frozenset[int] = frozenset()


MEANINGS = {
    # the file and its tables
    "damaged_file": Meaning(
        "pages of the file are damaged; it cannot be repaired, only made anew",
        "keep the file under another name, then run: forgelore sync --full; imported projects: import them again",
    ),
    "source_missing": Meaning(
        "tables of what a forge or a file said are missing or altered: nothing else in the file tells the same",
        "keep the file under another name, then run: forgelore sync --full; imported projects: import them again",
    ),
    "table_missing": Meaning("tables are missing or altered"),
    "index_missing": Meaning("indexes are missing or altered: every answer that needs them comes late"),
    "index_damaged": Meaning("indexes do not fit their tables: answers lack rows, or have too many"),
    "trigger_extra": Meaning("triggers, of which forgelore has none: they change what is written"),
    "broken_references": Meaning("rows that hang on rows which do not exist", AGAIN),
    "row_malformed": Meaning("rows that hold what forgelore never writes", AGAIN),
    "text_unreadable": Meaning("texts whose bytes are no text: whatever reads them fails"),
    "row_misplaced": Meaning("rows that name another project than the row they hang on"),
    "note_misplaced": Meaning("notes that name another item than their thread"),
    "id_counter_wrong": Meaning("counters of ids that would give an id twice, or none at all"),
    # what a forge or a file said
    "project_differs": Meaning("projects that are not what the stored answer of the forge says: private, or archived"),
    "row_differs": Meaning("items and notes, or their links, that are not what the stored answers of the forge say"),
    "content_differs": Meaning(
        "items whose title or text was changed behind forgelore's back, and no stored answer of a forge to restore"
        " them from",
        AGAIN,
    ),
    "payload_missing": Meaning(
        "items of which a stored answer of the forge is lost or damaged: they cannot be proved or restored", AGAIN
    ),
    "row_gone": Meaning("stored answers of the forge whose items or notes are gone from the tables", AGAIN),
    # documents and full text
    "item_without_document": Meaning("items that cannot be found, and that nothing waits to index"),
    "document_of_deleted_item": Meaning("items that are gone from the forge and can still be found"),
    "document_outdated": Meaning(
        "documents that are not what their item and its notes say now, and that do not wait for it"
    ),
    "card_differs": Meaning(
        "intent cards that cannot be read, or whose text is not what they say: they are dropped, and made again by"
        " forgelore dedupe intent"
    ),
    "text_missing": Meaning("documents without a text"),
    "text_without_document": Meaning("texts whose document is gone"),
    "text_differs": Meaning("texts that are not what their hash says: somebody or something changed them"),
    "terms_differ": Meaning("split words that are not those of their texts: parts of names are not found"),
    "words_missing": Meaning("texts that full text does not know: a search for their words does not find them"),
    "words_extra": Meaning(
        "full text knows documents that are gone: a search may find nothing where it promises something"
    ),
    "words_damaged": Meaning("full text and the texts tell different words"),
    "words_lost": Meaning("words that are in the texts, and that a search does not find"),
    "words_miscounted": Meaning("common words whose number is far from the truth: hits come in the wrong order"),
    # files and commits of clones
    "code_differs": Meaning("files, commits or their words that are not what they were made from"),
    # vectors
    "embedder_altered": Meaning("embedders whose vectors have another size than their row says"),
    "vector_malformed": Meaning("vectors of the wrong size or length: their similarities mean nothing"),
    "vector_file_differs": Meaning(
        "the file of vectors beside the store tells others than the store: search by meaning finds the wrong things"
    ),
    "vector_incomplete": Meaning("documents of which only some parts have vectors"),
    "vector_of_other_text": Meaning("vectors that were made from an older text"),
    "vector_differs": Meaning("vectors that are not those of their texts: search by meaning finds the wrong things"),
    "second_vector_wrong": Meaning("vectors of the second embedder that are damaged, or are not those of their texts"),
    "document_without_vectors": Meaning("documents that cannot be found by meaning, and that nothing waits to embed"),
    # what was learned, and what waits
    "learned_malformed": Meaning("figures of calibrate or triage that make no sense; they are learned again"),
    "job_of_nothing": Meaning("waiting work on something that does not exist"),
    "job_miscounted": Meaning("waiting work whose attempts were counted wrongly: it may come too late or too often"),
}


def collect(wrong: Iterable[Fault]) -> list[Finding]:
    """Return one finding per name, with some examples."""
    shown: dict[str, list[str]] = {}
    rows: dict[str, list[int]] = {}
    for name, what, row_id in wrong:
        rows.setdefault(name, []).append(row_id)
        if len(examples := shown.setdefault(name, [])) < _EXAMPLES:
            examples.append(what)
    return [
        Finding(name, len(rows[name]), shown[name], MEANINGS[name].text, MEANINGS[name].remedy, frozenset(rows[name]))
        for name in rows
    ]


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
            done = replay_items(DryRunStore(store), reader, project.id, ids)
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
        return replay_project_row(DryRunStore(store), reader, project_id)
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


SAMPLE = 200  # documents
# With one of these there is no use in looking at the rest: a repair begins here, and checks again.
_HINDERING = frozenset(["source_missing", "table_missing", "damaged_file", "text_unreadable"])


class CheckRequest(Struct, frozen=True):
    """What a check may use: the embedder that vectors are made again with (or why there is none), what reads a
    project's stored payloads, how many documents a sample has, who watches, and the clock of a repair.
    """

    embedder: Embedder | None = None
    second: Embedder | None = None  # whose vectors are stored beside
    no_embedder: str = "no embedder is configured"
    reader_of: ReaderOf = lambda _name: None
    sample: int = SAMPLE
    watcher: Watcher = field(default_factory=Watcher)
    now_ms: Callable[[], int] = machine_ms


class Proof(Struct, frozen=True):
    """How much of something was proved, where that may be less than all, and why it was not more."""

    what: str
    checked: int
    total: int
    why: str = ""


class Checked(Struct, frozen=True):
    """What is wrong: nothing in a sound file. `is_cut_short`: what is derived was not looked at."""

    findings: list[Finding]
    proofs: list[Proof] = []
    is_cut_short: bool = False


def check_store(store: Store, request: CheckRequest | None = None) -> Checked:
    """Compare each part of the file with what it is made from."""
    check = _Check(store, request or CheckRequest())
    with store.snapshot():
        try:
            is_sound = check.look_at_file()
            if is_sound:
                check.look_at_rows()
                check.look_at_words()
                check.look_at_vectors()
        except CorruptStore as error:
            check.wrong.append(("damaged_file", error.message, 0))
            is_sound = False
    if is_sound:
        check.remake_vectors()  # an embedder may take minutes, and a snapshot keeps the log from shrinking
        check.remake_seconds()
    return Checked(collect(check.wrong), check.proofs, not is_sound)


class _Check:
    """One check, and what it found so far."""

    def __init__(self, store: Store, request: CheckRequest) -> None:
        self._store, self._request = store, request
        self.wrong: list[Fault] = []
        self.proofs: list[Proof] = []
        self._sample: list[SampledDocument] = []
        self._embedded, self._why = 0, ""

    def look_at_file(self) -> bool:
        """Returns whether the rest can be looked at."""
        for gap in find_gaps(self._store):
            is_source = gap.type == "table" and gap.name in SOURCES
            name = {"table": "table_missing", "index": "index_missing", "trigger": "trigger_extra"}[gap.type]
            self.wrong.append(("source_missing" if is_source else name, gap.name, 0))
        self.wrong += find_damage(self._store)
        if not self._is_hindered():
            unreadable = find_unreadable(self._store)
            self.wrong += [("text_unreadable", f"{table} {row_id}", 0) for table, _, row_id in unreadable]
        return not self._is_hindered()

    def _is_hindered(self) -> bool:
        return any(name in _HINDERING for name, _, _ in self.wrong)

    def look_at_rows(self) -> None:
        store, watcher = self._store, self._request.watcher
        self.wrong += find_broken_references(store)
        rows = check_rows(store, self._request.reader_of, watcher)
        self.wrong += rows.wrong
        why = "of the rest no answer of a forge is stored" if rows.checked < rows.total else ""
        self.proofs.append(Proof("items compared with what the forge said of them", rows.checked, rows.total, why))
        self.wrong += find_altered_cards(store)
        self.wrong += find_altered_texts(store, watcher)
        self.wrong += find_wrong_code(store, self._request.sample, watcher)
        self.wrong += find_outdated(store, rows.distrusted, watcher)

    def look_at_words(self) -> None:
        store = self._store
        damage = find_word_damage(store)
        self.wrong += [("words_damaged", line, 0) for line in damage]
        missed, asked = find_unmatched(store, self._request.sample)
        self.wrong += [("words_lost", f"{word} (document {document_id})", 0) for document_id, word in missed]
        self.proofs.append(
            Proof("documents asked for by their own words", asked, count_documents(store) + count_cards(store))
        )
        if damage:
            return  # reading such an index would raise
        words = compare_words(store)
        self.wrong += [("words_lost", word, 0) for word in words.lost]
        self.wrong += [("words_miscounted", word, 0) for word in words.miscounted]
        self.proofs.append(Proof("words looked up", words.checked, words.total))

    def look_at_vectors(self) -> None:
        """Measure all vectors, and choose those that are made again."""
        store = self._store
        shapes = measure_vectors(store)
        self.wrong += [
            ("vector_malformed", f"document {bad.document_id}, chunk {bad.position}", bad.id)
            for bad in shapes.malformed
        ]
        self.wrong += [
            ("embedder_altered", f"embedder {embedder_id}: its vectors have {size} dimensions", embedder_id)
            for embedder_id, size in shapes.dimensions.items()
        ]
        untrue = [each for each in list_embedders(store) if not is_file_true(store, each)]
        self.wrong += [("vector_file_differs", f"vectors of {each.name}", each.id) for each in untrue]
        malformed = find_malformed_seconds(store)
        self.wrong += [("second_vector_wrong", f"document {one}", one) for one in malformed]
        fingerprint = self._fingerprint()
        ours = find_current_embedder(store, fingerprint) if fingerprint else None
        current = ours or find_current_embedder(store)
        self.wrong += find_wrong(store, current[0] if current else None)
        self._embedded = count_vectors(store, current[0])[0] if current else 0
        if ours:
            self._sample = sample_vectors(store, ours[0], self._request.sample)
        elif current and fingerprint:
            self._why = f"they are of {current[1]} {current[2]}, which is not the embedder of the settings"

    def _fingerprint(self) -> str | None:
        """Return that of the embedder; None, with the reason, when there is none or its server is away."""
        embedder = self._request.embedder
        self._why = "" if embedder else self._request.no_embedder
        try:
            return embedder.fingerprint() if embedder else None
        except LoreError as error:
            self._why = error.message
            return None

    def remake_vectors(self) -> None:
        checked = 0
        if self._sample and self._request.embedder:
            try:
                made = compare_vectors(self._sample, self._request.embedder, self._request.watcher)
            except LoreError as error:
                self._why = error.message
            else:
                checked = made.checked
                self.wrong += [("vector_differs", f"document {one}", one) for one in made.wrong]
        if self._embedded:
            self.proofs.append(Proof("documents whose vectors were made again", checked, self._embedded, self._why))

    def remake_seconds(self) -> None:
        """The same for vectors of the second embedder, where some are stored."""
        total, second = sum(one.items for one in count_second_vectors(self._store)), self._request.second
        if not total:
            return
        checked, why = 0, "" if second else "the second embedder is not installed, or not wanted"
        if second and self._request.sample:
            try:
                wrong, checked = compare_seconds(self._store, second, self._request.sample, self._request.watcher)
            except LoreError as error:
                wrong, why = [], error.message
            self.wrong += [("second_vector_wrong", f"document {one}", one) for one in wrong]
        self.proofs.append(Proof("items whose second vectors were made again", checked, total, why))
