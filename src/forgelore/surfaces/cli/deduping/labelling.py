"""The walk through a blind sample: two texts side by side or one below the other, one key for each pair.

Nothing on the screen tells what a judge thinks. Every answer is kept at once, so that a walk may end at any pair.
"""

from collections.abc import Callable
from itertools import zip_longest
from typing import TYPE_CHECKING

from forgelore.surfaces.cli.terminal import cells, clean, fit, number, width, wrap

if TYPE_CHECKING:
    from forgelore.api import BlindItem, BlindPair, PairLabel
    from forgelore.surfaces.cli.command import Context

LABELS = {"y": "duplicate", "n": "different", "r": "related", "s": "unsure"}
_PROMPT = "duplicates? y yes · n no · r related · s skip · m more text · q quit > "
_WIDE = 100  # columns from which on two texts stand side by side
_LINES, _ALL_LINES = 16, 400


def walk(context: "Context", pairs: "list[BlindPair]", save: "Callable[[PairLabel], object]") -> int:
    """Ask about each pair until somebody quits; returns how many were answered."""
    answered = 0
    for at, pair in enumerate(pairs, 1):
        context.print("", context.style.bold(f"{number(at)} of {number(len(pairs))} ({pair.kind}s)"))
        show_pair(context, pair)
        label = _ask(context, pair)
        if label is None:
            break
        save(label)
        answered += 1
    return answered


def show_pair(context: "Context", pair: "BlindPair", *, lines: int = _LINES) -> None:
    """Print both items, the one with the smaller number first."""
    columns = width()
    if columns < _WIDE:
        for item in (pair.first, pair.second):
            context.print(*_item(item, columns, lines), "")
        return
    half = (columns - 3) // 2
    left, right = (_item(item, half, lines) for item in (pair.first, pair.second))
    for first, second in zip_longest(left, right, fillvalue=""):
        context.print(f"{_padded(first, half)} │ {fit(second, half)}".rstrip())


def _item(item: "BlindItem", columns: int, lines: int) -> list[str]:
    body = [line.rstrip() for line in wrap(item.body, columns)] or [""]
    shown = body[:lines]
    rest = [f"… {number(len(body) - lines)} more lines"] if len(body) > lines else []
    return [fit(clean(f"#{item.number} {item.title}"), columns), fit(clean(item.url), columns), "", *shown, *rest]


def _padded(text: str, columns: int) -> str:
    cut = fit(text, columns)
    return cut + " " * (columns - cells(cut))


def _ask(context: "Context", pair: "BlindPair") -> "PairLabel | None":
    """Return what the person says; None: they quit, or there is nobody any more."""
    from forgelore.api import PairLabel

    while True:
        try:
            key = input(_PROMPT).strip().lower()[:1]
        except EOFError:
            return None
        if key == "q":
            return None
        if key == "m":
            show_pair(context, pair, lines=_ALL_LINES)
        if key in LABELS:
            return PairLabel(pair.kind, pair.number, pair.target, LABELS[key])  # type: ignore[arg-type]
