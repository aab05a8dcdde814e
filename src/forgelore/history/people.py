"""What a person wrote, reviewed, resolved and knows (`who`), who knows a path, and what waits for somebody (`me`).

Logins are found however they are capitalised, with or without an @ or the mark of a bot. A question is the last
sentence of a text that asks something, outside of code, quotes and addresses. A person knows a path, and the folders
above it, by how often they changed or reviewed what is there.
"""

import datetime as dt
import re
from collections.abc import Callable, Iterable
from typing import NamedTuple

from forgelore.errors import NotFound
from forgelore.store.commits import load_git_names
from forgelore.store.database import Store
from forgelore.store.paths import PathPerson, list_path_people
from forgelore.store.people import PersonScope, find_spelling, list_writers
from forgelore.store.person_items import (
    PersonItem,
    count_commits_by,
    count_labels_of,
    count_mentions,
    count_notes,
    count_verdicts,
    count_written,
    each_touched_path,
    load_assigned,
    load_later_notes,
    load_mentioned,
    load_open_threads,
    load_requested,
    load_resolved,
    load_reviewed,
    load_written,
)
from forgelore.text.dates import as_time
from forgelore.text.links import BOT, line_calling, login_in_address
from forgelore.text.markdown import code_spans
from forgelore.text.values import check_filled, suggest

EXCERPT = 300  # characters of what was said


def first_of_each(items: Iterable[PersonItem], said: Callable[[PersonItem], str]) -> list[PersonItem]:
    """Return each item once, by the first of its rows of which something was `said`."""
    found: dict[tuple[str, str, int], PersonItem] = {}
    for item in items:
        place = (item.project, item.kind, item.number)
        if place not in found and (text := said(item)):
            found[place] = item._replace(text=text[:EXCERPT])
    return list(found.values())


_DEPTH = 2  # folders of a path that make an area: src/net/conn.py is in src/net


class KnownPlace(NamedTuple):
    """A path, or a folder: how many of somebody's changes touch it, of the changes they reviewed, of their commits."""

    path: str
    written: int
    reviewed: int
    commits: int

    @property
    def weight(self) -> int:
        """Writing shows twice what reading does. A commit is often part of a change that is counted already."""
        return 2 * self.written + self.reviewed + self.commits


def best_places(places: Iterable[KnownPlace], limit: int) -> tuple[KnownPlace, ...]:
    """Return the best known, best first."""
    return tuple(sorted(places, key=lambda one: (-one.weight, one.path))[:limit])


def areas_of(touched: Iterable[tuple[KnownPlace, frozenset[str]]]) -> list[KnownPlace]:
    """Return the folders of paths, each thing counted once in a folder however many of its files it touches.

    With a path comes what touched it: `w12` a change that was written, `r7` one that was reviewed, `c3` a commit.
    """
    found: dict[str, set[str]] = {}
    for place, things in touched:
        folders = place.path.split("/")[:-1][:_DEPTH]
        if folders:
            found.setdefault("/".join(folders) + "/", set()).update(things)
    return [KnownPlace(path, *(_count_marks(things, mark) for mark in "wrc")) for path, things in found.items()]


def _count_marks(things: set[str], mark: str) -> int:
    return sum(thing.startswith(mark) for thing in things)


_MAX_BOTS = 20


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


class PathPeople(NamedTuple):
    """Who knows a path, best first. `names`: of a file also those that it had before."""

    project: str
    path: str
    kind: str
    names: tuple[str, ...]
    people: tuple[PathPerson, ...]


def load_path_people(
    store: Store, project_id: int, names: tuple[str, ...], *, since_ms: int, limit: int
) -> list[PathPerson]:
    """Return who knows a path. Programs know nothing."""
    people = list_path_people(store, project_id, names, since_ms, limit + _MAX_BOTS)
    return [one for one in people if not one.login.endswith(BOT)][:limit]


def load_person(store: Store, scope: PersonScope, project: str | None) -> PersonAnswer:
    """Return what a person did within a scope."""
    resolved, last_resolved = load_resolved(store, scope)
    called = load_git_names(store, scope.login, scope.project_ids)
    shows_mails = store.viewer.includes_internal
    mails = [one.mail for one in called if shows_mails and not login_in_address(one.mail)]
    counts, first, last = _count(store, scope, resolved)
    paths, areas = _known_places(store, scope)
    return PersonAnswer(
        scope.login, project, as_time(first), as_time(last), counts,
        tuple(load_written(store, scope)),
        tuple(load_reviewed(store, scope)), tuple(last_resolved),
        best_places(areas, scope.limit), best_places(paths, scope.limit),
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


def find_login(store: Store, name: str) -> str | None:
    """Return a login as it is spelled here; None when nobody has it."""
    for login in (name, f"{name}{BOT}"):
        found = find_spelling(store, PersonScope(login))
        if found:
            return found
    return None


def resolve_person(store: Store, text: str) -> str:
    """Return the login of the person that is meant. Raises NotFound with the nearest name."""
    name = check_filled("the person's name", text).strip().removeprefix("@")
    found = find_login(store, name)
    if found:
        return found
    meant = suggest(name, list_writers(store))
    said = f"; did you mean {meant.removeprefix('@')!r}?" if meant else ""
    raise NotFound(f"unknown person: {text[:100]!r}{said}", hint="use a login as the forge shows it: ana or @ana")


_LONGEST = 20_000  # characters that are looked at, from the end: what is asked last is what waits
_QUOTED = re.compile(r"^[ \t]{0,3}>[^\n]*|<!--.*?(?:-->|\Z)", re.MULTILINE | re.DOTALL)
_WIDE = "\uff1f"  # how Chinese and Japanese ask
_ADDRESS = re.compile(r"https?://\S+")
_QUESTION = re.compile(r"[^.!?\n]*[?\uff1f](?=[\s)\]\"'*_?!\uff1f]|\Z)")


def question_in(text: str | None) -> str:
    """Return the last question of a text as it was written, "" when it asks nothing.

    "Thanks. Does it happen on `a?b` too?" -> "Does it happen on `a?b` too?"
    """
    if not text or ("?" not in text and _WIDE not in text):
        return ""
    spoken = _QUOTED.sub(" ", text[-_LONGEST:].replace("\r\n", "\n"))
    prose = _hide_code(spoken)
    asked = (match.span() for match in _QUESTION.finditer(prose) if re.search(r"\w", match[0]))
    start, end = max(asked, default=(0, 0))
    return spoken[start:end].strip()


def _hide_code(text: str) -> str:
    """Return a text of the same length in which nothing inside code or an address looks like prose. Spans within a
    line may be part of a question; blocks never are.
    """
    spans = [(start, end, "\n" if "\n" in text[start:end] else " ") for start, end in code_spans(text)]
    for start, end, blank in spans:
        text = text[:start] + blank * (end - start) + text[end:]
    return _ADDRESS.sub(lambda match: " " * len(match[0]), text)


class MyWork(NamedTuple):
    """What waits for a person, in open items: changes whose review they are asked for and have not given; questions
    that others asked after their last word; unresolved threads on their changes; what is assigned to them; where they
    are mentioned. Lists are cut to the limit, `totals` are not. `known_from`: what told who it is.
    """

    login: str
    known_from: str
    project: str | None
    totals: dict[str, int]
    reviews: tuple[PersonItem, ...]
    questions: tuple[PersonItem, ...]
    threads: tuple[PersonItem, ...]
    assigned: tuple[PersonItem, ...]
    mentioned: tuple[PersonItem, ...]
    warnings: tuple[str, ...] = ()


def load_work(store: Store, scope: PersonScope, *, known_from: str, project: str | None) -> MyWork:
    """Return what waits for the person of a scope."""

    def call(item: PersonItem) -> str:
        return line_calling(item.text, scope.login) or "mentioned"

    reviews, assigned = load_requested(store, scope), load_assigned(store, scope)
    questions = first_of_each(load_later_notes(store, scope, BOT), lambda item: question_in(item.text))
    threads = [one._replace(text=_first_line(one.text)[:EXCERPT]) for one in load_open_threads(store, scope)]
    mentioned = sorted(first_of_each(load_mentioned(store, scope), call), key=lambda item: item.is_answered)
    totals = {
        "reviews": len(reviews), "questions": len(questions), "threads": len(threads), "assigned": len(assigned),
        "mentioned": len(mentioned),
    }  # fmt: skip
    most = slice(scope.limit)
    return MyWork(
        scope.login, known_from, project, totals, tuple(reviews[most]), tuple(questions[most]), tuple(threads[most]),
        tuple(assigned[most]), tuple(mentioned[most]),
    )  # fmt: skip


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")
