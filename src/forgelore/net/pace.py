"""How fast requests may leave, how often one may be tried, and how many the forge said are left."""

import threading
from collections.abc import Callable, Mapping
from typing import NamedTuple

from forgelore.net.policy import ATTEMPTS, Wait

PRIMARY = ("", "core", "graphql")  # GitLab names no resource; searches and the like have small limits of their own


class Pace:
    """At most `rate` requests a second over all threads, and a pause for everybody when the forge asks for one."""

    def __init__(self, rate: float, *, clock: Callable[[], float], sleep: Callable[[float], None]) -> None:
        self._gap = 1.0 / rate
        self._clock, self._sleep = clock, sleep
        self._next = 0.0
        self._guard = threading.Lock()

    def wait_turn(self) -> None:
        with self._guard:
            turn = max(self._next, self._clock())
            self._next = turn + self._gap
        self._sleep(max(0.0, turn - self._clock()))  # also for no time at all: a command that was stopped ends here

    def pause(self, seconds: float) -> None:
        with self._guard:
            self._next = max(self._next, self._clock() + seconds)


class Manner(NamedTuple):
    """How one request is to be treated: how many failures are too many, and what may not be assumed of it."""

    attempts: int = ATTEMPTS
    is_once: bool = False  # sent again only when it surely never arrived
    is_text: bool = False  # the body need not be JSON
    is_graphql: bool = False  # a 200 may hold errors


USUAL = Manner()
ONCE = Manner(is_once=True)
GRAPHQL = Manner(is_graphql=True)
OPTIONAL_TEXT = Manner(attempts=2, is_text=True)  # nice to have: not worth half a minute of waiting


class Tries:
    """How often one request failed, and how often it met a limit: a limit is no failure and uses up no attempt."""

    def __init__(self, manner: Manner = USUAL) -> None:
        self.failures = self.limits = 0
        self.manner = manner

    def count(self, decision: Wait) -> None:
        self.limits += decision.is_limit
        self.failures += not decision.is_limit


class Quota:
    """What the forge last said is left, by resource. Answers of one window overtake each other: the least counts."""

    def __init__(self) -> None:
        self._left: dict[str, tuple[int, int]] = {}  # resource -> (end of its window, requests left in it)

    def note(self, headers: Mapping[str, str]) -> None:
        left = _number(headers.get("x-ratelimit-remaining") or headers.get("ratelimit-remaining"))
        reset_s = _number(headers.get("x-ratelimit-reset") or headers.get("ratelimit-reset")) or 0
        name = headers.get("x-ratelimit-resource", "")
        if left is None or name not in PRIMARY:
            return
        known_s, known = self._left.get(name, (0, left))
        self._left[name] = (reset_s, min(left, known) if known_s == reset_s else left)

    def smallest(self, now_s: float) -> int | None:
        """Return the least of what is left in the windows that are still open; None when nothing is known."""
        return min((left for reset_s, left in self._left.values() if not 0 < reset_s <= now_s), default=None)


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and text.isascii() and text.isdecimal() else None
