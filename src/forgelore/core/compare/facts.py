"""Facts that moved a match: its strength taken apart into what people know.

Every node of a tree knows the mean of the candidates that came through it (core/compare/trees). A candidate's way from
the root to a leaf moves that mean from node to node, and each step is owed to the number that the node asks for. Added
up over all trees:

    strength = what is usual + the sum of what each fact moved (shared files, a rule beside the trees, included)

which holds exactly, up to the rounding of sums. It says what the trees looked at, not why two items are the same.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from forgelore.core.compare.shared_paths import path_bonus
from forgelore.core.compare.trees import Trees

_GROUPS = {
    "meaning": ("cosine", "cosine_z", "cosine_2", "cosine_2_z"),
    "words": ("words_z", "cover", "info", "jaccard"),
    "title": ("title", "title_in", "in_title", "known_title"),
    "marks": ("error", "frame", "identifier", "path", "version"),
    "time": ("recency",),
    "length": ("length",),
    "references": ("refs",),
    "state": ("open", "closed_for"),
    "conversation": ("marked", "comments", "people", "quiet", "mentions", "duplicates", "took_part"),
    "author": ("same_author",),
    "files": ("shared_paths",),
}
_GROUP_OF = {name: group for group, names in _GROUPS.items() for name in names}
_WORDS = {
    "meaning": "what the texts mean", "words": "the words of the texts", "title": "the words of the titles",
    "marks": "error lines, names, paths, versions", "time": "the time between them", "length": "how long the texts are",
    "references": "what both refer to", "conversation": "what was said below it",
    "files": "the files that both change",
}  # fmt: skip
_STATES = {1.0: "it was open", 0.0: "it was closed"}
_AUTHORS = {1.0: "the same author", 0.0: "another author"}
_LEAST = 0.1  # of a strength: what moved it less is not worth a word
_MOST = 3  # facts that speak for a match, or against it


class Fact(NamedTuple):
    """What moved a strength, and by how much. `says`: in words."""

    name: str
    says: str
    moved: float


class Explanation(NamedTuple):
    """The facts of a match, those that moved most first. `usual` is the mean of the candidates of other trackers."""

    usual: float
    facts: tuple[Fact, ...]

    @property
    def speaking_for(self) -> tuple[str, ...]:
        return tuple(fact.says for fact in self.facts if fact.moved >= _LEAST)[:_MOST]

    @property
    def speaking_against(self) -> tuple[str, ...]:
        return tuple(fact.says for fact in self.facts if fact.moved <= -_LEAST)[:_MOST]


def find_facts(trees: Trees, pairs: Sequence[Mapping[str, float]]) -> list[Explanation]:
    """Return what moved the strength of each pair."""
    found = []
    for features, steps in zip(pairs, trees.explain(pairs), strict=True):
        bonus = path_bonus(features)
        moved = {**steps, "shared_paths": bonus} if bonus else steps
        found.append(Explanation(trees.usual, _group(features, moved)))
    return found


def _group(features: Mapping[str, float], steps: Mapping[str, float]) -> tuple[Fact, ...]:
    groups: dict[str, float] = {}
    for name, step in steps.items():
        group = _GROUP_OF.get(name, name)
        groups[group] = groups.get(group, 0.0) + step
    facts = [Fact(group, _describe(group, features), step) for group, step in groups.items()]
    return tuple(sorted(facts, key=lambda fact: -abs(fact.moved)))


def _describe(group: str, features: Mapping[str, float]) -> str:
    if group == "state":
        return _STATES.get(features.get("open", -1.0), "nobody knows its state")
    if group == "author":
        return _AUTHORS.get(features.get("same_author", -1.0), "nobody knows both authors")
    return _WORDS.get(group, group)
