"""The bot's health log: how it has been doing, in a small file beside its index.

It is for a person who never looks at runs that "succeed": written by every run, and read by the next one and by
`forgelore doctor`. A bot that cannot push leaves no record; its silence is measured by the dates of the branch and of
the project's newest items (`lag`).
"""

import json
from typing import Any, NamedTuple

from forgelore.records import OutcomeTally
from forgelore.text.dates import ago, format_ms

FILE = "health.json"
KEPT = 30  # runs
PATIENCE_MS = 7 * 86_400_000
FILED_SLACK_MS = 2 * 3_600_000  # a new item starts a run, which may wait for others
CHANGED_SLACK_MS = 2 * 86_400_000  # a comment starts none, and the daily run may be late
_VERSION = 1
_MAX_VERSIONS = 20


class HealthEntry(NamedTuple):
    """One run of the bot: when, for which event, and what went wrong."""

    at: int
    event: str
    problem: str = ""  # empty: it did all it should


class HealthLog(NamedTuple):
    """How a bot has been doing, and what came of what it said."""

    runs: tuple[HealthEntry, ...] = ()  # oldest first
    last_success: int | None = None
    failing_since: int | None = None
    known: int = 0
    total: int | None = None
    outcomes: tuple[OutcomeTally, ...] = ()  # of each version, the newest first

    def plus(self, run: HealthEntry, *, known: int, total: int | None) -> "HealthLog":
        is_good = not run.problem
        return HealthLog(
            (*self.runs, run)[-KEPT:], run.at if is_good else self.last_success,
            None if is_good else self.failing_since or run.at, known, total, self.outcomes,
        )  # fmt: skip

    def complaint(self, now_ms: int) -> str:
        """Return what to say about a bot that has not worked for long; empty when it has."""
        if self.failing_since is None or now_ms - self.failing_since < PATIENCE_MS:
            return ""
        failed = sum(bool(run.problem) for run in self.runs)
        problem = next((run.problem for run in reversed(self.runs) if run.problem), "")
        worked = f"it last worked {ago(self.last_success, now_ms)}" if self.last_success else "it has never worked"
        since = (format_ms(self.failing_since) or "")[:10]
        return (
            f"triage has been failing since {since} ({failed} of the last {len(self.runs)} runs; {worked}): {problem}"
        )


def lag(pushed_at: int, *, filed_at: int | None, changed_at: int | None) -> int:
    """Return for how many milliseconds the branch has missed what it should hold; 0 when it keeps up.

    `filed_at` and `changed_at` are of the project's newest items: what was filed two hours after the last push, or
    changed two days after it, should have led to another.
    """
    slacks = ((filed_at, FILED_SLACK_MS), (changed_at, CHANGED_SLACK_MS))
    return max((at - pushed_at for at, slack in slacks if at is not None and at - pushed_at > slack), default=0)


def build_botlog(log: HealthLog) -> str:
    outcomes = [one._asdict() for one in log.outcomes[:_MAX_VERSIONS]]
    data = {
        "version": _VERSION, **log._asdict(), "runs": [run._asdict() for run in log.runs], "outcomes": outcomes,
    }  # fmt: skip
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def parse_botlog(text: str) -> HealthLog:
    """Return the log; an empty one when the file is not ours: it says how the bot is, and must not stop it."""
    try:
        data = json.loads(text)
        runs = tuple(_run(one) for one in data["runs"][-KEPT:])
        return HealthLog(
            runs,
            _time(data["last_success"]),
            _time(data["failing_since"]),
            _number(data["known"]),
            _time(data["total"]),
            tuple(_tally(one) for one in data.get("outcomes", ())[:_MAX_VERSIONS]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
        return HealthLog()


def _run(data: dict[str, Any]) -> HealthEntry:
    return HealthEntry(_number(data["at"]), str(data["event"])[:100], str(data["problem"])[:500])


def _tally(data: dict[str, Any]) -> OutcomeTally:
    counts = (_number(data[name]) for name in OutcomeTally._fields[1:])
    return OutcomeTally(str(data["version"])[:40], *counts)


def _time(value: object) -> int | None:
    return None if value is None else _number(value)


def _number(value: object) -> int:
    """Return a number that a date can be made of."""
    number = int(value)  # type: ignore[call-overload]
    if not 0 <= number < 253_402_300_800_000:
        raise ValueError(number)
    return int(number)
