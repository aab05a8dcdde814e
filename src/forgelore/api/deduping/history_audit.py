"""The part of the facade that runs the whole of deduplication and measures it: chain, audits, reports. One project."""

from typing import TYPE_CHECKING

from forgelore.api.methods.history_dedupe import DedupingHistory

if TYPE_CHECKING:
    from collections.abc import Iterable

    from forgelore.api.deduping.chain import DedupeChain
    from forgelore.dedupe.audit import AuditReport
    from forgelore.dedupe.audit_human import BlindPair
    from forgelore.dedupe.audit_rules import PairLabel
    from forgelore.dedupe.clusters import TargetPolicy
    from forgelore.dedupe.report import AuditAnalysis, DedupeOverview
    from forgelore.ports.progress import Watcher


class AuditingHistory(DedupingHistory):
    """What `History` can do with the whole chain, and to measure its judges."""

    def run_dedupe(
        self, *, project: str | None = None, kind: str | None = None, k: int = 4, min_score: float = 0.75,
        min_edge: float = 0.85, min_close: float = 0.9, target_policy: "TargetPolicy" = "canonical-only",
        trust_statements: bool = False, judge: str = "builtin", profile: str | None = None,
        budget: int | None = None, workers: int = 1, watcher: "Watcher | None" = None,
    ) -> "DedupeChain":  # fmt: skip
        """Find candidates, judge them, build clusters and make a plan of closings; nothing is sent. What was done
        before is not done again.
        """
        from forgelore.api.deduping.chain import ChainSetting, run_chain
        from forgelore.api.judging import JudgeChoice
        from forgelore.dedupe.candidates import CandidateSetting
        from forgelore.dedupe.judge import JudgeSetting

        self.app.check_internal("confidential items, which a plan lists with the reason why they stay open")
        setting = ChainSetting(
            kind, CandidateSetting(k, min_score), JudgeSetting(min_edge, workers=workers, budget=budget),
            JudgeChoice(judge, profile, trust_statements), target_policy, min_close, workers=workers,
        )  # fmt: skip
        return run_chain(self.app, self.retriever(), project, setting, watcher=watcher)

    def audit_judges(
        self, *, cheap: str = "cheap", strong: str = "strong", project: str | None = None, kind: str | None = None,
        sample: int = 100, seed: int = 0, min_edge: float = 0.85, workers: int = 1, budget: int | None = None,
        watcher: "Watcher | None" = None,
    ) -> "AuditReport":  # fmt: skip
        """Ask two judges about a sample of the latest candidates of open items, through the same gates, and return
        where they agree. Judges are builtin (rules), statements (rules, and what maintainers wrote), llm, cheap and
        strong (models of the settings; `budget`: most tokens of each).
        """
        from forgelore.api.deduping.audits import audit_judges, make_setting

        self.app.check_internal("confidential items, which audits list with the others")
        setting = make_setting(kind, sample=sample, seed=seed, min_edge=min_edge, workers=workers)
        return audit_judges(self.app, project, cheap, strong, setting, budget=budget, watcher=watcher)

    def audit_by_history(
        self, *, judge: str = "builtin", project: str | None = None, kind: str | None = None,
        sample: int | None = None, seed: int = 0, min_edge: float = 0.85, others: int = 100, workers: int = 1,
        budget: int | None = None, watcher: "Watcher | None" = None,
    ) -> "AuditReport":  # fmt: skip
        """Measure a judge by the project's own known duplicates, each judged as of its filing; all of them, or a
        sample. Of `others`, items that nobody called a duplicate, what it would accept is listed. `workers`:
        questions at once, to a model.
        """
        from forgelore.api.deduping.audits import audit_by_history, make_setting

        self.app.check_internal("confidential items, which audits list with the others")
        setting = make_setting(kind, sample=sample, seed=seed, min_edge=min_edge, others=others, workers=workers)
        return audit_by_history(self.app, self.retriever(), project, judge, setting, budget=budget, watcher=watcher)

    def list_blind_pairs(
        self, *, judge: str = "builtin", project: str | None = None, kind: str | None = None, sample: int = 100,
        seed: int = 0,
    ) -> "list[BlindPair]":  # fmt: skip
        """Return pairs of items that a judge has decided on and nobody has labelled: some that it accepted and as many
        that it did not, in an order that tells nothing.
        """
        from forgelore.api.deduping.audits import list_blind_pairs, make_setting

        setting = make_setting(kind, sample=sample, seed=seed, min_edge=0.85)
        return list_blind_pairs(self.app, project, judge, setting)

    def label_pairs(self, labels: "Iterable[PairLabel]", *, project: str | None = None) -> int:
        """Keep what a person says of pairs (duplicate, related, different, unsure); returns how many."""
        from forgelore.api.deduping.audits import label_pairs

        return label_pairs(self.app, project, labels)

    def read_pair_labels(self, path: str) -> "list[PairLabel]":
        """Return the labels of a file of JSON lines: `{"kind": "issue", "number": 12, "target": 7, "label":
        "duplicate"}`.
        """
        from forgelore.api.deduping.audits import read_pair_labels

        return read_pair_labels(path)

    def audit_by_people(
        self, *, judge: str = "builtin", project: str | None = None, kind: str | None = None, sample: int = 100,
        seed: int = 0, min_edge: float = 0.85, watcher: "Watcher | None" = None,
    ) -> "AuditReport":  # fmt: skip
        """Measure the kept decisions of a judge by every label that people gave to their pairs. No judge is asked."""
        from forgelore.api.deduping.audits import audit_by_people, make_setting

        self.app.check_internal("confidential items, which audits list with the others")
        setting = make_setting(kind, sample=sample, seed=seed, min_edge=min_edge)
        return audit_by_people(self.app, project, judge, setting, watcher=watcher)

    def analyse_audit(
        self, run: int | None = None, *, project: str | None = None, rank_max: int | None = None,
        score_min: float | None = None, gap_min: float | None = None, confidence_min: float | None = None,
    ) -> "AuditAnalysis":  # fmt: skip
        """Return an audit (the newest) with what stricter gates would have made of its decisions: those that are given,
        and a row of values of each. Nobody is asked again.
        """
        from forgelore.api.deduping.audits import analyse_audit
        from forgelore.dedupe.audit_rules import GateBounds

        self.app.check_internal("confidential items, which audits list with the others")
        return analyse_audit(self.app, run, project, GateBounds(rank_max, score_min, gap_min, confidence_min))

    def load_overview(self, *, project: str | None = None) -> "DedupeOverview":
        """Return what a reviewer looks at: clusters with the evidence of each edge, the newest plan, the audits."""
        from forgelore.api.projects import require_project
        from forgelore.dedupe.report import load_overview

        self.app.check_internal("confidential items, which clusters list with the others")
        return load_overview(self.app.store(), require_project(self.app, project), self.app.now_ms())
