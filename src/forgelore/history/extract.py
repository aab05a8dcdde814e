"""Extracting decisions: a language model reads the conversations of a path's history, and what holds is kept.

    sources -> those that changed since they were read -> pages -> model -> JSON -> quotes looked up -> the graph

A conversation is asked about once: again only when its text or the prompt changed. What a model gets wrong is counted
and left out; nothing that it says chooses what is read or written next.
"""

import secrets
from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from forgelore.context import JobContext
from forgelore.dedupe.llm import TokenBudget
from forgelore.errors import AuthError, ChatModelNotFound, ConfigError, LoreError, PromptTooLong, Stopped
from forgelore.history.extraction import (
    MAX_PAGES,
    MIN_PAGE_CHARS,
    PAGE_CHARS,
    VERSION,
    build_decision_prompt,
    check_decision,
    decisions_schema,
    parse_decisions,
    split_pages,
)
from forgelore.history.sources import SourceItem
from forgelore.ports.chat import CHARS_A_TOKEN, ChatMessage, ChatModel, ChatReply
from forgelore.records import CheckedDecision
from forgelore.store.paths import load_paths_of
from forgelore.store.project_decisions import DecisionSource, load_decision_sources, save_decisions
from forgelore.text.fence import name_fence
from forgelore.text.reading import ReadingText, hash_lines

ANSWER_TOKENS = 1_200  # what a list takes, about
_MIN_BODY = 40  # characters of an item without comments: less decides nothing
_FAILURES = 3  # in a row
_FOR_ALL = (AuthError, ChatModelNotFound, ConfigError)  # what one conversation is refused for, all are


class ExtractedDecisions(NamedTuple):
    """What a run did. `known`: conversations that were read before and did not change; `left`: those that the budget
    did not reach; `invalid`: answers that were no list; `refusals`: why decisions were thrown away.
    """

    model: str
    refusals: dict[str, int]
    asked: int = 0
    known: int = 0
    left: int = 0
    kept: int = 0
    refused: int = 0
    invalid: int = 0
    failed: int = 0
    unread_lines: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float = 0.0


class _OutOfBudget(Exception):
    pass


def extract_decisions(
    job: JobContext, items: Sequence[SourceItem], model: ChatModel, budget: int
) -> ExtractedDecisions:
    """Ask a model about the conversations that it has not read as they are now. Raises what keeps it from answering."""
    run = _Run(job, model, budget)
    known = load_decision_sources(job.store, (item.row.id for item in items))
    todo = [item for item in items if _is_worth_reading(item.text) and not _is_read(known.get(item.row.id), item.text)]
    run.counts["known"] = sum(_is_read(known.get(item.row.id), item.text) for item in items)
    paths = load_paths_of(job.store, job.project.id, (item.row.id for item in todo))
    job.watcher.begin("decisions", "conversations read", len(todo))
    for at, item in enumerate(todo):
        if job.should_stop():
            raise Stopped
        try:
            run.read(item, sorted(paths.get(item.row.id, ())))
        except _OutOfBudget:
            run.counts["left"] = len(todo) - at
            break
        job.watcher.saved("decisions", 1)
    job.watcher.done("decisions")
    return run.finish()


def hash_content(text: ReadingText) -> str:
    """Return what names a version of a conversation: its title and what people wrote. Labels and states are not in it:
    they change every day, and decide nothing.
    """
    return hash_lines((text.lines[0], *text.lines[text.sections[0].first - 1 :]))


def _is_worth_reading(text: ReadingText) -> bool:
    body = text.parts[0]
    return len(text.parts) > 1 or sum(map(len, text.lines[body.first - 1 : body.last])) >= _MIN_BODY


def _is_read(source: DecisionSource | None, text: ReadingText) -> bool:
    return source is not None and source.content_hash == hash_content(text) and source.prompt_version == VERSION


class _Run:
    """One run: what was counted and spent."""

    def __init__(self, job: JobContext, model: ChatModel, budget: int) -> None:
        self.job, self.model, self.budget = job, model, TokenBudget(budget)
        self.counts: Counter[str] = Counter()
        self.refusals: Counter[str] = Counter()
        self.tokens_in = self.tokens_out = self.failures = 0
        room = (model.context - ANSWER_TOKENS) * CHARS_A_TOKEN - 2_500 if model.context else PAGE_CHARS
        self.page_chars = max(MIN_PAGE_CHARS, min(PAGE_CHARS, room))

    def read(self, item: SourceItem, paths: Sequence[str]) -> None:
        """Ask about one conversation, and keep what holds; nothing of it where an answer is missing."""
        self.counts["asked"] += 1
        before = (self.tokens_in, self.tokens_out, self.counts["refused"])
        try:
            decisions = self._read_pages(item.text, paths)
        except _OutOfBudget:
            self.counts["asked"] -= 1
            raise
        except LoreError as error:
            self.counts["failed"] += 1
            self.failures += 1
            if self.failures >= _FAILURES or isinstance(error, _FOR_ALL):
                raise
            return
        self.failures = 0
        if decisions is None:
            self.counts["invalid"] += 1
            return
        self.counts["kept"] += len(decisions)
        source = DecisionSource(
            item.row.id, hash_content(item.text), VERSION, self.model.model, self.tokens_in - before[0],
            self.tokens_out - before[1], self.counts["refused"] - before[2],
        )  # fmt: skip
        store = self.job.store
        with store.transaction():
            save_decisions(store, self.job.project.id, source, decisions, self.job.now_ms())

    def finish(self) -> ExtractedDecisions:
        model = self.model
        return ExtractedDecisions(
            **self.counts, tokens_in=self.tokens_in, tokens_out=self.tokens_out, model=model.model,
            cost=model.price(self.tokens_in, self.tokens_out), refusals=dict(self.refusals),
        )  # fmt: skip

    def _read_pages(self, text: ReadingText, paths: Sequence[str]) -> list[CheckedDecision] | None:
        """Return the decisions of all pages, which become smaller where the model takes less; None where an answer was
        no list.
        """
        while True:
            try:
                return self._read_each(text, paths)
            except PromptTooLong:
                if self.page_chars <= MIN_PAGE_CHARS:
                    raise
                self.page_chars = max(MIN_PAGE_CHARS, self.page_chars // 2)

    def _read_each(self, text: ReadingText, paths: Sequence[str]) -> list[CheckedDecision] | None:
        pages = list(split_pages(text.lines, self.page_chars))
        found: dict[CheckedDecision, None] = {}
        refusals: Counter[str] = Counter()
        for page in pages[:MAX_PAGES]:
            prompt = build_decision_prompt(text.lines, page, paths, name_fence(secrets.token_hex(8)))
            said = parse_decisions(self._send(*prompt).text)
            if said is None:
                return None
            for one in said:
                checked = check_decision(one, text, paths)
                if isinstance(checked, str):
                    refusals[checked] += 1
                else:
                    found[checked] = None
        self.refusals += refusals
        self.counts["refused"] += refusals.total()
        if len(pages) > MAX_PAGES:
            self.counts["unread_lines"] += len(text.lines) - pages[MAX_PAGES - 1][1]
        return list(found)

    def _send(self, system: str, user: str) -> ChatReply:
        likely = (len(system) + len(user)) // CHARS_A_TOKEN + ANSWER_TOKENS
        if not self.budget.set_aside(likely):
            raise _OutOfBudget
        used = 0
        try:
            reply = self.model.chat(
                [ChatMessage("system", system), ChatMessage("user", user)], schema=decisions_schema(),
            )  # fmt: skip
            used = reply.tokens_in + reply.tokens_out
        finally:
            self.budget.settle(likely, used)
        self.tokens_in += reply.tokens_in
        self.tokens_out += reply.tokens_out
        return reply
