"""Intent cards against themselves: what is searched of a card must be what the card says.

A card that is older than its item is no fault: the next `dedupe intent` makes it anew.
"""

from collections.abc import Iterator

from msgspec import MsgspecError

from forgelore.core.intent.card import card_text, decode_card
from forgelore.store.checks import Fault
from forgelore.store.db import Store
from forgelore.store.intent_cards import each_card


def find_altered_cards(store: Store) -> Iterator[Fault]:
    """Read every card, and compare its text with what would be searched of it now."""
    for item_id, card, text in each_card(store):
        if not _is_of(card, text):
            yield "card_differs", f"card of item {item_id}", item_id


def _is_of(card: str, text: str) -> bool:
    try:
        return card_text(decode_card(card)) == text
    except MsgspecError:
        return False
