"""What a check can find: the stable name of each finding, what it means, and what to do where a repair cannot help.

Programs read the names. `docs/check.md` is made from this file.
"""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from forgelore.store.sqlite.check import Fault

MEANINGS = {
    # the file and its tables
    "damaged_file": "pages of the file are damaged; it cannot be repaired, only rebuilt",
    "source_missing": "tables with data from a forge or a file are missing or altered: there is no other copy",
    "table_missing": "tables are missing or altered",
    "index_missing": "indexes are missing or altered: every answer that needs them is slow",
    "index_damaged": "indexes do not match their tables: answers lack rows, or have too many",
    "trigger_extra": "triggers, which forgelore does not use: they change what is written",
    "broken_references": "rows that refer to rows which do not exist",
    "row_malformed": "rows with values that forgelore never writes",
    "text_unreadable": "texts that are not valid UTF-8: whatever reads them fails",
    "row_misplaced": "rows that name another project than the row they belong to",
    "note_misplaced": "notes that name another item than their thread does",
    "id_counter_wrong": "ID counters that would hand out an ID twice, or none at all",
    # what a forge or a file said
    "project_differs": "projects that differ from the forge's stored answer: private, or archived",
    "row_differs": "items and notes, or their links, that differ from the forge's stored answers",
    "content_differs": (
        "items whose title or text was changed outside forgelore, with no stored answer of a forge to restore them from"
    ),
    "payload_missing": (
        "items for which a stored answer of the forge is lost or damaged: they cannot be verified or restored"
    ),
    "row_gone": "stored answers of the forge whose items or notes are gone from the tables",
    # documents and full text
    "item_without_document": "items that cannot be found and are not waiting to be indexed",
    "document_of_deleted_item": "items that are gone from the forge but can still be found",
    "document_outdated": "documents that differ from their item and its notes and are not waiting to be indexed",
    "card_differs": (
        "intent cards that cannot be read, or whose text differs from their content: they are dropped; forgelore dedupe"
        " intent recreates them"
    ),
    "text_missing": "documents without a text",
    "text_without_document": "texts whose document is gone",
    "text_differs": "texts that do not match their hash: they were changed outside forgelore",
    "terms_differ": "split words that do not match their texts: parts of names are not found",
    "words_missing": "texts missing from the full-text index: a search for their words does not find them",
    "words_extra": "deleted documents still in the full-text index: result counts may be too high",
    "words_damaged": "the full-text index does not match the texts",
    "words_lost": "words that are in the texts but not found by a search",
    "words_miscounted": "common words whose count is far off: results are ranked wrongly",
    # files and commits of clones
    "code_differs": "files, commits or their words that do not match what they were made from",
    # vectors
    "embedder_altered": "embedders whose vectors have another size than their row says",
    "vector_malformed": "vectors of the wrong size or length: their similarities mean nothing",
    "vector_file_differs": (
        "the file of vectors beside the store differs from the store: search by meaning finds the wrong things"
    ),
    "vector_incomplete": "documents where only some parts have vectors",
    "vector_of_other_text": "vectors that were made from an older text",
    "vector_differs": "vectors that do not match their texts: search by meaning finds the wrong things",
    "second_vector_wrong": "vectors of the second embedder that are damaged, or do not match their texts",
    "document_without_vectors": "documents that cannot be found by meaning and are not waiting to be embedded",
    # what was learned, and what waits
    "learned_malformed": "invalid results of calibrate or triage; they are recomputed",
    "job_of_nothing": "queued jobs for something that does not exist",
    "job_miscounted": "queued jobs with a wrong attempt count: they may run too late or too often",
}

AGAIN = "run: forgelore sync --full; an imported project: import its file again"
ANEW = "keep the file under another name, then run: forgelore sync --full; imported projects: import them again"
REMEDIES = {  # a finding that is not here is always repaired
    "damaged_file": ANEW,
    "source_missing": ANEW,
    "broken_references": AGAIN,
    "row_malformed": AGAIN,
    "content_differs": AGAIN,
    "payload_missing": AGAIN,
    "row_gone": AGAIN,
}
_EXAMPLES = 5


class Finding(Struct, frozen=True):
    """Something in the file that is not as it should be. `remedy`: what to do where a repair does not help."""

    name: str
    count: int
    examples: list[str]
    meaning: str
    remedy: str


class Proof(Struct, frozen=True):
    """How much of something was verified, where that may be less than all, and why it was not more."""

    what: str
    checked: int
    total: int
    why: str = ""


class Checked(Struct, frozen=True):
    """What is wrong: nothing in a sound file. `is_cut_short`: the file itself is broken, so nothing else was checked.
    `rows`: by name, the ids of the rows that a repair has to touch.
    """

    findings: list[Finding]
    proofs: list[Proof] = []
    is_cut_short: bool = False
    rows: dict[str, set[int]] = {}

    def ids(self, *names: str) -> list[int]:
        return sorted(set[int]().union(*(self.rows.get(name, ()) for name in names)))


def collect(faults: "Iterable[Fault]", proofs: list[Proof], *, is_cut_short: bool) -> Checked:
    """Return one finding per name, with some examples."""
    by_name: dict[str, list[Fault]] = {}
    for fault in faults:
        by_name.setdefault(fault[0], []).append(fault)
    findings = [
        Finding(name, len(found), [shown for _, shown, _ in found[:_EXAMPLES]], MEANINGS[name], REMEDIES.get(name, ""))
        for name, found in by_name.items()
    ]
    rows = {name: {row_id for *_, row_id in found} for name, found in by_name.items()}
    return Checked(findings, proofs, is_cut_short, rows)


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
