"""Options that several calls of the facade take: who judges, with what, and what an audit measures."""

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from forgelore.ports.progress import Watcher


class ModelOptions(TypedDict, total=False):
    """A language model: a `profile` of the settings, how many `workers` ask at once, and a `budget` of tokens."""

    profile: str | None
    workers: int
    budget: int | None


class JudgeOptions(ModelOptions, total=False):
    """Who judges pairs, and how sure a verdict must be to count. `judge`: builtin, the rules; llm, a language model.
    `trust_statements`: marks and what maintainers wrote ("duplicate of #5") count, too, with the rules.
    """

    judge: str
    trust_statements: bool
    min_edge: float  # the minimum confidence of an accepted edge; .85 where nothing is said


class AuditOptions(TypedDict, total=False):
    """What an audit measures. `sample`: how many items; `seed` chooses which. `workers`, `budget`: as for a model."""

    project: str | None
    kind: str | None
    sample: int | None
    seed: int
    min_edge: float
    workers: int
    budget: int | None
    watcher: "Watcher | None"
