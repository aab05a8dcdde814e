"""The language model as a judge: one question, one bounded answer, taken by the letter.

Whatever goes wrong is an answer that says nothing (`judge_failed`, `invalid_verdict`, `over_budget`), never an error
that is raised: a model must not be able to stop a run, and less to write anything. What it says is looked at by the
gates.
"""

import secrets
import threading
from collections.abc import Callable

from forgelore.chat_port import CHARS_A_TOKEN, ChatMessage, ChatModel, ChatReply
from forgelore.core.dedupe.question import JudgeAnswer, JudgedItem, Question
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.core.dedupe.verdict import InvalidVerdict, parse_verdict, verdict_schema
from forgelore.core.fence import name_fence
from forgelore.core.prompts.duplicates import BODY_STEPS, VERSION, JudgePrompt, build_prompt, hash_prompt
from forgelore.errors import LoreError, PromptTooLong

ANSWER_TOKENS = 600  # what a verdict takes, about; more when a model thinks first


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
        self.model = f"{chat.model} prompt {VERSION}"

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
        room = (self._chat.context - ANSWER_TOKENS) * CHARS_A_TOKEN
        if not self._chat.context:
            return BODY_STEPS
        fence = name_fence(secrets.token_hex(8))
        fitting = [one for one in BODY_STEPS if build_prompt(question, fence, body_chars=one).chars <= room]
        return tuple(fitting) or BODY_STEPS[-1:]

    def _send(self, prompt: JudgePrompt, schema: dict[str, object]) -> ChatReply | None:
        """Return the model's reply; None when the budget is spent."""
        likely = prompt.chars // CHARS_A_TOKEN + ANSWER_TOKENS
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
