"""URLs of notes: a hit in a thread has the address of the note that its snippet is from, not that of the first one."""

from typing import TYPE_CHECKING

from forgelore.core.search.snippets import Snippet
from forgelore.store.db import Store
from forgelore.store.hits import load_notes_with

if TYPE_CHECKING:
    from forgelore.flows.search.hit import Hit

_AROUND = 30  # letters beside a marked word that tell its note from others with the same word


def name_notes(store: Store, hits: "list[Hit]") -> "list[Hit]":
    """Return the hits, those in threads with the URLs of their notes."""
    pieces = {
        hit.row.document_id: _piece(hit.snippet) for hit in hits if hit.row.representation == "thread"
    }  # fmt: skip
    notes = load_notes_with(store, {document_id: word for document_id, (word, _) in pieces.items() if word})
    return [
        hit._replace(row=hit.row._replace(url=_choose(found, pieces[hit.row.document_id][1])))
        if (found := notes.get(hit.row.document_id))
        else hit
        for hit in hits
    ]


def _piece(snippet: Snippet) -> tuple[str, str]:
    """Return the first word that is marked, or else that there is, and the same with what stands around it."""
    text = snippet.text
    start, end = snippet.marks[0] if snippet.marks else _first_word(text)
    left, right = max(0, start - _AROUND), end + _AROUND
    return text[start:end], text[left:right].strip("… ")


def _first_word(text: str) -> tuple[int, int]:
    start = len(text) - len(text.lstrip("… "))
    return start, start + len(text[start:].partition(" ")[0])


def _choose(notes: list[tuple[str, str]], piece: str) -> str:
    """Return the URL of the note with that piece; of the first where a piece has parts of two."""
    return next((url for url, body in notes if piece in " ".join(body.split())), notes[0][0])
