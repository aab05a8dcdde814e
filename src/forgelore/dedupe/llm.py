"""The language model as a judge: one question, one bounded answer, taken by the letter.

Whatever goes wrong is an answer that says nothing (`judge_failed`, `invalid_verdict`, `over_budget`), never an error
that is raised: a model must not be able to stop a run, and less to write anything. What it says is looked at by the
gates.

Intent cards by a language model: one question for each item, one short answer, taken leniently.

Whatever goes wrong leaves the card of the rules, with the reason. A model that fails again and again, or that nobody
can reach, is not asked any more in this run.
"""

import secrets
import threading
from collections.abc import Callable, Collection

from forgelore.dedupe.cards import InvalidCard, card_schema, coerce_card, extract_card
from forgelore.dedupe.intent import CardAnswer
from forgelore.dedupe.prompts import (
    BODY_STEPS,
    CARD_PROMPT_VERSION,
    JUDGE_PROMPT_VERSION,
    MOST_FILES,
    JudgePrompt,
    build_card_prompt,
    build_prompt,
    hash_prompt,
)
from forgelore.dedupe.reasons import ReasonCode
from forgelore.dedupe.verdict import InvalidVerdict, JudgeAnswer, Question, parse_verdict, verdict_schema
from forgelore.errors import AuthError, ChatModelNotFound, ConfigError, LoreError, PromptTooLong
from forgelore.ports.chat import CHARS_A_TOKEN, ChatMessage, ChatModel, ChatReply
from forgelore.records import CardSource, JudgedItem
from forgelore.text.fence import name_fence

VERDICT_TOKENS = 600  # what a verdict takes, about; more when a model thinks first


class TokenBudget:
    """Tokens that a run may spend, over all its threads. What is asked is set aside before, and settled after."""

    def __init__(self, most: int | None = None) -> None:
        self._most, self._spent, self._guard = most, 0, threading.Lock()

    @property
    def spent(self) -> int:
        return self._spent

    def set_aside(self, tokens: int) -> bool:
        """Return whether so many are left, and take them."""
        with self._guard:
            is_left = self._most is None or self._spent + tokens <= self._most
            self._spent += tokens if is_left else 0
            return is_left

    def settle(self, set_aside: int, used: int) -> None:
        with self._guard:
            self._spent += used - set_aside


class LlmJudge:
    """A language model behind the judge's port. `fetch_patch` gives a change's diff, where one may be fetched."""

    def __init__(
        self, chat: ChatModel, *, budget: TokenBudget | None = None,
        fetch_patch: Callable[[JudgedItem], str] | None = None,
    ) -> None:  # fmt: skip
        self._chat, self._budget, self._fetch_patch = chat, budget or TokenBudget(), fetch_patch
        self.name = "llm"
        self.model = f"{chat.model} prompt {JUDGE_PROMPT_VERSION}"

    def ask(self, question: Question) -> JudgeAnswer:
        """Return what the model says of a source and its candidates."""
        if self._fetch_patch and question.source.kind == "change":
            question = question._replace(source=question.source._replace(patch=self._fetch_patch(question.source)))
        kept = JudgeAnswer(None, ReasonCode.JUDGE_FAILED, prompt_hash=hash_prompt(question))
        schema = verdict_schema(sorted(one.item.number for one in question.candidates))
        sizes = self._fitting(question)
        for at, body_chars in enumerate(sizes):
            prompt = build_prompt(question, name_fence(secrets.token_hex(8)), body_chars=body_chars)
            try:
                reply = self._send(prompt, schema)
            except PromptTooLong as error:
                if at + 1 == len(sizes):
                    return kept._replace(error=error)
            except LoreError as error:
                return kept._replace(error=error)
            else:
                return kept._replace(reason=ReasonCode.OVER_BUDGET) if reply is None else self._read(kept, reply)
        return kept

    def _fitting(self, question: Question) -> tuple[int, ...]:
        """Return the sizes of excerpts that the model's context may hold, the largest first; one at least."""
        room = (self._chat.context - VERDICT_TOKENS) * CHARS_A_TOKEN
        if not self._chat.context:
            return BODY_STEPS
        fence = name_fence(secrets.token_hex(8))
        fitting = [one for one in BODY_STEPS if build_prompt(question, fence, body_chars=one).chars <= room]
        return tuple(fitting) or BODY_STEPS[-1:]

    def _send(self, prompt: JudgePrompt, schema: dict[str, object]) -> ChatReply | None:
        """Return the model's reply; None when the budget is spent."""
        likely = prompt.chars // CHARS_A_TOKEN + VERDICT_TOKENS
        if not self._budget.set_aside(likely):
            return None
        used = 0
        try:
            reply = self._chat.chat(
                [ChatMessage("system", prompt.system), ChatMessage("user", prompt.user)], schema=schema
            )
            used = reply.tokens_in + reply.tokens_out
            return reply
        finally:
            self._budget.settle(likely, used)

    def _read(self, kept: JudgeAnswer, reply: ChatReply) -> JudgeAnswer:
        verdict = parse_verdict(reply.text)
        if isinstance(verdict, InvalidVerdict) and reply.finish_reason == "length":
            verdict = InvalidVerdict(f"{verdict.problem}: it was cut off at the limit of tokens")
        return kept._replace(
            verdict=verdict, reason=None, prompt_tokens=reply.tokens_in, answer_tokens=reply.tokens_out,
            cost=self._chat.price(reply.tokens_in, reply.tokens_out),
        )  # fmt: skip


CARD_TOKENS = 500  # what a card takes, about
_FAILURES = 3  # in a row
_FOR_ALL = (AuthError, ChatModelNotFound, ConfigError)  # what one item is refused for, all are


class ModelCards:
    """Cards that a model writes. `fetch_patch` gives the beginning of a change's diff, where one may be fetched."""

    prompt_version = CARD_PROMPT_VERSION

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
        room = (self._chat.context - CARD_TOKENS) * CHARS_A_TOKEN
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
