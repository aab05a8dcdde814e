"""The writes of a closing: label, comment, close. Each is journalled, none is sent twice."""

from functools import partial

from forgelore.core.closing.messages import build_message, closing_marker
from forgelore.flows.closing.journal import JournalValues, Write, WriteContext, perform
from forgelore.flows.closing.live_state import LiveState, before_closing, closing_answer, fetch_live
from forgelore.flows.closing.reconcile import look_up
from forgelore.model import Item, ItemKey
from forgelore.profiles import profile_of


def close_item(context: WriteContext, target_id: int, state: LiveState, target: Item) -> None:
    """Close an item natively as a duplicate of another, and keep who closed it when, as the forge tells it."""
    key = state.item.key

    def send() -> JournalValues:
        context.forge.close_as_duplicate(context.project, state.item, target)
        return {}

    def read() -> JournalValues:
        return closing_answer(fetch_live(context, key))

    request: JournalValues = {"target_id": target_id, "target": target.key.number}
    perform(context, Write(key, "close", request, before_closing(state, target), send, read), partial(look_up, context))


def comment_on(context: WriteContext, item_id: int, key: ItemKey, words: str, target: ItemKey, *, hours: int) -> None:
    """Post the comment that names the other item."""
    ref = f"{profile_of(context.forge.name).sigil(target.kind)}{target.number}"
    body = build_message(words, marker=closing_marker(context.run_id, item_id), target=ref, hours=hours)

    def send() -> JournalValues:
        return {"comment_id": context.forge.create_comment(context.project, key, body).id}

    perform(context, Write(key, "comment", {"body": body}, {}, send), partial(look_up, context))


def label_item(context: WriteContext, state: LiveState, label: str) -> None:
    """Give an item a label on top of those that it has."""
    key = state.item.key

    def send() -> JournalValues:
        context.forge.add_labels(context.project, key, [label])
        return {}

    write = Write(key, "label", {"labels": [label]}, {"labels": list(state.item.labels)}, send)
    perform(context, write, partial(look_up, context))
