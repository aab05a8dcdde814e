"""Reviewing pairs put together: whose answers they are, which items are meant, since when."""

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
from forgelore.text.values import check_filled, check_whole
from forgelore.words import Moment

MAX_PAIRS = 1_000


def read_queue(
    app: App, project: str | None, *, kind: str | None, limit: int, closed_since: Moment, person: str | None,
    second_opinion: bool,
) -> ReviewQueue:  # fmt: skip
    """Return the pairs that a person is to be asked about, from the lists of candidates that are kept."""
    check_whole("limit", limit, MAX_PAIRS)
    since = parse_filters({"after": closed_since}, now_ms=app.now_ms()).after
    setting = QueueSetting(
        meant_kinds(kind), app.now_ms() - RECENTLY_MS if since is None else since, limit, second_opinion
    )
    return load_queue(app.store(), require_project(app, project), setting, person=find_reviewer(app, person))


def answer(
    app: App, ref: str | int, target: str | int, said: str, *, project: str | None, person: str | None
) -> AnsweredPair:
    meant = parse_answer(said)
    rows = find_pair(app, (str(ref), str(target)), project)
    ids = (rows[0].id, rows[1].id)
    return answer_pair(
        app.store(), rows[0].project_id, ids, meant, said_by=find_reviewer(app, person), now_ms=app.now_ms()
    )


def undo(app: App, project: str | None, person: str | None) -> AnsweredPair:
    store, meant = app.store(create=True), require_project(app, project)
    return take_back(store, meant.id, said_by=find_reviewer(app, person), now_ms=app.now_ms())


def read_answers(app: App, project: str | None, *, kind: str | None) -> list[AnsweredPair]:
    return list_answered(app.store(), require_project(app, project).id, meant_kinds(kind))


def find_reviewer(app: App, person: str | None) -> str:
    """Return whose answers these are: the given name, the setting `me`, the name that git commits with, or the account
    of this machine.
    """
    if person is not None:
        return check_filled("the reviewer", person).strip().removeprefix("@")
    return app.config.me.strip().removeprefix("@") or person_of(app.cwd).name or user_name()
