"""Options that calls of the facade take by name, and older names, which work for one more release.

Every older name is listed here; using one says what to write instead.
"""

import warnings
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Literal, ParamSpec, TypedDict, TypeVar

from forgelore.words import FilterWords

if TYPE_CHECKING:
    from forgelore.ask.answers import AskStep
    from forgelore.ports.progress import Watcher

Given = ParamSpec("Given")
Result = TypeVar("Result")
Mode = Literal["hybrid", "lexical", "semantic", "fts", "vector"]


class SearchOptions(FilterWords, total=False):
    """How to search, beside the filters. `mode`: hybrid, where nothing is said; lexical (or fts), semantic (or vector).
    `limit`: 20 hits. `offset`: where the page begins, a number or `next_page` of the answer before, which tells when
    the question or the database is another one now. `sort`: created, updated or comments, with -asc the other way
    round; the query's own `sort:` comes first. `literal`: all of the text is words. `raw`: the text is FTS5 syntax.
    `rescore`: a second embedder looks at the best hits again. `source`: raw, what people wrote; intent, the cards of
    `dedupe.make_cards`, which programs wrote. `with_lines=False`: hits of items do not say at which line of their
    reading text they were found.
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


# What stood on `History` itself, and where it is now.
METHODS = {
    "names_to_sync": "sync.names", "refresh": "sync.refresh", "estimate_sync": "sync.estimate",
    "status": "sync.status", "import_file": "sync.import_file", "replay": "sync.replay",
    "export_lines": "sync.export_lines", "export_to": "sync.export_to", "export_file": "sync.export_file",
    "update_index": "index.update", "build_documents": "index.build_documents", "embed": "index.embed",
    "index_code": "index.code", "count_unindexed": "index.count_waiting", "stats": "index.stats",
    "check": "index.check", "repair": "index.repair",
    "run_dedupe": "dedupe.run", "make_intent_cards": "dedupe.make_cards", "make_candidates": "dedupe.find_candidates",
    "judge_candidates": "dedupe.judge", "detect_new": "dedupe.detect", "canonicalize": "dedupe.cluster",
    "plan_closings": "dedupe.plan", "apply_closings": "dedupe.apply", "roll_back_closings": "dedupe.roll_back",
    "override_duplicate": "dedupe.override", "list_maintainers": "dedupe.list_maintainers",
    "list_dedupe_runs": "dedupe.list_runs", "load_overview": "dedupe.load_overview",
    "audit_judges": "audit.compare_judges", "audit_by_history": "audit.by_history",
    "audit_by_people": "audit.by_people",
    "list_blind_pairs": "audit.list_blind_pairs", "label_pairs": "audit.label", "read_pair_labels": "audit.read_labels",
    "analyse_audit": "audit.analyse",
    "who": "people.who", "who_knows": "people.who_knows", "who_or_path": "people.who_or_path", "me": "people.me",
    "history_of": "paths.history", "extract_decisions": "paths.extract_decisions",
    "list_asked": "questions.list", "replay_asked": "questions.replay",
    "handle_event": "triage.handle_event",
    "suggest_project": "setup.suggest_project", "set_up": "setup.write", "add_host": "setup.add_host",
    "check_up": "setup.check", "find_token_owner": "setup.find_token_owner",
    "name_project": "projects.name", "list_projects": "projects.list", "has_several_projects": "projects.are_several",
}  # fmt: skip
# What options were called.
OPTIONS = {
    "is_raw": "raw", "is_literal": "literal", "is_rescored": "rescore", "is_earlier": "earlier",
    "is_time_ordered": "earlier", "is_strict": "strict", "is_dry": "dry_run", "is_unproven": "unproven",
    "is_posted": "post", "is_reader": "read_only", "is_offline": "offline",
}  # fmt: skip


def warn_renamed(old: str, new: str) -> None:
    """Say what to write instead, at the line that has the old name."""
    warnings.warn(f"{old} is deprecated: write {new}", DeprecationWarning, stacklevel=3)


def renamed(method: Callable[Given, Result]) -> Callable[Given, Result]:
    """Let a method be called with the older names of its options."""

    @wraps(method)
    def call(*args: Given.args, **given: Given.kwargs) -> Result:
        for old in given.keys() & OPTIONS.keys():
            warn_renamed(f"{old}=", f"{OPTIONS[old]}=")
            given[OPTIONS[old]] = given.pop(old)
        return method(*args, **given)

    return call
