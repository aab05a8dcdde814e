"""A hit of a search: a document, why it is there, and what is shown of it."""

import datetime as dt
from typing import NamedTuple

from forgelore.core.search.snippets import Snippet
from forgelore.core.times import as_time
from forgelore.store.hits import HitRow


class Hit(NamedTuple):
    """A document in an answer, with the rank each list gave it (from 1; None: not in that list). What people ask of it
    first is at hand: `ref`, `title`, `url`, `project`, `kind`, `number`, `state`, `author`, `labels`, and `created_at`
    and `updated_at` as aware datetimes; `row` has everything that is stored.
    """

    row: HitRow
    score: float  # fused, over the best possible: 1 would be the first of both lists
    rrf: float
    lexical_rank: int | None
    lexical_score: float | None  # BM25
    vector_rank: int | None
    vector_score: float | None  # cosine
    snippet: Snippet
    words: tuple[str, ...]  # of the query, as the document has them
    title_marks: tuple[tuple[int, int], ...] = ()  # (start, end) of what matched in the title
    relevance: float | None = None  # how well it fits, 0 to 1 (core/search/relevance); None: not asked
    line: int | None = None  # of the file, or of the item's reading text; None: not asked
    symbol: str = ""  # of a file: what the found part is of
    first_line: int = 0  # of a file: where its snippet begins
    fit: str = ""  # strong, fair or weak; never rises again further down; "": not asked
    names_project: bool = False  # in its ref: the store has several

    @property
    def key(self) -> str:
        """What its reading text is asked for by."""
        if self.row.kind in ("file", "commit"):
            return f"{self.row.kind}:{self.row.document_id}"
        return f"item:{self.row.item_id}"

    @property
    def ref(self) -> str:
        """#12, !34, or a release's tag; acme/web#12 where the store has several projects: a number alone would name
        several items.
        """
        is_item = self.row.kind not in ("file", "commit")
        return self.row.full_ref if self.names_project and is_item else self.row.ref

    @property
    def project(self) -> str:
        return self.row.project

    @property
    def kind(self) -> str:
        return self.row.kind

    @property
    def number(self) -> int:
        return self.row.number

    @property
    def title(self) -> str:
        return self.row.title

    @property
    def state(self) -> str | None:
        return self.row.state

    @property
    def author(self) -> str | None:
        """Who wrote the item; who began the thread, where threads were asked for by their type."""
        return self.row.author

    @property
    def labels(self) -> tuple[str, ...]:
        return self.row.labels

    @property
    def url(self) -> str | None:
        """The page of the item, or of the note that was found."""
        return self.row.url

    @property
    def created_at(self) -> dt.datetime | None:
        return as_time(self.row.created_at)

    @property
    def updated_at(self) -> dt.datetime | None:
        return as_time(self.row.updated_at)
