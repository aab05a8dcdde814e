"""Gate policy: which gates a job asks, with which numbers, and which words of a judge object.

    values that object     batch and audit                                         online, beside these
    relation               related_followup, partial_overlap, different
    root_cause             adjacent, different
    scope                  source_superset, partial_overlap, different_scope       source_subset
    path                   different
    certainty              unsure

A source that asks for less than its target (`source_subset`) loses nothing when it is closed onto it; one that asks for
more (`source_superset`) does. Online a person is told at once and nobody reviews it: nothing but `same_scope` will do.
"""

from forgelore.core.dedupe.gates import GATES, MIN_EDGE, Policy

MIN_SCORE = 0.75  # of similarity, for a candidate
BATCH_K, ONLINE_K = 4, 8
SHOWN_CLOSED = 4  # closed items that are kept beside the candidates
MIN_CLOSE = 0.90  # of confidence
MAYBE, DUPLICATE = 0.85, 0.92  # of confidence, online
SUPPORT = 0.90  # of similarity, online
MIN_GAP = 0.26  # of strength: it vetoes as many lists as 0.015 of cosine (bench/results/dedupe.md)

_EVERY_GATE = frozenset(name for name, _ in GATES)
_VETOES = frozenset(
    {
        ("relation", "related_followup"),
        ("relation", "partial_overlap"),
        ("relation", "different"),
        ("root_cause", "adjacent"),
        ("root_cause", "different"),
        ("scope", "source_superset"),
        ("scope", "partial_overlap"),
        ("scope", "different_scope"),
        ("path", "different"),
        ("certainty", "unsure"),
    }
)

BATCH = Policy("batch", _EVERY_GATE - {"support"}, MIN_EDGE, MIN_GAP, 0.0, _VETOES)
AUDIT = BATCH._replace(name="audit")
ONLINE = Policy("online", _EVERY_GATE, DUPLICATE, MIN_GAP, SUPPORT, _VETOES | {("scope", "source_subset")})
# The bot says "similar", shows why and closes nothing: what is told is bounded by similarity alone.
TRIAGE = Policy("triage", frozenset({"vague source", "candidates", "nobody said otherwise", "support"}))
