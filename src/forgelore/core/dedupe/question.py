"""Question: what a judge is asked of an item, and what it answers. Rules and a language model are two such judges.

A judge says what it thinks; it decides nothing. Gates read its answer (core/dedupe/gates), and what it names as shared
facts is looked up, unless it has looked them up itself.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from forgelore.core.compare.sameness import Sameness
from forgelore.core.dedupe.reasons import ReasonCode
from forgelore.core.dedupe.verdict import InvalidVerdict, Verdict
from forgelore.errors import LoreError


class JudgedItem(NamedTuple):
    """An item as a judge reads it."""

    item_id: int
    number: int
    kind: str
    title: str
    body: str
    state: str
    is_marked: bool = False  # the forge says that it is a duplicate of something
    labels: tuple[str, ...] = ()
    url: str = ""
    files: tuple[str, ...] = ()  # paths of a change, the first of them
    patch: str = ""  # the beginning of a change's diff, where somebody has fetched it
    card: str = ""  # its intent card where cards chose the candidates; a program wrote it, no fact is looked up in it

    @property
    def text(self) -> str:
        return f"{self.title}\n{self.body}"

    @property
    def quotable(self) -> str:
        """All of which a judge may quote."""
        return "\n".join((self.title, self.body, *self.files, self.patch))


class JudgedCandidate(NamedTuple):
    """An item that is offered to a judge, and what is known of the pair. A language model is told of the item alone."""

    item: JudgedItem
    strength: float
    similarity: float
    sameness: Sameness
    marks: tuple[str, ...] = ()
    features: Mapping[str, float] = {}
    is_said: bool = False  # somebody with the right to write has said that the source is a duplicate of it


class Question(NamedTuple):
    """Does the source repeat one of the candidates, which come best first?"""

    source: JudgedItem
    candidates: tuple[JudgedCandidate, ...]


class JudgeAnswer(NamedTuple):
    """What a judge said. `verdict` None: nothing, and `reason` says why."""

    verdict: Verdict | InvalidVerdict | None
    reason: ReasonCode | None = None
    facts_found: int | None = None  # None: the facts of the verdict are to be looked up in both texts
    prompt_hash: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0
    error: LoreError | None = None  # what kept it from answering


class AnyJudge(Protocol):
    """Who says whether an item repeats one of its candidates. `name` and `model` are kept with every decision."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    def ask(self, question: Question) -> JudgeAnswer: ...
