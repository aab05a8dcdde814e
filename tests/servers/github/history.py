"""A varied, repeatable history for a project, lived through in the order of its times.

Everything that happens is put on a schedule first and then done from the oldest on, so that numbers, ids and
times rise together as they do on the real service. The same seed and sizes give the same project.
"""

import datetime as dt
import heapq
import itertools
import random

from ..base import parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from . import words

PEOPLE = ("ana", "ben", "chidi", "dora", "emre", "fatima", "goro", "hana")
FORTNIGHT_S = 14 * 86400
REASONS = ("completed", "completed", "completed", "not_planned")


def populate(
    project,
    *,
    seed,
    issues,
    changes,
    discussions=0,
    releases=3,
    comments_per_item=3,
    start="2024-01-01T00:00:00Z",
    end=None,
) -> None:
    """Add that many items with comments, reviews and state changes between `start` and `end` (default: now)."""
    History(project, seed, comments_per_item, start, end).live(
        {"issue": issues, "change": changes, "discussion": discussions, "release": releases}
    )


class History:
    def __init__(self, project, seed, comments: int, start: str, end: str | None):
        self.project = project
        self.rng = random.Random(seed)
        self.comments = comments
        latest = project.world.clock.now() - dt.timedelta(seconds=1)
        self.start = int(parse_time(start).timestamp())
        self.end = int(min(parse_time(end) if end else latest, latest).timestamp())
        self.schedule: list = []
        self.tickets = itertools.count()  # ties on the schedule go by order of planning
        self.subjects: dict[int, tuple] = {}  # issue number -> what it is about, for later duplicates
        self.recent: list[int] = []

    def live(self, sizes: dict[str, int]) -> None:
        self.settle()
        kinds = [kind for kind, size in sizes.items() for _ in range(size)]
        self.rng.shuffle(kinds)
        step = (self.end - self.start) / (len(kinds) + 1)
        for place, kind in enumerate(kinds):
            self.plan(int(self.start + step * (place + self.rng.random())), getattr(self, f"open_{kind}"))
        while self.schedule:
            moment, _, act, args, kwargs = heapq.heappop(self.schedule)
            act(*args, at=dt.datetime.fromtimestamp(moment, dt.UTC), **kwargs)

    def settle(self) -> None:
        for name, color in words.LABELS.items():
            self.project.add_label(name, color, f"About {name}")
        self.project.add_collaborator("ana", "admin")
        self.project.add_collaborator("ben", "push")

    def plan(self, moment: int, act, *args, **kwargs) -> None:
        heapq.heappush(self.schedule, (moment, next(self.tickets), act, args, kwargs))

    def later(self, moment: int, act, *args, **kwargs) -> int:
        """Plan `act(..., at=)` within two weeks, never past the end; returns when."""
        when = self.rng.randint(moment, min(moment + FORTNIGHT_S, self.end))
        self.plan(when, act, *args, **kwargs)
        return when

    def person(self) -> str | None:
        return None if self.rng.random() < 0.03 else self.rng.choice(PEOPLE)

    def labels(self) -> list[str]:
        return self.rng.sample(tuple(words.LABELS), self.rng.choice((0, 1, 1, 2, 3)))

    def talk(self, moment: int, number: int) -> int:
        """Plan this item's comments; returns the time of the last one."""
        last = moment
        for _ in range(self.rng.randint(0, 2 * self.comments)):
            author, text = self.person(), self.remark(number)
            if self.rng.random() < 0.05:
                author = "github-actions[bot]"
            last = max(last, self.later(moment, self.project.comment, number, text, author=author))
        return last

    def remark(self, number: int) -> str:
        text = words.paragraph(self.rng)
        if number > 1 and self.rng.random() < 0.15:
            text += f" Compare #{self.rng.randint(1, number - 1)}."
        return text

    def open_issue(self, *, at) -> None:
        moment = int(at.timestamp())
        rng, original = self.rng, None
        about = words.subject(rng)
        if self.subjects and rng.random() < 0.1:
            original = rng.choice(self.recent)
            about = self.subjects[original]
        name = words.other_title(about) if original else words.title(about)
        number = self.project.add_issue(
            name, self.issue_body(about, original), author=self.person(), labels=self.labels(), created_at=at
        )
        if original is None:
            self.subjects[number] = about
            self.recent = [*self.recent[-300:], number]
        last = self.talk(moment, number)
        if original:
            self.later(last, self.close_duplicate, number, original)
        elif rng.random() < 0.55:
            closed = self.later(last, self.close, number)
            if rng.random() < 0.08:
                self.later(closed, self.project.reopen, number, by="ana")

    def issue_body(self, about, original: int | None) -> str | None:
        text = words.body(self.rng, about)
        return f"{text}\n\nMaybe a duplicate of #{original}?" if original and text and self.rng.random() < 0.3 else text

    def close_duplicate(self, number: int, original: int, *, at) -> None:
        if number in self.project.items and original in self.project.items:
            self.project.comment(number, f"Duplicate of #{original}", author="ana", at=at)
            self.project.close(number, reason="duplicate", by="ana", at=at)

    def close(self, number: int, *, at) -> None:
        if not self.project.items[number].is_closed:
            self.project.close(number, reason=self.rng.choice(REASONS), by=self.rng.choice(PEOPLE), at=at)

    def open_change(self, *, at) -> None:
        moment = int(at.timestamp())
        rng, project = self.rng, self.project
        component, action, symptom = words.subject(rng)
        fixed = rng.choice(self.recent) if self.subjects and rng.random() < 0.5 else None
        text = f"{words.paragraph(rng)}\n\nFixes #{fixed}" if fixed else words.body(rng, (component, action, symptom))
        author = "dependabot[bot]" if rng.random() < 0.05 else rng.choice(PEOPLE)
        number = project.add_change(
            f"Fix {component} that {symptom} when {action}", text, author=author, labels=self.labels(),
            files=words.files(rng, project.last_number + 1), head=f"fix/{moment}", draft=rng.random() < 0.1, created_at=at,
        )  # fmt: skip
        last = max(self.talk(moment, number), self.review(moment, number))
        fate = rng.random()
        if fate < 0.6:
            self.later(last, project.merge, number, by="ben")
        elif fate < 0.75:
            self.later(last, project.close, number, by=author)

    def review(self, moment: int, number: int) -> int:
        rng, project, last = self.rng, self.project, moment
        if rng.random() < 0.6:
            state = rng.choice(("APPROVED", "COMMENTED", "CHANGES_REQUESTED"))
            text = rng.choice(("", "Thanks, looks good.", words.paragraph(rng)))
            last = self.later(moment, project.review, number, text, author="ben", state=state)
        for _ in range(rng.choice((0, 0, 1, 2))):
            last = max(last, self.later(moment, self.start_thread, number))
        return last

    def start_thread(self, number: int, *, at) -> None:
        rng, project, moment = self.rng, self.project, int(at.timestamp())
        path = rng.choice(project.items[number].files).new_path
        root = project.review_comment(
            number,
            rng.choice(words.REMARKS),
            author=rng.choice(PEOPLE),
            path=path,
            line=rng.randint(1, 80),
            at=at,
        )
        for _ in range(rng.randint(0, 2)):
            text, author = rng.choice(words.REMARKS), rng.choice(PEOPLE)
            self.later(moment, project.review_comment, number, text, author=author, reply_to=root)
        if rng.random() < 0.5:
            project.resolve_thread(root)

    def open_discussion(self, *, at) -> None:
        moment = int(at.timestamp())
        rng, project = self.rng, self.project
        about = words.subject(rng)
        category = rng.choice(("Ideas", "Q&A", "General"))
        number = project.add_discussion(
            f"How should the {about[0]} behave when {about[1]}?", words.body(rng, about), author=self.person(),
            category=category, labels=self.labels()[:1], created_at=at,
        )  # fmt: skip
        last = moment
        for _ in range(rng.randint(0, 2 * self.comments)):
            last = max(last, self.later(moment, self.discuss, number, category))
        if rng.random() < 0.2:
            reason = rng.choice(("RESOLVED", "OUTDATED", "DUPLICATE"))
            self.later(last, project.close_discussion, number, reason)

    def discuss(self, number: int, category: str, *, at) -> None:
        rng, project, moment = self.rng, self.project, int(at.timestamp())
        said = project.discussion_comment(number, self.remark(number), author=self.person(), at=at)
        for _ in range(rng.choice((0, 0, 1, 2))):
            text, author = words.paragraph(rng), self.person()
            self.later(moment, project.discussion_reply, said, text, author=author)
        if category == "Q&A" and rng.random() < 0.3:
            self.later(moment, project.answer, said)

    def open_release(self, *, at) -> None:
        count = len(self.project.releases) + 1
        self.project.add_release(
            f"v1.{count}.0", name=None if count % 3 == 0 else f"Release 1.{count}", body=words.paragraph(self.rng),
            author="ana", at=at, prerelease=count % 4 == 0,
        )  # fmt: skip
