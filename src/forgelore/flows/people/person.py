"""`who`: what a person wrote, reviewed, resolved and knows; and who knows a path."""

import datetime as dt
from typing import NamedTuple

from forgelore.core.people.logins import BOT, login_in_address
from forgelore.core.people.places import KnownPlace, areas_of, best_places
from forgelore.core.times import as_time
from forgelore.flows.people.person_items import PersonItem, done_item
from forgelore.store.commits import load_git_names
from forgelore.store.db import Store
from forgelore.store.path_history import PathScope, list_path_people
from forgelore.store.person_history import (
    count_commits_by,
    count_labels_of,
    count_mentions,
    count_notes,
    count_verdicts,
    count_written,
    each_touched_path,
    load_resolved,
    load_reviewed,
    load_written,
)
from forgelore.store.persons import PersonScope

_MOST_BOTS = 20


class PersonCounts(NamedTuple):
    """How much somebody did: items of each kind, changes by state, notes, reviewed changes by their last verdict,
    threads they resolved, commits, and items that mention them.
    """

    issues: int
    changes: int
    merged: int
    discussions: int
    releases: int
    notes: int
    reviews: int
    verdicts: dict[str, int]
    resolved: int
    commits: int
    mentions: int


class LabelCount(NamedTuple):
    """A label, and how many of the items somebody wrote or reviewed have it."""

    name: str
    items: int


class PersonAnswer(NamedTuple):
    """What is known of a person. `paths` and `areas` (folders) are what they know best, by what they changed, reviewed
    and committed; all lists are cut to the limit.
    """

    login: str
    project: str | None
    first_note_at: dt.datetime | None
    last_note_at: dt.datetime | None
    counts: PersonCounts
    written: tuple[PersonItem, ...]
    reviewed: tuple[PersonItem, ...]
    resolved: tuple[PersonItem, ...]
    areas: tuple[KnownPlace, ...]
    paths: tuple[KnownPlace, ...]
    labels: tuple[LabelCount, ...]
    git_names: tuple[str, ...] = ()  # of their commits
    mails: tuple[str, ...] = ()  # of their commits; only for who may see everything


class PathPerson(NamedTuple):
    """Somebody who knows a path: how many changes of it they wrote and reviewed, how many commits, and when last."""

    login: str
    written: int
    reviewed: int
    commits: int
    last_active_at: dt.datetime | None


class PathPeople(NamedTuple):
    """Who knows a path, best first. `names`: of a file also those that it had before."""

    project: str
    path: str
    kind: str
    names: tuple[str, ...]
    people: tuple[PathPerson, ...]


def load_path_people(
    store: Store, scope: PathScope, names: tuple[str, ...], *, since_ms: int, limit: int
) -> list[PathPerson]:
    """Return who knows a path. Programs know nothing."""
    rows = list_path_people(store, scope, names, since_ms, limit + _MOST_BOTS)
    people = [
        PathPerson(row.login, row.written, row.reviewed, row.commits, as_time(row.last_at))
        for row in rows
        if not row.login.endswith(BOT)
    ]
    return people[:limit]


def load_person(store: Store, scope: PersonScope, project: str | None) -> PersonAnswer:
    """Return what a person did within a scope."""
    resolved, last_resolved = load_resolved(store, scope)
    called = load_git_names(store, scope.login, scope.project_ids)
    mails = [] if scope.is_public else [one.mail for one in called if not login_in_address(one.mail)]
    counts, first, last = _count(store, scope, resolved)
    paths, areas = _known_places(store, scope)
    return PersonAnswer(
        scope.login, project, as_time(first), as_time(last), counts,
        tuple(map(done_item, load_written(store, scope))), tuple(map(done_item, load_reviewed(store, scope))),
        tuple(map(done_item, last_resolved)), best_places(areas, scope.limit), best_places(paths, scope.limit),
        tuple(LabelCount(*row) for row in count_labels_of(store, scope)),
        tuple(dict.fromkeys(one.name for one in called)), tuple(dict.fromkeys(mails)),
    )  # fmt: skip


def _count(store: Store, scope: PersonScope, resolved: int) -> tuple[PersonCounts, int | None, int | None]:
    written = count_written(store, scope)
    of_kind = {kind: 0 for kind, _ in written}
    for (kind, _), number in written.items():
        of_kind[kind] += number
    notes, first, last = count_notes(store, scope)
    verdicts = count_verdicts(store, scope)
    counts = PersonCounts(
        of_kind.get("issue", 0), of_kind.get("change", 0), written.get(("change", "merged"), 0),
        of_kind.get("discussion", 0), of_kind.get("release", 0), notes, sum(verdicts.values()), verdicts, resolved,
        count_commits_by(store, scope), count_mentions(store, scope),
    )  # fmt: skip
    return counts, first, last


def _known_places(store: Store, scope: PersonScope) -> tuple[list[KnownPlace], list[KnownPlace]]:
    touched: dict[str, set[str]] = {}
    for path, thing in each_touched_path(store, scope):
        touched.setdefault(path, set()).add(thing)
    places = [
        (KnownPlace(path, *(sum(thing[0] == mark for thing in things) for mark in "wrc")), frozenset(things))
        for path, things in touched.items()
    ]
    return [place for place, _ in places], areas_of(places)
