"""Options of a program in a query: is `-dbcache` the name of an option, or is dbcache to be left out?

The project's own texts decide: how many of those that have the word write it with a dash. Behind the last word of a
query people leave things out (`crash -windows`); within a sentence they rather write of an option.
"""

import re

from forgelore.core.search.ftsquery import build_and, parse_query
from forgelore.store.db import Store
from forgelore.store.engine.fulltext import list_with_words
from forgelore.store.filters import Filters, build_allowed
from forgelore.store.hits import load_texts

_SAMPLE = 200  # documents with the word that are looked at, the newest ones
_MIN_DOCUMENTS = 2  # one person may write anything
_SHARE, _SHARE_WITHIN = 0.25, 0.01  # of documents that write it with a dash: at the end of a query, within a sentence
_SURE = 0.5  # of documents, be it a single one


def is_option(store: Store, word: str, is_within: bool, *, is_public: bool = False) -> bool:  # noqa: FBT001
    """Whether the project writes the word behind a dash often enough. `is_within`: it stands in a sentence."""
    expression = build_and(parse_query(word).words)
    if expression is None:
        return False
    ids = list_with_words(store, expression, _SAMPLE, build_allowed(Filters(is_public=is_public)))
    dashed = re.compile(rf"(?<![\w-])--?{re.escape(word)}(?![\w-])")
    found = sum(1 for title, text in load_texts(store, ids).values() if dashed.search(title) or dashed.search(text))
    if found and found >= _SURE * len(ids):
        return True
    return found >= max(_MIN_DOCUMENTS, (_SHARE_WITHIN if is_within else _SHARE) * len(ids))
