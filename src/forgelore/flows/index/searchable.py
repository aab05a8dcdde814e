"""Whether a store can be searched at all: the short look of `doctor`. The long one is `stats --check`."""

from typing import Literal, NamedTuple

from forgelore.errors import StoreError
from forgelore.store.db import Store
from forgelore.store.engine.fulltext_check import find_unmatched
from forgelore.store.health import count_all_documents
from forgelore.store.live_items import count_live
from forgelore.store.schema_check import find_gaps
from forgelore.store.waiting import count_waiting
from forgelore.words import JobKind

_ASKED = 20  # documents: some milliseconds
_REPAIR = "run: forgelore stats --check --repair"


class Searchable(NamedTuple):
    """`warning`: nothing is broken, and not everything can be found yet."""

    status: Literal["ok", "warning", "error"]
    message: str
    hint: str = ""


def look_at_search(store: Store, *, is_public: bool = False) -> Searchable:
    """Look for tables that are missing, for documents, and for some of those by their own words. `is_public`: nothing
    of confidential items is counted or quoted.
    """
    missing = [gap.name for gap in find_gaps(store) if gap.type == "table"]
    if missing:
        return Searchable("error", f"tables are missing: {', '.join(missing)}", _REPAIR)
    try:
        return _look_at_documents(store, is_public=is_public)
    except StoreError as error:
        return Searchable("error", error.message, _REPAIR)


def _look_at_documents(store: Store, *, is_public: bool) -> Searchable:
    items = count_live(store, is_public=is_public)
    documents = count_all_documents(store, is_public=is_public)
    waiting = count_waiting(store, JobKind.DOCUMENT, is_public=is_public)
    if not items:
        return Searchable("warning", "nothing to search yet", "fetch a project: forgelore sync OWNER/REPO")
    if not documents:
        message = f"{items:,} items and no documents: nothing can be found"
        if waiting:  # a fetch that was cut off, or --no-docs
            return Searchable("warning", message, "run: forgelore generate-docs")
        return Searchable("error", message, _REPAIR)
    missed, _ = find_unmatched(store, _ASKED)
    if missed:
        word = "a word" if is_public else f"the word {missed[0][1]!r}"
        return Searchable("error", f"full text does not find {word} of its own documents", _REPAIR)
    if waiting:
        return Searchable("warning", f"{waiting:,} items cannot be found yet", "run: forgelore generate-docs")
    return Searchable("ok", f"{documents:,} documents can be found")
