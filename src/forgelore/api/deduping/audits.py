"""Audits put together: which judge a name stands for, what it is measured by, and what the answer is called."""

from collections.abc import Iterable

from forgelore.api.deduping.overrides import user_name
from forgelore.api.judging import check_share, check_workers, make_judge, meant_kinds
from forgelore.api.patches import make_patch_reader
from forgelore.api.projects import require_project
from forgelore.app import App
from forgelore.context import JobContext
from forgelore.dedupe.audit import AuditReport, AuditSetting, audit_history, audit_lanes
from forgelore.dedupe.audit_human import BlindPair, audit_human, save_pair_labels
from forgelore.dedupe.audit_human import list_blind_pairs as blind_pairs
from forgelore.dedupe.audit_rules import GateBounds, PairLabel, parse_labels
from forgelore.dedupe.report import AuditAnalysis, find_audit
from forgelore.dedupe.report import analyse_audit as analyse
from forgelore.dedupe.verdict import AnyJudge
from forgelore.errors import ConfigError, InvalidValue
from forgelore.ports.progress import Watcher
from forgelore.search.retriever import Retriever
from forgelore.store.projects import StoredProject
from forgelore.sync.archive import open_source
from forgelore.text.jsonl import numbered_lines

LANES = ("builtin", "statements", "llm", "cheap", "strong")
MAX = 100_000


def audit_judges(
    app: App,
    project: str | None,
    cheap: str,
    strong: str,
    setting: AuditSetting,
    *,
    budget: int | None,
    watcher: Watcher | None,
) -> AuditReport:
    """Measure a cheap judge by a strong one."""
    if cheap == strong:
        raise InvalidValue(f"both lanes are {cheap}", hint="a judge always agrees with itself; name another one")
    context = make_context(app, project, setting, watcher)
    meant = require_project(app, project)
    lanes = [make_lane(app, name, budget=budget, project=meant) for name in (cheap, strong)]
    return audit_lanes(context, lanes[0], lanes[1], setting)


def audit_by_history(
    app: App, retriever: Retriever, project: str | None, judge: str, setting: AuditSetting, *,
    budget: int | None, watcher: Watcher | None,
) -> AuditReport:  # fmt: skip
    """Measure a judge by the known duplicates of a project."""
    if judge == "statements":
        raise InvalidValue(
            "what people said of duplicates is the label itself here",
            hint="measure that judge by people: forgelore dedupe audit --against human",
        )
    context = make_context(app, project, setting, watcher)
    lane = make_lane(app, judge, budget=budget, project=require_project(app, project))
    return audit_history(context, retriever, lane, setting)


def list_blind_pairs(app: App, project: str | None, judge: str, setting: AuditSetting) -> list[BlindPair]:
    """Return the pairs that a person is to be asked about."""
    context = make_context(app, project, setting, None)
    return blind_pairs(context.store, context.project.id, make_lane(app, judge), setting)


def label_pairs(app: App, project: str | None, labels: Iterable[PairLabel]) -> int:
    """Keep what the person at this machine says of pairs."""
    store, meant = app.store(create=True), require_project(app, project)
    return save_pair_labels(store, meant.id, labels, said_by=user_name(), now_ms=app.now_ms())


def read_pair_labels(path: str) -> list[PairLabel]:
    """Return the labels of a file."""
    with open_source(path) as source:
        return parse_labels(numbered_lines(source, hint="get a whole copy"))


def audit_by_people(
    app: App, project: str | None, judge: str, setting: AuditSetting, *, watcher: Watcher | None
) -> AuditReport:
    """Measure the kept decisions of a judge by what people said of their pairs."""
    context = make_context(app, project, setting, watcher)
    return audit_human(context, make_lane(app, judge), setting)


def analyse_audit(app: App, run: int | None, project: str | None, bounds: GateBounds) -> AuditAnalysis:
    """Return an audit with what other bounds would have made of it."""
    for name, value in (("similarity", bounds.score_min), ("confidence", bounds.confidence_min)):
        if value is not None:
            check_share(f"the least {name}", value)
    if bounds.rank_max is not None and bounds.rank_max < 1:
        raise InvalidValue(f"there is no rank {bounds.rank_max:g}", hint="ranks begin with 1")
    store = app.store()
    project_id = 0 if run is not None else require_project(app, project).id
    return analyse(store, find_audit(store, project_id, run), bounds)


def make_context(app: App, project: str | None, setting: AuditSetting, watcher: Watcher | None) -> JobContext:
    """Refuse what means nothing, and return what every audit needs."""
    check_share("the least confidence", setting.min_edge)
    if setting.sample is not None and not 1 <= setting.sample <= MAX:
        raise InvalidValue(f"a sample of {setting.sample} is none", hint=f"1 to {MAX:,} items")
    if not 0 <= setting.others <= MAX:
        raise InvalidValue(f"{setting.others} other items are none", hint=f"0 to {MAX:,}")
    app.store(create=True)
    return app.job(require_project(app, project), watcher)


def make_setting(
    kind: str | None, *, sample: int | None, seed: int, min_edge: float, others: int = 100, workers: int = 1
) -> AuditSetting:
    check_workers(workers)
    return AuditSetting(meant_kinds(kind), sample, seed, min_edge, others, workers)


def make_lane(app: App, name: str, *, budget: int | None = None, project: StoredProject | None = None) -> AnyJudge:
    """Return the judge of that name: the builtin rules, without or with what maintainers wrote, or the model of a
    profile. A budget is of a model's tokens; a model that is to be asked is shown the patches of a project's changes.
    """
    if name not in LANES:
        raise InvalidValue(f"there is no judge {name!r}", hint=f"one of: {', '.join(LANES)}")
    if name in ("builtin", "statements"):
        return make_judge(app, "builtin", trusts_statements=name == "statements")
    try:
        profile = None if name == "llm" else name
        fetch_patch = make_patch_reader(app, project) if project else None
        return make_judge(app, "llm", profile=profile, budget=budget, fetch_patch=fetch_patch)
    except ConfigError as error:
        hint = f"{error.hint}; the builtin rules are measured by: forgelore dedupe audit --against history"
        raise ConfigError(error.message, hint=hint) from error
