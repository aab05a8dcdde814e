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
from forgelore.flows.compare.similar import Likeness, find_similar, narrow
from forgelore.flows.search.filters import Words, only_projects, parse_filters
from forgelore.flows.search.retriever import Retriever
from forgelore.flows.search.run import Answer, Hit, Mode, Request, search
from forgelore.store.filters import Filters
from forgelore.store.hits import Subject, load_subject
from forgelore.store.projects import list_projects
from forgelore.words import ItemKey

if TYPE_CHECKING:
    from forgelore.flows.triage.comment import Posted
    from forgelore.flows.triage.item import Desk, Triaged
    from forgelore.ports import Embedder


def open_lore(path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None) -> "Lore":
    """Return the history in a database file. Raises StoreError when there is none."""
    db = check_filled("the path of the database", os.fspath(path))
    app = App(os.environ if environ is None else environ, cwd=os.getcwd(), db=db)
    app.store()
    return Lore(app)


class Lore:
    """One database. Not shared between threads; a second one on the same file is cheap."""

    def __init__(self, app: App) -> None:
        self.app = app
        self._retrievers: dict[str, Retriever] = {}

    def search(
        self, text: str, *, mode: Mode = "hybrid", limit: int = 20, project: str | None = None,
        type: Words = (), state: Words = (), author: Words = (), label: Words = (), path: Words = (),  # noqa: A002 - as on the command line
        after: str | None = None, before: str | None = None, updated_after: str | None = None,
    ) -> Answer:  # fmt: skip
        """Return the best hits for what a person would type, best first. Filters are those of the command line: one
        value or several, None for no filter, and an empty one is refused.
        """
        found = None if project is None else self.app.find_project(project)
        filters = parse_filters(
            types=type, states=state, authors=author, labels=label, paths=path, after=after, before=before,
            updated_after=updated_after, project_ids=only_projects(self.app.store(), found),
        )  # fmt: skip
        return self.search_for(Request(text, mode, filters, limit))

    def search_for(
        self, request: Request, *, embedder: str | None = None, rescorer: "Embedder | None" = None
    ) -> Answer:
        return search(self.retriever(embedder, is_lexical=request.mode == "lexical"), request, rescorer=rescorer)

    def similar_to(
        self, ref: Ref, filters: Filters, *, project: str | None = None, mode: Mode = "hybrid", limit: int = 20,
        is_earlier: bool = False, embedder: str | None = None,
    ) -> tuple[Answer, Subject]:  # fmt: skip
        """Return what an item resembles, of its own kind unless the filters name types, and the item itself."""
        default = None if ref.project else self.app.find_project(project)
        subject = load_subject(self.app.store(), find_item(self.app.store(), ref, default, self.app.hosts))
        filters = narrow(filters, subject, is_earlier=is_earlier)
        retriever = self.retriever(embedder, is_lexical=mode == "lexical")
        return find_similar(retriever, Likeness(subject, filters, mode, limit)), subject

    def triage(
        self, ref: Ref, inputs: Inputs | None = None, *, project: str | None = None, is_posted: bool = False
    ) -> tuple["Triaged", "Posted | None"]:
        """Return what an item repeats, as the comment that its author would get; with `is_posted`, post that.

        What the store knows is compared; the item itself is read anew from its forge before anything is posted.
        """
        from forgelore.flows.triage.comment import post_report
        from forgelore.flows.triage.item import fetch_fresh, look_at, take_in

        desk, key = self._desk(ref, inputs or Inputs(), project, is_posted=is_posted)
        if not is_posted:
            return look_at(desk, key), None
        if desk.forge is None:
            raise InvalidValue(f"{desk.project.name} is an imported tracker: there is nobody to tell")
        fetched = fetch_fresh(desk.forge, desk.project, key)
        take_in(desk, [fetched])
        triaged = look_at(desk, key)
        triaged = triaged._replace(warnings=(*fetched.warnings, *triaged.warnings))
        return triaged, post_report(desk.forge, desk.project, key, triaged.body)

    def _desk(self, ref: Ref, inputs: Inputs, project: str | None, *, is_posted: bool) -> tuple["Desk", ItemKey]:
        from forgelore.flows.triage.item import Desk
        from forgelore.model import Project

        store = self.app.store()
        default = None if ref.project else self.app.find_project(project)
        subject = load_subject(store, find_item(store, ref, default, self.app.hosts))
        number = store.value("SELECT number FROM items WHERE id = ?", subject.item_id)
        stored = next(one for one in list_projects(store) if one.id == subject.project_id)
        forge = self.app.forge(stored.name) if is_posted and stored.name.forge != "local" else None
        told = forge.fetch_project(stored.name) if forge else Project(stored.name)
        retriever = self.retriever()
        desk = Desk(store, forge, told, stored.id, retriever, retriever.embedder, inputs)
        return desk, ItemKey(subject.kind, number)  # type: ignore[arg-type]

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


__all__ = ["Answer", "Hit", "Lore", "Request", "open_lore"]
