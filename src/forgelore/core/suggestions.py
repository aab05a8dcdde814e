"""Suggestions: the known name that a misspelt one was probably meant to be."""

from collections.abc import Iterable

_CUTOFF = 0.7  # of difflib's ratio: one letter of three may differ


def suggest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name nearest to this one, however it is capitalised; None when none is near.

    "I-ICEE" -> "I-ICE"
    """
    from difflib import get_close_matches  # few commands have anything to suggest

    by_key: dict[str, str] = {}
    for one in known:
        by_key.setdefault(one.lower().removeprefix("@"), one)
    near = get_close_matches(name.lower().removeprefix("@"), by_key, n=1, cutoff=_CUTOFF)
    return by_key[near[0]] if near else None
