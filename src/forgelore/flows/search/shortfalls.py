"""Shortfalls of an index: what a search cannot find yet, as warnings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from forgelore.errors import LoreError, StoreError
from forgelore.store.db import Store
from forgelore.store.filters import Filters
from forgelore.store.waiting import count_waiting
from forgelore.words import JobKind

if TYPE_CHECKING:
    from forgelore.core.search.vectors import Vector
    from forgelore.flows.search.run import SearchMode


def vector_or_warning(
    mode: "SearchMode", make: "Callable[[], Vector]", warnings: list[str], *, verb: str
) -> "tuple[SearchMode, Vector | None]":
    """Return the vector and the mode; where nobody makes one, words are left, and a warning."""
    try:
        return mode, make()
    except StoreError:
        raise  # that is the file: words would fare no better
    except LoreError as error:
        if mode == "semantic":
            raise
        warnings.append(f"{verb} by words alone: {error.message}" + (f" ({error.hint})" if error.hint else ""))
        return "lexical", None


def warn_of_waiting(store: Store, filters: Filters) -> list[str]:
    """Return a warning when items of the projects looked at are not indexed yet: after a killed import, a sync without
    documents. Whatever queues an item does so in the transaction that saves it, so that the queue knows them all.
    """
    waiting = count_waiting(store, JobKind.DOCUMENT, filters.project_ids, is_public=filters.is_public)
    if not waiting:
        return []
    items = "1 item waits" if waiting == 1 else f"{waiting:,} items wait"
    return [f"{items} to be indexed, and what is new in them is not found yet; run: forgelore generate-docs"]


def warn_of_gaps(store: Store, filters: Filters, warnings: list[str]) -> None:
    waiting = count_waiting(store, JobKind.EMBED, filters.project_ids, is_public=filters.is_public)
    if waiting:
        warnings.append(f"{waiting:,} documents have no vectors yet and are found by words alone (forgelore embed)")
