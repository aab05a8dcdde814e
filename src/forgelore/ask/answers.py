"""What a model may look up, and the answer that rests on it: search results with their lines, items as numbered lines,
the tools that do it, the steps of a run, and the answer with each of its citations looked up.

An id is what `show` takes (#41, !12, a tag), with its project where several are searched, so that people can follow a
citation too; files and commits have the key of their search result, or the path. Confidential items are left out unless
the setting admits them; internal notes always are. One item is open at a time. A tool's result has the text that the
model gets, and its gist: the one line that stays when room is short.
"""

import re
from collections import Counter
from collections.abc import Sequence
from typing import Literal, NamedTuple

from forgelore.ask.claims import (
    CheckedCitation,
    CitedText,
    Claim,
    check_citation,
    find_marks,
    list_numbers,
    split_claims,
)
from forgelore.ask.tool_calls import AskCall, MalformedCall
from forgelore.browse.items import load_shown
from forgelore.browse.reading_text import find_file_key, load_reading
from forgelore.errors import LoreError
from forgelore.search.ftsquery import loosen, parse_words, without_stops
from forgelore.search.hits import Hit
from forgelore.search.query import QuerySetting, build_query
from forgelore.search.retriever import Retriever
from forgelore.search.run import EVERYTHING, search_everything
from forgelore.store.sqlite.fulltext import (
    CodeWords,
    count_code_words,
    estimate_documents,
    load_code_counts,
    load_document_counts,
)
from forgelore.text.items import StoredItem
from forgelore.text.reading import ReadingText, ReadingWindow, TextPlace, find_lines, open_window, scroll_window
from forgelore.text.refs import parse_ref
from forgelore.text.terms import build_terms, weight_of
from forgelore.words import FilterWords

RESULTS = 5
_INDEXES: tuple[CodeWords, ...] = ("code", "commits")
_KEY = re.compile(r"[a-z]+:\d{1,18}\Z")  # what a file or a commit is read by
UNCHECKED = "(unchecked)"
_FAULTS = {
    "no_quote": "no quote", "quote_not_found": "not found", "negated": "negated in the source",
    "not_evidence": "not evidence", "no_such_lines": "no such lines", "no_such_item": "no such item",
    "malformed": "malformed",
}  # fmt: skip
EndedBy = Literal["answer", "budget", "steps", "time", "error", "no_model"]


class AskRequest(NamedTuple):
    """A question and its limits. `budget` counts the tokens of the whole run, prompts and answers."""

    question: str
    budget: int = 60_000
    steps: int = 30
    seconds: float = 600.0
    is_strict: bool = False


class AskedTool(NamedTuple):
    """A call of a tool. `problem`: why it was not carried out."""

    tool: str
    arguments: str  # JSON, as the model wrote it
    result: str
    problem: str = ""
    id: str = ""  # the item that was read
    first_line: int = 0
    last_line: int = 0


class AskStep(NamedTuple):
    """One turn of the model: what it noted, what it asked for, what it cost."""

    number: int
    observations: str
    calls: tuple[AskedTool, ...]
    tokens_in: int
    tokens_out: int


class BestPassage(NamedTuple):
    """A part of an item that fits the question, with its lines."""

    id: str
    type: str
    title: str
    url: str | None
    first_line: int
    last_line: int
    text: str
    hash: str


class AskAnswer(NamedTuple):
    """What `ask` came to. `is_partial`: a limit or an error ended it, and `text` is what the model had noted; where it
    had answered before, `text` is that answer, and its claims and citations are checked.
    `passages`: what fits best, where no model is configured.
    """

    question: str
    text: str
    ended_by: EndedBy
    is_partial: bool = False
    claims: tuple[Claim, ...] = ()
    citations: tuple[CheckedCitation, ...] = ()
    passages: tuple[BestPassage, ...] = ()
    steps: tuple[AskStep, ...] = ()
    tokens_in: int = 0
    tokens_out: int = 0
    model: str = ""
    problem: str = ""  # what the error was
    session: int | None = None  # under which number the transcript is kept
    changed_results: int = 0  # of a replay: results that are not what they were
    warnings: tuple[str, ...] = ()

    @property
    def unchecked(self) -> tuple[Claim, ...]:
        return tuple(claim for claim in self.claims if not claim.is_checked and not claim.is_absence)

    @property
    def marked_text(self) -> str:
        """The text, with what is wrong with a mark at its place, and a mark behind each unproved claim."""
        words = {one.number: _FAULTS.get(one.status, "") for one in self.citations}
        marked, rest = "", self.text
        for claim in self.claims:
            before, text, rest = rest.partition(claim.text)
            is_code = text.startswith(("```", "~~~"))
            for low, high in reversed(find_marks(text)) if not is_code else ():
                bad = [(number, words.get(number, "no such citation")) for number in list_numbers(text[low:high])]
                faults = ", ".join(f"{number}: {word}" for number, word in bad if word)
                text = f"{text[: high - 1]} \u2717 {faults}{text[high - 1 :]}" if faults else text
            is_bare = not claim.is_checked and not claim.is_absence
            marked += before + text + (f" {UNCHECKED}" if is_bare else "")
        return marked + rest


class SourceIndex:
    """What can be found and opened, within one project or all of them. `setting` says whether it is public."""

    def __init__(
        self, retriever: Retriever, setting: QuerySetting, filters: FilterWords, *, has_several: bool = False
    ) -> None:
        self._retriever, self._setting, self._filters = retriever, setting, filters
        self._has_several = has_several and setting.project is None
        self._has_code = any(count_code_words(retriever.store, index) for index in _INDEXES)
        self._opened: dict[str, ReadingText] = {}

    def search(self, call: AskCall, limit: int = RESULTS) -> list[Hit]:
        """Return the best results for the words of a call. Raises LoreError for filters that cannot be meant."""
        words: FilterWords = {**self._filters}
        if call.types or not words.get("type"):
            words["type"] = call.types or (EVERYTHING if self._has_code else ())
        if call.path:
            words["path"] = (call.path,)
        request = build_query(self._retriever.store, call.text, words, self._setting, limit=limit)
        return search_everything(self._retriever, request).hits

    def open(self, id_: str) -> ReadingText:
        """Return what is read of an item by its id, which is its ref from now on. Raises NotFound, also for what may
        not leave, and InvalidValue.
        """
        if id_ not in self._opened:
            key = id_ if _KEY.match(id_) else self._find_key(id_)
            self._opened[id_] = load_reading(self._retriever.store, key)._replace(ref=id_)
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

    def find(self, id_: str) -> ReadingText | None:
        """Return an item by its id; None where there is none that may be read."""
        try:
            return self.open(id_)
        except LoreError:
            return None

    def load(self, ref: str) -> StoredItem:
        """Return everything that is known of an item. Raises as `open`."""
        setting = self._setting
        return load_shown(self._retriever.store, parse_ref(ref), setting.project, setting.hosts)

    def stems(self, text: str) -> frozenset[str]:
        """Return the stems of a text, those of the pieces of its identifiers too."""
        return frozenset(self._retriever.stems("\n".join((text, build_terms("", text)))))

    def weigh_words(self, question: str) -> dict[str, float]:
        """Return stem -> weight, by how rare it is among items, files and commits together; the words that
        only ask are left out.
        """
        words = loosen(without_stops(parse_words(question)))
        stems = {stem for word in words for stem in self._retriever.stems(word.alternatives[0].text)}
        store, total, counts = self._retriever.store, estimate_documents(self._retriever.store), Counter[str]()
        counts.update(load_document_counts(store, stems))
        for index in _INDEXES if self._has_code else ():
            total += count_code_words(store, index)
            counts.update(load_code_counts(store, index, stems))
        return {stem: weight_of(stem, counts[stem], total) for stem in stems}

    def id_of(self, hit: Hit) -> str:
        """Return what a model opens a search result by."""
        if not hit.key.startswith("item:"):
            return hit.key
        return f"{hit.project}{hit.ref}" if self._has_several and hit.ref[:1] in "#!" else hit.ref


def type_of(hit: Hit) -> str:
    """Return what a search result is: a kind of item, thread, code or commit."""
    return "thread" if hit.row.representation == "thread" else "code" if hit.kind == "file" else hit.kind


_MAX_PLACES = 60  # lines that a search within an item lists; the number of all is told
_PLACE_CHARS = 120


class ToolResult(NamedTuple):
    """What a tool gave. `first` and `last`: the lines that were seen of `id`."""

    text: str
    gist: str
    id: str = ""
    first: int = 0
    last: int = 0


class ToolRunner:
    """Runs the tools that a model calls. Raises MalformedCall, with what to do, for calls that make no sense now."""

    def __init__(self, sources: SourceIndex) -> None:
        self._sources = sources
        self._item: ReadingText | None = None
        self._window: ReadingWindow | None = None

    def run(self, call: AskCall) -> ToolResult:
        """Return the result of any call but `answer`."""
        try:
            if call.name == "search":
                return self._search(call)
            if call.name == "read":
                return self._read(call)
            if call.name == "get":
                return self._get(call)
        except LoreError as problem:
            raise MalformedCall(f"{problem.message} ({problem.hint})" if problem.hint else problem.message) from None
        item, window = self._need_open(call.name)
        if call.name == "scroll":
            return self._show(item, scroll_window(item.lines, window, call.direction))
        return self._search_within(item, call.text)

    def _search(self, call: AskCall) -> ToolResult:
        found = self._sources.search(call)
        if not found:
            text = f"Nothing was found for {call.text!r}. Try other words, or fewer of them."
            return ToolResult(text, f"search {call.text!r}: nothing found")
        parts = [
            f"{at}. id: {self._sources.id_of(hit)}\n   type: {type_of(hit)}\n   title: {hit.title}\n"
            f"   url: {hit.url or '-'}\n   line: {hit.line or 1}\n   snippet: {hit.snippet.text}"
            for at, hit in enumerate(found, 1)
        ]
        ids = ", ".join(f"{self._sources.id_of(hit)} (line {hit.line or 1})" for hit in found)
        return ToolResult("\n".join(parts), f"search {call.text!r}: found {ids}")

    def _read(self, call: AskCall) -> ToolResult:
        item = self._sources.open(call.text)
        if call.line is not None and call.line > len(item.lines):
            raise MalformedCall(f"{item.ref} has {len(item.lines)} lines; line {call.line} does not exist")
        centre = TextPlace(call.line) if call.line is not None else None
        return self._show(item, open_window(item.lines, centre))

    def _show(self, item: ReadingText, window: ReadingWindow) -> ToolResult:
        is_same = window == self._window and item == self._item
        self._item, self._window = item, window
        head = f"{item.ref}: {item.title} (lines {window.first} to {window.last} of {window.total})"
        gist = f"read {item.ref}, lines {window.first} to {window.last} of {window.total} (read it again to see them)"
        shown = "The window did not move: this is the end of the item." if is_same else str(window)
        return ToolResult(f"{head}\n{shown}", gist, item.ref, window.first, window.last)

    def _search_within(self, item: ReadingText, words: str) -> ToolResult:
        places = find_lines(item.lines, words)
        if not places:
            text = f"{words!r} does not occur in {item.ref} ({len(item.lines)} lines)."
            return ToolResult(text, text)
        window = open_window(item.lines, places[0])
        self._window = window
        lines = [f"{place.line}: {item.lines[place.line - 1].strip()[:_PLACE_CHARS]}" for place in places[:_MAX_PLACES]]
        more = f"\n… and {len(places) - _MAX_PLACES} more lines" if len(places) > _MAX_PLACES else ""
        text = (
            f"{len(places)} lines of {item.ref}:\n" + "\n".join(lines) + f"{more}\n\nThe window is now here:\n{window}"
        )
        numbers = ", ".join(str(place.line) for place in places[:20])
        return ToolResult(text, f"{words!r} in {item.ref}: lines {numbers}", item.ref, window.first, window.last)

    def _get(self, call: AskCall) -> ToolResult:
        opened = self._sources.open(call.text)
        lines = len(opened.lines)
        if not opened.key.startswith("item:"):
            kind, url = opened.kind, opened.url or "-"
            text = f"id: {opened.ref}\ntype: {kind}\ntitle: {opened.title}\nurl: {url}\nlines: {lines}"
            return ToolResult(text, f"get {opened.ref}: {kind}, {lines} lines")
        item = self._sources.load(call.text)
        facts = {
            "id": opened.ref, "type": item.kind, "title": item.title, "url": item.url or "-",
            "state": item.state or "-", "reason": item.state_reason or "", "author": item.author or "-",
            "labels": ", ".join(item.labels),
            "created": str(item.created_at or ""), "closed": str(item.closed_at or item.merged_at or ""),
            "links": ", ".join(f"{link.relation} {link.ref}" for link in item.links[:20]),
            "linked from": ", ".join(f"{back.ref} ({back.relation})" for back in item.linked_from[:20]),
            "files": ", ".join(file.new_path for file in item.files[:20]), "lines": str(lines),
        }  # fmt: skip
        text = "\n".join(f"{name}: {value}" for name, value in facts.items() if value)
        return ToolResult(text, f"get {opened.ref}: {item.kind}, {item.state or '-'}, {lines} lines")

    def _need_open(self, tool: str) -> tuple[ReadingText, ReadingWindow]:
        if self._item is None or self._window is None:
            raise MalformedCall(f"{tool} needs an item that was read before: call read with an id of a search result")
        return self._item, self._window


def check_answer(sources: SourceIndex, call: AskCall) -> tuple[tuple[CheckedCitation, ...], tuple[Claim, ...]]:
    """Return the citations of an answer, each looked up in the store, and its claims."""
    citations = []
    for number, said in enumerate(call.citations, 1):
        opened = sources.find(said.id)
        checked = check_citation(number, said, _cited(opened) if opened else None)
        if opened and checked.status in ("found", "moved", "negated"):
            checked = checked._replace(url=opened.page_at(checked.first_line))
        citations.append(checked)
    return tuple(citations), tuple(split_claims(call.text, citations))


def _cited(text: ReadingText) -> CitedText:
    path = text.title if text.kind == "file" else ""
    return CitedText(text.title, text.url, text.lines, text.hash, text.written_lines, path)


def describe_faults(citations: Sequence[CheckedCitation], claims: Sequence[Claim]) -> str:
    """Return what is wrong with the citations of an answer, in words for the model; "" where all is well."""
    words = {
        "no_quote": "has no quote, or one of too few words",
        "quote_not_found": "quotes text that is not in {id}",
        "negated": "quotes a clause that {id} negates or asks just outside the quote: quote all of it",
        "not_evidence": "proves nothing: quote at least four words that a person wrote, not a header or licence",
        "no_such_lines": "names lines that {id} does not have",
        "no_such_item": "names {id}, which does not exist",
        "malformed": "is not of the shape {{id, first_line, last_line, quote}}, with lines from 1 on",
    }
    faults = [
        f"citation {one.number} {words[one.status].format(id=one.id)}" for one in citations if one.status in words
    ]
    bare = [claim.text[:80] for claim in claims if not claim.is_checked and not claim.is_absence]
    known = {one.number for one in citations}
    lost = dict.fromkeys(number for claim in claims for number in claim.bad if number not in known)
    faults += [f"missing citation {', '.join(map(str, lost))}"] if lost else []
    faults += [f"no valid citation for: {', '.join(map(repr, bare[:5]))}"] if bare else []
    return "; ".join(faults)
