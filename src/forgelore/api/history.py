"""The facade: one history, and everything that can be done with it. Surfaces ask nothing else.

Finding, reading and asking are methods of `History` itself. Whatever else it can do belongs to one of its nouns, each
in a module beside this one: `history.sync.run()`, `history.dedupe.plan()`, `history.people.who()`. A method is a few
lines: it finds the project that is meant and hands over to a job, which it imports itself. Where several jobs are put
together (find, fetch, judging, asking), a module of this folder does that.
"""

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Literal, Self, TypeVar, Unpack

from forgelore.api import METHODS, renamed, warn_renamed
from forgelore.api.options import AskOptions, Mode, SearchOptions
from forgelore.app import App
from forgelore.store.projects import list_projects
from forgelore.text.values import check_filled
from forgelore.viewer import PUBLIC, Viewer
from forgelore.words import FilterWords, JobKind

if TYPE_CHECKING:
    from forgelore.api.asking import Questions
    from forgelore.api.audit import Audit
    from forgelore.api.browse import TreeEntry
    from forgelore.api.changes import Changes
    from forgelore.api.dedupe import Dedupe
    from forgelore.api.index import Index
    from forgelore.api.paths import Paths
    from forgelore.api.people import People
    from forgelore.api.publish import PublicCopy
    from forgelore.api.setup import Setup
    from forgelore.api.sync import Sync
    from forgelore.api.triage import Triage
    from forgelore.ask.answers import AskAnswer
    from forgelore.browse.items import ReadItem
    from forgelore.browse.lists import ListedItems, RowCount
    from forgelore.compare.calibrate import Calibrated
    from forgelore.compare.evaluate import Evaluation
    from forgelore.compare.rank import SimilarAnswer
    from forgelore.history.people import LabelCount
    from forgelore.ports.progress import Task, Watcher
    from forgelore.search.retriever import Retriever
    from forgelore.search.run import SearchAnswer
    from forgelore.store.item_lists import Facets
    from forgelore.text.items import StoredItem
    from forgelore.text.reading import ReadingText, ScrollDirection

Result = TypeVar("Result")
Sort = Literal[
    "updated", "created", "number", "comments", "updated-asc", "created-asc", "number-asc", "comments-asc",
]  # fmt: skip


def open_history(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None, create: bool = False,
    viewer: Viewer = PUBLIC,
) -> "History":  # fmt: skip
    """Return the history in a database file. Raises StoreError when there is none, unless it is to be made. What the
    viewer may not see is neither found nor shown nor counted, as if it were not there, and no later call can change
    that.
    """
    db = check_filled("the path of the database", os.fspath(path))
    app = App(os.environ if environ is None else environ, cwd=os.getcwd(), db=db, viewer=viewer)
    app.store(create=create)
    return History(app)


def make_history(
    environ: Mapping[str, str], *, cwd: str, db: str | None = None, viewer: Viewer = PUBLIC, for_reading: bool = False,
) -> "History":  # fmt: skip
    """Return the history that settings and the place a person is in name. No file is opened yet. `viewer` is that
    of `open_history`; `for_reading`: the file is opened so that nothing can write it.
    """
    return History(App(environ, cwd=cwd, db=db, viewer=viewer, for_reading=for_reading))


class Projects:
    """The projects of one file."""

    def __init__(self, app: App) -> None:
        self._app = app

    def name(self, text: str | None = None) -> str | None:
        """Return the full name of the stored project a person means: by any of its names, else by the clone they are
        in, else the only one there is. None stands for all of them.
        """
        project = self._app.find_project(text)
        return str(project.name) if project else None

    def list(self, texts: Sequence[str] = ()) -> "list[str]":
        """Return the full names of these stored projects, or of all."""
        found = [self._app.load_project(text) for text in texts] or list_projects(self._app.store())
        return [str(project.name) for project in found]

    def load_public(
        self, project: str | None = None, *, month: str | None = None, limit: int = 20_000, chars: int = 500,
        for_members: bool = False,
    ) -> "PublicCopy":  # fmt: skip
        """Return what everybody may read of a project, to be published: the items that changed last with the beginning
        of their texts, clusters, and one month. Raises Refused for a project that not everybody may read, unless it is
        `for_members`; confidential items are left out of either.
        """
        from forgelore.api.publish import load_public_copy

        return load_public_copy(self._app, project, month=month, limit=limit, chars=chars, for_members=for_members)

    @property
    def are_several(self) -> bool:
        """Whether the file holds more than one project, so that a number alone may mean several items."""
        return self._app.has_several_projects


class History:
    """One database. Not shared between threads; a second one on the same file is cheap."""

    def __init__(self, app: App) -> None:
        self.app = app  # what it is put together from; for benches and tests, surfaces leave it alone
        self._retrievers: dict[str, Retriever] = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the settings say that cannot be followed."""
        return tuple(self.app.config.warnings)

    # Finding and asking

    @renamed
    def search(self, text: str = "", **options: Unpack[SearchOptions]) -> "SearchAnswer":
        """Return the best hits for what a person would type, best first: words, phrases, exclusions, qualifiers, the
        number of an item; without a text, what the filters allow. Filters are those of the command line: one value or
        several, None for no filter, and an empty one is refused.
        """
        from forgelore.api.find import find_rescorer, name_hits, read_search
        from forgelore.search.hits import name_hit_fits
        from forgelore.search.run import search_everything

        request = read_search(self.app, text, options)
        rescorer = find_rescorer(self.app, options)
        retriever = self.retriever(options.get("embedder"), is_lexical=request.mode == "lexical")
        answer = search_everything(
            retriever, request, rescorer=rescorer, with_lines=options.get("with_lines", True)
        )  # fmt: skip
        return answer._replace(hits=name_hits(self.app, name_hit_fits(answer.hits)))

    @renamed
    def similar(
        self, ref: str | int | None = None, *, text: str | None = None, mode: Mode = "hybrid", limit: int = 20,
        offset: int | str = 0, earlier: bool = False, embedder: str | None = None, rescore: bool = False,
        **filters: Unpack[FilterWords],
    ) -> "SimilarAnswer":  # fmt: skip
        """Return what an item resembles, of its own kind unless the filters name types. `earlier`: only what was
        there before it, which it could repeat. `offset`: where the page begins, as for a search. `text` instead of a
        `ref`: a draft that nobody has filed yet, whose first line or `# heading` is the title; it is compared with
        issues. A `ref` of several words that names no item is taken for such a text.
        """
        from forgelore.api.find import draft_subject, find_rescorer, find_subject, name_hits, read_mode, search_filters
        from forgelore.compare.rank import CompareRequest, find_similar, narrow
        from forgelore.errors import InvalidValue
        from forgelore.search.filters import refuse_code
        from forgelore.search.query import parse_start
        from forgelore.text.refs import is_prose

        meant, (start, seal) = read_mode(mode), parse_start(offset)
        project = self.app.named_project(filters.get("project"))
        given = refuse_code(search_filters(self.app, filters, project))
        if (ref is None) == (text is None):
            raise InvalidValue("similar takes either a ref or a text", hint="similar('#12'), or similar(text='...')")
        if text is None and is_prose(str(ref)):
            text = str(ref)
        if text is not None:
            subject = draft_subject(self.app, text, project, given.types[0] if len(given.types) == 1 else "issue")
        else:
            subject = find_subject(self.app, ref or 0, project)
        found = narrow(given, subject, is_earlier=earlier)
        rescorer = find_rescorer(self.app, {"rescore": rescore, "embedder": embedder})
        retriever = self.retriever(embedder, is_lexical=meant == "lexical")
        answer = find_similar(
            retriever, CompareRequest(subject, found, meant, limit, offset=start, seal=seal), rescorer=rescorer
        )
        named = name_hits(self.app, [one.hit for one in answer.hits])
        return answer._replace(
            hits=[one._replace(hit=hit) for one, hit in zip(answer.hits, named, strict=True)],
            is_draft=text is not None,
        )  # fmt: skip

    @renamed
    def evaluate(
        self, path: str, *, project: str | None = None, exclude: str | None = None, mode: Mode = "hybrid",
        embedder: str | None = None, earlier: bool = True, threshold: float | None = None,
        watcher: "Watcher | None" = None,
    ) -> "Evaluation":  # fmt: skip
        """Return how well a file of queries is answered. With a threshold of similarity, also how often a warning at it
        would have been right. `earlier`: a query that is an item is compared with what was there before it.
        """
        from forgelore.api.find import read_mode, read_queries
        from forgelore.compare.evaluate import EvaluationSetup, evaluate

        self.app.check_internal("confidential items, which may stand first among the hits of a query")
        meant = read_mode(mode)
        suite, excluded = read_queries(path, exclude)
        found, app = self.app.named_project(project), self.app
        setup = EvaluationSetup(found, app.hosts, app.now_ms(), meant, excluded, earlier, threshold)
        return evaluate(
            self.retriever(embedder, is_lexical=meant == "lexical"), suite, setup, watcher=self.app.watch(watcher)
        )

    @renamed
    def calibrate(
        self, *, project: str | None = None, embedder: str | None = None, dry_run: bool = False,
        watcher: "Watcher | None" = None,
    ) -> "list[Calibrated]":  # fmt: skip
        """Learn from the known duplicates of a project how sure a match is, of each kind; return what was learned."""
        from forgelore.api.find import find_calibrated
        from forgelore.compare.calibrate import calibrate

        found = find_calibrated(self.app, self.app.named_project(project))
        return calibrate(
            self.retriever(embedder), found.id, is_dry=dry_run, watcher=self.app.watch(watcher),
            should_stop=self.app.stop.is_set, now_ms=self.app.now_ms,
        )  # fmt: skip

    def retriever(self, embedder: str | None = None, *, is_lexical: bool = False) -> "Retriever":
        """Return what keeps vectors in memory between queries; a search by words needs none."""
        from forgelore.api.find import make_retriever

        name = "" if is_lexical else embedder or self.app.config.embedder
        if name not in self._retrievers:
            self._retrievers[name] = make_retriever(self.app, name)
        return self._retrievers[name]

    @renamed
    def ask(self, question: str, **options: Unpack[AskOptions]) -> "AskAnswer":
        """Return an answer whose citations were looked up, by the language model of the settings; without one, the
        passages that fit best. Confidential items and internal notes are left out unless they are asked for.
        """
        from forgelore.api.asking import answer_question

        return answer_question(self.app, self.retriever(), question, options)

    @property
    def has_model(self) -> bool:
        """Whether the settings name a language model."""
        return self.app.has_model

    # Reading

    def list_items(
        self, kind: str, query: str = "", *, sort: Sort = "updated", limit: int = 30, **filters: Unpack[FilterWords]
    ) -> "ListedItems":
        """Return the items of a kind (issues, changes, discussions, releases) that match, newest first, or oldest first
        with -asc behind the order. `query` has qualifiers as a search has them, and no words: "label:bug -author:ana
        no:milestone sort:created-asc". Discussions are those of GitHub and the threads of GitLab, which have the kind
        "thread".
        """
        from forgelore.api.browse import list_matching
        from forgelore.browse.refs import parse_kind

        return list_matching(self.app, (parse_kind(kind),), query, filters, sort=sort, limit=limit)

    def items(
        self, query: str = "", *, sort: Sort = "updated", limit: int = 30, **filters: Unpack[FilterWords]
    ) -> "ListedItems":
        """Return the items of all kinds, or of the types that are named, that match: `items("label:bug is:open")`,
        `items(type="issue", state="open", after=date(2026, 1, 1))`.
        """
        from forgelore.api.browse import list_matching

        return list_matching(self.app, (), query, filters, sort=sort, limit=limit)

    def count(self, what: str, query: str = "", **filters: Unpack[FilterWords]) -> "RowCount":
        """Return how many items of a kind, or items, threads or notes, match. `query`: qualifiers, as for a list."""
        from forgelore.api.browse import count_matching

        return count_matching(self.app, what, query, filters)

    def facets(self, query: str = "", **filters: Unpack[FilterWords]) -> "Facets":
        """Return how many of the items that match have which type, state, label and author, the commonest first."""
        from forgelore.api.browse import count_facets

        return count_facets(self.app, query, filters)

    def labels(self, project: str | None = None) -> "tuple[LabelCount, ...]":
        """Return the labels that items have, the most used first."""
        from forgelore.history.people import LabelCount
        from forgelore.store.known_values import count_labels

        found = self.app.named_project(project)
        return tuple(LabelCount(*row) for row in count_labels(self.app.store(), found.id if found else None))

    def tree(self, folder: str = "", *, project: str | None = None) -> "tuple[TreeEntry, ...]":
        """Return what a folder of the indexed code holds: folders, with how many files are below them, then files.
        Raises NotFound where nothing is there.
        """
        from forgelore.api.browse import list_tree

        return list_tree(self.app, folder, project)

    def show(self, *ref: str | int, project: str | None = None, with_document: bool = False) -> "StoredItem":
        """Return one item with its conversation: `show("#12")`, `show(12)`, `show("issue", "12")`, `show("v1.2.0")`, a
        URL. Also a commit (`show("1a2b3c4d")`) and a file of code (`show("src/x.py")`). Its reading text (for agents
        and models, of a commit with the diff) comes with it where that is asked for.
        """
        from forgelore.api.browse import load_named

        item = load_named(self.app, ref, self.app.named_project(project))
        if not with_document:
            return item
        return item._replace(document=self.read_text(item.reading_id).text)

    get = show

    def read_text(self, key: str) -> "ReadingText":
        """Return what is read of a search result, by its key: `item:12`, `file:7`, `commit:9`. Its lines are those that
        hits and citations name, and its hash tells one version from another.
        """
        from forgelore.browse.reading_text import load_reading

        key = check_filled("the key", key)
        text = load_reading(self.app.store(), key)
        if text.kind != "commit":
            return text
        from forgelore.api.browse import add_diff

        return add_diff(self.app, text)

    def read(
        self, *ref: str | int, line: int | None = None, column: int = 1, direction: "ScrollDirection | None" = None,
        find: str = "", chars: int = 2_000, project: str | None = None,
    ) -> "ReadItem":  # fmt: skip
        """Return a window on the reading text of an item, of a file by its path, or of what a search result's key
        names, with line numbers: the first one, the one around a line, or with a direction ("down", "up") the one that
        begins or ends at that line. `column`: of a line that is longer than a window. `find`: words; all their places
        are told, and the window is around the first. `chars`: how many characters the window has at most, 1,000 to
        8,000.
        """
        from forgelore.browse.items import read_item
        from forgelore.errors import InvalidValue
        from forgelore.text.reading import TextPlace
        from forgelore.text.values import check_number, check_ref, check_whole

        if check_whole("chars", chars, 8_000) < 1_000:
            raise InvalidValue(f"a window of {chars} characters is too small", hint="use 1,000 to 8,000")
        place = None if line is None else TextPlace(check_number("line", line), check_number("column", column))
        key, name = self._find_reading(tuple(map(check_ref, ref)), project)
        return read_item(self.read_text(key), name, place, direction=direction, find=find, chars=chars)

    def _find_reading(self, ref: tuple[str, ...], project: str | None) -> tuple[str, str]:
        """Return the key of what is to be read, and its project where the ref was one of an item."""
        from forgelore.text.refs import is_key

        if len(ref) == 1 and is_key(ref[0]):
            return ref[0], project or ""
        item = self.show(*ref, project=project)
        return item.reading_id, item.project

    def find_page(self, *ref: str | int, project: str | None = None) -> str:
        """Return the address of an item's page on its forge. Raises InvalidValue where it is one of another host."""
        from forgelore.text.markdown import check_page

        item = self.show(*ref, project=project)
        host = next(one.name.host for one in list_projects(self.app.store()) if one.id == item.project_id)
        return check_page(item.url, host)

    # What it is made of

    @cached_property
    def sync(self) -> "Sync":
        """Bringing a project in, and giving it away."""
        from forgelore.api.sync import Sync

        return Sync(self.app)

    @cached_property
    def index(self) -> "Index":
        """What search stands on: documents, vectors, files and commits of a clone."""
        from forgelore.api.index import Index

        return Index(self.app)

    @cached_property
    def dedupe(self) -> "Dedupe":
        """Finding and closing duplicates in bulk."""
        from forgelore.api.dedupe import Dedupe

        return Dedupe(self.app, self.retriever)

    @cached_property
    def audit(self) -> "Audit":
        """Measuring the judges of duplicates."""
        from forgelore.api.audit import Audit

        return Audit(self.app, self.retriever)

    @cached_property
    def triage(self) -> "Triage":
        """Telling people what a new issue or change repeats."""
        from forgelore.api.triage import Triage

        return Triage(self.app, self.retriever)

    @cached_property
    def changes(self) -> "Changes":
        """Changes that do the same as others."""
        from forgelore.api.changes import Changes

        return Changes(self.app)

    @cached_property
    def people(self) -> "People":
        """Who somebody is, who knows a path, what waits for you."""
        from forgelore.api.people import People

        return People(self.app)

    @cached_property
    def paths(self) -> "Paths":
        """What happened to a file, a folder or a glob."""
        from forgelore.api.paths import Paths

        return Paths(self.app)

    @cached_property
    def questions(self) -> "Questions":
        """The questions that were asked before."""
        from forgelore.api.asking import Questions

        return Questions(self.app, self.retriever)

    @cached_property
    def projects(self) -> "Projects":
        """The projects of the file."""
        return Projects(self.app)

    @cached_property
    def setup(self) -> "Setup":
        """Settings, servers, tokens, and what is in place."""
        from forgelore.api.setup import Setup

        return Setup(self.app)

    def __getattr__(self, name: str) -> object:
        """Older names of what is in one of these now."""
        if name not in METHODS:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        noun, _, method = METHODS[name].partition(".")
        warn_renamed(f"history.{name}", f"history.{noun}.{method}")
        return getattr(getattr(self, noun), method)

    # The file, and what is running

    @property
    def path(self) -> str:
        """The database file, whether it is there or not."""
        return self.app.config.db

    @property
    def stop(self) -> threading.Event:
        """Set it, and whatever is running ends after its transaction and raises Stopped."""
        return self.app.stop

    def interrupt(self) -> None:
        """End what is running, from another thread: it raises Stopped at its next step, and a running request to a
        language model ends at once. Clear `stop` before anything else is asked.
        """
        self.app.interrupt()

    def run(self, task: "Task[Result]", work: "Callable[[Self], Result]") -> "Result":
        """Do work with this history as a task, which other threads may watch, cancel and wait for. Each history runs
        one task at a time:

            task = forgelore.api.Task()
            threading.Thread(target=history.run, args=(task, lambda one: one.sync.run("acme/web"))).start()
            task.cancel()
        """
        return self.app.carry_out(task, lambda: work(self))

    @property
    def is_writing(self) -> bool:
        """Whether a transaction is open."""
        return self.app.is_writing

    def now_ms(self) -> int:
        """Return the time that answers are as of, in milliseconds."""
        return self.app.now_ms()

    def count_replays(self) -> int:
        """Return how many items wait to be read again after an upgrade; 0 while no file is open."""
        from forgelore.store.jobs import count_waiting

        store = self.app.opened_store
        return count_waiting(store, JobKind.REPLAY) if store else 0

    def reopen_replaced(self) -> None:
        """Notice that the database was deleted, replaced or written by others. A program that stays open asks this
        between two questions; the next one then gets the file that is there, or is told that there is none.
        """
        if self.app.close_replaced():
            self._retrievers.clear()

    def close(self) -> None:
        """Close the file and every connection. Whatever is asked afterwards is refused."""
        self._retrievers.clear()
        self.app.close()

    def __enter__(self) -> Self:
        self.app.check_open()
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()
