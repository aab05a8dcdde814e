"""The library: what a model may look up. Search results with lines, and items as numbered lines.

An id is what `show` takes (#41, !12, a tag), with its project where several are in reach, so that a citation can be
followed by a person too; of files and commits the key of a search result, or the path. Confidential items are not in it
unless that was said; internal notes never are.
"""

import re
from collections import Counter
from typing import NamedTuple

from forgelore.core.ask.citations import CitedText
from forgelore.core.ask.tool_calls import AskCall
from forgelore.core.compare.rarity import weight_of
from forgelore.core.names import parse_ref
from forgelore.core.reading import ReadingText
from forgelore.core.search.ftsquery import loosen, parse_query, without_stops
from forgelore.core.search.terms import build_terms
from forgelore.errors import LoreError
from forgelore.flows.browse.items import ShownItem, load_shown
from forgelore.flows.browse.reading_text import find_file_key, load_reading
from forgelore.flows.code.search import EVERYTHING, search_everything
from forgelore.flows.search.hit import Hit
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.typed import QuerySetting, build_request
from forgelore.store.engine.code_words import CodeWords, count_code_words, load_code_counts
from forgelore.store.engine.words import estimate_documents, load_document_counts
from forgelore.words import FilterWords

RESULTS = 5
_INDEXES: tuple[CodeWords, ...] = ("code", "commits")
_KEY = re.compile(r"[a-z]+:\d{1,18}\Z")  # what a file or a commit is read by


class FoundSource(NamedTuple):
    """A search result; `line` is where its snippet stands in the reading text of the item."""

    id: str
    type: str
    title: str
    url: str | None
    line: int
    snippet: str


class OpenedItem(NamedTuple):
    """A reading text, under the id that a model knows it by."""

    id: str
    text: ReadingText

    @property
    def title(self) -> str:
        return self.text.title

    @property
    def lines(self) -> tuple[str, ...]:
        return self.text.lines

    @property
    def cited(self) -> CitedText:
        text = self.text
        path = text.title if text.kind == "file" else ""
        return CitedText(text.title, text.url, text.lines, text.hash, text.written_lines, path)


class Library:
    """What can be found and opened, within one project or all of them. `setting` says whether it is public."""

    def __init__(
        self, retriever: Retriever, setting: QuerySetting, filters: FilterWords, *, has_several: bool = False
    ) -> None:
        self._retriever, self._setting, self._filters = retriever, setting, filters
        self._has_several = has_several and setting.project is None
        self._has_code = any(count_code_words(retriever.store, index) for index in _INDEXES)
        self._opened: dict[str, OpenedItem] = {}

    def search(self, call: AskCall, limit: int = RESULTS) -> list[FoundSource]:
        """Return the best results for the words of a call. Raises LoreError for filters that cannot be meant."""
        words: FilterWords = {**self._filters}
        if call.types or not words.get("type"):
            words["type"] = call.types or (EVERYTHING if self._has_code else ())
        if call.path:
            words["path"] = (call.path,)
        request = build_request(self._retriever.store, call.text, words, self._setting, limit=limit)
        return [self._found(hit) for hit in search_everything(self._retriever, request).hits]

    def open(self, id_: str) -> OpenedItem:
        """Return an item by its id. Raises NotFound, also for what may not leave, and InvalidValue."""
        if id_ not in self._opened:
            key = id_ if _KEY.match(id_) else self._find_key(id_)
            text = load_reading(self._retriever.store, key, is_public=self._setting.is_public)
            self._opened[id_] = OpenedItem(id_, text)
        return self._opened[id_]

    def _find_key(self, id_: str) -> str:
        """Return the key of an item by its ref, or of a file by its path."""
        try:
            return self.load(id_).reading_id
        except LoreError:
            project = self._setting.project
            key = find_file_key(self._retriever.store, id_, project.id if project else None)
            if key is None:
                raise
            return key

    def find(self, id_: str) -> OpenedItem | None:
        """Return an item by its id; None where there is none that may be read."""
        try:
            return self.open(id_)
        except LoreError:
            return None

    def load(self, ref: str) -> ShownItem:
        """Return everything that is known of an item. Raises as `open`."""
        setting = self._setting
        return load_shown(
            self._retriever.store, parse_ref(ref), setting.project, setting.hosts, is_public=setting.is_public
        )

    def stems(self, text: str) -> frozenset[str]:
        """Return the stems of a text, those of the pieces of its identifiers too."""
        return frozenset(self._retriever.stems("\n".join((text, build_terms("", text)))))

    def weigh_words(self, question: str) -> dict[str, float]:
        """Return stem -> what it tells, by how rare it is among items, files and commits together; the words that
        only ask are left out.
        """
        words = loosen(without_stops(parse_query(question).words))
        stems = {stem for word in words for stem in self._retriever.stems(word.alternatives[0].text)}
        store, total, counts = self._retriever.store, estimate_documents(self._retriever.store), Counter[str]()
        counts.update(load_document_counts(store, stems))
        for index in _INDEXES if self._has_code else ():
            total += count_code_words(store, index)
            counts.update(load_code_counts(store, index, stems))
        return {stem: weight_of(stem, counts[stem], total) for stem in stems}

    def _found(self, hit: Hit) -> FoundSource:
        id_ = f"{hit.project}{hit.ref}" if self._has_several and hit.ref[:1] in "#!" else hit.ref
        if not hit.key.startswith("item:"):
            id_ = hit.key
        kind = "thread" if hit.row.representation == "thread" else "code" if hit.kind == "file" else hit.kind
        return FoundSource(id_, kind, hit.title, hit.url, hit.line or 1, hit.snippet.text)
