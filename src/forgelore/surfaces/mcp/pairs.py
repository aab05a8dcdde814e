"""Pairs as agents see them: likely duplicates that nobody has decided, and changes that rival each other. An agent
lists them; only a person decides.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.mcp.answers import TITLE_CHARS, ToolAnswer, answer_rows, fit_answer, one_line
from forgelore.surfaces.present.changes import say_overlap
from forgelore.surfaces.present.text import day
from forgelore.surfaces.present.text import fence_alone as fence

if TYPE_CHECKING:
    from forgelore.api import Overlap, OverlapAnswer, ReviewPair, ReviewQueue, StoredItem


class PossibleDuplicate(NamedTuple):
    """A pair that nobody has decided, the newer item first. `only_newer`, `only_older`: the words in which the titles
    differ, then lines that only one text has; `both`: lines that both have.
    """

    newer: str
    older: str
    newer_title: str
    older_title: str
    facts: str
    only_newer: str
    only_older: str
    both: str
    chance: float


class PossibleDuplicates(NamedTuple):
    """Pairs, best first; `left`: how many there are in all. `expected`: how many of these are likely duplicates."""

    pairs: list[PossibleDuplicate]
    left: int
    expected: float
    notes: list[str]


def answer_pairs(queue: "ReviewQueue", limit: int, about_limit: Sequence[str]) -> ToolAnswer:
    notes = [*about_limit]
    if queue.uncompared:
        notes.append(f"{queue.uncompared} open items have not been compared yet; a person has to have them compared")

    def build(width: int) -> ToolAnswer:
        pairs = [_possible_duplicate(one, width) for one in queue.pairs[:limit]]
        data = PossibleDuplicates(pairs, queue.left, round(queue.forecast.duplicates, 1), notes)
        first = f"{len(pairs)} of {queue.left} pairs; about {data.expected} of them are duplicates"
        lines = [line for one in pairs for line in _write_pair(one)]
        within = [*notes, *lines]
        return ToolAnswer("\n".join([first, *([fence("\n".join(within))] if within else [])]), data)

    return fit_answer(build)


def _possible_duplicate(pair: "ReviewPair", width: int) -> PossibleDuplicate:
    from forgelore.surfaces.present.dedupe import describe_distance

    newer, older, differences = pair.newer, pair.older, pair.differences
    ended = f", {older.ref} ended as {older.ended}" if older.ended else ""
    ended += f", {newer.ref} ended as {newer.ended}" if newer.ended else ""
    facts = ", ".join([f"{pair.kind}s", *describe_distance(pair)]) + ended
    texts = (
        [*differences.title_newer, *differences.newer_lines], [*differences.title_older, *differences.older_lines],
        differences.shared_lines,
    )  # fmt: skip
    only_newer, only_older, both = (one_line(" | ".join(part), width // 2) for part in texts)
    series = f", {pair.relation}s" if pair.relation else ""
    return PossibleDuplicate(
        newer.ref, older.ref, one_line(newer.title, TITLE_CHARS), one_line(older.title, TITLE_CHARS),
        f"{facts}{series}", only_newer, only_older, both, round(pair.chance, 2),
    )  # fmt: skip


def _write_pair(one: PossibleDuplicate) -> list[str]:
    lines = [f"{one.newer} and {one.older} ({one.facts}, chance {one.chance})"]
    lines += [f"    {one.newer}: {one.newer_title}", f"    {one.older}: {one.older_title}"]
    said = ((f"only {one.newer}", one.only_newer), (f"only {one.older}", one.only_older), ("both", one.both))
    return [*lines, *(f"    {who}: {words}" for who, words in said if words)]


def answer_overlaps(found: "OverlapAnswer") -> ToolAnswer:
    """Return a line for each change that overlaps with the one that was asked about, or for each pair of a project."""
    lines = [f"{_describe_change(found, one.change)}: it {_say_facts(one)}" for one in found.overlaps]
    for group in found.groups:
        lines += [
            f"{_describe_change(found, change)} {say_overlap(overlap, found.ref(overlap.change))}"
            f" ({overlap.change.state}, @{overlap.change.author})"
            for change, overlap in group.pairs
        ]
    return answer_rows("overlaps", lines, 0, len(lines), notes=[*filter(None, [found.on_default]), *found.warnings])


def _describe_change(found: "OverlapAnswer", row: "StoredItem") -> str:
    facts = (row.state, row.author and f"@{row.author}", day(row.merged_at or row.closed_at or row.created_at))
    return f"{found.ref(row)} ({', '.join(fact for fact in facts if fact)}) {one_line(row.title, TITLE_CHARS)}"


def _say_facts(one: "Overlap") -> str:
    author = ["is by the same author"] if one.is_same_author else []
    return ", ".join([*(fact.says for fact in one.facts), *author])
