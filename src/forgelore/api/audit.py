"""`history.audit`: how right the judges of duplicates are, by known duplicates, by people, by each other."""

from collections.abc import Callable, Iterable
from typing import Unpack

from forgelore.api.dedupe import user_name
from forgelore.api.judging import check_share, check_workers, make_judge, make_patch_reader, meant_kinds
from forgelore.api.options import AuditOptions
from forgelore.app import App
from forgelore.context import JobContext
from forgelore.dedupe.audit import AuditReport, AuditSetting, audit_history, audit_lanes
from forgelore.dedupe.audit_human import BlindPair, audit_human, list_blind_pairs, save_pair_labels
from forgelore.dedupe.audit_rules import GateBounds, PairLabel, parse_labels
from forgelore.dedupe.gates import MIN_EDGE
from forgelore.dedupe.report import AuditAnalysis, analyse_audit, find_audit
from forgelore.dedupe.verdict import AnyJudge
from forgelore.errors import ConfigError, InvalidValue
from forgelore.search.retriever import Retriever
from forgelore.store.projects import StoredProject
from forgelore.sync.archive import open_source
from forgelore.text.jsonl import numbered_lines

LANES = ("builtin", "statements", "llm", "cheap", "strong")
MAX = 100_000
_AUDITED = "confidential items, which audits list with the others"


class Audit:
    """Measures the judges of duplicates. The options are those of AuditOptions."""

    def __init__(self, app: App, make_retriever: Callable[[], Retriever]) -> None:
        self._app, self._make_retriever = app, make_retriever

    def compare_judges(
        self, *, cheap: str = "cheap", strong: str = "strong", **options: Unpack[AuditOptions]
    ) -> AuditReport:
        """Ask two judges about a sample (100) of the latest candidates of open items, through the same gates, and
        return where they agree. Judges are builtin (rules), statements (rules, and what maintainers wrote), llm, cheap
        and strong (models of the settings; `budget`: most tokens of each).
        """
        self._app.check_internal(_AUDITED)
        if cheap == strong:
            raise InvalidValue(
                f"cannot compare the judge {cheap} with itself",
                hint="name two different judges: a judge always agrees with itself",
            )
        setting = _read_setting(options, sample=100)
        context, budget = _make_context(self._app, options, setting), options.get("budget")
        lanes = [_make_lane(self._app, name, budget=budget, project=context.project) for name in (cheap, strong)]
        return audit_lanes(context, lanes[0], lanes[1], setting)

    def by_history(self, *, judge: str = "builtin", others: int = 100, **options: Unpack[AuditOptions]) -> AuditReport:
        """Measure a judge by the project's own known duplicates, each judged as of its filing; all of them, or a
        sample. Of `others`, items that nobody called a duplicate, what it would accept is listed. `workers`:
        questions at once, to a model.
        """
        self._app.check_internal(_AUDITED)
        if judge == "statements":
            raise InvalidValue(
                "the statements judge cannot be measured against history: it reads the labels themselves",
                hint="measure it against people: forgelore dedupe audit --against human",
            )
        setting = _read_setting(options, sample=None)._replace(others=others)
        context = _make_context(self._app, options, setting)
        lane = _make_lane(self._app, judge, budget=options.get("budget"), project=context.project)
        return audit_history(context, self._make_retriever(), lane, setting)

    def by_people(self, *, judge: str = "builtin", **options: Unpack[AuditOptions]) -> AuditReport:
        """Measure the kept decisions of a judge by every label that people gave to their pairs. No judge is asked."""
        self._app.check_internal(_AUDITED)
        setting = _read_setting(options, sample=100)
        return audit_human(_make_context(self._app, options, setting), _make_lane(self._app, judge), setting)

    def list_blind_pairs(self, *, judge: str = "builtin", **options: Unpack[AuditOptions]) -> list[BlindPair]:
        """Return pairs of items that a judge has decided on and nobody has labelled: some that it accepted and as many
        that it did not, in an order that tells nothing.
        """
        setting = _read_setting(options, sample=100)
        context = _make_context(self._app, options, setting)
        return list_blind_pairs(context.store, context.project.id, _make_lane(self._app, judge), setting)

    def label(self, labels: Iterable[PairLabel], *, project: str | None = None) -> int:
        """Keep what the person at this machine says of pairs (duplicate, related, different, unsure); returns how
        many.
        """
        store, meant = self._app.store(create=True), self._app.require_project(project)
        return save_pair_labels(store, meant.id, labels, said_by=user_name(), now_ms=self._app.now_ms())

    def read_labels(self, path: str) -> list[PairLabel]:
        """Return the labels of a file of JSON lines: `{"kind": "issue", "number": 12, "target": 7, "label":
        "duplicate"}`.
        """
        with open_source(path) as source:
            return parse_labels(numbered_lines(source, hint="get a whole copy"))

    def analyse(
        self, run: int | None = None, *, project: str | None = None, rank_max: int | None = None,
        score_min: float | None = None, gap_min: float | None = None, confidence_min: float | None = None,
    ) -> AuditAnalysis:  # fmt: skip
        """Return an audit (the newest) with what stricter gates would have made of its decisions: those that are given,
        and a row of values of each. Nobody is asked again.
        """
        self._app.check_internal(_AUDITED)
        for name, value in (("similarity", score_min), ("confidence", confidence_min)):
            if value is not None:
                check_share(f"the minimum {name}", value)
        if rank_max is not None and rank_max < 1:
            raise InvalidValue(f"invalid rank: {rank_max:g}", hint="ranks start at 1")
        store = self._app.store()
        project_id = 0 if run is not None else self._app.require_project(project).id
        bounds = GateBounds(rank_max, score_min, gap_min, confidence_min)
        return analyse_audit(store, find_audit(store, project_id, run), bounds)


def _read_setting(options: AuditOptions, *, sample: int | None) -> AuditSetting:
    """Return what is measured; `sample` is the default. Raises TypeError for an option that there is not."""
    if unknown := options.keys() - AuditOptions.__annotations__.keys():
        raise TypeError(f"unknown audit option: {', '.join(sorted(unknown))}")
    workers = options.get("workers", 1)
    check_workers(workers)
    return AuditSetting(
        meant_kinds(options.get("kind")), options.get("sample", sample), options.get("seed", 0),
        options.get("min_edge", MIN_EDGE), workers=workers,
    )  # fmt: skip


def _make_context(app: App, options: AuditOptions, setting: AuditSetting) -> JobContext:
    """Refuse what means nothing, and return what every audit needs."""
    check_share("the minimum confidence", setting.min_edge)
    if setting.sample is not None and not 1 <= setting.sample <= MAX:
        raise InvalidValue(f"invalid sample size: {setting.sample}", hint=f"use 1 to {MAX:,}")
    if not 0 <= setting.others <= MAX:
        raise InvalidValue(f"invalid number of other items: {setting.others}", hint=f"use 0 to {MAX:,}")
    app.store(create=True)
    return app.job(app.require_project(options.get("project")), options.get("watcher"))


def _make_lane(app: App, name: str, *, budget: int | None = None, project: StoredProject | None = None) -> AnyJudge:
    """Return the judge of that name: the builtin rules, without or with what maintainers wrote, or the model of a
    profile. A budget is of a model's tokens; a model that is to be asked is shown the patches of a project's changes.
    """
    if name not in LANES:
        raise InvalidValue(f"unknown judge: {name!r}", hint=f"one of: {', '.join(LANES)}")
    if name in ("builtin", "statements"):
        return make_judge(app, "builtin", trusts_statements=name == "statements")
    try:
        profile = None if name == "llm" else name
        fetch_patch = make_patch_reader(app, project) if project else None
        return make_judge(app, "llm", profile=profile, budget=budget, fetch_patch=fetch_patch)
    except ConfigError as error:
        hint = f"{error.hint}; to measure the builtin rules: forgelore dedupe audit --against history"
        raise ConfigError(error.message, hint=hint) from error
