"""Work lists: open items that wait for the people who maintain a project, the longest wait first.

    answer      somebody else had the last word
    newcomers   the first item of its author, and no maintainer has said anything
    reviews     changes by others that no maintainer has looked at
    untriaged   issues without label, assignee, milestone or a maintainer's word

Who maintains a project: the settings, the forge's list of members, or what the forge says beside a comment (owner,
member, collaborator); where nobody is known by any of these, whoever closes other people's items. Robots do not count:
their words neither answer nor ask.
"""

import datetime as dt
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from forgelore.dedupe.maintainers import find_maintainers, list_maintainers
from forgelore.store.database import Store
from forgelore.store.filters import NO_FILTERS, Filters
from forgelore.store.item_lists import NO_FACETS, Facets, count_facets
from forgelore.store.open_items import LastWord, OpenItem, list_last_words, list_newcomers, list_open_items
from forgelore.store.paths import list_closers
from forgelore.store.projects import StoredProject
from forgelore.text.dates import as_time
from forgelore.text.links import is_program
from forgelore.text.refs import shown_ref

WaitingFor = Literal["answer", "newcomers", "reviews", "untriaged"]
LISTS: tuple[WaitingFor, ...] = ("answer", "newcomers", "reviews", "untriaged")
_CLOSED_OF = 5  # other people whose items somebody closed who counts as a maintainer where none is known
_CLOSER_MS = 60_000  # between a comment and the closing that came with it


class WaitingItem(NamedTuple):
    """An open item that waits, since when, and who spoke last."""

    ref: str
    kind: str
    number: int
    title: str
    author: str | None
    created_at: dt.datetime | None
    since: dt.datetime | None
    by: str | None
    url: str | None


class WaitingList(NamedTuple):
    """Items of a list, the longest wait first; `total` counts those beyond the limit too."""

    name: WaitingFor
    total: int
    items: list[WaitingItem]


class WaitingWork(NamedTuple):
    """What waits for the maintainers of a project, and how these are known: settings, members, associations, closers
    or nothing. `facets`: of one list that was asked for alone, how many items have which type, state, label, author.
    """

    project: str
    lists: list[WaitingList]
    known_by: str
    facets: Facets = NO_FACETS


def load_waiting(
    store: Store, project: StoredProject, filters: Filters = NO_FILTERS, *, named: Sequence[str] = (), limit: int = 5,
    only: WaitingFor | None = None,
) -> WaitingWork:  # fmt: skip
    """Return the work lists of a project, or only one of them, of items that the filters allow."""
    items = list_open_items(store, project.id, filters)
    words: defaultdict[int, list[LastWord]] = defaultdict(list)
    for one in list_last_words(store, project.id):
        if not is_robot(one.author):
            words[one.item_id].append(one)
    team, known_by = _find_team(store, project, items, words, named)
    newcomers = list_newcomers(store, project.id)
    found: dict[WaitingFor, list[tuple[int, OpenItem, str | None]]] = {name: [] for name in LISTS}
    for item in items:
        if is_robot(item.author):
            continue
        is_ours = _is_of(team, item.author)
        said = sorted(words[item.id], key=lambda one: one.at)
        last_at, last_by = (said[-1].at, said[-1].author) if said else (item.created_at or 0, item.author)
        was_answered = any(_is_of(team, one.author) for one in said)
        entry = (last_at, item, last_by)
        if not _is_of(team, last_by):
            found["answer"].append(entry)
        if not is_ours and not was_answered and (item.author or "") in newcomers:
            found["newcomers"].append(entry)
        if item.kind == "change" and not is_ours and not was_answered and not item.is_draft:
            found["reviews"].append(entry)
        if item.kind == "issue" and not is_ours and not was_answered and not item.is_sorted:
            found["untriaged"].append(entry)
    lists = [_show_list(project, name, entries, limit) for name, entries in found.items() if only in (None, name)]
    if only is None:
        return WaitingWork(str(project.name), lists, known_by)
    facets = count_facets(store, (item.id for _, item, _ in found[only]))
    return WaitingWork(str(project.name), lists, known_by, facets)


def is_robot(login: str | None) -> bool:
    """Tell whether a program's words are its own: apps, tokens, and accounts that call themselves a bot."""
    return is_program(login) or (login or "").lower().endswith(("-bot", "_bot"))


def _find_team(
    store: Store, project: StoredProject, items: Sequence[OpenItem], words: Mapping[int, Sequence[LastWord]],
    named: Sequence[str],
) -> tuple[frozenset[str], str]:  # fmt: skip
    """Return the logins that speak for the project, in lower case, and how they are known."""
    listed = list_maintainers(store, project, named=named)
    if listed.logins:
        return frozenset(login.lower() for login in listed.logins), listed.known_by
    people = {one.author for said in words.values() for one in said} | {one.author for one in items}
    known = find_maintainers(store, project, (login for login in people if login), named=named)
    if team := frozenset(login.lower() for login, is_one in known.items() if is_one):
        return team, "associations"
    closers = list_closers(store, project.id, authors=_CLOSED_OF, within_ms=_CLOSER_MS)
    return frozenset(login.lower() for login in closers), "closers" if closers else ""


def _is_of(team: frozenset[str], login: str | None) -> bool:
    return login is not None and login.lower() in team


def _show_list(
    project: StoredProject, name: WaitingFor, entries: list[tuple[int, OpenItem, str | None]], limit: int
) -> WaitingList:
    ordered = sorted(entries, key=lambda one: (one[0], one[1].number))
    shown = [
        WaitingItem(
            shown_ref(project.name.forge, item.kind, item.number), item.kind, item.number, item.title, item.author,
            as_time(item.created_at), as_time(at), by, item.url,
        )
        for at, item, by in ordered[:limit]
    ]  # fmt: skip
    return WaitingList(name, len(ordered), shown)
