"""The part of the facade that measures deduplication: audits of judges, and reports of them. One project."""

from typing import TYPE_CHECKING

from forgelore.api.methods.history_dedupe import DedupingHistory

if TYPE_CHECKING:
    from forgelore.flows.audit.recording import AuditReport
    from forgelore.flows.progress import Watcher


class AuditingHistory(DedupingHistory):
    """What `History` can do to measure its judges."""

    def audit_judges(
        self, *, cheap: str = "cheap", strong: str = "strong", project: str | None = None, kind: str | None = None,
        sample: int = 100, seed: int = 0, min_edge: float = 0.85, watcher: "Watcher | None" = None,
    ) -> "AuditReport":  # fmt: skip
        """Ask two judges about a sample of the latest candidates of open items, through the same gates, and return
        where they agree. Judges are builtin (rules), statements (rules, and what maintainers wrote), cheap and strong
        (models of the settings).
        """
        from forgelore.api.auditing.judges import audit_judges, make_setting

        setting = make_setting(kind, sample=sample, seed=seed, min_edge=min_edge)
        return audit_judges(self.app, project, cheap, strong, setting, watcher=watcher)

    def audit_by_history(
        self, *, judge: str = "builtin", project: str | None = None, kind: str | None = None,
        sample: int | None = None, seed: int = 0, min_edge: float = 0.85, others: int = 100,
        watcher: "Watcher | None" = None,
    ) -> "AuditReport":  # fmt: skip
        """Measure a judge by the project's own known duplicates, each judged as of its filing; all of them, or a
        sample. Of `others`, items that nobody called a duplicate, what it would accept is listed.
        """
        from forgelore.api.auditing.judges import audit_by_history, make_setting

        setting = make_setting(kind, sample=sample, seed=seed, min_edge=min_edge, others=others)
        return audit_by_history(self.app, self.retriever(), project, judge, setting, watcher=watcher)
