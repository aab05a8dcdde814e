"""`stats --check`: whether each part of the index is what it is made from.

A check reads one moment of the file, also while a sync writes, and changes nothing. Almost everything is compared row
by row: tables with those of a new file, rows with the forge's stored answers (a `replay` whose writes are left out),
links with texts, documents with rows, hashes and split words with texts, full text with texts. Three things would cost
too much and are verified on a sample, another one each time: rare words are looked up, documents are searched for by
their own words, vectors are made again. A `Proof` says how large each sample was. What can be found: `index/findings`.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import MsgspecError, Struct, field

from forgelore.dedupe.cards import card_text, decode_card
from forgelore.errors import CorruptStore, LoreError, LostPage
from forgelore.index.cleaning import build_chunks
from forgelore.index.definitions import cut_code
from forgelore.index.findings import Checked, Proof, collect
from forgelore.index.vectors import embed_chunks, measure_texts
from forgelore.ports.embedder import Embedder
from forgelore.ports.forge import PayloadReader
from forgelore.ports.progress import Watcher
from forgelore.records import Chunk
from forgelore.store.candidates import each_card
from forgelore.store.code import count_files, each_file, find_loose_parts, hash_text, load_chunks
from forgelore.store.database import Store
from forgelore.store.documents import (
    count_texts,
    each_text,
    find_current_embedder,
    list_embedders,
    load_sources,
    load_stored_documents,
    next_indexed_items,
    next_replayed_items,
)
from forgelore.store.item_lists import count_items, each_item
from forgelore.store.items import find_key
from forgelore.store.jobs import count_waiting
from forgelore.store.payloads import keeps_payloads
from forgelore.store.projects import StoredProject, list_projects
from forgelore.store.replay import load_payloads
from forgelore.store.sqlite.check import (
    Fault,
    SampledDocument,
    compare_words,
    find_unmatched,
    find_word_damage,
    measure_vectors,
    sample_vectors,
)
from forgelore.store.sqlite.fulltext import (
    CodeWords,
    count_cards,
    count_documents,
    find_code_damage,
    find_code_gaps,
)
from forgelore.store.sqlite.repair import find_broken_references, find_damage, find_unreadable, find_wrong
from forgelore.store.sqlite.schema import SOURCES, find_gaps
from forgelore.store.sqlite.vector_memory import is_file_true
from forgelore.store.sqlite.vector_rows import (
    count_second_vectors,
    count_vectors,
    find_malformed_seconds,
    packed_size,
    sample_second_vectors,
)
from forgelore.sync.replay import BATCH, replay_items, replay_project_row
from forgelore.text.dates import machine_ms
from forgelore.text.documents import build_documents
from forgelore.text.documents import content_hash as document_hash
from forgelore.text.terms import build_terms
from forgelore.text.values import PackedVector, content_hash, pack_vector, unpack_vector
from forgelore.words import JobKind, ProjectName

if TYPE_CHECKING:
    from forgelore.text.values import Vector

SAMPLE = 200  # documents
# Servers do not give the same numbers twice, and packing moves them a little: a vector counts as the same down to this
# cosine. Two different texts of one tracker are seldom that near.
SAME = 0.98
_DOCUMENTS = 500  # compared at once
# One of these makes looking at the rest useless: a repair begins here, and checks again.
_CUTS_SHORT = frozenset(["source_missing", "table_missing", "damaged_file", "text_unreadable"])
_GAPS = {"table": "table_missing", "index": "index_missing", "trigger": "trigger_extra"}
# Documents whose vectors are made again, how many have vectors, and why the sample is empty if it is.
_Sample = tuple[list[SampledDocument], int, str]
_CODE: tuple[tuple[CodeWords, str], ...] = (("code", "code_chunks"), ("commits", "commits"))


class CheckRequest(Struct, frozen=True):
    """What a check may use: the embedder that vectors are made again with (or why there is none), what reads a
    project's stored payloads, how many documents a sample has, who watches, and the clock of a repair.
    """

    embedder: Embedder | None = None
    second: Embedder | None = None  # whose vectors are stored beside
    no_embedder: str = "no embedder is configured"
    reader_of: Callable[[ProjectName], PayloadReader | None] = lambda _name: None
    sample: int = SAMPLE
    watcher: Watcher = field(default_factory=Watcher)
    now_ms: Callable[[], int] = machine_ms


def check_store(store: Store, request: CheckRequest | None = None) -> Checked:
    """Compare each part of the file with what it is made from."""
    request = request or CheckRequest()
    faults: list[Fault] = []
    proofs: list[Proof] = []
    remade: _Sample | None = None
    with store.snapshot():
        try:
            faults += _check_file(store)
            if not any(name in _CUTS_SHORT for name, _, _ in faults):
                faults += _check_rows(store, request, proofs)
                faults += _check_words(store, request, proofs)
                remade = _check_vectors(store, request, faults)
        except CorruptStore as error:
            faults.append(("damaged_file", error.message, 0))
            remade = None
    if remade:  # an embedder may take minutes, and a snapshot keeps the log from shrinking
        faults += _remake_vectors(request, *remade, proofs)
        faults += _remake_seconds(store, request, proofs)
    return collect(faults, proofs, is_cut_short=remade is None)


def _check_file(store: Store) -> list[Fault]:
    faults: list[Fault] = []
    for kind, name in find_gaps(store):
        is_source = kind == "table" and name in SOURCES
        faults.append(("source_missing" if is_source else _GAPS[kind], name, 0))
    faults += find_damage(store)
    if not any(name in _CUTS_SHORT for name, _, _ in faults):
        faults += [("text_unreadable", f"{table} {row_id}", 0) for table, _, row_id in find_unreadable(store)]
    return faults


def _check_rows(store: Store, request: CheckRequest, proofs: list[Proof]) -> Iterator[Fault]:
    """Rows against the forge's answers; cards, texts, code and documents against what they are made from."""
    yield from find_broken_references(store)
    changed = _find_changed(store)
    yield from _compare_items(store, request, changed, proofs)
    yield from _find_altered_cards(store)
    yield from _find_altered_texts(store, request.watcher)
    yield from _find_wrong_code(store, request.sample, request.watcher)
    yield from _find_outdated(store, changed, request.watcher)


def _find_changed(store: Store) -> frozenset[int]:
    """Return the items whose title and text are not what their hash says."""
    return frozenset(
        item.id for item in each_item(store) if content_hash(item.kind, item.title, item.body) != item.content_hash
    )


def _compare_items(
    store: Store, request: CheckRequest, changed: frozenset[int], proofs: list[Proof]
) -> Iterator[Fault]:
    """Compare all items with what the forge said of them; those that wait for a replay are left out.

    `replay` writes a row only where it differs: on a store that leaves out what is written, it tells which rows those
    are. Without payloads (an imported project, the bot's index) links are read again, and the hash is computed.
    """
    total, verified = count_items(store), 0
    request.watcher.begin("rows", "items compared with their answers", total)
    for project in list_projects(store):
        reader = request.reader_of(project.name)
        keeps = reader is not None and keeps_payloads(store, project.id)
        if reader is not None and _is_altered(store, reader, project.id):
            yield "project_differs", str(project.name), project.id
        for ids in _batches(store, project.id):
            done = replay_items(store.dry_run(), reader, project.id, ids)
            lost = [one for one in ids if one in changed and not _is_restorable(store, reader, project.id, one)]
            differing = [one for one in done.restored if one not in lost]  # links of a text that is not to be trusted
            yield from (("row_differs", _shown(store, project, item_id), item_id) for item_id in differing)
            yield from (("content_differs", _shown(store, project, item_id), item_id) for item_id in lost)
            if keeps:
                yield from (("payload_missing", _shown(store, project, one), one) for one in done.incomplete)
                verified += done.read - len(done.incomplete)
            request.watcher.saved("rows", len(ids))
    request.watcher.done("rows")
    waiting = count_waiting(store, JobKind.REPLAY)
    why = "for the rest, no answer of the forge is stored" if verified + waiting < total else ""
    if waiting:
        why = f"{waiting:,} wait to be read again, after an upgrade, by the next sync" + (f"; {why}" if why else "")
    proofs.append(Proof("items compared with the forge's answers", verified, total, why))


def _is_altered(store: Store, reader: PayloadReader, project_id: int) -> bool:
    try:
        return replay_project_row(store.dry_run(), reader, project_id)
    except LostPage:  # a payload that says nothing proves nothing
        return False


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


def _find_altered_cards(store: Store) -> Iterator[Fault]:
    """What is searched of an intent card must be what the card says. A card that is older than its item is not a fault:
    the next `dedupe intent` makes it again.
    """
    for item_id, card, text in each_card(store):
        try:
            is_altered = card_text(decode_card(card)) != text
        except MsgspecError:
            is_altered = True
        if is_altered:
            yield "card_differs", f"card of item {item_id}", item_id


def _find_altered_texts(store: Store, watcher: Watcher) -> Iterator[Fault]:
    """Hash every text, and split its words once more."""
    watcher.begin("texts", "texts compared", count_texts(store))
    at = 0
    for at, (document_id, digest, title, text, terms) in enumerate(each_text(store), 1):
        if document_hash(title, text) != digest:
            yield "text_differs", f"document {document_id}", document_id
        if build_terms(title, text) != terms:
            yield "terms_differ", f"document {document_id}", document_id
        if at % _DOCUMENTS == 0:
            watcher.saved("texts", _DOCUMENTS)
    watcher.saved("texts", at % _DOCUMENTS)
    watcher.done("texts")


def _find_wrong_code(store: Store, sample: int, watcher: Watcher) -> Iterator[Fault]:
    """Hash every file of code, compare all words and parts, and cut a sample of the files into chunks once more."""
    for index, table in _CODE:
        yield from (("code_differs", line, 0) for line in find_code_damage(store, index))
        yield from (("code_differs", f"words of {table} {one}", one) for one in find_code_gaps(store, index, table))
    yield from (("code_differs", f"{table} {one}", one) for table, one in find_loose_parts(store))
    total = sum(count_files(store).values())
    if not total:
        return
    step = max(1, total // max(sample, 1))
    watcher.begin("code", "files of code compared", total)
    for at, file in enumerate(each_file(store)):
        if hash_text(file.text) != file.text_hash:
            yield "code_differs", file.path, file.id
        elif sample and at % step == 0 and load_chunks(store, file.id) != cut_code(file.text, file.language):
            yield "code_differs", f"chunks of {file.path}", file.id
        watcher.saved("code", 1)
    watcher.done("code")


def _find_outdated(store: Store, distrusted: frozenset[int], watcher: Watcher) -> Iterator[Fault]:
    """Build every document once more, without writing it, and compare. What waits to be indexed is left out, and what
    is made from a text that cannot be trusted: the document may be all that is left of the true one.
    """
    watcher.begin("compared", "items compared with their documents", count_items(store))
    last = 0
    while ids := next_indexed_items(store, last, _DOCUMENTS):
        last = ids[-1]
        for item_id in find_stale(store, ids):
            if item_id not in distrusted:
                key = find_key(store, item_id)
                yield "document_outdated", f"{key.kind} {key.number}" if key else "", item_id
        watcher.saved("compared", len(ids))
    watcher.done("compared")


def find_stale(store: Store, item_ids: Iterable[int]) -> list[int]:
    """Return those of these items whose documents would be others if they were built now."""
    ids = list(item_ids)
    known = load_stored_documents(store, ids)
    return [
        item_id
        for item_id, source in load_sources(store, ids).items()
        if known.get(item_id)
        != {
            (one.representation, one.thread_key): (one.facts, frozenset(one.labels), frozenset(one.paths))
            for one in build_documents(*source)
        }
    ]


def _check_words(store: Store, request: CheckRequest, proofs: list[Proof]) -> Iterator[Fault]:
    damage = find_word_damage(store)
    yield from (("words_damaged", line, 0) for line in damage)
    missed, asked = find_unmatched(store, request.sample)
    yield from (("words_lost", f"{word} (document {document_id})", 0) for document_id, word in missed)
    proofs.append(
        Proof("documents searched for by their own words", asked, count_documents(store) + count_cards(store))
    )
    if damage:
        return  # reading such an index would raise
    faults, looked_up, total = compare_words(store)
    yield from faults
    proofs.append(Proof("words looked up", looked_up, total))


def _check_vectors(store: Store, request: CheckRequest, faults: list[Fault]) -> _Sample:
    """Measure all vectors, and choose those that are made again."""
    malformed, sizes = measure_vectors(store)
    faults += malformed
    faults += [
        ("embedder_altered", f"embedder {one}: its vectors have {size} dimensions", one) for one, size in sizes.items()
    ]
    untrue = [each for each in list_embedders(store) if not is_file_true(store, each)]
    faults += [("vector_file_differs", f"vectors of {each.name}", each.id) for each in untrue]
    faults += [("second_vector_wrong", f"document {one}", one) for one in find_malformed_seconds(store)]
    fingerprint, why = _fingerprint(request)
    ours = find_current_embedder(store, fingerprint) if fingerprint else None
    current = ours or find_current_embedder(store)
    faults += find_wrong(store, current[0] if current else None)
    if current and fingerprint and not ours:
        why = f"they belong to {current[1]} {current[2]}, which is not the configured embedder"
    total = count_vectors(store, current[0])[0] if current else 0
    return (sample_vectors(store, ours[0], request.sample) if ours else []), total, why


def _fingerprint(request: CheckRequest) -> tuple[str | None, str]:
    """Return that of the embedder; None, with the reason, when there is none or its server is away."""
    if request.embedder is None:
        return None, request.no_embedder
    try:
        return request.embedder.fingerprint(), ""
    except LoreError as error:
        return None, error.message


def _remake_vectors(
    request: CheckRequest, sample: list[SampledDocument], total: int, why: str, proofs: list[Proof]
) -> list[Fault]:
    """Make the vectors of these documents again, and compare."""
    compared: dict[int, bool | None] = {}
    if sample and request.embedder:
        try:
            compared = _compare_vectors(sample, request.embedder, request.watcher)
        except LoreError as error:
            why = error.message
    verified = sum(is_same is not None for is_same in compared.values())
    if total:
        proofs.append(Proof("documents whose vectors were recomputed", verified, total, why))
    return [("vector_differs", f"document {one}", one) for one, is_same in compared.items() if is_same is False]


def _compare_vectors(sample: Sequence[SampledDocument], embedder: Embedder, watcher: Watcher) -> dict[int, bool | None]:
    """Return document -> whether its vectors are those of its text; None when the embedder refuses it."""
    made = [build_chunks(one.title, one.text, max_chars=embedder.chunk_chars) for one, _ in sample]
    watcher.begin("remade", "vectors recomputed", sum(map(len, made)))
    every = [chunk for one in made for chunk in one]
    vectors = iter(embed_chunks(embedder, every, saved=lambda count: watcher.saved("remade", count)))
    found = {
        one.document_id: _is_same(chunks, cut, [next(vectors) for _ in cut])
        for (one, chunks), cut in zip(sample, made, strict=True)
    }
    watcher.done("remade")
    return found


def _is_same(
    stored: list[tuple[int, int, PackedVector]], made: list[Chunk], vectors: "list[Vector | str]"
) -> bool | None:
    if [place[:2] for place in stored] != [(chunk.start, chunk.end) for chunk in made]:
        return False
    if any(isinstance(vector, str) for vector in vectors):
        return None
    return all(
        packed_size(*packed) > 0 and _is_near(packed, vector)
        for (_, _, packed), vector in zip(stored, vectors, strict=True)
    )


def _is_near(stored: PackedVector, made: "Vector | str") -> bool:
    """Whether a vector was made from the same text; a text that the embedder refuses has an empty one."""
    if isinstance(made, str):
        return not stored.data
    if len(stored.data) != made.size:
        return False
    return float(unpack_vector(stored) @ unpack_vector(pack_vector(made))) >= SAME


def _remake_seconds(store: Store, request: CheckRequest, proofs: list[Proof]) -> list[Fault]:
    """The same for vectors of the second embedder, where some are stored."""
    total, second = sum(one.items for one in count_second_vectors(store)), request.second
    if not total:
        return []
    why = "" if second else "the second embedder is not installed, or not wanted"
    part, wrong, verified = "second vectors recomputed", list[int](), 0
    if second and request.sample:
        try:
            sample = sample_second_vectors(store, second.fingerprint(), request.sample)
            if sample:
                request.watcher.begin(part, part, len(sample))
                made = measure_texts(second, [text for text, _ in sample])
                request.watcher.saved(part, len(sample))
                request.watcher.done(part)
                wrong = [
                    text.document_id
                    for (text, stored), vector in zip(sample, made, strict=True)
                    if not _is_near(stored, vector)
                ]
                verified = len(sample)
        except LoreError as error:
            why = error.message
    proofs.append(Proof("items whose second vectors were recomputed", verified, total, why))
    return [("second_vector_wrong", f"document {one}", one) for one in wrong]
