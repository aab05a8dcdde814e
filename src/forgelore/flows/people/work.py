"""`me`: what is assigned to a person, and what waits for them."""

from typing import NamedTuple

from forgelore.core.people.logins import BOT
from forgelore.core.people.mentions import line_calling
from forgelore.core.people.questions import question_in
from forgelore.flows.people.person_items import PersonItem, first_of_each, work_item
from forgelore.store.db import Store
from forgelore.store.person_work import (
    WorkRow,
    load_assigned,
    load_later_notes,
    load_mentioned,
    load_open_threads,
    load_requested,
)
from forgelore.store.persons import PersonScope


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

    def call(row: WorkRow) -> str:
        return line_calling(row.text, scope.login) or "mentioned"

    reviews = [work_item(row) for row in load_requested(store, scope)]
    questions = first_of_each(load_later_notes(store, scope, BOT), lambda row: question_in(row.text))
    threads = [work_item(row, _first_line(row.text)) for row in load_open_threads(store, scope)]
    assigned = [work_item(row) for row in load_assigned(store, scope)]
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


def _first_line(text: str | None) -> str:
    return next((line.strip() for line in (text or "").splitlines() if line.strip()), "")
