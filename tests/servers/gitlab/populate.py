"""A deterministic, varied history for tests and benchmarks: the same seed gives the same project.

Times lie between `start` and `end`, before the server's now. Everything here is readable by any signed-in
reader, so that `truth()` is what such a client must end up with. GitLab has no repository discussions.
"""

import datetime as dt
import random

from ..base import parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from .records import GHOST, File, Item, stamp
from .threads import touch

AUTHORS = ("ana", "ben", "chidi", "dora", "emre", "fatima", "goran", "hana", "renovate-bot", GHOST, None)
WEIGHTS = (18, 14, 12, 10, 9, 8, 7, 6, 6, 1, 1)
LABELS = (
    "bug",
    "feature",
    "docs",
    "needs info",
    "good first issue",
    "regression",
    "type::chore",
    "优先级::高",
    "p1",
    "wontfix",
)
PARTS = (
    "login page",
    "sync engine",
    "search box",
    "CLI parser",
    "cache layer",
    "webhook",
    "export job",
    "日本語入力",
)
FAULTS = (
    "crashes",
    "hangs forever",
    "returns 500",
    "loses data",
    "is slow",
    "shows � instead of é",
    "breaks on Windows",
)
WHEN = (
    "after upgrade to 2.{n}",
    "with {n} workers",
    "when offline",
    "on the first start",
    "behind a proxy",
    "since yesterday 😱",
)
VERBS = ("Fix", "Refactor", "Speed up", "Document", "Add tests for", "Drop legacy code in", "Überarbeite")
TALK = (
    "I can reproduce this with version 2.{n}.",
    "Thanks! Could you attach the log?\r\nPlease use `--debug`.",
    "Same here 👍",
    "Stack trace:\n```\nValueError: bad value #{n}\n  at worker.py:{n}\n```",
    "この問題は私の環境でも発生します。",
    "LGTM, one question about naming.",
    "I think this is related to the cache, see line {n}.",
    "Reverted in the meantime.",
)
FOLDERS = ("src/core", "src/net", "docs", "tests", "web/app")
FILES = ("main.py", "client.go", "index.md", "test_sync.py", "größe.txt", "app.vue")


def populate(
    project,
    *,
    seed: int,
    issues: int,
    changes: int,
    discussions: int = 0,
    releases: int = 3,
    comments_per_item: int = 3,
    start: str = "2025-01-01T00:00:00Z",
    end: str | None = None,
) -> None:
    """Fill `project`. `discussions` is there for the sake of a common signature and does nothing."""
    now = project.world.clock.now()
    first, last = parse_time(start), parse_time(end) if end else now - dt.timedelta(days=1)
    if not first < last <= now:
        raise ValueError("start must lie before end, and end not after the server's now")
    History(project, random.Random(seed), first, last).write(issues, changes, releases, comments_per_item)


class History:
    def __init__(self, project, rng: random.Random, first: dt.datetime, last: dt.datetime):
        self.project = project
        self.rng = rng
        self.first = first
        self.span_s = (last - first).total_seconds()

    def write(self, issues: int, changes: int, releases: int, comments: int) -> None:
        for name in LABELS:
            self.project.add_label(name, color=f"#{self.rng.randrange(1 << 24):06x}")
        kinds = ["issue"] * issues + ["change"] * changes
        self.rng.shuffle(kinds)
        moments = sorted(self.rng.random() for _ in kinds)
        for kind, moment in zip(kinds, moments, strict=True):
            self.write_item(kind, moment, comments)
        for n in range(releases):
            moment = self.time((n + 1) / (releases + 1))
            name = None if n % 3 == 2 else f"Version 1.{n}"
            text = f"## What's new\r\n\r\n- fixes #{n + 1}\n- faster 🚀"
            self.project.add_release(f"v1.{n}.0", name=name, body=text, author="ana", at=moment)

    def time(self, share: float) -> str:
        return stamp(self.first + dt.timedelta(seconds=self.span_s * share))

    def author(self) -> str | None:
        return self.rng.choices(AUTHORS, WEIGHTS)[0]

    def write_item(self, kind: str, moment: float, comments: int) -> None:
        rng, project = self.rng, self.project
        labels = rng.sample(LABELS, rng.choice((0, 0, 1, 1, 2, 3)))
        title, body, author = self.title(kind), self.body(kind), self.author()
        item = project.new_item(kind, title, body, author, labels, self.time(moment))
        if kind == "change":
            self.fill_change(item)
        project.mention(item, body, author, item.created_at)
        for _ in range(rng.randint(0, 2 * comments)):
            moment += (1 - moment) * min(1.0, rng.expovariate(200))
            self.write_note(item, moment)
        moment += (1 - moment) * min(1.0, rng.expovariate(100))
        self.settle(item, self.time(moment))

    def fill_change(self, item: Item) -> None:
        item.head, item.base = f"topic/{item.iid}", self.project.default_branch
        files = {f.new_path: f for f in (self.file() for _ in range(self.rng.randint(1, 6)))}
        item.files = list(files.values())

    def file(self) -> File:
        rng = self.rng
        path = f"{rng.choice(FOLDERS)}/{rng.randrange(300)}/{rng.choice(FILES)}"
        status = rng.choices(("modified", "added", "deleted", "renamed"), (6, 2, 1, 1))[0]
        return File(status, f"old/{path}" if status == "renamed" else path, path)

    def title(self, kind: str) -> str:
        rng = self.rng
        if kind == "change":
            draft = "Draft: " if rng.random() < 0.05 else ""
            return f"{draft}{rng.choice(VERBS)} the {rng.choice(PARTS)}"
        return f"{rng.choice(PARTS)} {rng.choice(FAULTS)} {self.filled(WHEN)}"

    def filled(self, templates) -> str:
        return self.rng.choice(templates).replace("{n}", str(self.rng.randrange(1, 60)))

    def body(self, kind: str) -> str | None:
        roll = self.rng.random()
        if roll < 0.03:
            return "" if roll < 0.02 else None
        text = "\n\n".join(self.filled(TALK) for _ in range(self.rng.randint(1, 4)))
        if roll > 0.8:
            text = text.replace("\r\n", "\n").replace("\n", "\r\n")
        return f"{text}\n\n{self.reference(kind)}".rstrip() if roll < 0.4 else text

    def reference(self, kind: str) -> str:
        """A reference to an earlier issue, as people write them."""
        number = self.rng.randint(1, max(1, len(self.project.issues)))
        if kind == "change":
            return self.rng.choice(
                (f"Fixes #{number}", f"Closes: #{number}", f"Related to #{number}", "see other/repo#3")
            )
        return self.rng.choice(
            (f"Maybe a duplicate of #{number}", f"See also #{number}", "see other/repo#3", "like !1")
        )

    def write_note(self, item: Item, moment: float) -> None:
        rng, project, at = self.rng, self.project, self.time(moment)
        text, author = self.filled(TALK), self.author()
        roll = rng.random()
        if roll < 0.06:
            text = f"{text}\n\n{self.reference(item.kind)}"
        if item.kind == "change" and roll > 0.6:
            self.review(item, text, author, at, resolved=roll > 0.8)
        elif roll > 0.85:
            thread = project.discuss(item.kind, item.iid, text, author=author, at=at)
            project.reply(item.kind, item.iid, thread, self.filled(TALK), author=self.author(), at=at)
        else:
            project.comment(item.kind, item.iid, text, author=author, at=at)

    def review(self, item: Item, text, author, at: str, *, resolved: bool) -> None:
        project, file = self.project, self.rng.choice(item.files)
        line = self.rng.randint(1, 400)
        place = {"old_line": line} if file.status == "deleted" else {"line": line}
        thread = project.discuss("change", item.iid, text, author=author, path=file.new_path, at=at, **place)
        if resolved:
            project.reply("change", item.iid, thread, "Done, thanks.", author=item.author, at=at)
            project.resolve(item.iid, thread, by="ana", at=at)

    def settle(self, item: Item, at: str) -> None:
        project, roll = self.project, self.rng.random()
        if item.kind == "change":
            if roll < 0.6:
                project.merge(item.iid, self.author(), at=at)
            elif roll < 0.75:
                project.close("change", item.iid, self.author(), at=at)
        elif roll < 0.06 and item.iid > 1:
            project.mark_duplicate(item.iid, self.rng.randint(1, item.iid - 1), self.author(), at=at)
        elif roll < 0.55:
            project.close("issue", item.iid, self.author(), at=at)
        else:
            touch(item, at)
