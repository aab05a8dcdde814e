"""Vague: an item that says too little to be compared with others. One notion for triage and deduplication."""

import re
from collections.abc import Collection

from forgelore.core.compare.boilerplate import USUAL, without_boilerplate
from forgelore.core.search.cleaning import is_form_line, telling_text

_MIN_WORDS = 3  # below that, "Crash" resembles every crash
_WORD = re.compile(r"[^\W\d_]{2,}")


def why_not_compare(title: str, text: str, boilerplate: Collection[int] = ()) -> str:
    """Return why an item says too little to be compared ("Crash", "Bug report" over an empty form); "": it does not.

    A form that nobody filled in is as good as empty: `boilerplate` is what every item of the project says, which tells
    nothing of this one.
    """
    telling = telling_text(without_boilerplate(text, frozenset(boilerplate) | USUAL))[:2_000]
    if len({word.lower() for word in _WORD.findall(f"{title}\n{telling}")}) < _MIN_WORDS:
        return "its text is too short to compare"
    return "" if telling.strip() or not is_form_line(title) else "it is a form that nobody filled in"
