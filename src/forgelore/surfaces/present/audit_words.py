"""Words for the counters of an audit: what each class means beside labels, and beside another judge."""

_LABELLED = {
    "tp": "accepted, and right",
    "fp": "accepted, and wrong",
    "conflict": "accepted, onto another item",
    "fn": "not accepted, and a duplicate",
    "tn": "not accepted, and none",
    "incomplete": "without an answer",
    "unlabelled": "accepted, and nobody has said whether it is one",
    "known": "known duplicates asked about",
    "original_offered": "of them with an original that was open then, and among the candidates",
    "others": "other items asked about",
}
_LANES = {
    "tp": "accepted by both, onto the same item",
    "fp": "accepted by this judge alone",
    "conflict": "accepted by both, onto different items",
    "fn": "accepted by the other judge alone",
    "tn": "accepted by neither",
}


def in_words(counter: str, against: str) -> str:
    """Return what a counter of an audit counts; its name where nothing is known of it."""
    words = _LABELLED | _LANES if against == "strong" else _LABELLED
    return words.get(counter, counter.replace("_", " "))
