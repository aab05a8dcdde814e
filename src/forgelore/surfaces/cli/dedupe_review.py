"""`dedupe review`: pairs one after another, one key for each, and what was answered.

On a terminal a key is enough, without Enter. Where standard input is something else each line is an answer, so that
answers can be scripted. Every answer is saved at once: whoever leaves in the middle, by whatever key, loses nothing.

Items without a list of candidates are compared first. On a terminal that goes on in the background, and the first pairs
are shown while it does.
"""

import argparse
import contextlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from forgelore.errors import LoreError, Stopped, UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.cli.progress import watched
from forgelore.surfaces.cli.review_screen import HELP, show_pair
from forgelore.surfaces.present.dedupe import cut_queue, describe_forecast, describe_next
from forgelore.surfaces.present.text import clean, counted_noun, number, table, width

if TYPE_CHECKING:
    from forgelore.api import AnsweredPair, ReviewPair, ReviewQueue

_KEYS = {"s": "same", "r": "related", "t": "twin", "n": "not", "u": "unsure"}
_PROMPT = "s same · r related · t twin · n not · u unsure · m more · o open · z undo · ? help · q quit > "
_REFRESH = 20  # answers after which the level is fitted again
_FIRST_S = 2.0  # how long a reviewer waits before the first pairs are looked for
_MORE_S = 1.0  # ... before more are
_LOOK_S = 0.2
_PAIR = 2
_ESCAPE, _CTRL_D = b"\x1b", "\x04"
_MULTIBYTE = 0x80  # the first byte of a letter beyond ASCII is no smaller
_SEQUENCE_S = 0.05  # between the bytes of one key


def add_review_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "words",
        metavar="PROJECT",
        nargs="*",
        help="default: the clone's project, or the only one; of --answer two items",
    )
    parser.add_argument("--project", metavar="NAME", help="the same as PROJECT, as in other commands")
    parser.add_argument("--kind", choices=("issue", "change"), help="only these items; default: both")
    parser.add_argument("--limit", type=int, default=50, metavar="N", help="how many pairs to ask about (%(default)s)")
    parser.add_argument("--as", dest="reviewer", metavar="NAME", help="whose answers; default: FORGELORE_ME, or git's")
    parser.add_argument(
        "--closed-since",
        metavar="TIME",
        help="also compare with what was closed since then, such as 90d; default: within a year",
    )
    parser.add_argument(
        "--second-opinion", action="store_true", help="ask about what others answered, and you have not"
    )
    parser.add_argument("--answer", metavar="WORD", help="answer about two items without being asked: same, related …")
    parser.add_argument("--undo", action="store_true", help="take back your last answer")
    parser.add_argument("--answers", action="store_true", help="list what people answered, disagreements first")


def run_review(context: Context, arguments: argparse.Namespace) -> "ReviewQueue | AnsweredPair | list[AnsweredPair]":
    if sum(map(bool, (arguments.answer, arguments.undo, arguments.answers))) > 1:
        raise UsageError("--answer, --undo and --answers cannot be combined", hint="use one of them")
    dedupe, pair = context.history.dedupe, arguments.words if arguments.answer else ()
    if arguments.answer and len(pair) != _PAIR:
        raise UsageError("--answer is about two items", hint="write: forgelore dedupe review '#12' '#34' --answer same")
    if len(arguments.words) > max(1, len(pair)):
        raise UsageError(f"one project at a time, not {len(arguments.words)}", hint="name one project")
    arguments.project = arguments.project or next((word for word in arguments.words if not pair), None)
    if pair:
        said = dedupe.answer(pair[0], pair[1], arguments.answer, project=arguments.project, reviewer=arguments.reviewer)
        context.print(_describe_answer(said))
        return said
    if arguments.undo:
        undone = dedupe.take_back(project=arguments.project, reviewer=arguments.reviewer)
        context.print(f"{undone.newer} and {undone.older}: your answer is taken back")
        return undone
    if arguments.answers:
        return _list_answers(context, arguments)
    return cut_queue(_Review(context, arguments).run())


def _describe_answer(said: "AnsweredPair") -> str:
    if said.is_disputed:
        return f"{said.newer} and {said.older}: people disagree ({_describe_people(said)})"
    return f"{said.newer} and {said.older}: {said.answer}"


def _describe_people(said: "AnsweredPair") -> str:
    return ", ".join(f"{clean(who)}: {answer}" for who, answer in said.by.items())


def _list_answers(context: Context, arguments: argparse.Namespace) -> "list[AnsweredPair]":
    found = context.history.dedupe.list_answers(project=arguments.project, kind=arguments.kind)
    rows = [[one.newer, one.older, one.answer or "disputed", _describe_people(one), clean(one.title)] for one in found]
    head = ["newer", "older", "answer", "by", "title"]
    context.print(*table(rows, grow=4, head=head, style=context.style) or ["no answers yet"])
    return found


class _Review:
    """One sitting: the queue, where the reviewer is in it, and what was answered."""

    def __init__(self, context: Context, arguments: argparse.Namespace) -> None:
        self._context, self._options, self._dedupe = context, arguments, context.history.dedupe
        self._project = context.history.projects.name(arguments.project)
        self._answered: list[ReviewPair] = []
        self._is_unfolded = self._has_related = False

    def run(self) -> "ReviewQueue":
        """Ask until somebody quits or nothing is left; return what is left."""
        context, queue = self._context, self._load()
        if context.is_interactive:
            is_needed = bool(queue.uncompared)
            comparing = _comparing(context, self._project, self._options.kind, is_needed=is_needed)
            with comparing as is_busy, _single_keys() as read:
                if is_needed:
                    context.remark("comparing what was not compared yet; the first pairs are shown meanwhile")
                    _wait(is_busy, _FIRST_S)
                return self._ask_all(read, is_busy, is_growing=is_needed)
        if queue.uncompared:
            with watched(context, queue.project) as watcher:
                self._dedupe.find_candidates(project=self._project, kind=self._options.kind, watcher=watcher)
            queue = self._load()
        return queue if context.is_data else self._ask_all(_read_line, lambda: False, is_growing=False)

    def _load(self) -> "ReviewQueue":
        options = self._options
        return self._dedupe.queue(
            project=self._project, kind=options.kind, limit=options.limit, closed_since=options.closed_since,
            reviewer=options.reviewer, second_opinion=options.second_opinion,
        )  # fmt: skip

    def _ask_all(self, read: Callable[[], str], is_busy: Callable[[], bool], *, is_growing: bool) -> "ReviewQueue":
        """Ask about one pair after the other. After every 20 answers, and at the end of a queue that is still growing,
        the rest is read anew.
        """
        context, at = self._context, 0
        queue, waiting = self._load_rest(is_busy)
        context.print(f"{context.style.bold(clean(queue.project))}: {describe_forecast(queue)}")
        while at < len(waiting):
            context.print("", context.style.bold(self._describe_place(at, waiting)))
            try:
                moved = self._ask(waiting[at], read)
                if moved is None:
                    break
                at += moved
                is_round = moved > 0 and len(self._answered) % _REFRESH == 0
                if is_round or (is_growing and at == len(waiting)):
                    queue, waiting[at:] = self._load_rest(is_busy)
            except KeyboardInterrupt:  # what was answered is saved
                context.print("")
                break
            if is_round:
                context.print("", context.style.bold(describe_next(queue)))
        return self._end()

    def _load_rest(self, is_busy: Callable[[], bool]) -> "tuple[ReviewQueue, list[ReviewPair]]":
        """Return the queue and what of it is asked next. While it is still growing, series wait, and so does whoever
        has answered all the others.
        """
        room = self._options.limit - sum(one.pile == "pairs" for one in self._answered)
        while True:
            is_growing = is_busy()
            queue = self._load()
            pairs = [one for one in queue.pairs if one.pile == "pairs"][: max(0, room)]
            if not is_growing:
                return queue, [*pairs, *(one for one in queue.pairs if one.pile == "series")]
            if pairs or room <= 0:
                return queue, pairs
            _wait(is_busy, _MORE_S)

    def _describe_place(self, at: int, waiting: "list[ReviewPair]") -> str:
        """Return the place in its pile: what was said of "these 50" is not about the series behind them."""
        pair = waiting[at]
        piles = [one.pile for one in waiting]
        name = "twins and siblings" if pair.pile == "series" else f"{pair.kind}s"
        return f"{number(piles[: at + 1].count(pair.pile))} of {number(piles.count(pair.pile))} · {name}"

    def _ask(self, pair: "ReviewPair", read: Callable[[], str]) -> int | None:
        """Ask about one pair; return how far to go on from it, None to quit."""
        self._show(pair)
        while True:
            self._context.print_prompt(_PROMPT)
            key = read()
            self._context.print(key)
            if key in ("", "q"):
                return None
            if key in _KEYS:
                self._save(pair, key)
                return 1
            if key == "z" and self._answered:
                self._undo()
                return -1
            if key == "m":
                self._is_unfolded = not self._is_unfolded
                self._show(pair)
            else:
                self._help(key, pair)

    def _show(self, pair: "ReviewPair") -> None:
        context = self._context
        context.print("", *show_pair(pair, context.style, width(), is_unfolded=self._is_unfolded), "")

    def _save(self, pair: "ReviewPair", key: str) -> None:
        said = self._dedupe.answer(
            pair.newer.ref, pair.older.ref, _KEYS[key], project=self._project, reviewer=self._options.reviewer
        )
        self._answered.append(pair)
        self._has_related = self._has_related or _KEYS[key] == "related"
        self._is_unfolded = False
        self._context.print(f"  {_describe_answer(said)}")

    def _undo(self) -> None:
        undone = self._dedupe.take_back(project=self._project, reviewer=self._options.reviewer)
        self._answered.pop()
        self._is_unfolded = False
        self._context.print(f"  {undone.newer} and {undone.older}: taken back")

    def _help(self, key: str, pair: "ReviewPair") -> None:
        context = self._context
        if key == "o":
            self._open(pair)
        elif key == "z":
            context.print("  you answered nothing this time; your last answer: forgelore dedupe review --undo")
        elif key == "?":
            context.print(*HELP.splitlines())
        else:
            context.print(f"  unknown key: {clean(key)}; ? shows them all")

    def _open(self, pair: "ReviewPair") -> None:
        for item in (pair.newer, pair.older):
            try:
                self._context.open_page(self._context.history.find_page(item.ref, project=self._project))
            except LoreError as error:
                self._context.print(f"  {clean(error.message)}")

    def _end(self) -> "ReviewQueue":
        """Say what came of it and what comes next."""
        context, queue = self._context, self._load()
        left = f"; {number(queue.left)} left" if queue.left else ""
        context.print("", f"{counted_noun(len(self._answered), 'pair')} answered{left}")
        if queue.uncompared:
            context.print(f"{number(queue.uncompared)} items are not compared yet; the next review goes on with them")
        if queue.disputed:
            context.print(
                f"people disagree about {counted_noun(queue.disputed, 'pair')}: forgelore dedupe review --answers"
            )
        if self._answered:
            context.print("next: forgelore dedupe run, which plans what you called the same")
        if self._has_related:
            context.print("what you called related: forgelore dedupe link, which posts it once you say --yes")
        return queue


def _wait(is_busy: Callable[[], bool], seconds: float) -> None:
    """Wait until something is done, for so long at most."""
    deadline = time.monotonic() + seconds
    while is_busy() and time.monotonic() < deadline:
        time.sleep(_LOOK_S)


@contextlib.contextmanager
def _comparing(
    context: Context, project: str | None, kind: str | None, *, is_needed: bool
) -> Iterator[Callable[[], bool]]:
    """Compare what was not compared yet, beside the reviewer; what was found by the end is kept."""
    from forgelore.api import Task

    if not is_needed:
        yield lambda: False
        return
    task: Task[object] = Task()
    history = context.another_history()

    def compare() -> None:
        with contextlib.suppress(LoreError, Stopped):  # `task.error` has it
            history.run(task, lambda one: one.dedupe.find_candidates(project=project, kind=kind))

    worker = threading.Thread(target=compare, daemon=True)
    worker.start()
    try:
        yield worker.is_alive
    finally:
        task.cancel()
        worker.join()
        history.close()
        if isinstance(task.error, LoreError):
            context.warn(f"not everything could be compared: {task.error.message}")


@contextlib.contextmanager
def _single_keys() -> Iterator[Callable[[], str]]:
    """Let every key arrive at once, unseen, and return what reads one. The terminal is as it was before when this ends,
    however it does.
    """
    try:
        import termios
        import tty
    except ImportError:  # Windows: a line for each answer
        yield _read_line
        return
    stream = sys.stdin.fileno()
    before = termios.tcgetattr(stream)
    tty.setcbreak(stream, termios.TCSADRAIN)  # what was typed early counts
    try:
        yield _read_key
    finally:
        termios.tcsetattr(stream, termios.TCSADRAIN, before)


def _read_key() -> str:
    """Return one key in lower case; "" where nobody types any more, or wants to leave: Ctrl-D."""
    stream = sys.stdin.fileno()
    typed = os.read(stream, 1)
    while typed and typed[0] >= _MULTIBYTE and not _is_complete(typed):
        typed += os.read(stream, 1)
    if typed == _ESCAPE:
        _drop_sequence(stream)
    key = typed.decode(errors="replace").lower()
    return "" if key == _CTRL_D else key


def _is_complete(typed: bytes) -> bool:
    """Tell whether these bytes are a letter, or can be no beginning of one."""
    try:
        typed.decode()
    except UnicodeDecodeError as error:
        return error.reason != "unexpected end of data"
    return True


def _drop_sequence(stream: int) -> None:
    """Read the rest of an arrow or another key that sends several bytes: together they are one unknown key."""
    import select

    while select.select([stream], [], [], _SEQUENCE_S)[0]:
        if os.read(stream, 1)[:1].isalpha():
            break


def _read_line() -> str:
    """Return the first letter of a line; "" at the end of the input."""
    line = sys.stdin.readline()
    word = line.strip().lower()
    return (word[:1] if word in (*_KEYS.values(), "quit") else word) if line else ""


COMMANDS = {
    "dedupe review": Command(
        add_review_arguments,
        run_review,
        (
            "forgelore dedupe review acme/web                 one key for each pair; go on whenever you like",
            "forgelore dedupe review --kind issue --limit 20",
            "forgelore dedupe review --answers                what people answered, disagreements first",
            "forgelore dedupe review --second-opinion         what others have answered, and you have not",
            "forgelore dedupe review '#12' '#34' --answer same",
        ),
    ),
}
