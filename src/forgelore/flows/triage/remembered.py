"""Reports that are remembered: what the last look at an item said, and whether another one says something new."""

from forgelore.flows.triage.item import TriageResult
from forgelore.flows.triage.posting import Posted
from forgelore.store.triage import StoredReport


def is_news(triaged: TriageResult, before: StoredReport | None) -> bool:
    """True for a warning of something that no comment here has named."""
    is_warning = triaged.outcome in ("duplicate", "regression")
    return is_warning and (before is None or triaged.first_number not in before.shown)


def build_stored(
    now_ms: int, triaged: TriageResult, posted: Posted | None, before: StoredReport | None
) -> StoredReport:
    """Return the report as it is kept. What a person took away stays known, so that it is not posted again; only what
    we took back is forgotten.
    """
    url, shown = (posted.url if posted else None), triaged.shown
    if before is not None and before.comment_url and (posted is None or posted.action == "nothing"):
        url, shown = before.comment_url, before.shown
    return StoredReport(
        now_ms, triaged.content_hash, triaged.outcome, triaged.first_number, triaged.similarity, url, shown
    )
