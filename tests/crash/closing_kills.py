"""Kills of `dedupe apply` and `dedupe rollback`: what is on the forge afterwards, and what the journal says of it.

`apply` closes at once; `grace` is an apply that labels and tells first. One forge, one plan. Before each chain the forge's items are put back to what they were, and the database is a copy of
the one with the plan: so every chain begins with the same first steps.
"""

import copy
import dataclasses
import json
import pathlib
import shutil
import signal

import apsw

from crash.killing import Done, Forker, check_integrity
from dedupe.closing_lab import ClosingLab

COPIES = 3


class World:
    """The items of a project, put back whenever somebody asks."""

    def __init__(self, closing, numbers):
        self.closing, self.numbers = closing, numbers
        self.items = {number: self._fields(closing.item(number)) for number in numbers}
        self.shared = {
            name: self._copied(getattr(closing.project, name, None)) for name in ("comments", "notes", "links")
        }

    @staticmethod
    def _copied(value):
        return copy.copy(value) if isinstance(value, list | set | dict) else value

    def _fields(self, item):
        return {field.name: self._copied(getattr(item, field.name)) for field in dataclasses.fields(item)}

    def put_back(self):
        with self.closing.server.lock:
            self.closing.server.clock.advance(3600)  # the requests of an hour are not meant for hundreds of runs
            for number, fields in self.items.items():
                for name, value in fields.items():
                    setattr(self.closing.item(number), name, self._copied(value))
            for name, value in self.shared.items():
                if value is not None:
                    setattr(self.closing.project, name, self._copied(value))
            if hasattr(self.closing.project, "changed"):
                self.closing.project.changed()


@dataclasses.dataclass
class ClosingOutcome:
    points: tuple[str, ...]
    deaths: list[dict]
    problem: str = ""


class ClosingGround:
    """A forge with a plan of closings, and a copy of its database for every chain of kills."""

    def __init__(self, lab, folder: pathlib.Path, forker: Forker):
        self.closing = ClosingLab(lab)
        self.folder, self.forker = folder, forker
        self.numbers = self.closing.prepare(copies=COPIES)
        self.run = str(self.closing.planned())
        self.before = self.closing.portrait(self.numbers)
        self.world = World(self.closing, self.numbers)
        self.base = folder / "planned.db"
        self.closing.store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        shutil.copy(self.closing.app.config.db, self.base)
        self.environ = {**lab.environ(lab.good_token), "HOME": str(folder), "FORGELORE_EMBEDDER": "none"}
        self.environ |= {"FORGELORE_REQUESTS_PER_SECOND": "100"}
        if self.closing.named:
            self.environ["FORGELORE_MAINTAINERS"] = ",".join(self.closing.named)

    def command(self, db: pathlib.Path, step: str, **order) -> Done:
        more = {"apply": ["--unproven"], "grace": ["--unproven", "--close-after", "72"], "rollback": []}[step]
        verb = "rollback" if step == "rollback" else "apply"
        words = ["dedupe", verb, self.run, "--yes", *more, "--db", str(db)]
        return self.forker.run(words, self.environ, self.folder, no_waits=True, **order)

    def begin(self, name: str) -> pathlib.Path:
        db = self.folder / f"{name}.db"
        shutil.copy(self.base, db)
        self.world.put_back()
        return db

    def steps(self, step: str) -> dict[str, int]:
        """Run undisturbed once, and return how many steps of each kind that took."""
        db, log = self.begin(f"undisturbed-{step}"), self.folder / "steps.json"
        if step == "rollback":
            assert self.command(db, "apply").code == 0
        done = self.command(db, step, point="none", log=log)
        assert done.code == 0, done.err
        return json.loads(log.read_text(encoding="utf-8"))

    def write_positions(self, step: str) -> list[int]:
        """Run undisturbed once, and return which of its requests changed something, counted from 1."""
        db = self.begin(f"positions-{step}")
        if step == "rollback":
            assert self.command(db, "apply").code == 0
        since = len(self.closing.server.requests)
        assert self.command(db, step).code == 0
        sent, writes = self.closing.server.requests[since:], self.closing.writes(since)
        return [at for at, one in enumerate(sent, 1) if any(one is write for write in writes)]

    def kill(self, step: str, points: tuple[str, ...]) -> ClosingOutcome:
        """Apply (and roll back), dying at each point of one of them in turn; then in peace, and look at everything."""
        outcome = ClosingOutcome(points, [])
        db = self.begin(f"{step}-{'-'.join(points).replace(':', '')}")
        if step == "rollback":
            outcome.problem = self._in_peace(db, "apply")
        for point in points:
            log = self.folder / "death.json"
            done = self.command(db, step, point=point, log=log)
            if done.code == -signal.SIGKILL:
                outcome.deaths.append(json.loads(log.read_text(encoding="utf-8")))
            elif done.code:
                outcome.problem = outcome.problem or f"{point}: exit {done.code}: {done.err}"
            if check_integrity(db) != "ok":
                outcome.problem = outcome.problem or f"{point}: the file is damaged"
            outcome.problem = outcome.problem or self._unnamed(db)
        outcome.problem = outcome.problem or self._in_peace(db, step)
        if step != "rollback":
            outcome.problem = outcome.problem or self._in_peace(db, "rollback")
        return outcome

    def _in_peace(self, db: pathlib.Path, step: str) -> str:
        done = self.command(db, step)
        if done.code:
            return f"{step} in peace ended with {done.code}: {done.err}"
        return self._after_rollback(db) if step == "rollback" else self._after_apply(db, step)

    def _after_apply(self, db: pathlib.Path, step: str) -> str:
        expected = ("closed", 1, 1, 0) if step == "apply" else ("open", 0, 1, 1)
        for number in self.numbers[1:]:
            state, labels, _, _, comments = self.closing.portrait([number])[number]
            found = (state, self.count_events(number, "closed"), len(comments), len(labels))
            if found != expected:
                return f"{number} has state, closings, comments, labels {found} and not {expected}"
        return self._unnamed(db)

    def _after_rollback(self, db: pathlib.Path) -> str:
        found = self.closing.portrait(self.numbers)
        if found != self.before:
            return f"differs after the rollback: {found}"
        twice = [number for number in self.numbers if self.count_events(number, "reopened") > 1]
        return f"reopened twice: {twice}" if twice else self._unnamed(db)

    def _unnamed(self, db: pathlib.Path) -> str:
        """Everything that was ever closed, or commented, stands in the journal."""
        connection = apsw.Connection(str(db))
        try:
            named = set(connection.execute("SELECT number, step FROM write_journal"))
        finally:
            connection.close()
        for number in self.numbers:
            if self.count_events(number, "closed") and (number, "close") not in named:
                return f"{number} was closed, and no journal names it"
            if self.closing.portrait([number])[number][4] and (number, "comment") not in named:
                return f"{number} was commented, and no journal names it"
        return ""

    def count_events(self, number: int, what: str) -> int:
        item = self.closing.item(number)
        if hasattr(item, "state_events"):
            return sum(event.what == what for event in item.state_events)
        return sum(event.event == what for event in item.events)
