"""Terms that must occur or must not, as FTS5 expressions: words and "phrases" that a query sets apart.

    "mismatched types"                  (("mismatched types"))
    panic OR "stack overflow"           (("panic")) OR ({title text} : (("stack overflow")))
    memory leak in:title                {title} : (("memory") AND ("leak"))

They are written as in a query, and an identifier in them is not taken apart: who quotes ChunkCache means that. Nor is
one put together: who quotes "stack overflow" does not mean StackOverflow, whose parts the column of terms has.
"""

from collections.abc import Sequence

from forgelore.core.search.ftsquery import Query, Word, build_and, parse_query
from forgelore.core.search.terms import find_specials, has_unspaced


def build_any_of(terms: Sequence[str], prose: Sequence[str] = ()) -> str | None:
    """Return the expression for documents that have one of the terms; None when none of them holds a word. `prose`: the
    columns that hold what people wrote, in which a phrase must stand.
    """
    either = [_build_term(parse_query(term).words, prose) for term in terms]
    return " OR ".join(f"({one})" for one in either if one) or None


def _build_term(words: Sequence[Word], prose: Sequence[str]) -> str | None:
    expression = build_and([_exact(word) for word in words])
    is_phrase = len(words) == 1 and " " in words[0].text and not _is_rewritten(words[0])
    return build_within(expression, prose) if expression and prose and is_phrase else expression


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
    return word if _is_rewritten(word) else word._replace(alternatives=word.alternatives[:1])


def _is_rewritten(word: Word) -> bool:
    """Whether a word is found by what the column of terms has of it: C++, 日本語; or by its beginning."""
    return word.alternatives[0].is_prefix or has_unspaced(word.text) or bool(find_specials(word.text))
