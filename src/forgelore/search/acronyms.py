"""Acronyms that a project writes out: `RBF` and "replace by fee" find each other.

They are learned from the items' own texts when somebody asks: "replace by fee (RBF)", "RBF (replace by fee)", or
"replace-by-fee" beside RBF, where the words begin with its letters. One person cannot teach a project an acronym: items
of three authors must have both forms, and comments do not count.
"""

import re
from collections import defaultdict
from typing import TYPE_CHECKING

from forgelore.search.ftsquery import Phrase, Query, Word
from forgelore.store.filters import Filters, build_allowed
from forgelore.store.hits import load_own_texts
from forgelore.store.sqlite.fulltext import count_items, list_with_words

if TYPE_CHECKING:
    from forgelore.search.retriever import Retriever


_MAX_WORDS, _MAX_WRITTEN_OUT = 12, 6  # of a query: with an acronym in it, or with the words of one; more are pasted
_SIZES = range(3, 6)  # letters
_SAMPLE = 200  # documents with the acronym that are looked at, the newest ones
_MIN_AUTHORS = 3  # of items that have both


def join_acronyms(retriever: "Retriever", query: Query, *, is_public: bool = False) -> Query:
    """Return the query with the words of each acronym in it, and with the acronym of such words."""
    if len(query.words) > _MAX_WORDS:
        return query
    words = list(query.words)
    for at, word in enumerate(words):
        if word.text.isascii() and word.text.isupper() and word.text.isalpha() and len(word.text) in _SIZES:
            meaning = find_meaning(retriever, word.text, is_public=is_public)
            words[at] = _with_synonym(word, meaning) if meaning else word
    if len(words) > _MAX_WRITTEN_OUT:
        return query._replace(words=tuple(words))
    runs = [(at, size) for size in _SIZES for at in range(len(words) - size + 1)]
    initials = ["".join(word.text[0] for word in words[at : at + size]).upper() for at, size in runs]
    counts = retriever.count_documents(initials) if initials else {}
    for (at, size), acronym in zip(runs, initials, strict=True):
        if counts[acronym] < _MIN_AUTHORS:
            continue
        run = words[at : at + size]
        text = " ".join(word.text.lower() for word in run)
        is_written = _is_written_out(retriever, text, acronym)
        if is_written and find_meaning(retriever, acronym, is_public=is_public) == text:
            words[at : at + size] = [_with_synonym(word, acronym) for word in run]
    return query._replace(words=tuple(words))


def find_meaning(retriever: "Retriever", acronym: str, *, is_public: bool) -> str:
    """Return the words that an acronym stands for in the items' own texts; "" where too few say so."""
    kept, key = retriever.acronyms.current(), (acronym, is_public)
    if key not in kept:
        retriever.acronyms.keep(key, _learn(retriever, acronym, is_public=is_public))
    return retriever.acronyms.current()[key]


def _learn(retriever: "Retriever", acronym: str, *, is_public: bool) -> str:
    allowed = build_allowed(Filters(is_public=is_public))
    ids = list_with_words(retriever.store, f'"{acronym}"', _SAMPLE, allowed)
    spelled = [rf"{letter}[A-Za-z]+" for letter in acronym]
    blanks, dashes = r"[\s-]+".join(spelled), "-".join(spelled)
    defined = re.compile(
        rf"\b({blanks})[\"'*_`]*\s*\({acronym}s?\)|\b{acronym}\s*\(({blanks})\)|\b({dashes})\b", re.IGNORECASE
    )
    own_texts = load_own_texts(retriever.store, ids)
    authors_of: dict[str, set[str]] = defaultdict(set)
    for _, author, text in own_texts:
        for match in defined.finditer(text):
            authors_of[" ".join(re.split(r"[\s-]+", match[match.lastindex or 0].lower()))].add(author or "")
    for meaning, authors in authors_of.items():
        phrase = re.compile(rf"\b{meaning.replace(' ', '[ -]')}", re.IGNORECASE)
        authors.update(author or "" for _, author, text in own_texts if phrase.search(text))
    best = max(authors_of, key=lambda one: (len(authors_of[one]), one), default="")
    return best if best and len(authors_of[best]) >= _MIN_AUTHORS else ""


def _is_written_out(retriever: "Retriever", text: str, acronym: str) -> bool:
    """Whether enough items have both: that is asked of full text first, and takes little time."""
    if not text.replace(" ", "").isalpha() or not text.isascii():
        return False
    return count_items(retriever.store, f'"{text}" AND "{acronym}"', most=_MIN_AUTHORS)[0] >= _MIN_AUTHORS


def describe_synonyms(query: Query) -> tuple[str, ...]:
    """Return a sentence for each acronym, whichever form was typed."""
    typed: dict[str, list[str]] = defaultdict(list)
    for word in query.words:
        if word.synonym:
            typed[word.synonym].append(word.text)
    return tuple(f"{' '.join(words)} is also searched for as {synonym}" for synonym, words in typed.items())


def _with_synonym(word: Word, synonym: str) -> Word:
    return word._replace(alternatives=(*word.alternatives, Phrase(synonym)), synonym=synonym)
