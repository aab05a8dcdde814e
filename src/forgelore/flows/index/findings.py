"""What a check can find: the name of each finding, what it means, and what to do about it when a repair cannot help.

A name is stable: programs read it. `docs/check.md` tells the same to people.
"""

from collections.abc import Iterable

from msgspec import Struct

from forgelore.store.checks import Fault

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
