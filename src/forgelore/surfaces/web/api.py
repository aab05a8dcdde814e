"""/api/v1: the verbs of the facade for programs, in the envelope of `--json`.

    GET  /api/v1/search?q=…            GET  /api/v1/items?q=label:bug        GET  /api/v1/items/%2312
    GET  /api/v1/similar/%2312         GET  /api/v1/count/issues?q=…         GET  /api/v1/waiting
    GET  /api/v1/duplicates            POST /api/v1/duplicates/answer        GET  /api/v1/history?path=…
    GET  /api/v1/changes               GET  /api/v1/projects

Every list takes `project` and `limit`, and search the filters of the command line by their names.
"""

from typing import TYPE_CHECKING

from forgelore.api import FilterWords
from forgelore.surfaces.present.changes import present_overlaps
from forgelore.surfaces.present.find import present_search, present_similar
from forgelore.surfaces.web.app import Address, Answer, Data, WebRequest

if TYPE_CHECKING:
    from forgelore.api import History

# A filter that is new is one here as well; what is left out is written into the query (`-label:bug`).
_FILTERS = tuple(name for name in FilterWords.__annotations__ if name not in ("project", "without"))


def _filters(asked: WebRequest) -> FilterWords:
    found: FilterWords = {"project": asked.project}
    for name in _FILTERS:
        if name in asked.every:
            values = asked.every[name]
            found[name] = values[0] if len(values) == 1 else list(values)  # type: ignore[literal-required]
    return found


def search(history: "History", asked: WebRequest) -> Answer:
    query = asked.query.get("q", "")
    answer = history.search(
        query, mode=asked.query.get("mode", "hybrid"), limit=asked.number("limit", 20),  # type: ignore[arg-type]
        offset=asked.query.get("offset", "0"), sort=asked.query.get("sort"), **_filters(asked),
    )  # fmt: skip
    shown = present_search(
        answer, query, is_explained="explain" in asked.query, is_full_ref=history.projects.are_several
    )
    return Data(shown, answer.warnings)


def similar(history: "History", asked: WebRequest) -> Answer:
    ref = asked.path["ref"]
    answer = history.similar(ref, limit=asked.number("limit", 10), **_filters(asked))
    shown = present_similar(
        answer, ref, is_explained="explain" in asked.query, is_full_ref=history.projects.are_several
    )
    return Data(shown, answer.warnings)


def list_items(history: "History", asked: WebRequest) -> Answer:
    items = history.items(asked.query.get("q", ""), limit=asked.number("limit", 30), **_filters(asked))
    return Data(list(items), items.warnings)


def show(history: "History", asked: WebRequest) -> Answer:
    return Data(history.show(asked.path["ref"], project=asked.project))


def count(history: "History", asked: WebRequest) -> Answer:
    found = history.count(asked.path["what"], asked.query.get("q", ""), **_filters(asked))
    return Data(found, found.warnings)


def waiting(history: "History", asked: WebRequest) -> Answer:
    return Data(history.people.waiting(project=asked.project, limit=asked.number("limit", 20)))


def queue(history: "History", asked: WebRequest) -> Answer:
    reviewer = asked.visitor.name or None
    return Data(history.dedupe.queue(project=asked.project, limit=asked.number("limit", 20), reviewer=reviewer))


def answer_pair(history: "History", asked: WebRequest) -> Answer:
    form = asked.form
    said = history.dedupe.answer(
        form.get("newer", ""), form.get("older", ""), form.get("answer", ""), project=asked.project,
        reviewer=asked.visitor.name or None,
    )  # fmt: skip
    return Data(said)


def path_history(history: "History", asked: WebRequest) -> Answer:
    found = history.paths.history(
        asked.query.get("path", ""), project=asked.project, limit=asked.number("limit", 30),
        offset=asked.number("offset", 0),
    )  # fmt: skip
    return Data(found, found.warnings)


def changes(history: "History", asked: WebRequest) -> Answer:
    answer = history.changes.overlap(asked.query.get("ref"), project=asked.project, limit=asked.number("limit", 30))
    return Data(present_overlaps(answer), answer.warnings)


def projects(history: "History", asked: WebRequest) -> Answer:
    return Data(history.sync.status(asked.project))


ADDRESSES = tuple(
    Address(f"/api/v1/{path}", handler, role=role, writes=writes, kind="data")  # type: ignore[arg-type]
    for path, handler, role, writes in (
        ("search", search, "read", False),
        ("items", list_items, "read", False),
        ("items/{ref:path}", show, "read", False),
        ("similar/{ref:path}", similar, "read", False),
        ("count/{what}", count, "read", False),
        ("waiting", waiting, "read", False),
        ("duplicates", queue, "read", False),
        ("duplicates/answer", answer_pair, "review", True),
        ("history", path_history, "read", False),
        ("changes", changes, "read", False),
        ("projects", projects, "read", False),
    )
)
