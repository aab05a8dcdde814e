"""Rivals of a change: what others do to the same lines, issues and files, each a fact in words and never a number
between 0 and 1.

    lines of its diff    -> changes that remove the same lines
    issues that it closes -> changes that close one of them
    rare files           -> changes that touch the same ones

Only current changes are named: open ones, and those that were closed at most `RECENT_DAYS` before. Works for a change
that does not exist yet, from its diff or paths alone. Two changes by one author are listed, and nobody is warned of
them: people split and stack their work.

Two changes change the same lines where they share one line and overlap by at least `MIN_OVERLAP`, over the hashes of
the lines that each removes (text/patches):

    shared   lines that both remove, and that at most `MAX_SHARERS` changes remove: a licence header proves nothing
    overlap  shared / sqrt(a * b), where a and b are how many lines each removes

Measured on half of bitcoin's rival changes (bench/results/overlap.md); a patch that quotes everybody else's lines is
long, and overlaps with nobody.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from itertools import combinations
from typing import Literal, NamedTuple

from forgelore.model import PatchLines
from forgelore.store.change_lines import (
    each_removed,
    list_closing_changes,
    load_changes,
    load_closed_issues,
    load_current_changes,
    load_lines,
)
from forgelore.store.code import load_code_tree, load_texts_at
from forgelore.store.database import Store
from forgelore.store.paths import count_changes_by_path, list_touching_items, load_paths_of
from forgelore.text.items import StoredItem
from forgelore.text.patches import hash_line, normalise

RECENT_DAYS = 30
_RECENT_MS = RECENT_DAYS * 86_400_000
_RARE = 12  # changes that touch a file: it is a rare one
_FILES = 2  # rare files that both touch
_NAMED = 100  # changes of one file that are looked at
_ASKED = 50  # paths whose changes are looked up

FactKind = Literal[
    "same_commit", "same_change", "already_merged", "same_lines", "superseded", "same_issue", "same_files"
]
# What counts most comes first. Shared files alone are the weakest: 5 % more rivals at most were found by them.
_WEIGHTS: dict[FactKind, float] = {
    "same_commit": 8.0, "same_change": 6.0, "already_merged": 5.0, "same_lines": 3.0, "superseded": 2.5,
    "same_issue": 2.0, "same_files": 0.5,
}  # fmt: skip
# A small change whose few lines are in a sweeping one: true, and on ordinary changes as often as on rivals.
_WEAK: frozenset[FactKind] = frozenset(["same_files", "already_merged"])

MAX_SHARERS = 12
MIN_OVERLAP = 0.2
_CONTAINED = 0.8  # of a change's lines are in another one: it has nothing to add to that
_ENOUGH = 3  # lines of a change; fewer are in another one by chance
Shared = tuple[int, float]  # how many rare lines two changes both remove, and how much of the two that is


def find_shared(mine: Collection[int], others: Mapping[int, Collection[int]]) -> dict[int, Shared]:
    """Return item -> what it shares with these lines, of those that change the same lines."""
    wanted = frozenset(mine)
    common = {item_id: found for item_id, lines in others.items() if (found := wanted.intersection(lines))}
    sharers = Counter(line for found in common.values() for line in found)
    shared = {}
    for item_id, found in common.items():
        count = sum(sharers[line] < MAX_SHARERS for line in found)
        if one := _shared(count, len(wanted), len(others[item_id])):
            shared[item_id] = one
    return shared


def find_shared_pairs(removed: Mapping[int, Collection[int]]) -> dict[tuple[int, int], Shared]:
    """Return (item, item) -> what they share, of every pair that changes the same lines; the lower item first."""
    by_line: dict[int, list[int]] = {}
    for item_id in sorted(removed):
        for line in removed[item_id]:
            by_line.setdefault(line, []).append(item_id)
    counts: Counter[tuple[int, int]] = Counter()
    for items in by_line.values():
        if 1 < len(items) <= MAX_SHARERS:
            counts.update(combinations(items, 2))
    found = {pair: _shared(count, *(len(removed[item_id]) for item_id in pair)) for pair, count in counts.items()}
    return {pair: shared for pair, shared in found.items() if shared}


def _shared(count: int, mine: int, theirs: int) -> Shared | None:
    overlap = count / math.sqrt(mine * theirs) if count else 0.0
    return (count, overlap) if overlap >= MIN_OVERLAP else None


def is_same_change(mine: PatchLines, theirs: PatchLines) -> bool:
    """Tell whether two changes remove and add the same lines, and enough of them to say so."""
    return mine == theirs and len(mine.removed) + len(mine.added) >= _ENOUGH


def is_contained(mine: PatchLines, theirs: PatchLines) -> bool:
    """Tell whether nearly all that a change removes and adds is removed and added by another one too."""
    if len(mine.removed) + len(mine.added) < _ENOUGH:
        return False
    parts = ((mine.removed, theirs.removed), (mine.added, theirs.added))
    return all(len({*one} & {*other}) >= _CONTAINED * len(one) for one, other in parts)


class OverlapFact(NamedTuple):
    """What another change does as well, in words that have this one as their subject ("changes the same 3 lines as"),
    and in words that have the other one ("changes the same 3 lines").
    """

    kind: FactKind
    lead: str
    says: str
    many: int = 0  # lines, files or issues

    @staticmethod
    def json_key(name: str) -> str:
        return "" if name == "lead" else name


class Overlap(NamedTuple):
    """Another change, and what it does as well, the strongest fact first."""

    change: StoredItem
    facts: tuple[OverlapFact, ...]
    is_same_author: bool
    is_rival: bool  # people are warned of it: not of an author's own changes, nor of a fact that says little by itself
    strength: float


class ChangeFacts(NamedTuple):
    """What is known of a change that is compared. `row` None: it does not exist yet."""

    row: StoredItem | None = None
    lines: PatchLines = PatchLines()
    paths: frozenset[str] = frozenset()
    issues: frozenset[int] = frozenset()

    @property
    def is_plan(self) -> bool:
        """Whether somebody has named paths alone, and wants to know who is at work on any of them."""
        return self.row is None and self.lines == PatchLines()


def load_change_facts(store: Store, project_id: int, item_ids: Collection[int]) -> dict[int, ChangeFacts]:
    """Return item -> its facts, of the changes among these items."""
    rows = load_changes(store, project_id, item_ids)
    lines, paths = load_lines(store, rows), load_paths_of(store, project_id, rows)
    issues = load_closed_issues(store, project_id, rows)
    none = ChangeFacts()
    return {
        one: ChangeFacts(row, lines.get(one, none.lines), paths.get(one, none.paths), issues.get(one, none.issues))
        for one, row in rows.items()
    }


def find_overlaps(store: Store, project_id: int, mine: ChangeFacts, *, as_of: int) -> list[Overlap]:
    """Return the current changes that overlap with one, strongest first. `as_of`: the moment at which others were open
    or recently closed.
    """
    own = mine.row.id if mine.row else 0
    others = {item_id: lines for item_id, lines in each_removed(store, project_id) if item_id != own}
    shared = find_shared(mine.lines.removed, others) if mine.lines.removed else {}
    counts = count_changes_by_path(store, project_id, mine.paths)
    rare = frozenset(path for path in mine.paths if mine.is_plan or counts[path] <= _RARE)
    is_asked = mine.is_plan or len(rare) >= _FILES
    asked = tuple(sorted(rare, key=lambda path: (counts[path], path))[-_ASKED:])  # a sweeping change touches thousands
    touching = list_touching_items(store, project_id, asked, _NAMED) if asked and is_asked else ()
    closing = list_closing_changes(store, project_id, mine.issues) if mine.issues else ()
    facts = load_change_facts(store, project_id, {*shared, *touching, *closing} - {own})
    found = [
        _compare(mine, theirs, shared.get(item_id), rare)
        for item_id, theirs in facts.items()
        if theirs.row and is_current(theirs.row, as_of)
    ]
    return sorted(filter(None, found), key=lambda one: (one.is_same_author, -one.strength, -one.change.number))


def is_current(row: StoredItem, as_of: int) -> bool:
    """Tell whether a change was open at a moment, or had been closed shortly before."""
    return row.state == "open" or row.ended_ms is None or row.ended_ms >= as_of - _RECENT_MS


def _compare(mine: ChangeFacts, theirs: ChangeFacts, shared: Shared | None, rare: frozenset[str]) -> Overlap | None:
    """Return what another change does as well; None where nothing is worth telling."""
    assert theirs.row is not None
    facts = [*_line_facts(mine, theirs, shared), *_issue_facts(mine, theirs), *_file_facts(mine, theirs, rare)]
    if not facts:
        return None
    facts.sort(key=lambda fact: -_WEIGHTS[fact.kind])
    strength = sum(_WEIGHTS[fact.kind] for fact in facts) + (shared[1] if shared else 0.0)
    is_same_author = _is_same_author(mine.row, theirs.row)
    is_rival = not is_same_author and (shared is not None or any(fact.kind not in _WEAK for fact in facts))
    return Overlap(theirs.row, tuple(facts), is_same_author, is_rival, strength)


def _is_same_author(mine: StoredItem | None, theirs: StoredItem) -> bool:
    if mine is None or not mine.author or not theirs.author or theirs.author == "ghost":
        return False
    return mine.author.lower() == theirs.author.lower()


def _line_facts(mine: ChangeFacts, theirs: ChangeFacts, shared: Shared | None) -> list[OverlapFact]:
    assert theirs.row is not None
    if mine.row and mine.row.head_sha and mine.row.head_sha == theirs.row.head_sha:
        return [OverlapFact("same_commit", "ends in the same commit as", "ends in the same commit")]
    if theirs.row.state == "merged" and is_contained(mine.lines, theirs.lines):
        many = len(mine.lines.removed) + len(mine.lines.added)
        return [OverlapFact("already_merged", "repeats what was merged with", "has brought the same lines", many)]
    if is_same_change(mine.lines, theirs.lines):
        many = len(mine.lines.removed) + len(mine.lines.added)
        return [OverlapFact("same_change", "makes the same change as", "makes the same change", many)]
    if shared is None:
        return []
    many = shared[0]
    says = f"changes the same {many:,} lines" if many > 1 else "changes the same line"
    return [OverlapFact("same_lines", f"{says} as", says, many)]


def _issue_facts(mine: ChangeFacts, theirs: ChangeFacts) -> list[OverlapFact]:
    issues = tuple(sorted(mine.issues & theirs.issues))
    if not issues:
        return []
    named = f"issue{'s' if len(issues) > 1 else ''} {', '.join(map(str, issues))}"
    assert theirs.row is not None
    came_at = mine.row.created_ms if mine.row else None
    if theirs.row.merged_ms and came_at and theirs.row.merged_ms > came_at:
        says = f"closed {named} when it was merged"
        return [OverlapFact("superseded", f"is for {named}, closed since by", says, len(issues))]
    return [OverlapFact("same_issue", f"closes {named}, as does", f"closes {named}", len(issues))]


def _file_facts(mine: ChangeFacts, theirs: ChangeFacts, rare: frozenset[str]) -> list[OverlapFact]:
    """Tell of rare files where they are at least half of what each touches: sweeping changes touch everything."""
    count = len(rare & theirs.paths)
    is_much = count >= _FILES and 2 * count >= max(len(mine.paths), len(theirs.paths))
    if not count or not (is_much or mine.is_plan):
        return []
    says = f"touches the same {count:,} files" if count > 1 else "touches the same file"
    return [OverlapFact("same_files", f"{says} as", says, count)]


def describe_default_branch(store: Store, project_id: int, mine: ChangeFacts) -> str:
    """Return, in words, that the default branch as it was indexed has a change's lines already, or lacks most of those
    that it removes; "" where neither holds, or where the code is not indexed.
    """
    removed, added = {*mine.lines.removed}, {*mine.lines.added}
    texts = load_texts_at(store, project_id, mine.paths) if removed or added else {}
    if not texts:
        return ""
    rows = ((path, normalise(line)) for path, text in texts.items() for line in text.split("\n"))
    there = {hash_line(path, line) for path, line in rows if line}
    are_all_known = mine.paths == texts.keys()  # a file that is not indexed may have a line all the same
    gone, kept = len(removed - there), len(added & there)
    commit = load_code_tree(store, project_id).tree_commit[:8]
    is_removed = not removed or gone >= _CONTAINED * len(removed)
    if is_removed and kept >= _ENOUGH and kept >= _CONTAINED * len(added):
        return f"{kept:,} of the {len(added):,} lines that it adds are on the default branch already, at {commit}"
    if are_all_known and gone >= _ENOUGH and gone >= _CONTAINED * len(removed):
        return f"{gone:,} of the {len(removed):,} lines that it removes are gone from the default branch, at {commit}"
    return ""


class OverlapGroup(NamedTuple):
    """Changes of several people that do the same, newest first, and the pairs among them, strongest first: an open
    change, and another one with what it does as well.
    """

    changes: tuple[StoredItem, ...]
    pairs: tuple[tuple[StoredItem, Overlap], ...]

    @property
    def strength(self) -> float:
        return self.pairs[0][1].strength


def find_groups(store: Store, project_id: int, *, as_of: int) -> list[OverlapGroup]:
    """Return the groups of rival changes of a project, strongest first. In each pair one change is open."""
    current = load_current_changes(store, project_id, as_of - _RECENT_MS)
    # Lines are rare among all changes that are kept, not among the current ones.
    shared = find_shared_pairs(dict(each_removed(store, project_id)))
    facts = load_change_facts(store, project_id, current)
    wanted = {pair for pair in shared if pair[0] in facts and pair[1] in facts} | _issue_pairs(facts)
    pairs = []
    for pair in wanted:
        later, earlier = sorted(pair, key=lambda one: -current[one].number)
        first, other = (later, earlier) if current[later].state == "open" else (earlier, later)
        if current[first].state != "open":
            continue
        one = _compare(facts[first], facts[other], shared.get((min(pair), max(pair))), frozenset())
        if one and one.is_rival:
            pairs.append((first, other, one))
    return _group(current, pairs)


def _issue_pairs(facts: Mapping[int, ChangeFacts]) -> set[tuple[int, int]]:
    by_issue: dict[int, list[int]] = {}
    for item_id, one in facts.items():
        for issue in one.issues:
            by_issue.setdefault(issue, []).append(item_id)
    crowds = [sorted(items) for items in by_issue.values() if len(items) <= _NAMED]
    return {(one, other) for items in crowds for place, one in enumerate(items) for other in items[place + 1 :]}


def _group(current: Mapping[int, StoredItem], pairs: Iterable[tuple[int, int, Overlap]]) -> list[OverlapGroup]:
    members: dict[int, set[int]] = {}
    kept = list(pairs)
    for first, other, _ in kept:
        together = members.get(first, {first}) | members.get(other, {other})
        members.update(dict.fromkeys(together, together))
    groups = []
    for together in {id(one): one for one in members.values()}.values():
        its = [(current[one], overlap) for one, _, overlap in kept if one in together]
        its.sort(key=lambda pair: (-pair[1].strength, -pair[0].number, -pair[1].change.number))
        rows = sorted((current[one] for one in together), key=lambda row: -row.number)
        groups.append(OverlapGroup(tuple(rows), tuple(its)))
    return sorted(groups, key=lambda group: (-group.strength, -group.changes[0].number))
