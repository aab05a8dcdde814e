"""Options that calls of the facade take by name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypedDict

from forgelore.words import FilterWords

if TYPE_CHECKING:
    from forgelore.ask.answers import AskStep
    from forgelore.ports.progress import Watcher

Mode = Literal["hybrid", "lexical", "semantic", "fts", "vector"]


class SearchOptions(FilterWords, total=False):
    """How to search, beside the filters. `mode`: hybrid, where nothing is said; lexical (or fts), semantic (or vector).
    `limit`: 20 hits. `offset`: where the page begins, a number or `next_page` of the answer before, which tells when
    the question or the database is another one now. `sort`: created, updated or comments, with -asc the other way
    round; the query's own `sort:` comes first. `literal`: all of the text is words. `raw`: the text is FTS5 syntax.
    `rescore`: a second embedder looks at the best hits again. `source`: raw, what people wrote; intent, the cards of
    `dedupe.make_cards`, which programs wrote. `with_lines=False`: hits of items do not say at which line of their
    reading text they were found. `facets`: the answer also counts types, states, labels and authors of its best hits.
    """

    mode: Mode
    limit: int
    offset: int | str
    sort: str | None
    raw: bool
    literal: bool
    embedder: str | None
    rescore: bool
    source: str
    with_lines: bool
    facets: bool


class AskOptions(FilterWords, total=False):
    """How to answer, beside the filters, which narrow what may be found. `budget`: 60,000 tokens; `steps`: 30;
    `seconds`: 600. `strict`: Refused is raised for claims without a good citation. `profile`: a language model of the
    settings. `include_internal`: confidential items and internal notes too, which only a history opened with them may.
    `without_model`: only the best passages. `continues`: the number of a kept session that the question follows up; its
    sources can be cited again. `on_text` gets the answer so far while it is written, unchecked, where the server can
    stream.
    """

    budget: int
    steps: int
    seconds: float
    strict: bool
    profile: str | None
    include_internal: bool
    without_model: bool
    continues: int | None
    on_step: "Callable[[AskStep], None] | None"
    on_text: Callable[[str], None] | None


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
