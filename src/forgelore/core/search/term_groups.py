"""Terms that must occur or must not, as FTS5 expressions: words and "phrases" that a query sets apart.

    "mismatched types"                  (("mismatched types"))
    panic OR "stack overflow"           (("panic")) OR (("stack overflow"))
    memory leak in:title                {title} : (("memory") AND ("leak"))

They are written as in a query, and an identifier in them is not taken apart: who quotes ChunkCache means that.
"""

from collections.abc import Sequence

from forgelore.core.search.ftsquery import Query, Word, build_and, parse_query
from forgelore.core.search.terms import find_specials, has_unspaced


def build_any_of(terms: Sequence[str]) -> str | None:
    """Return the expression for documents that have one of the terms; None when none of them holds a word."""
    either = [build_and([_exact(word) for word in parse_query(term).words]) for term in terms]
    return " OR ".join(f"({one})" for one in either if one) or None


def build_within(expression: str, columns: Sequence[str]) -> str:
    """Return the expression for documents that meet another one in these columns."""
    return f"{{{' '.join(columns)}}} : ({expression})"


def join_groups(query: Query, groups: Sequence[Sequence[str]]) -> Query:
    """Return the query with what each group names as one word, which any of its members satisfies.

    panic crash linker, with the group panic and crash -> (panic or crash), linker
    """
    words = list(query.words)
    for group in groups:
        members = [word for term in group for word in parse_query(term).words]
        texts = {word.text.lower() for word in members}
        places = [at for at, word in enumerate(words) if word.text.lower() in texts]
        if len(group) < 2 or not places:
            continue
        alternatives = tuple(dict.fromkeys(phrase for word in members for phrase in word.alternatives))
        joined = Word(" ".join(word.text for word in members), alternatives)
        words = [joined if at == places[0] else word for at, word in enumerate(words) if at not in places[1:]]
    return query._replace(words=tuple(words))


def _exact(word: Word) -> Word:
    """Return a word with its own spelling alone, where full text can look for that."""
    is_rewritten = word.alternatives[0].is_prefix or has_unspaced(word.text) or find_specials(word.text)
    return word if is_rewritten else word._replace(alternatives=word.alternatives[:1])
