"""Pages that are read: what waits, lists, search, items, files, changes, questions, projects."""

from typing import TYPE_CHECKING
from urllib.parse import urlencode

from forgelore.errors import InvalidValue, LoreError
from forgelore.surfaces.present.changes import say_overlap
from forgelore.surfaces.present.find import why
from forgelore.surfaces.present.report import describe_wait
from forgelore.surfaces.present.text import describe_holder
from forgelore.surfaces.web.app import Address, Answer, Page, WebRequest

if TYPE_CHECKING:
    from forgelore.api import FilterWords, History

_PAGE = 20
_NOTES = 150  # of an item at once
WAITING = {
    "answer": ("Waiting for an answer", "Open items where somebody outside the team had the last word."),
    "newcomers": ("Newcomers without an answer", "The first item of its author, and nobody of the team has spoken."),
    "reviews": ("Changes without a review", "Open changes by others that nobody of the team has looked at."),
    "untriaged": ("Not sorted in", "Open issues without a label, a milestone, an assignee or a word of the team."),
}


def show_home(history: "History", asked: WebRequest) -> Answer:
    """What waits for the team: one card for each list, and how fresh the data is."""
    projects = history.projects.list()
    chosen = asked.project or (projects[0] if projects else None)
    if chosen is None:
        return Page("empty.html", {"title": "Nothing here yet", "path": history.path})
    work = history.people.waiting(project=chosen)
    queue = _find_queue(history, chosen)
    status = history.sync.status(chosen)[0]
    return Page(
        "home.html",
        {"title": "Home", "work": work, "waiting": WAITING, "queue": queue, "status": status, "chosen": chosen},
    )


def _find_queue(history: "History", project: str) -> object:
    try:
        return history.dedupe.queue(project=project, limit=3)
    except LoreError:
        return None


def show_waiting(history: "History", asked: WebRequest) -> Answer:
    name = asked.path["name"]
    if name not in WAITING:
        raise InvalidValue(f"unknown list: {name[:40]!r}", hint=f"one of: {', '.join(WAITING)}")
    projects = history.projects.list()
    work = history.people.waiting(project=asked.project or projects[0], only=name, limit=200)  # type: ignore[arg-type]
    return Page("waiting.html", {"title": WAITING[name][0], "words": WAITING[name], "work": work, "name": name})


def show_search(history: "History", asked: WebRequest) -> Answer:
    """Results as people type. What is chosen beside the query are filters of the same names."""
    query = asked.query.get("q", "").strip()
    chosen = {name: asked.query[name] for name in ("type", "state", "mode", "sort") if asked.query.get(name)}
    values: dict[str, object] = {"title": query or "Search", "query": query, "chosen": chosen, "answer": None}
    values |= {"links": lambda **changed: _link("/search", {"q": query, **chosen}, asked, changed), "why": ""}
    if query or chosen.keys() & {"type", "state"}:
        filters: FilterWords = {"project": asked.project}
        if "type" in chosen:
            filters["type"] = chosen["type"]
        if "state" in chosen:
            filters["state"] = chosen["state"]
        values["answer"] = history.search(
            query, limit=_PAGE, offset=asked.query.get("from", "0"), mode=chosen.get("mode", "hybrid"),  # type: ignore[arg-type]
            sort=chosen.get("sort"), with_lines=False, **filters,
        )  # fmt: skip
    return Page("results.html" if asked.is_part else "search.html", values)


def show_list(history: "History", asked: WebRequest) -> Answer:
    """Items that qualifiers choose, without words: `label:bug is:open`."""
    query = asked.query.get("q", "is:open")
    count = min(200, asked.number("limit", 50))
    items = history.items(query, project=asked.project, limit=count)
    more = _link("/list", {"q": query}, asked, {"limit": str(min(200, count * 2))})
    return Page(
        "list.html", {"title": query or "All items", "query": query, "items": items, "more": more, "count": count}
    )


def show_item(history: "History", asked: WebRequest) -> Answer:
    ref = asked.path["ref"]
    item = history.show(ref, project=asked.project)
    shown = asked.number("notes", _NOTES)
    notes = sum(len(thread.notes) for thread in item.threads)
    return Page(
        "item.html",
        {"title": f"{item.title} · {item.ref}", "item": item, "shown": shown, "hidden": max(0, notes - shown)},
    )


def show_similar(history: "History", asked: WebRequest) -> Answer:
    """The part of an item's page that takes longest, asked for by the page itself."""
    answer = history.similar(asked.path["ref"], project=asked.project, limit=6)
    return Page("similar.html", {"title": "Similar", "answer": answer, "why": why})


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
    return Page("ask.html", {"title": question or "Ask", "question": question, "has_model": history.has_model})


def show_answer(history: "History", asked: WebRequest) -> Answer:
    """The answer, which the page of a question asks for: with a model it takes a while."""
    answer = history.ask(asked.query.get("q", ""), project=asked.project, seconds=120.0)
    return Page("answer.html", {"title": "Answer", "answer": answer})


def show_report(history: "History", request: WebRequest) -> Answer:
    projects = history.projects.list()
    chosen = request.project or (projects[0] if projects else None)
    report = history.people.month(request.query.get("month") or None, project=chosen)
    most = max((max(one.opened, one.closed) for one in report.weeks), default=0)
    values = {"report": report, "most": max(1, most), "wait": describe_wait, "chosen": chosen}
    return Page("report.html", {"title": f"{report.month}", **values})


def show_projects(history: "History", asked: WebRequest) -> Answer:
    del asked
    return Page(
        "projects.html",
        {"title": "Projects", "statuses": history.sync.status(), "path": history.path, "describe": describe_holder},
    )


def _link(path: str, kept: dict[str, str], asked: WebRequest, changed: dict[str, str | None]) -> str:
    """Return an address with the values of this page, some of them changed; None takes one away."""
    values = {**kept, **({"project": asked.project} if asked.project else {}), **changed}
    return f"{path}?{urlencode({name: value for name, value in values.items() if value})}"


ADDRESSES = (
    Address("/", show_home),
    Address("/waiting/{name}", show_waiting),
    Address("/search", show_search),
    Address("/list", show_list),
    Address("/item/{ref:path}", show_item),
    Address("/similar/{ref:path}", show_similar),
    Address("/changes", show_changes),
    Address("/files", show_files),
    Address("/ask", show_question),
    Address("/ask/answer", show_answer),
    Address("/report", show_report),
    Address("/projects", show_projects),
)
