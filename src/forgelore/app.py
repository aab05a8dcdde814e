"""The composition root: settings, store, clocks, and ready forges, embedders and language models for whoever asks.

Concrete forges are named in `forges/adapters`, models in `llm/chat`, embedders here, and nowhere else.
"""

import contextlib
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from forgelore.config import EMBEDDERS, Config, api_urls, check_api_url, data_folder, host_of, hosts_of, load_config
from forgelore.errors import (
    ConfigError,
    EmbedderError,
    EmbedderUnreachable,
    InvalidValue,
    LoreError,
    NoStore,
    Stopped,
    StoreError,
    UsageError,
)
from forgelore.forges.adapters import ADAPTERS, ARCHIVES, ArchiveReader, Connection, app_token, archive_reader, owner_of
from forgelore.profiles import PROFILES
from forgelore.store.database import Store
from forgelore.store.projects import StoredProject, find_named, list_projects, resolve_project
from forgelore.store.sqlite.connection import stamp_of
from forgelore.store.sqlite.schema import open_store
from forgelore.text.refs import Hosts, is_loopback, parse_project, web_root, without_userinfo
from forgelore.text.values import check_filled
from forgelore.viewer import PUBLIC, Viewer
from forgelore.words import ProjectName

if TYPE_CHECKING:  # reading commands never need a forge
    from forgelore.context import JobContext
    from forgelore.net.model_server import HttpOptions
    from forgelore.ports.chat import ChatModel
    from forgelore.ports.clone import Clone
    from forgelore.ports.embedder import Embedder
    from forgelore.ports.forge import Forge, IndexBranch, PayloadReader
    from forgelore.ports.progress import Task, Watcher

Result = TypeVar("Result")


class App:
    """Settings, a store that opens on first use, and forges made on demand."""

    def __init__(
        self, environ: Mapping[str, str], *, cwd: str, db: str | None = None, viewer: Viewer = PUBLIC,
        for_reading: bool = False,
    ) -> None:  # fmt: skip
        self.environ = environ
        self.cwd = cwd
        self._viewer = viewer  # decided here, once: what it may not see is neither shown nor found nor counted
        self.for_reading = for_reading  # the store can then not be written by anything that is asked here
        self.config: Config = load_config(environ, cwd=cwd, db=db)
        self.hosts: Hosts = hosts_of(self.config, environ)
        self.stop = threading.Event()  # of the task, while one is carried out
        self._task: Task[Any] | None = None
        # Time and chance, for tests to replace: every client is made with these four.
        self.sleep: Callable[[float], None] = self._sleep
        self.clock: Callable[[], float] = time.monotonic
        self.wall_clock: Callable[[], float] = time.time
        self.jitter: Callable[[], float] = _draw_share
        self._is_closed = False
        self._https_hosts: set[str] = set()  # of this machine, named with that scheme
        self._store: Store | None = None
        self._stamp: tuple[int, ...] | None = None  # of its file, before it was opened
        self._forges: dict[tuple[str, str, float | None], Forge] = {}
        self._embedders: dict[str, Embedder] = {}
        self._chat_models: dict[str, ChatModel] = {}

    @property
    def viewer(self) -> Viewer:
        """Who reads. No call can change it."""
        return self._viewer

    def store_for_call(self, *, include_internal: bool) -> Store:
        """Return the store as one call sees it: that may leave out what only members see, and ask for no more than the
        history was opened with.
        """
        if include_internal:
            self.check_internal("confidential items and internal notes")
            return self.store()
        return self.store().seen_by(self._viewer.without_internal())

    def check_internal(self, what: str) -> None:
        """Refuse what cannot be shown without confidential items and internal notes."""
        if not self._viewer.includes_internal:
            raise UsageError(
                f"this history was opened without access to {what}",
                hint="open it with viewer=EVERYTHING if the reader may see confidential items",
            )

    def now_ms(self) -> int:
        return int(self.wall_clock() * 1000)

    def store(self, *, create: bool = False) -> Store:
        """Return the open store, as the viewer sees it. `create=True` is for commands that write: it makes the file, or
        says why not.
        """
        return self.whole_store(create=create).seen_by(self._viewer)

    def whole_store(self, *, create: bool = False) -> Store:
        """Return the open store with everything in it, for work that does not depend on who has it done: fetching and
        indexing. What it returns to the caller is counts.
        """
        self.check_open()
        if self._store is None:
            if create and not self.config.is_served:
                _make_folder_for(self.config.db)
            self._stamp = None if self.config.is_served else stamp_of(self.config.db)
            self._store = self._open_store(create=create, for_reading=self.for_reading)
        if create and self._store.is_read_only:
            from forgelore.store.sqlite.unlocked import read_only

            raise read_only(self.config.db)
        return self._store

    def _open_store(self, *, create: bool, for_reading: bool = False) -> Store:
        if not self.config.is_served:
            return open_store(self.config.db, create=create, for_reading=for_reading, now_ms=self.now_ms)
        try:
            from forgelore.store.postgres.schema import open_postgres
        except ImportError as error:
            hint = "pip install '.[postgres]' in a clone"
            raise ConfigError("the driver for PostgreSQL (psycopg) is not installed", hint=hint) from error
        return open_postgres(self.config.db, create=create, for_reading=for_reading, now_ms=self.now_ms)

    def job(self, project: StoredProject, watcher: "Watcher | None" = None) -> "JobContext":
        """Return what a job of a project works with; it stops when the app does. Whoever writes has asked for the
        store with `create=True` before.
        """
        from forgelore.context import JobContext

        return JobContext(self.store(), project, self.now_ms, self.watch(watcher), self.stop.is_set, self.sleep)

    def watch(self, watcher: "Watcher | None") -> "Watcher":
        """Return who is told of progress: the task that is carried out, and through it the watcher of the call."""
        if self._task is not None:
            if watcher is not None and watcher is not self._task:
                self._task.listen(watcher.tell)
            return self._task
        from forgelore.ports.progress import Watcher

        return watcher or Watcher()

    def close_replaced(self) -> bool:
        """Close the store where its file is gone, or is another one now; whatever is asked next opens what is there. It
        costs a look at the file, and a new connection after somebody wrote to it.
        """
        if self._store is None or self.config.is_served or self._stamp == stamp_of(self.config.db):
            return False
        with contextlib.suppress(LoreError):  # a file that was read without locks has changed, as we know
            self._store.close()
        self._store = None
        return True

    @property
    def opened_store(self) -> Store | None:
        """The store, if something has asked for it."""
        return self._store.seen_by(self._viewer) if self._store else None

    @property
    def has_store(self) -> bool:
        if self._store is not None or self.config.is_served:
            return True
        return os.path.exists(self.config.db) and os.path.getsize(self.config.db) > 0

    @property
    def is_created(self) -> bool:
        """Whether somebody has written a history there; it is opened where that is not known otherwise."""
        if not self.config.is_served:
            return os.path.exists(self.config.db)
        try:
            self.whole_store()
        except NoStore:
            return False
        return True

    @property
    def is_writing(self) -> bool:
        """True while this thread is inside a transaction."""
        return self._store is not None and self._store.is_in_transaction

    def carry_out(self, task: "Task[Result]", work: "Callable[[], Result]") -> "Result":
        """Do work as a task: cancelling it, from any thread, ends the work after its transaction and does not wait for
        the answer of a language model.
        """
        before = self._task, self.stop
        self._task, self.stop = task, task.stop
        try:
            return task.run(work, cut_off=self._cut_off_models)
        finally:
            self._task, self.stop = before

    def interrupt(self) -> None:
        """End what is running, from another thread, whether it is a task of its own or not."""
        self.stop.set()
        self._cut_off_models()

    def _cut_off_models(self) -> None:
        for model in list(self._chat_models.values()):
            model.interrupt()

    def open_transcripts(self) -> Store:
        """Return the store that transcripts of `ask` are written to, for the caller to close: a history for reading
        writes nothing else. What is asked has opened the file before, so it is of this version.
        """
        return self._open_store(create=False)

    def check_open(self) -> None:
        """Refuse to go on after `close`: the next error would speak of a connection that nobody knows of."""
        if self._is_closed:
            raise UsageError("this history is closed", hint="open it again, or ask inside its `with` block")

    def close(self) -> None:
        self._is_closed = True
        for forge in self._forges.values():
            forge.close()
        for embedder in self._embedders.values():
            embedder.close()
        for model in self._chat_models.values():
            model.close()
        if self._store is not None:
            self._store.close()

    @property
    def has_model(self) -> bool:
        """Whether the settings name a server and a language model."""
        return any(one.name == "default" and one.base_url and one.model for one in self.config.llm)

    def parse_project(self, text: str) -> ProjectName:
        if text.startswith("https://") and is_loopback(host := host_of(text)):
            self._https_hosts.add(host)  # elsewhere it is always https
        return parse_project(text, self.hosts, self._probe)

    def find_project(self, text: str | None) -> StoredProject | None:
        """Return the stored project a person means: by name, else the clone they are in, else the only one there is.

        None stands for all: nothing was said, or the clone's project is not in the store.
        """
        if text is not None:
            return self.load_project(text)
        store = self.store()
        if remote := self.clone_remote():
            try:
                return find_named(store, remote, self.hosts)
            except LoreError:
                return None
        known = list_projects(store)
        return known[0] if len(known) == 1 else None

    def load_project(self, text: str) -> StoredProject:
        """Return the stored project of that name. Raises NotFound or InvalidValue with those that are known."""
        return resolve_project(self.store(), check_filled("the project's name", text), self.hosts)

    def named_project(self, text: str | None) -> StoredProject | None:
        """Return the named project; None stands for all."""
        return None if text is None else self.load_project(text)

    def require_project(self, text: str | None) -> StoredProject:
        """Return the one project that is meant: the named one, the clone's, or the only one there is."""
        found = self.find_project(text)
        if found is None:
            known = ", ".join(str(project.name) for project in list_projects(self.store())[:5])
            raise InvalidValue("no project named", hint=f"name one: {known or 'sync one first'}")
        return found

    def project_ids(self, text: str | None) -> list[int]:
        """Return the id of the named project, or those of all."""
        found = list_projects(self.store()) if text is None else [self.load_project(text)]
        return [project.id for project in found]

    def stored_project(self, project_id: int) -> StoredProject:
        """Return the project that a row belongs to."""
        return next(one for one in list_projects(self.store()) if one.id == project_id)

    @property
    def has_several_projects(self) -> bool:
        """Whether a number alone may mean several items, so that refs have to name their project."""
        return len(list_projects(self.store())) > 1

    def clone_remote(self, folder: str = "") -> str | None:
        """Return the URL of the clone's `origin` without any password in it, None outside the clone of a forge."""
        from forgelore.checkout import origin_of

        url = origin_of(folder or self.cwd)
        if not url or not url.startswith(("https://", "http://", "ssh://", "git://", "git@")):
            return None  # a copy of a folder on this machine says nothing about a forge
        return without_userinfo(url)

    def forge(
        self, name: ProjectName, *, on_wait: Callable[[float, str], None] | None = None, one_try_s: float | None = None,
        max_wait_s: float | None = None,
    ) -> "Forge":  # fmt: skip
        """Return the forge a project lives on, with the token that belongs to it. With `one_try_s` its requests are
        tried once, for so many seconds. `max_wait_s`: how long a limit may be waited for; None: as the settings say.
        """
        if name.forge == "local":
            raise InvalidValue(f"{name} is an imported tracker and has no forge", hint="import it again to refresh it")
        if name.forge not in ADAPTERS:  # a file may come from a version that knows more of them
            raise InvalidValue(f"unsupported forge: {name.forge!r}", hint="upgrade forgelore")
        key = (name.host, owner_of(self.config, self.environ, name), one_try_s)
        if key not in self._forges:
            self._forges[key] = ADAPTERS[name.forge].make(self._connection(name, one_try_s))
        if one_try_s is None:
            self._forges[key].let_wait(on_wait, self.config.max_wait_s if max_wait_s is None else max_wait_s)
        return self._forges[key]

    def _connection(self, name: ProjectName, one_try_s: float | None) -> Connection:
        from forgelore.config import find_sign_in
        from forgelore.forges.rest import TokenAccess
        from forgelore.net.client import Client

        kind, host = name.forge, name.host
        app, token, advice = find_sign_in(self.config, self.environ, kind, host)
        api_url, graphql_url = api_urls(self.config, self.environ, kind, host)
        if host in self._https_hosts:
            api_url, graphql_url = (url.replace("http://", "https://", 1) for url in (api_url, graphql_url))
        client = partial(
            Client, api_url, rate=self.config.requests_per_second, ca_file=self.config.ca_file or None,
            sleep=self.sleep, clock=self.clock, wall_clock=self.wall_clock, jitter=self.jitter, one_try_s=one_try_s,
        )  # fmt: skip
        secrets = app_token(app, name.path, client, self.wall_clock) if app else PROFILES[kind].token_headers(token)
        client = partial(client, secret_headers=secrets if app or token else None)
        access = TokenAccess(bool(app or token), advice)
        return Connection(host, graphql_url, access, client, self.config.sync_window_days)

    def archive_reader(self, kind: str) -> ArchiveReader:
        """Return what reads archives of that kind: "gharchive" or "github-backup"."""
        if kind not in ARCHIVES:
            raise UsageError(f"unknown kind of archive: {kind}", hint=f"there are {', '.join(ARCHIVES)}")
        return archive_reader(kind)

    def payload_reader(self, name: ProjectName) -> "PayloadReader | None":
        """Return what reads a forge's stored answers again; None for an imported tracker, which has none."""
        return ADAPTERS[name.forge].payloads() if name.forge in ADAPTERS else None

    def index_branch(self, name: ProjectName, branch: str, *, folder: str, marks: Collection[str]) -> "IndexBranch":
        """Return the branch of a project that holds the bot's index, with the token that belongs to its host. `marks`
        are the files it is known by.
        """
        from forgelore.config import find_token, token_advice
        from forgelore.forges.branch import StateBranch

        token, source = find_token(self.config, self.environ, name.forge, name.host)
        advice = token_advice(self.config, self.environ, name.forge, name.host, source)
        environ = {**self.environ, **({"GIT_SSL_CAINFO": self.config.ca_file} if self.config.ca_file else {})}
        url = f"{self._git_root(name)}/{name.path}.git"
        return StateBranch(
            url, branch, token=token or None, folder=folder, environ=environ, profile=PROFILES[name.forge], marks=marks,
            token_advice=advice,
        )  # fmt: skip

    def download(self, url: str, path: str, *, max_bytes: int) -> None:
        """Write what a server gives to everybody to a file; no token is sent."""
        from forgelore.net.public import download

        download(url, path, ca_file=self.config.ca_file, max_bytes=max_bytes)

    def local_clone(self, folder: str, ref: str = "HEAD") -> "Clone":
        """Return a clone on this machine. Raises NotFound where there is none."""
        from forgelore.forges.clone import LocalClone

        return LocalClone(folder, self.environ, ref=ref)

    def fetch_clone(self, name: ProjectName, *, depth: int) -> "Clone":
        """Fetch a shallow copy of a project's repository and return it. It lies in the user's own folder: one that came
        with somebody's clone could bring settings that run programs.
        """
        from forgelore.config import find_token, token_advice
        from forgelore.forges.clone import REF, fetch_copy

        token, source = find_token(self.config, self.environ, name.forge, name.host)
        advice = token_advice(self.config, self.environ, name.forge, name.host, source)
        environ = {**self.environ, **({"GIT_SSL_CAINFO": self.config.ca_file} if self.config.ca_file else {})}
        place = f"{name.host}/{name.path}".lower().replace(":", "_")
        folder = os.path.join(data_folder(self.environ), "clones", *place.split("/"))
        repository = fetch_copy(
            f"{self._git_root(name)}/{name.path}.git", folder, depth=depth, token=token or None,
            profile=PROFILES[name.forge], environ=environ, token_advice=advice,
        )  # fmt: skip
        return self.local_clone(repository, REF)

    def _git_root(self, name: ProjectName) -> str:
        """Return where git finds a host's repositories: CI says so, else it is the address of its pages."""
        url = self.environ.get(PROFILES[name.forge].ci_server) or ""
        return check_api_url(url) if url and host_of(url) == name.host else web_root(name.host)

    def embedder(
        self, name: str | None = None, *, on_wait: Callable[[float, str], None] | None = None
    ) -> "Embedder | None":
        """Return the embedder of the settings, or the named one; None for "none". Nothing is loaded or asked yet."""
        name = name or self.config.embedder
        if name not in EMBEDDERS:
            raise InvalidValue(f"unknown embedder: {name!r}", hint=f"one of: {', '.join(EMBEDDERS)}")
        if name == "none":
            return None
        if name not in self._embedders:
            self._embedders[name] = self._make_embedder(name, on_wait)
        return self._embedders[name]

    def _make_embedder(self, name: str, on_wait: Callable[[float, str], None] | None) -> "Embedder":
        """Return the embedder of that name. Raises EmbedderUnreachable for one that is not installed."""
        if name == "lore":
            from forgelore.embedders.lore import LoreEmbedder

            return LoreEmbedder()
        if name != "minilm":
            from forgelore.embedders.served import make_served

            return make_served(name, self.config, self.environ, self._options(on_wait))
        try:  # a package of its own: its weights and its runtime are eight times the size of everything else
            from forgelore_minilm import MiniLM
        except ImportError as error:
            hint = "pip install '.[minilm]' in a clone, or use the built-in: lore"
            raise EmbedderUnreachable("the embedder minilm is not installed", hint=hint) from error
        embedder: Embedder = MiniLM()
        return embedder

    def second_embedder(self, name: str) -> "Embedder | None":
        """Return the embedder whose vectors are stored beside those of another; None where nobody's are wanted, or its
        package is not installed.
        """
        if not self.wants_second(name):
            return None
        try:
            return self.embedder(self.config.second_embedder)
        except EmbedderError:
            return None

    def wants_second(self, name: str) -> bool:
        """Tell whether the vectors of an embedder may have others beside them: the ranking knows one such pair."""
        return name == "lore" and self.config.second_embedder != "none"

    def chat_model(
        self, profile: str | None = None, *, on_wait: Callable[[float, str], None] | None = None
    ) -> "ChatModel":
        """Return the language model of a profile (default, cheap, strong); nothing is asked yet. Raises ConfigError
        where the settings name none.
        """
        name = profile or "default"
        if name not in self._chat_models:
            from forgelore.llm.chat import make_chat_model

            make_options = partial(self._options, on_wait)
            self._chat_models[name] = make_chat_model(name, self.config.llm, self.environ, make_options)
        return self._chat_models[name]

    def _options(self, on_wait: Callable[[float, str], None] | None) -> "HttpOptions":
        from forgelore.net.model_server import HttpOptions

        config = self.config
        return HttpOptions(
            config.max_wait_s, config.ca_file or None, self.sleep, self.clock, self.wall_clock, on_wait, self.jitter
        )

    def _sleep(self, seconds: float) -> None:
        """Sleep in a way that a cancelled task ends at once, in every thread."""
        if self.stop.wait(seconds):
            raise Stopped

    def _probe(self, host: str) -> str:
        """Return which forge a host is: from the store, else by asking it."""
        if self.is_created:
            for project in list_projects(self.store()):
                if project.name.host == host:
                    return project.name.forge
        from forgelore.net.public import probe_forge

        root = f"https://{host}" if host in self._https_hosts else web_root(host)
        return probe_forge(root, self.config.ca_file or None)


def _draw_share() -> float:
    import random  # for those who wait: reading commands never do

    return random.random()  # noqa: S311 - jitter, not a secret


def _make_folder_for(path: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # the last one is ours; one that is there stays as it is
    except OSError as error:
        hint = "choose another file"
        raise StoreError(f"cannot create the folder {folder}: {error.strerror}", hint=hint) from error
