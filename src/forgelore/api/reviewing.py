"""Reviewing pairs put together: whose answers they are, which items are meant, since when."""

from typing import NamedTuple

from forgelore.api.judging import meant_kinds
from forgelore.api.nouns.projects import require_project
from forgelore.api.overrides import find_pair, user_name
from forgelore.app import App
from forgelore.checkout import person_of
from forgelore.dedupe.review import (
    RECENTLY_MS,
    AnsweredPair,
    QueueSetting,
    ReviewQueue,
    answer_pair,
    list_answered,
    load_queue,
    take_back,
)
from forgelore.dedupe.review_rules import parse_answer
from forgelore.search.filters import parse_filters
from forgelore.store.projects import list_projects
from forgelore.text.values import check_filled, check_whole
from forgelore.words import Moment

MAX_PAIRS = 1_000


class QueueWords(NamedTuple):
    """What a person asks for: items of a kind, at most so many pairs, beside what was closed since a time."""

    kind: str | None = None
    limit: int = 50
    closed_since: Moment = None
    second_opinion: bool = False


def read_queue(app: App, project: str | None, words: QueueWords, *, person: str | None) -> ReviewQueue:
    """Return the pairs that a person is to be asked about, from the lists of candidates that are kept."""
    check_whole("limit", words.limit, MAX_PAIRS)
    since = parse_filters({"after": words.closed_since}, now_ms=app.now_ms()).after
    since = app.now_ms() - RECENTLY_MS if since is None else since
    setting = QueueSetting(meant_kinds(words.kind), since, words.limit, words.second_opinion)
    return load_queue(app.store(), require_project(app, project), setting, person=find_reviewer(app, person))


def answer(
    app: App, ref: str | int, target: str | int, said: str, *, project: str | None, person: str | None
) -> AnsweredPair:
    meant = parse_answer(said)
    rows = find_pair(app, (str(ref), str(target)), project)
    store, ids = app.store(), (rows[0].id, rows[1].id)
    of = next(one for one in list_projects(store) if one.id == rows[0].project_id)
    return answer_pair(store, of, ids, meant, said_by=find_reviewer(app, person), now_ms=app.now_ms())


def undo(app: App, project: str | None, person: str | None) -> AnsweredPair:
    store, meant = app.store(create=True), require_project(app, project)
    return take_back(store, meant, said_by=find_reviewer(app, person), now_ms=app.now_ms())


def read_answers(app: App, project: str | None, *, kind: str | None) -> list[AnsweredPair]:
    return list_answered(app.store(), require_project(app, project), meant_kinds(kind))


def find_reviewer(app: App, person: str | None) -> str:
    """Return whose answers these are: the given name, the setting `me`, the name that git commits with, or the account
    of this machine.
    """
    if person is not None:
        return check_filled("the reviewer", person).strip().removeprefix("@")
    return app.config.me.strip().removeprefix("@") or person_of(app.cwd).name or user_name()
