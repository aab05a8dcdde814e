"""`history.people`: who somebody is, who knows a path, and what waits for the person at the keyboard."""

from collections.abc import Iterator
from typing import Unpack

from forgelore.api.browse import read_filters
from forgelore.api.paths import find_place
from forgelore.app import App
from forgelore.errors import ConfigError, InvalidValue, LoreError, NotFound
from forgelore.history.people import (
    MyWork,
    PathPeople,
    PersonAnswer,
    find_login,
    load_path_people,
    load_person,
    load_work,
    resolve_person,
)
from forgelore.history.report import MonthReport, load_report
from forgelore.history.sources import find_path, suggest_path
from forgelore.history.waiting import LISTS, WaitingFor, WaitingWork, load_waiting
from forgelore.search.filters import parse_filters
from forgelore.store.filters import Filters
from forgelore.store.people import PersonScope, load_token_owners
from forgelore.store.projects import StoredProject, list_projects
from forgelore.text.globs import is_glob
from forgelore.text.links import possible_logins
from forgelore.text.values import check_whole
from forgelore.words import FilterWords, Moment

MAX = 1_000


class People:
    """What a history knows of people."""

    def __init__(self, app: App) -> None:
        self._app = app

    def who(self, person: str, *, project: str | None = None, after: Moment = None, limit: int = 10) -> PersonAnswer:
        """Return what a person wrote, reviewed, resolved and knows best: `who("ana")`, `who("@Ana", after="1y")`.
        Raises NotFound, with the nearest name, for somebody nobody here has heard of.
        """
        found = self._app.named_project(project)
        login = resolve_person(self._app.store(), person)
        return load_person(self._app.store(), _scope(self._app, login, found, after, limit), project)

    def who_knows(self, path: str, *, project: str | None = None, after: Moment = None, limit: int = 10) -> PathPeople:
        """Return who knows a file, a folder (`src/`) or what a glob names, best first: who changed, reviewed and
        committed it, and when last. A file is followed through renames. Raises NotFound, with the nearest path.
        """
        check_whole("limit", limit, MAX)
        store, found = self._app.store(), self._app.require_project(project)
        meant = find_path(store, found.id, path, find_place(self._app.cwd))
        if not meant.is_known:
            near = suggest_path(store, found.id, meant.shown)
            hint = f"did you mean {near}?" if near else "paths are known from changes, and from: forgelore index-code"
            raise NotFound(f"nothing in {found.name} touches {meant.shown!r}", hint=hint)
        people = load_path_people(store, found.id, meant.names, since_ms=_since(self._app, after) or 0, limit=limit)
        return PathPeople(str(found.name), meant.shown, meant.kind, meant.names, tuple(people))

    def who_or_path(
        self, text: str, *, project: str | None = None, after: Moment = None, limit: int = 10
    ) -> PersonAnswer | PathPeople:
        """Return `who` of a login, `who_knows` of a path: what has a slash is one; else a person comes first."""
        if "/" in text.strip("@") or "\\" in text or is_glob(text):
            return self.who_knows(text, project=project, after=after, limit=limit)
        try:
            return self.who(text, project=project, after=after, limit=limit)
        except NotFound:
            if text.startswith("@"):
                raise
            try:
                return self.who_knows(text, project=project, after=after, limit=limit)
            except LoreError:
                pass
            raise

    def me(
        self, login: str | None = None, *, project: str | None = None, after: Moment = None, limit: int = 10
    ) -> MyWork:
        """Return what waits for you: reviews, questions, threads, what is assigned to you, where you are mentioned.
        Without a login you are whoever the setting `me`, the token or git says; raises ConfigError where none does.
        """
        app, found = self._app, self._app.named_project(project)
        if login is not None:
            name, known_from = resolve_person(app.store(), login), "the command"
        else:
            name, known_from = _who_asks(app, found)
        work = load_work(app.store(), _scope(app, name, found, after, limit), known_from=known_from, project=project)
        if find_login(app.store(), name) is None:
            return work._replace(warnings=(f"@{name} (from {known_from}) has not been seen in this database",))
        return work

    def waiting(
        self, query: str = "", *, only: WaitingFor | None = None, limit: int = 5, **filters: Unpack[FilterWords]
    ) -> WaitingWork:
        """Return the open items that wait for the maintainers of a project, the longest wait first: those where
        somebody else had the last word, newcomers without an answer, changes without a review, issues that nobody has
        sorted in; or only one of these lists. `query`: qualifiers, as for a list of items.
        """
        check_whole("limit", limit, MAX)
        if only is not None and only not in LISTS:
            raise InvalidValue(f"unknown work list: {str(only)[:60]!r}", hint=f"one of: {', '.join(LISTS)}")
        store, found = self._app.store(), self._app.require_project(filters.get("project"))
        chosen = Filters()
        if query or filters.keys() - {"project"}:
            chosen, _, _ = read_filters(self._app, (), query, {**filters, "project": str(found.name)})
        return load_waiting(store, found, chosen, named=self._app.config.maintainers, limit=limit, only=only)

    def month(self, month: str | None = None, *, project: str | None = None) -> MonthReport:
        """Return one month of a project ("2026-03"; by default the last one that is over): what was filed and closed,
        how long people waited for an answer and a closing, how old the backlog is, who was new. Robots do not count.
        """
        app = self._app
        return load_report(app.store(), app.require_project(project), month, now_ms=app.now_ms())


def _scope(app: App, login: str, project: StoredProject | None, after: Moment, limit: int) -> PersonScope:
    check_whole("limit", limit, MAX)
    ids = (project.id,) if project else ()
    return PersonScope(login, ids, _since(app, after), limit)


def _since(app: App, after: Moment) -> int | None:
    return parse_filters({"after": after}, now_ms=app.now_ms()).after


def _who_asks(app: App, project: StoredProject | None) -> tuple[str, str]:
    """Return the login of whoever asks, and what told it. Raises ConfigError when nothing does."""
    if app.config.me:
        name = app.config.me.strip().removeprefix("@")
        return find_login(app.store(), name) or name, "the settings"
    places = [project.name] if project else [one.name for one in list_projects(app.store())]
    owners = load_token_owners(app.store(), [place.host for place in places])
    if len(owners) == 1:
        return owners[0], "the token"
    for name, known_from in _git_names(app, {place.forge for place in places}):
        found = find_login(app.store(), name)
        if found:
            return found, known_from
    several = f": there are tokens of {' and '.join(f'@{one}' for one in owners[:3])}" if owners else ""
    raise ConfigError(
        f"can't tell who you are{several}",
        hint='run: forgelore me --as LOGIN; or set FORGELORE_ME, or me = "LOGIN" in your config.toml;'
        " or ask the forge: forgelore auth-test",
    )


def _git_names(app: App, forges: set[str]) -> Iterator[tuple[str, str]]:
    from forgelore.checkout import person_of

    person = person_of(app.cwd)
    for forge in sorted(forges & set(person.accounts)):
        yield person.accounts[forge], f"git's {forge}.user"
    for login in possible_logins(person.name, person.email):
        yield login, "git's user.name" if login == person.name else "git's user.email"
