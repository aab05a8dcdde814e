"""Intent cards by a language model: one question for each item, one short answer, taken leniently.

Whatever goes wrong leaves the card of the rules, with the reason. A model that fails again and again, or that nobody
can reach, is not asked any more in this run.
"""

import secrets
import threading
from collections.abc import Callable, Collection

from forgelore.chat_port import CHARS_A_TOKEN, ChatMessage, ChatModel, ChatReply
from forgelore.core.dedupe.question import JudgedItem
from forgelore.core.fence import name_fence
from forgelore.core.intent.card import CardSource, extract_card
from forgelore.core.intent.coercion import InvalidCard, card_schema, coerce_card
from forgelore.core.prompts.cards import VERSION, build_card_prompt
from forgelore.core.prompts.duplicates import BODY_STEPS, MOST_FILES
from forgelore.errors import AuthError, ChatModelNotFound, ConfigError, LoreError, PromptTooLong
from forgelore.flows.dedupe.intent import CardAnswer

ANSWER_TOKENS = 500  # what a card takes, about
_FAILURES = 3  # in a row
_FOR_ALL = (AuthError, ChatModelNotFound, ConfigError)  # what one item is refused for, all are


class ModelCards:
    """Cards that a model writes. `fetch_patch` gives the beginning of a change's diff, where one may be fetched."""

    prompt_version = VERSION

    def __init__(
        self, chat: ChatModel, *, workers: int = 1, fetch_patch: Callable[[JudgedItem], str] | None = None
    ) -> None:
        self._chat, self._fetch_patch = chat, fetch_patch
        self._guard, self._failures, self._lost = threading.Lock(), 0, ""
        self.model, self.workers, self.batch = chat.model, workers, 4 * workers

    def make(self, item_id: int, source: CardSource, boilerplate: Collection[int]) -> CardAnswer:
        """Return the model's card of an item, or that of the rules and why."""
        plain = CardAnswer(extract_card(source, boilerplate))
        if self._lost:
            return plain._replace(error=self._lost)
        item = JudgedItem(item_id, source.number, source.kind, source.title, source.body, "", files=source.paths)
        if self._fetch_patch and source.kind == "change":
            item = item._replace(patch=self._fetch_patch(item))
        try:
            reply = self._ask(item._replace(files=source.paths[:MOST_FILES]))
        except LoreError as error:
            self._note_failure(error)
            return plain._replace(error=error.message)
        self._failures = 0
        card = coerce_card(reply.text)
        asked = plain._replace(prompt_tokens=reply.tokens_in, answer_tokens=reply.tokens_out)
        return asked._replace(error=card.problem) if isinstance(card, InvalidCard) else asked._replace(card=card)

    def _ask(self, item: JudgedItem) -> ChatReply:
        """Return the model's reply to as much of the item as its context holds."""
        steps = self._fitting(item)
        for body_chars in steps[:-1]:
            try:
                return self._send(item, body_chars)
            except PromptTooLong:
                continue
        return self._send(item, steps[-1])

    def _fitting(self, item: JudgedItem) -> tuple[int, ...]:
        if not self._chat.context:
            return BODY_STEPS
        room = (self._chat.context - ANSWER_TOKENS) * CHARS_A_TOKEN
        fitting = [one for one in BODY_STEPS if build_card_prompt(item, "0" * 16, body_chars=one).chars <= room]
        return tuple(fitting) or BODY_STEPS[-1:]

    def _send(self, item: JudgedItem, body_chars: int) -> ChatReply:
        prompt = build_card_prompt(item, name_fence(secrets.token_hex(8)), body_chars=body_chars)
        messages = [ChatMessage("system", prompt.system), ChatMessage("user", prompt.user)]
        return self._chat.chat(messages, schema=card_schema())

    def _note_failure(self, error: LoreError) -> None:
        with self._guard:
            self._failures += 1
            if self._failures >= _FAILURES or isinstance(error, _FOR_ALL):
                self._lost = error.message
