"""Type of an item: does it report a fault, or ask for something new? Told by its labels, its title, or its form.

    labels    `bug`, `kind/bug`, `C-bug`, `type: defect`; `enhancement`, `feature request`, `C-feature-request`
    title     `[Bug]`, `fix:`, `Feature request: …`, `feat(ui): …`
    form      headings such as "Steps to reproduce" and "Describe the solution you'd like"

The first of these that tells decides; what tells both, or nothing, is `unknown`, which objects to nothing.
"""

import re
from collections.abc import Iterable

from forgelore.core.dedupe.gates import ItemType

_BUG_WORDS = {"bug", "bugs", "defect", "regression", "crash", "fault", "ice", "panic", "flake", "flaky"}
_FEATURE_WORDS = {
    "feature",
    "features",
    "enhancement",
    "enhancements",
    "improvement",
    "wish",
    "wishlist",
    "rfc",
    "idea",
}
_TITLE = re.compile(
    r"\A\W*(?:(?P<bug>bug(?:fix)?|fix(?:es|ed)?|defect|regression|crash|hotfix)"
    r"|(?P<feature>feat(?:ure)?(?:[ -]request)?|rfe|enhancement|proposal|rfc|idea|wish))"
    r"\s*(?:\([^)\n]{0,40}\)\s*)?!?\s*[\])>:]",
    re.IGNORECASE,
)
_BUG_FORM = re.compile(
    r"^[#* \t]*(?:steps? to reproduce|how to reproduce|reproduction|expected (?:behaviou?r|result)|"
    r"actual (?:behaviou?r|result)|current behaviou?r|describe the bug|what happened|to reproduce)\b",
    re.IGNORECASE | re.MULTILINE,
)
_FEATURE_FORM = re.compile(
    r"^[#* \t]*(?:describe the (?:solution|feature)|is your feature request|feature description|motivation|"
    r"alternatives? (?:you've )?considered|describe alternatives|use ?case|proposed solution)\b",
    re.IGNORECASE | re.MULTILINE,
)
_WORD = re.compile(r"[a-z]+")
_READ = 20_000


def find_item_type(title: str, body: str, labels: Iterable[str]) -> ItemType:
    """Return what an item is. ("Dark theme", "", ["C-feature-request"]) -> feature"""
    words = {word for label in labels for word in _WORD.findall(label.lower())}
    by_label = _one_of(is_bug=bool(words & _BUG_WORDS), is_feature=bool(words & _FEATURE_WORDS))
    if by_label != "unknown":
        return by_label
    begins = _TITLE.match(title)
    if begins:
        return "bug" if begins["bug"] else "feature"
    text = body[:_READ]
    return _one_of(is_bug=bool(_BUG_FORM.search(text)), is_feature=bool(_FEATURE_FORM.search(text)))


def _one_of(*, is_bug: bool, is_feature: bool) -> ItemType:
    if is_bug == is_feature:
        return "unknown"
    return "bug" if is_bug else "feature"
