"""Pages that are read: what waits, lists, search, items, files, changes, questions, projects."""

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast
from urllib.parse import urlencode

from forgelore.errors import InvalidValue, LoreError
from forgelore.surfaces.present.changes import say_overlap
from forgelore.surfaces.present.data import COLUMNS, WAITING_COLUMNS, write_rows
from forgelore.surfaces.present.find import why
from forgelore.surfaces.present.report import describe_triage, describe_wait
from forgelore.surfaces.present.text import describe_holder
from forgelore.surfaces.web.app import Address, Answer, Data, Download, Page, Redirect, WebRequest
from forgelore.surfaces.web.charts import draw_bar, draw_links, draw_time
from forgelore.surfaces.web.html import item_page

if TYPE_CHECKING:
    from forgelore.api import FilterWords, History

_PAGE = 20
_NOTES = 150  # of an item at once
_LISTED, _EXPORTED = 50, 10_000
_SHOWN_FACETS = 7
_AROUND = 12  # lines before and after those that are cited
_KEY = re.compile(r"(item|file|commit):\d{1,18}")
_DAY_MS = 86_400_000
WAITING = {
    "answer": ("Waiting for an answer", "Open items where somebody outside the team had the last word."),
    "newcomers": ("Newcomers without an answer", "The first item of its author, and nobody of the team has spoken."),
    "reviews": ("Changes without a review", "Open changes by others that nobody of the team has looked at."),
    "untriaged": ("Not sorted in", "Open issues without a label, a milestone, an assignee or a word of the team."),
}
# What is chosen beside a query, in the address of a page and as an option of the command.
_CHOICES = (
    "type", "state", "label", "author", "milestone", "assignee", "no", "created", "updated", "comments", "path",
)  # fmt: skip
_SINGLE = ("type", "state")
_TITLES = {"type": "Type", "state": "State", "label": "Label", "author": "Author"}


class Chip(NamedTuple):
    """A value that a list can be narrowed by, and where that leads; a chosen one leads back."""

    text: str
    items: int | None
    address: str
    is_chosen: bool


class Listing:
    """A list as its address describes it: a query, and what is chosen beside it."""

    def __init__(self, path: str, command: str, asked: WebRequest, query: str) -> None:
        self._path, self._command, self._project, self.query = path, command, asked.project, query
        self.chosen = {name: [one for one in asked.every.get(name, ()) if one][:10] for name in _CHOICES}
        self._kept = {name: asked.query[name] for name in ("mode", "sort") if asked.query.get(name)}

    @property
    def filters(self) -> "FilterWords":
        """What is chosen, as the facade takes it."""
        found: dict[str, object] = {name: values for name, values in self.chosen.items() if values}
        return cast("FilterWords", found | {"project": self._project})

    @property
    def is_narrowed(self) -> bool:
        return any(self.chosen.values())

    def link(self, name: str = "", value: str | None = None) -> str:
        """Return the address of this list with a value instead of the present one; None takes it away."""
        parts: dict[str, object] = {"q": self.query, **self.chosen, **self._kept, "project": self._project or ""}
        if name:
            parts[name] = value or ""
        pairs = [
            (key, one) for key, each in parts.items() for one in (each if isinstance(each, list) else [each]) if one
        ]
        return f"{self._path}?{urlencode(pairs)}" if pairs else self._path

    def clear(self) -> str:
        """Return the address of the query alone."""
        pairs = [("q", self.query), ("project", self._project or "")]
        return f"{self._path}?{urlencode([one for one in pairs if one[1]])}"

    def toggle(self, name: str, value: str) -> str:
        """Return the address of the list with a value added, or without it where it is chosen."""
        other = Listing.__new__(Listing)
        other.__dict__ |= self.__dict__
        had = self.chosen[name]
        now = [one for one in had if one != value] if value in had else [*([] if name in _SINGLE else had), value]
        other.chosen = {**self.chosen, name: now}
        return other.link()

    def chips(self, facets: Mapping[str, Mapping[str, int]] | None) -> list[tuple[str, list[Chip]]]:
        """Return what the list can be narrowed by, with counts: chosen values first."""
        found = []
        for name, title in _TITLES.items():
            if name == "type" and self._path == "/search":  # which has its own, with code and commits
                continue
            counts = (facets or {}).get(name, {})
            had = self.chosen[name]
            others = [one for one in counts if one not in had][:_SHOWN_FACETS]
            shown = [Chip(one, counts.get(one), self.toggle(name, one), one in had) for one in [*had, *others]]
            if had or len(counts) > 1 or name == "label":
                found.append((title, shown))
        named = [(name, value) for name, values in self.chosen.items() for value in values if name not in _TITLES]
        if named:
            chips = [Chip(f"{name}: {value}", None, self.toggle(name, value), is_chosen=True) for name, value in named]
            found.append(("Also", chips))
        return [one for one in found if one[1]]

    @property
    def command(self) -> str:
        """The same list as a command."""
        kinds = [f"{one}s" for one in self.chosen["type"]] if self._path == "/list" else []
        words = [*self._command.split(), *([shlex.quote(self.query)] if self.query else [])]
        words[2:3] = kinds or words[2:3]  # a list has its kind in place of "items"
        words += [
            f"--{name} {shlex.quote(one)}" for name, values in self.chosen.items() for one in values
            if not (kinds and name == "type")
        ]  # fmt: skip
        words += [f"--{name} {shlex.quote(value)}" for name, value in self._kept.items()]
        words += [f"--project {shlex.quote(self._project)}"] if self._project else []
        return " ".join(words)


def _export(asked: WebRequest, name: str, rows: Sequence[object], columns: Sequence[str]) -> Answer | None:
    """Return a list as a file, where its address asks for one."""
    form = asked.query.get("as", "")
    if form == "csv":
        return Download(f"{name}.csv", "text/csv; charset=utf-8", "\r\n".join([*write_rows("csv", rows, columns), ""]))
    if form == "json":
        return Data(list(rows))
    if form:
        raise InvalidValue(f"unknown form of a list: {form[:20]!r}", hint="csv or json")
    return None


def show_home(history: "History", asked: WebRequest) -> Answer:
    """What waits for the team: one card for each list, and how fresh the data is."""
    projects = history.projects.list()
    chosen = asked.project or (projects[0] if projects else None)
    if chosen is None:
        return Page("empty.html", {"title": "Nothing here yet", "path": history.path})
    status = history.sync.status(chosen)[0]
    run = status.runs[0] if status.runs else None
    age_ms = history.now_ms() - run.started_at if run else 0
    values = {
        "work": history.people.waiting(project=chosen), "waiting": WAITING, "queue": _find_queue(history, chosen),
        "status": status, "run": run, "is_old": run is not None and run.command == "sync" and age_ms > _DAY_MS,
        "announced": history.dedupe.list_announced(project=chosen),
        "magnets": history.dedupe.magnets(project=chosen, limit=5), "chosen": chosen,
    }  # fmt: skip
    return Page("home.html", {"title": "Home", **values})


def _find_queue(history: "History", project: str) -> object:
    try:
        return history.dedupe.queue(project=project, limit=3)
    except LoreError:
        return None


def show_waiting(history: "History", asked: WebRequest) -> Answer:
    name = asked.path["name"]
    if name not in WAITING:
        raise InvalidValue(f"there is no list {name[:40]!r}", hint=f"one of: {', '.join(WAITING)}")
    projects = history.projects.list()
    listing = Listing(f"/waiting/{name}", f"forgelore waiting {name}", asked, asked.query.get("q", "").strip())
    most = _EXPORTED if asked.query.get("as") else min(1_000, asked.number("limit", 200))
    filters = {**listing.filters, "project": asked.project or projects[0]}
    work = history.people.waiting(listing.query, only=name, limit=min(most, 1_000), **filters)  # type: ignore[arg-type]
    found = work.lists[0]
    values = {"title": WAITING[name][0], "words": WAITING[name], "work": work, "found": found, "listing": listing}
    return _export(asked, name, found.items, WAITING_COLUMNS) or Page("waiting.html", values)


def show_search(history: "History", asked: WebRequest) -> Answer:
    """Results as people type. What is chosen beside the query are filters of the same names. Whoever sends nothing but
    the number of an item is led to it.
    """
    query = asked.query.get("q", "").strip()
    listing = Listing("/search", "forgelore search", asked, query)
    values: dict[str, object] = {"title": query or "Search", "query": query, "listing": listing, "answer": None}
    if not query and not listing.is_narrowed:
        return Page(
            "results.html" if asked.is_part else "search.html", values | {"common": history.labels(asked.project)[:12]}
        )
    kept = asked.query
    answer = history.search(
        query, limit=_PAGE, offset=kept.get("from", "0"), mode=kept.get("mode") or "hybrid",  # type: ignore[arg-type]
        sort=kept.get("sort") or None, with_lines=False, facets=True, **listing.filters,
    )  # fmt: skip
    if answer.is_named and answer.known_count == 1 and not asked.is_part:
        hit = answer.hits[0]
        return Redirect(item_page(hit.ref, hit.project))
    return Page("results.html" if asked.is_part else "search.html", values | {"answer": answer})


def show_list(history: "History", asked: WebRequest) -> Answer:
    """Items that qualifiers choose, without words: `label:bug is:open`."""
    listing = Listing("/list", "forgelore list items", asked, asked.query.get("q", "").strip())
    count = _EXPORTED if asked.query.get("as") else max(1, min(1_000, asked.number("limit", _LISTED)))
    items = history.items(listing.query, limit=count, **listing.filters)
    if file := _export(asked, "items", items, COLUMNS):
        return file
    facets = history.facets(listing.query, **listing.filters)
    total = sum(facets["type"].values())
    more = listing.link("limit", str(min(1_000, count * 4))) if len(items) < total and count < 1_000 else ""
    values = {"items": items, "listing": listing, "facets": facets, "total": total, "more": more}
    return Page("list.html", {"title": listing.query or "All items", **values})


def show_item(history: "History", asked: WebRequest) -> Answer:
    ref = asked.path["ref"]
    item = history.show(ref, project=asked.project)
    shown = asked.number("notes", _NOTES)
    said = [note for thread in item.threads for note in thread.notes]
    people: dict[str, int] = {item.author: 0} if item.author else {}
    for note in said:
        if note.author and not note.is_system:
            people[note.author] = people.get(note.author, 0) + 1
    values = {
        "item": item, "shown": shown, "hidden": max(0, len(said) - shown), "people": people,
        "links": draw_links(item), "life": draw_time(item, history.now_ms()),
    }  # fmt: skip
    return Page("item.html", {"title": f"{item.title} · {item.ref}", **values})


def show_similar(history: "History", asked: WebRequest) -> Answer:
    """The part of an item's page that takes longest, asked for by the page itself."""
    answer = history.similar(asked.path["ref"], project=asked.project, limit=6)
    return Page("similar.html", {"title": "Similar", "answer": answer, "why": why})


def show_decisions(history: "History", asked: WebRequest) -> Answer:
    """The decisions in an item's conversation, asked for by its page."""
    found = history.paths.decisions_in(asked.path["ref"], project=asked.project)
    return Page("decisions.html", {"title": "Decisions", "decisions": found, "chosen": asked.project or ""})


def show_text(history: "History", asked: WebRequest) -> Answer:
    """What agents and citations read of an item, a file or a commit, as numbered lines around those that are cited."""
    ref, wanted = asked.path["ref"], asked.query.get("lines", "1")
    first, _, last = wanted.partition("-")
    if not first.isdecimal() or len(first) > 9 or (last and (not last.isdecimal() or len(last) > 9)):
        raise InvalidValue(f"not lines of a text: {wanted[:20]!r}", hint="a number, or two: 12-15")
    key = ref if _KEY.fullmatch(ref) else history.show(ref, project=asked.project).reading_id
    text = history.read_text(key)
    low = max(1, min(int(first), len(text.lines)))
    high = max(low, min(int(last or first), len(text.lines)))
    begin, end = max(1, low - _AROUND), min(len(text.lines), high + _AROUND)
    lines = [(at, text.lines[at - 1], low <= at <= high) for at in range(begin, end + 1)]
    values = {"text": text, "lines": lines, "begin": begin, "end": end, "low": low, "high": high, "ref": ref}
    return Page(
        "text.html", {"title": f"{text.title or text.ref}, lines {low} to {high}", "chosen": asked.project, **values}
    )


def show_changes(history: "History", asked: WebRequest) -> Answer:
    projects = history.projects.list()
    answer = history.changes.overlap(project=asked.project or (projects[0] if projects else None), limit=50)
    return Page("changes.html", {"title": "Changes", "answer": answer, "say": say_overlap})


def show_files(history: "History", asked: WebRequest) -> Answer:
    """What happened to a file, decisions first; without a path, the folders of the indexed code."""
    path = asked.query.get("path", "").strip()
    values: dict[str, object] = {"title": path or "Files", "path": path, "history": None, "people": None, "tree": ()}
    if path:
        values["history"] = history.paths.history(path, project=asked.project, limit=asked.number("limit", 30))
        values["people"] = history.people.who_knows(path, project=asked.project, limit=6)
    else:
        try:
            values["tree"] = history.tree(asked.query.get("folder", ""), project=asked.project)
        except LoreError:
            values["tree"] = ()
    return Page("files.html", values)


def show_question(history: "History", asked: WebRequest) -> Answer:
    question = asked.query.get("q", "").strip()
    values = {"question": question, "has_model": history.has_model, "continues": asked.number("continues", 0)}
    return Page("ask.html", {"title": question or "Ask", **values})


def show_answer(history: "History", asked: WebRequest) -> Answer:
    """The answer, which the page of a question asks for: with a model it takes a while."""
    continues = asked.number("continues", 0) or None
    answer = history.ask(asked.query.get("q", ""), project=asked.project, seconds=120.0, continues=continues)
    values = {"answer": answer, "has_model": history.has_model, "chosen": asked.project or ""}
    return Page("answer.html", {"title": "Answer", **values})


def show_report(history: "History", request: WebRequest) -> Answer:
    projects = history.projects.list()
    chosen = request.project or (projects[0] if projects else None)
    report = history.people.month(request.query.get("month") or None, project=chosen)
    most = max((max(one.opened, one.closed) for one in report.weeks), default=0)
    values = {"report": report, "most": max(1, most), "wait": describe_wait, "chosen": chosen, "bar": draw_bar}
    values["triage"] = describe_triage(report.triage) if report.triage else ""
    return Page("report.html", {"title": f"{report.month}", **values})


def show_projects(history: "History", asked: WebRequest) -> Answer:
    del asked
    return Page(
        "projects.html",
        {"title": "Projects", "statuses": history.sync.status(), "path": history.path, "describe": describe_holder},
    )


ADDRESSES = (
    Address("/", show_home),
    Address("/waiting/{name}", show_waiting),
    Address("/search", show_search),
    Address("/list", show_list),
    Address("/item/{ref:path}", show_item),
    Address("/similar/{ref:path}", show_similar),
    Address("/decisions/{ref:path}", show_decisions),
    Address("/text/{ref:path}", show_text),
    Address("/changes", show_changes),
    Address("/files", show_files),
    Address("/ask", show_question),
    Address("/ask/answer", show_answer),
    Address("/report", show_report),
    Address("/projects", show_projects),
)
