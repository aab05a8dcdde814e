"""The writes of a closing: label, comment, close. Each is journalled, none is sent twice."""

from functools import partial

from forgelore.core.dedupe.messages import build_message, closing_marker
from forgelore.flows.closing.journal import JournalValues, Write, WriteContext, perform
from forgelore.flows.closing.live_state import LiveState, before_closing
from forgelore.flows.closing.reconcile import settle
from forgelore.model import Item, ItemKey
from forgelore.profiles import profile_of


def close_item(context: WriteContext, item_id: int, target_id: int, state: LiveState, target: Item) -> None:
    """Close an item natively as a duplicate of another."""

    def send() -> JournalValues:
        context.forge.close_as_duplicate(context.project, state.item, target)
        return {}

    request: JournalValues = {"target_id": target_id, "target": target.key.number}
    write = Write(item_id, "close", request, before_closing(state, target), send)
    perform(context, write, partial(settle, context, state.item.key))


def comment_on(context: WriteContext, item_id: int, key: ItemKey, words: str, target: ItemKey, *, hours: int) -> None:
    """Post the comment that names the other item."""
    ref = f"{profile_of(context.forge.name).sigil(target.kind)}{target.number}"
    body = build_message(words, marker=closing_marker(context.run_id, item_id), target=ref, hours=hours)

    def send() -> JournalValues:
        return {"comment_id": context.forge.create_comment(context.project, key, body).id}

    perform(context, Write(item_id, "comment", {"body": body}, {}, send), partial(settle, context, key))


def label_item(context: WriteContext, item_id: int, state: LiveState, label: str) -> None:
    """Give an item a label on top of those that it has."""
    key = state.item.key

    def send() -> JournalValues:
        context.forge.add_labels(context.project, key, [label])
        return {}

    write = Write(item_id, "label", {"labels": [label]}, {"labels": list(state.item.labels)}, send)
    perform(context, write, partial(settle, context, key))
