"""The facade: one history, and everything that can be done with it. Surfaces ask nothing else.

A method is a few lines: it finds the project that is meant, and hands over to a flow or, where several are put
together, to the module of its group in this folder (fetch, index, find, tidy, setup). Flows are imported by the method
that needs them. What finds, fetches, indexes, dedupes and answers stands in `methods`, a file per job.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self, TypeVar, Unpack

from forgelore.api.deduping.history_audit import AuditingHistory
from forgelore.api.methods.history_fetch import FetchingHistory
from forgelore.api.methods.history_index import IndexingHistory
from forgelore.api.methods.history_paths import PathsHistory
from forgelore.api.methods.history_people import PeopleHistory
from forgelore.api.projects import find_project, has_several_projects, load_project
from forgelore.app import App
from forgelore.text.values import check_filled
from forgelore.viewer import PUBLIC, Viewer
from forgelore.words import FilterWords, JobKind

if TYPE_CHECKING:
    from forgelore.api.bot import BotPlaces
    from forgelore.api.browse import TreeEntry
    from forgelore.api.checkup import DoctorCheck
    from forgelore.api.setup import AddedHost, SetupAnswer, TokenOwner
    from forgelore.api.tidy import TriageAnswer
    from forgelore.browse.items import ReadItem, ShownItem
    from forgelore.browse.lists import ListedItems, RowCount
    from forgelore.history.people import LabelCount
    from forgelore.ports.progress import Watcher
    from forgelore.tasks import Task
    from forgelore.text.reading import ReadingText, ScrollDirection
    from forgelore.triage.bot import BotResult
    from forgelore.triage.events import Event, Inputs

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


class History(PathsHistory, AuditingHistory, FetchingHistory, IndexingHistory, PeopleHistory):
    """One database. Not shared between threads; a second one on the same file is cheap."""

    def __init__(self, app: App) -> None:
        self.app = app  # what it is put together from; for benches and tests, surfaces leave it alone
        self._retrievers = {}

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the settings say that cannot be followed."""
        return tuple(self.app.config.warnings)

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

    def get(self, ref: str | int, *, project: str | None = None) -> "ShownItem":
        """Return one item with its conversation, as `show`: `get("#41")`, `get(41)`. Raises NotFound where there is
        none.
        """
        return self.show(ref, project=project)

    def count(self, what: str, query: str = "", **filters: Unpack[FilterWords]) -> "RowCount":
        """Return how many items of a kind, or items, threads or notes, match. `query`: qualifiers, as for a list."""
        from forgelore.api.browse import count_matching

        return count_matching(self.app, what, query, filters)

    def labels(self, project: str | None = None) -> "tuple[LabelCount, ...]":
        """Return the labels that items have, the most used first."""
        from forgelore.api.browse import list_labels

        return list_labels(self.app, project)

    def tree(self, folder: str = "", *, project: str | None = None) -> "tuple[TreeEntry, ...]":
        """Return what a folder of the indexed code holds: folders, with how many files are below them, then files.
        Raises NotFound where nothing is there.
        """
        from forgelore.api.browse import list_tree

        return list_tree(self.app, folder, project)

    def show(self, *ref: str | int, project: str | None = None, with_document: bool = False) -> "ShownItem":
        """Return one item with its conversation: `show("#12")`, `show(12)`, `show("issue", "12")`, `show("v1.2.0")`, a
        URL. Also a commit (`show("1a2b3c4d")`) and a file of code (`show("src/x.py")`). Its reading text (for agents
        and models, of a commit with the diff) comes with it where that is asked for.
        """
        from forgelore.api.browse import load_named

        item = load_named(self.app, ref, find_project(self.app, project))
        if not with_document:
            return item
        return item._replace(document=self.read_text(item.reading_id).text)

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
        from forgelore.store.projects import list_projects
        from forgelore.text.markdown import check_page

        item = self.show(*ref, project=project)
        host = next(one.name.host for one in list_projects(self.app.store()) if one.id == item.project_id)
        return check_page(item.url, host)

    # Tidying: triage, the bot

    def triage(
        self, ref: str | int, inputs: "Inputs | None" = None, *, project: str | None = None, is_posted: bool = False
    ) -> "TriageAnswer":
        """Return what an item (`#12`, `!34`, a URL) repeats, as the comment that its author would get; with
        `is_posted`, post that.

        What the store knows is compared; the item itself is read anew from its forge before anything is posted.
        """
        from forgelore.api.tidy import triage_ref
        from forgelore.triage.events import Inputs

        default = find_project(self.app, project)
        return triage_ref(self.app, self.retriever(), ref, inputs or Inputs(), default, is_posted=is_posted)

    def handle_event(
        self, event: "Event", inputs: "Inputs", *, forge: str, places: "BotPlaces", is_reader: bool = False
    ) -> "BotResult":
        """Run the bot for one event of a forge's CI: its index is pulled, the item is answered, the index is pushed.
        With `is_reader` nothing is written, and the language model of the settings, if there is one, is asked too.
        """
        from forgelore.api.bot import handle_event

        return handle_event(self.app, event, inputs, forge=forge, places=places, is_reader=is_reader)

    # Setting up: init, doctor, tokens

    def suggest_project(self) -> str | None:
        """Return the project of the clone that one is in; None outside of any."""
        from forgelore.api.setup import suggest_project

        return suggest_project(self.app)

    def set_up(self, projects: list[str], *, overwrite: bool = False) -> "SetupAnswer":
        """Write the projects into forgelore.toml of this folder, and make the database."""
        from forgelore.api.setup import set_up

        return set_up(self.app, projects, overwrite=overwrite)

    def add_host(self, host: str, *, kind: str, token_env: str | None = None) -> "AddedHost":
        """Describe a server of one's own in one's own settings."""
        from forgelore.api.setup import add_host

        return add_host(self.app, host, kind=kind, token_env=token_env)

    def check_up(self, *, is_offline: bool = False, watcher: "Watcher | None" = None) -> "Iterator[DoctorCheck]":
        """Yield what is in place and what is not, one check after another. Each forge is asked once, for 5 seconds at
        most, and the watcher hears the name of a server before it is asked.
        """
        from forgelore.api.checkup import check_up

        return check_up(self.app, is_offline=is_offline, watcher=watcher)

    def find_token_owner(self, project: str | None = None) -> "TokenOwner":
        """Ask the forge of a project, or of the first that would be synced, whose token is used there."""
        from forgelore.api.setup import find_token_owner

        return find_token_owner(self.app, project)

    # Projects

    def name_project(self, text: str | None = None) -> str | None:
        """Return the full name of the stored project a person means: by any of its names, else by the clone they are
        in, else the only one there is. None stands for all of them.
        """
        project = self.app.find_project(text)
        return str(project.name) if project else None

    def list_projects(self, texts: Sequence[str] = ()) -> list[str]:
        """Return the full names of these stored projects, or of all."""
        from forgelore.store.projects import list_projects

        found = [load_project(self.app, text) for text in texts] or list_projects(self.app.store())
        return [str(project.name) for project in found]

    @property
    def has_several_projects(self) -> bool:
        """Whether the file holds more than one project, so that a number alone may mean several items."""
        return has_several_projects(self.app)

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
            threading.Thread(target=history.run, args=(task, lambda history: history.sync("acme/web"))).start()
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
