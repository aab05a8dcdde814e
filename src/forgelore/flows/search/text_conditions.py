"""Text conditions of a search: what must occur, what must not, and where the words must stand.

They are conditions on documents, so that they hold in the list by words and in the list by meaning alike. A phrase
must occur in the document that is shown; what is left out may occur nowhere in the item, its threads included. With
`in:`, every word must stand in that place.
"""

from typing import NamedTuple

from forgelore.core.search.ftsquery import Query, build_and
from forgelore.core.search.qualifiers import Field
from forgelore.core.search.term_groups import build_any_of, build_within
from forgelore.errors import InvalidValue
from forgelore.store.engine.fulltext import has_words, lacks_words
from forgelore.store.filters import Condition, any_of, are_documents_of

_PROSE = ("title", "text")  # columns of full text that hold what people wrote


class TextTerms(NamedTuple):
    """What a query says about words beside asking for them. Terms are words, or "phrases" in quotes."""

    required: tuple[tuple[str, ...], ...] = ()  # of each group one
    excluded: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()  # where the words must stand; none: anywhere


def build_text_conditions(terms: TextTerms, query: Query, *, of_cards: bool = False) -> list[Condition]:
    """Return the conditions; none where nothing was said. A term without a letter or digit says nothing. `of_cards`:
    what must occur must do so in a card; what must not, in nothing that people wrote.
    """
    required = [expression for group in terms.required if (expression := build_any_of(group, _PROSE))]
    found = [has_words(expression, of_cards=of_cards) for expression in required]
    excluded = build_any_of(terms.excluded, _PROSE)
    if excluded:
        found.append(lacks_words(excluded))
    if terms.fields and of_cards:
        raise InvalidValue(
            "a card has no title, body or comments of its own", hint="leave in: out, or search in what people wrote"
        )
    if terms.fields:
        found.append(_within_fields(terms.fields, build_and(query.words)))
    return found


def _within_fields(fields: tuple[Field, ...], expression: str | None) -> Condition:
    """Title and body belong to the item's own document, comments to those of its threads."""
    columns = [name for field, name in (("title", "title"), ("body", "text")) if field in fields]
    places = (("item", columns), ("thread", ["text"] if "comments" in fields else []))
    return any_of(
        are_documents_of(representation, has_words(build_within(expression, looked_at)) if expression else None)
        for representation, looked_at in places
        if looked_at
    )
