"""forgelore from Python: `forgelore.open("history.db").search("deleted files come back")`.

The command line, and whatever else answers people, ask through here, so that all give the same answers.
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

from forgelore.app import App
from forgelore.core.names import Ref
from forgelore.core.triage.inputs import Inputs
from forgelore.core.values import check_filled
from forgelore.errors import ConfigError, EmbedderError, InvalidValue
from forgelore.flows.browse.items import find_item
from forgelore.flows.compare.similar import CompareRequest, find_similar, narrow
from forgelore.flows.search.filters import Words, only_projects, parse_filters
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import Hit, SearchAnswer, SearchMode, SearchRequest, search
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.item_lists import load_number
from forgelore.store.projects import list_projects
from forgelore.words import ItemKey

if TYPE_CHECKING:
    from forgelore.flows.triage.comment import Posted
    from forgelore.flows.triage.item import TriageContext, TriageResult
    from forgelore.ports import Embedder


def open_lore(path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> "History":
    """Return the history in a database file. Raises StoreError when there is none."""
    db = check_filled("the path of the database", os.fspath(path))
    app = App(os.environ if environ is None else environ, cwd=os.getcwd(), db=db)
    app.store()
    return History(app)


class History:
    """One database. Not shared between threads; a second one on the same file is cheap."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._retrievers: dict[str, Retriever] = {}

    def search(
        self, text: str, *, mode: SearchMode = "hybrid", limit: int = 20, project: str | None = None,
        type: Words = (), state: Words = (), author: Words = (), label: Words = (), path: Words = (),  # noqa: A002 - as on the command line
        after: str | None = None, before: str | None = None, updated_after: str | None = None,
    ) -> SearchAnswer:  # fmt: skip
        """Return the best hits for what a person would type, best first. Filters are those of the command line: one
        value or several, None for no filter, and an empty one is refused.
        """
        found = None if project is None else self.app.find_project(project)
        filters = parse_filters(
            types=type, states=state, authors=author, labels=label, paths=path, after=after, before=before,
            updated_after=updated_after, project_ids=only_projects(self.app.store(), found), now_ms=self.app.now_ms(),
        )  # fmt: skip
        return self.search_for(SearchRequest(text, mode, filters, limit))

    def search_for(
        self, request: SearchRequest, *, embedder: str | None = None, rescorer: "Embedder | None" = None
    ) -> SearchAnswer:
        return search(self.retriever(embedder, is_lexical=request.mode == "lexical"), request, rescorer=rescorer)

    def similar_to(
        self, ref: Ref, filters: Filters, *, project: str | None = None, mode: SearchMode = "hybrid", limit: int = 20,
        is_earlier: bool = False, embedder: str | None = None,
    ) -> tuple[SearchAnswer, Subject]:  # fmt: skip
        """Return what an item resembles, of its own kind unless the filters name types, and the item itself."""
        default = None if ref.project else self.app.find_project(project)
        subject = load_subject(self.app.store(), find_item(self.app.store(), ref, default, self.app.hosts))
        filters = narrow(filters, subject, is_earlier=is_earlier)
        retriever = self.retriever(embedder, is_lexical=mode == "lexical")
        return find_similar(retriever, CompareRequest(subject, filters, mode, limit)), subject

    def triage(
        self, ref: Ref, inputs: Inputs | None = None, *, project: str | None = None, is_posted: bool = False
    ) -> tuple["TriageResult", "Posted | None"]:
        """Return what an item repeats, as the comment that its author would get; with `is_posted`, post that.

        What the store knows is compared; the item itself is read anew from its forge before anything is posted.
        """
        from forgelore.flows.triage.comment import post_report
        from forgelore.flows.triage.item import fetch_current, save_fetched, triage_item

        context, key = self._context(ref, inputs or Inputs(), project, is_posted=is_posted)
        if not is_posted:
            return triage_item(context, key), None
        if context.forge is None:
            raise InvalidValue(f"{context.project.name} is an imported tracker: there is nobody to tell")
        fetched = fetch_current(context.forge, context.project, key)
        save_fetched(context, [fetched])
        triaged = triage_item(context, key)
        triaged = triaged._replace(warnings=(*fetched.warnings, *triaged.warnings))
        return triaged, post_report(context.forge, context.project, key, triaged.body)

    def _context(
        self, ref: Ref, inputs: Inputs, project: str | None, *, is_posted: bool
    ) -> tuple["TriageContext", ItemKey]:
        from forgelore.flows.triage.item import TriageContext
        from forgelore.model import Project

        store = self.app.store()
        default = None if ref.project else self.app.find_project(project)
        subject = load_subject(store, find_item(store, ref, default, self.app.hosts))
        number = load_number(store, subject.item_id)
        stored = next(one for one in list_projects(store) if one.id == subject.project_id)
        forge = self.app.forge(stored.name) if is_posted and stored.name.forge != "local" else None
        told = forge.fetch_project(stored.name) if forge else Project(stored.name)
        retriever = self.retriever()
        context = TriageContext(store, forge, told, stored.id, retriever, retriever.embedder, inputs)
        return context, ItemKey(subject.kind, number)  # type: ignore[arg-type]

    def retriever(self, embedder: str | None = None, *, is_lexical: bool = False) -> Retriever:
        """Return what keeps vectors in memory between queries; a search by words needs none."""
        name = "" if is_lexical else embedder or self.app.config.embedder
        if name not in self._retrievers:
            self._retrievers[name] = self._make_retriever(name)
        return self._retrievers[name]

    def _make_retriever(self, name: str) -> Retriever:
        """An embedder that cannot even be made (not installed, a wrong address) leaves the words, as one that fails."""
        try:
            return Retriever(self.app.store(), self.app.embedder(name) if name else None)
        except (ConfigError, EmbedderError) as problem:
            return Retriever(self.app.store(), problem=problem)

    def rescorer(self, embedder: str | None = None) -> "Embedder | None":
        """Return what looks again at the best candidates; None where the stored vectors are its own already.

        Raises EmbedderUnreachable when it is not installed.
        """
        found = self.app.embedder("minilm")
        return None if (embedder or self.app.config.embedder) == "minilm" else found

    def close(self) -> None:
        self._retrievers.clear()
        self.app.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()


__all__ = ["History", "Hit", "SearchAnswer", "SearchRequest", "open_lore"]
