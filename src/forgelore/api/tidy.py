"""Triage of one item that the store knows: what it repeats, as its author would be told, and telling them."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.app import App
from forgelore.browse.refs import find_item
from forgelore.errors import InvalidValue
from forgelore.model import Project
from forgelore.search.retriever import Retriever
from forgelore.store.hits import load_subject
from forgelore.store.item_lists import load_number
from forgelore.store.projects import StoredProject, list_projects
from forgelore.text.refs import parse_ref
from forgelore.triage.events import Inputs
from forgelore.triage.item import TriageContext, TriageResult, fetch_current, save_fetched, triage_item
from forgelore.triage.posting import Posted, post_report
from forgelore.words import ItemKey

if TYPE_CHECKING:
    from forgelore.ports.forge import Forge


class TriageAnswer(NamedTuple):
    """What an item repeats, and what happened to its comment; None where nothing was to be posted."""

    result: TriageResult
    posted: Posted | None = None

    @property
    def warnings(self) -> tuple[str, ...]:
        return self.result.warnings


def triage_ref(
    app: App, retriever: Retriever, ref: str | int, inputs: Inputs, project: StoredProject | None, *, is_posted: bool
) -> TriageAnswer:
    """Return what an item repeats. Before it is posted, the item is read anew from its forge."""
    context, key = _make_context(app, retriever, ref, inputs, project, is_posted=is_posted)
    if not is_posted:
        return TriageAnswer(triage_item(context, key))
    if context.forge is None:
        raise InvalidValue(f"{context.project.name} is an imported tracker: there is nobody to tell")
    fetched = fetch_current(context.forge, context.project, key)
    save_fetched(context, [fetched])
    found = triage_item(context, key)
    found = found._replace(warnings=(*fetched.warnings, *found.warnings))
    return TriageAnswer(found, post_report(context.forge, context.project, key, found.body))


def _make_context(
    app: App, retriever: Retriever, text: str | int, inputs: Inputs, project: StoredProject | None, *, is_posted: bool
) -> tuple[TriageContext, ItemKey]:
    store = app.store()
    subject = load_subject(store, find_item(store, parse_ref(text), project, app.hosts))
    number = load_number(store, subject.item_id)
    stored = next(one for one in list_projects(store) if one.id == subject.project_id)
    forge: Forge | None = app.forge(stored.name) if is_posted and stored.name.forge != "local" else None
    current = forge.fetch_project(stored.name) if forge else Project(stored.name)
    context = TriageContext(store, forge, current, stored.id, retriever, retriever.embedder, inputs, now_ms=app.now_ms)
    return context, ItemKey(subject.kind, number)  # type: ignore[arg-type]
