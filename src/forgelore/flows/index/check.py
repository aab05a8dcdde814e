"""`stats --check`: whether each part of the index is what it is made from.

A check reads one moment of the file, also while a sync writes, and changes nothing. Almost everything is compared row
by row: tables with those of a new file, rows with the answers of the forge, links with texts, documents with rows,
hashes and split words with texts, full text with texts. Three things would cost too much and are proved by a sample,
another one each time: rare words that are looked up, documents that are asked for by their own words, documents whose
vectors are made again. A `Proof` tells how large it was.
"""

from collections.abc import Callable

from msgspec import Struct, field

from forgelore.clock import machine_ms
from forgelore.errors import CorruptStore, LoreError
from forgelore.flows.index.card_check import find_altered_cards
from forgelore.flows.index.code_check import find_wrong_code
from forgelore.flows.index.document_check import find_altered_texts, find_outdated
from forgelore.flows.index.findings import Finding, collect
from forgelore.flows.index.row_check import ReaderOf, check_rows
from forgelore.flows.index.second_check import compare_seconds
from forgelore.flows.index.vector_check import compare_vectors
from forgelore.flows.progress import Watcher
from forgelore.ports import Embedder
from forgelore.store.checks import Fault, find_broken_references, find_damage, find_unreadable, find_wrong
from forgelore.store.db import Store
from forgelore.store.embedders import list_embedders
from forgelore.store.engine.fulltext_check import compare_words, find_unmatched, find_word_damage
from forgelore.store.engine.second_vectors import count_second_vectors, find_malformed_seconds
from forgelore.store.engine.vector_check import SampledDocument, measure_vectors, sample_vectors
from forgelore.store.engine.vector_file import is_file_true
from forgelore.store.engine.vector_rows import count_vectors
from forgelore.store.engine.words import count_cards, count_documents
from forgelore.store.health import find_current_embedder
from forgelore.store.schema_check import SOURCES, find_gaps

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
