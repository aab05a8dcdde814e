"""Reason codes: why a decision, a closing or an answer is not what it might have been. One enum for every layer.

A code is stored, printed, counted and read by programs, so it never changes its meaning. `MEANINGS` says it to people.
"""

from enum import StrEnum


class ReasonCode(StrEnum):
    """Why something was rejected, skipped or held back."""

    # before a judge is asked
    NO_CANDIDATES = "no_candidates"
    SOURCE_TOO_VAGUE = "source_too_vague"
    ALREADY_ACCEPTED = "already_accepted"
    OVER_BUDGET = "over_budget"
    # what the judge said
    JUDGE_FAILED = "judge_failed"
    INVALID_VERDICT = "invalid_verdict"
    NOT_DUPLICATE = "not_duplicate"
    TARGET_NOT_CANDIDATE = "target_not_candidate"
    FACTS_NOT_FOUND = "facts_not_found"
    RELATION_DIFFERS = "relation_differs"
    ROOT_CAUSE_DIFFERS = "root_cause_differs"
    SCOPE_DIFFERS = "scope_differs"
    PATH_DIFFERS = "path_differs"
    NOT_SURE = "not_sure"
    # what we know besides
    BUG_FEATURE_MISMATCH = "bug_feature_mismatch"
    TARGET_NOT_OPEN = "target_not_open"
    TARGET_IS_DUPLICATE = "target_is_duplicate"
    LOW_CONFIDENCE = "low_confidence"
    GAP_TOO_SMALL = "gap_too_small"
    LOW_SUPPORT = "low_support"
    BELOW_MAYBE = "below_maybe"
    SAID_OTHERWISE = "said_otherwise"
    # what a plan leaves open
    NOT_OPEN = "not_open"
    ALREADY_CLOSED = "already_closed"
    UNCERTAIN_MAINTAINER_IDENTITY = "uncertain_maintainer_identity"
    MAINTAINER_AUTHOR = "maintainer_author"
    MAINTAINER_ASSIGNEE = "maintainer_assignee"
    MISSING_ACCEPTED_EDGE = "missing_accepted_edge"
    WOULD_CYCLE = "would_cycle"
    LAST_OPEN_OF_CLUSTER = "last_open_of_cluster"
    TARGET_IS_NEWER = "target_is_newer"
    # what has happened since the plan
    EDITED_SINCE_PLAN = "edited_since_plan"
    REOPENED_SINCE_PLAN = "reopened_since_plan"
    ASSIGNED_SINCE_PLAN = "assigned_since_plan"
    DISCUSSED_SINCE_PLAN = "discussed_since_plan"
    LABEL_REMOVED = "label_removed"
    LABELLED_AGAINST = "labelled_against"
    MILESTONE_SINCE_PLAN = "milestone_since_plan"
    CHANGE_APPROVED = "change_approved"
    IN_GRACE = "in_grace"
    CONFIDENTIAL = "confidential"
    CONVERSATION_LOCKED = "conversation_locked"
    ALREADY_LINKED = "already_linked"
    WRITE_UNANSWERED = "write_unanswered"
    WRITE_WITHOUT_EFFECT = "write_without_effect"
    WRITE_REFUSED = "write_refused"


MEANINGS = {
    ReasonCode.NO_CANDIDATES: "nothing in the project is similar enough to compare",
    ReasonCode.SOURCE_TOO_VAGUE: "its text is too short to judge",
    ReasonCode.ALREADY_ACCEPTED: "an earlier decision was accepted; --rejudge replaces it",
    ReasonCode.OVER_BUDGET: "the run's budget ran out before its turn",
    ReasonCode.JUDGE_FAILED: "the model did not answer: no connection, a time-out, or a refusal",
    ReasonCode.INVALID_VERDICT: "the model's answer was not valid JSON",
    ReasonCode.NOT_DUPLICATE: "the judge says it repeats none of its candidates",
    ReasonCode.TARGET_NOT_CANDIDATE: "the judge named an item that was not among the candidates",
    ReasonCode.FACTS_NOT_FOUND: "fewer than two of the judge's quotes occur in both texts",
    ReasonCode.RELATION_DIFFERS: "the judge calls it a follow-up, an overlap or something else",
    ReasonCode.ROOT_CAUSE_DIFFERS: "the judge sees a different root cause",
    ReasonCode.SCOPE_DIFFERS: "the judge sees a different scope: one asks for more than the other",
    ReasonCode.PATH_DIFFERS: "the judge sees a different path through the code",
    ReasonCode.NOT_SURE: "the judge is not sure",
    ReasonCode.BUG_FEATURE_MISMATCH: "one reports a bug, the other asks for a feature",
    ReasonCode.TARGET_NOT_OPEN: "the item it repeats is not open",
    ReasonCode.TARGET_IS_DUPLICATE: "the item it repeats is marked as a duplicate itself",
    ReasonCode.LOW_CONFIDENCE: "the judge's confidence is below the threshold",
    ReasonCode.GAP_TOO_SMALL: "another candidate is nearly as strong",
    ReasonCode.LOW_SUPPORT: "the judge says duplicate, but the item it names is not similar enough by our own measure",
    ReasonCode.BELOW_MAYBE: "the judge says duplicate, but with too little confidence even for a maybe",
    ReasonCode.SAID_OTHERWISE: "a person rejected this pair",
    ReasonCode.NOT_OPEN: "it is already closed",
    ReasonCode.ALREADY_CLOSED: "an earlier apply closed it",
    ReasonCode.UNCERTAIN_MAINTAINER_IDENTITY: "it is unclear whether its author or an assignee is a maintainer",
    ReasonCode.MAINTAINER_AUTHOR: "a maintainer wrote it",
    ReasonCode.MAINTAINER_ASSIGNEE: "a maintainer is assigned to it",
    ReasonCode.MISSING_ACCEPTED_EDGE: "no accepted decision links it directly to the item that would stay open",
    ReasonCode.WOULD_CYCLE: "closing it would make a circle of duplicates",
    ReasonCode.LAST_OPEN_OF_CLUSTER: "it is the last open item in its cluster",
    ReasonCode.TARGET_IS_NEWER: "it was filed earlier, and by somebody else, than the item that would stay open",
    ReasonCode.EDITED_SINCE_PLAN: (
        "its text or commits, or its target's, changed after the plan was made, or after a person accepted the pair"
    ),
    ReasonCode.REOPENED_SINCE_PLAN: "it was reopened, after the plan was made or at any time before",
    ReasonCode.ASSIGNED_SINCE_PLAN: "somebody was assigned to it after the plan was made",
    ReasonCode.DISCUSSED_SINCE_PLAN: "it was discussed after the plan was made",
    ReasonCode.LABEL_REMOVED: "the label that announces its closing was removed",
    ReasonCode.LABELLED_AGAINST: "it has a label that speaks against closing it (see the setting keep_open_labels)",
    ReasonCode.MILESTONE_SINCE_PLAN: "it was given a milestone after the plan was made",
    ReasonCode.CHANGE_APPROVED: "the change was approved, or will merge once its checks pass",
    ReasonCode.IN_GRACE: "its grace period, or its target's, is not over",
    ReasonCode.CONFIDENTIAL: "it, or the item it repeats, is confidential",
    ReasonCode.CONVERSATION_LOCKED: "its conversation is locked: no notice can be posted",
    ReasonCode.ALREADY_LINKED: "somebody has named the other item there meanwhile",
    ReasonCode.WRITE_UNANSWERED: "a write was sent but no answer arrived; the next run checks what happened",
    ReasonCode.WRITE_WITHOUT_EFFECT: "the forge accepted the write but nothing changed; run the same command again",
    ReasonCode.WRITE_REFUSED: "the forge refused the write; see the warnings",
}
