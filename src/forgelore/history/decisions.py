"""Decisions in the sources of a path: those that rules find, and those that a model has read before.

    a change that was discussed and merged   what a maintainer stated in a thread on the file, or beside its name
    a change or commit that reverts          an issue or change that a maintainer closed with a reason
    a decision record that names the file    what a commit says was decided

A decision needs somebody who decides: a maintainer, or whoever merged the change. The forge or the settings name the
maintainers; where neither does, they are those who close other people's items. Nobody else decides anything. Reasons
alone are shown beside the change or commit that gives them. A decision weighs more the more people took part, the more
sources name it, and the more it touches.

Each quote that a model chose is looked up again in today's text; it is dropped when it no longer stands there, or when
its author is no maintainer. A decision whose conversation went on since is marked. What rules found in the same lines
is joined with it.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, cast

from forgelore.ask.claims import CitedText, check_citation
from forgelore.ask.tool_calls import ClaimedCitation
from forgelore.browse.reading_text import load_reading
from forgelore.history.extract import hash_content
from forgelore.history.extraction import DecisionNode, find_part
from forgelore.history.sources import MeantPath, SourceCommit, SourceItem
from forgelore.history.statements import (
    DecisionEdge,
    DecisionRule,
    EdgeRelation,
    Sentence,
    Statement,
    find_choice,
    find_edges,
    find_reason,
    find_statements,
    is_record,
    is_small,
    read_record,
    read_statement,
)
from forgelore.profiles import profile_of
from forgelore.records import CheckedDecision
from forgelore.store.database import Store
from forgelore.store.paths import ItemWeight, list_code_paths, load_last_touch
from forgelore.store.project_decisions import decision_name, load_edges_to, load_kept_decisions
from forgelore.store.projects import StoredProject
from forgelore.text.dates import parse_ms
from forgelore.text.items import StoredItem
from forgelore.text.reading import ReadingText, WrittenPart
from forgelore.text.refs import shown_ref

IsMaintainer = Callable[[str | None], bool | None]
_MAX_STATEMENTS = 4  # of one item: whoever decides more often is quoted by the last
_CLOSING_MS = 86_400_000  # within which the last word before a closing is its reason
CLOSER_MS = 3_000  # between a comment and the closing that was sent with it
DISCUSSED = 2  # other people who took part, for a merged change to be a decision
_BASE: dict[DecisionRule, float] = {
    "record": 5.0, "decided": 3.0, "reverted": 3.0, "declined": 2.5, "merged": 0.0, "superseded": 0.0, "model": 0.0,
}  # fmt: skip
_FURTHER = 1.5  # what each further decision of one item weighs less
_SMALLER = 2.0  # and a change of tests, words or names
_COMMITTED = frozenset(("reverted", "decided"))  # what the message of a commit can say

DecisionRole = Literal["maintainer", "closer", "author", "committer", "unknown"]


class FoundDecision(NamedTuple):
    """A decision with its place in a reading text, and what the graph knows it by. `role`: of its author, who closes
    other people's items (closer), or wrote the change that was merged (author). `others`: who else took part.
    """

    rule: DecisionRule
    sentence: Sentence
    text: ReadingText
    author: str | None
    at: int | None
    role: DecisionRole
    node: DecisionNode
    summary: str = ""  # in a model's words
    is_stale: bool = False
    weight: float = 0.0
    others: int = 0


class ItemReader(NamedTuple):
    """What is needed to find the decisions of items: the project, the path, who maintains it, what items weigh."""

    project: StoredProject
    meant: MeantPath
    is_maintainer: IsMaintainer
    closers: frozenset[str] = frozenset()
    weights: Mapping[int, ItemWeight] = {}
    knows_anybody: bool = True

    def role_of(self, login: str | None) -> DecisionRole:
        known = self.is_maintainer(login)
        return "maintainer" if known else "closer" if known is None and login in self.closers else "unknown"

    def decides(self, login: str | None) -> bool:
        return self.role_of(login) != "unknown"


def find_in_item(reader: ItemReader, item: SourceItem, shas: Iterable[str] = ()) -> list[FoundDecision]:
    """Return the decisions of an item that concern the path, the weightiest first. `shas`: of commits that are this
    change, squashed.
    """
    names = item_names(reader.project, item.row, shas)
    is_merged = item.row.state == "merged" and item.is_touching
    found = [
        _decision(reader, item, names, statement, part)
        for part in concerned_parts(reader.meant, item)
        if reader.decides(part.author) and not (item.row.kind == "change" and part.section == "")
        for statement in find_statements(item.text.lines, part.first, part.last)
    ]
    found += _find_merged(reader, item, names) if is_merged else ()
    if not any(one.rule in ("declined", "superseded") for one in found):
        found += [_decision(reader, item, names, *last) for last in _find_last_word(reader, item)]
    found = sorted(found[-_MAX_STATEMENTS:], key=lambda one: -one.weight)
    return [one._replace(weight=one.weight - _FURTHER * at) for at, one in enumerate(found)]


def _find_merged(reader: ItemReader, item: SourceItem, names: frozenset[str]) -> Iterator[FoundDecision]:
    """Yield what a merged change decided, once: that it reverts another one, else what it chooses, else what it
    replaces.
    """
    lines, body = item.text.lines, item.text.parts[0]
    statements = list(find_statements(lines, body.first, body.last))
    edges = tuple(dict.fromkeys(edge for line in lines[body.first - 1 : body.last] for edge in find_edges(line)))
    title = read_statement(Sentence(item.row.title, 1, 1))
    reverts = [one for one in statements if one.rule == "reverted"]
    chosen = find_choice(lines, body.first, body.last, item.row.title)
    if reverts or (title and title.rule == "reverted"):
        reason = find_reason(lines, body.first, body.last)
        quoted = reason or (reverts[0].sentence if reverts else Sentence(item.row.title, 1, 1))
        yield _decision(reader, item, names, Statement("reverted", quoted, edges), body)
    elif chosen:
        plainness = chosen[1] - _SMALLER * is_small(item.row.title)
        yield _decision(reader, item, names, Statement("merged", chosen[0], edges), body, plainness=plainness)
    elif decided := [one for one in statements if one.rule == "decided"]:
        yield _decision(reader, item, names, Statement("merged", decided[0].sentence, edges), body)
    elif edges and (said := next((one for one in statements if one.edges), None)):
        yield _decision(reader, item, names, said._replace(edges=edges), body)
    elif reason := find_reason(lines, body.first, body.last):  # no decision, unless something replaced it
        yield _decision(reader, item, names, Statement("merged", reason, edges), body)._replace(others=0)


def concerned_parts(meant: MeantPath, item: SourceItem) -> list[WrittenPart]:
    """Return the parts of an item that are about the path: threads on it, and those that name it, from there on; of a
    change that touched it, an item that such a change closes, or one whose body names it, also whatever is about no
    other file.
    """
    is_all = item.is_touching or item.is_linked or "" in item.mentions
    return [
        part
        for part in item.text.parts
        if part.section in item.threads
        or part.last >= item.mentions.get(part.section, part.last + 1)
        or (is_all and (part.path is None or meant.matches(part.path)))
    ]


def find_in_commit(commit: SourceCommit) -> FoundDecision | None:
    """Return what the message of a commit says was decided, or that it reverts another one; never a mere reason."""
    row, text = commit
    (part,) = text.parts
    found = [one for one in find_statements(text.lines, part.first, part.last) if one.rule in _COMMITTED]
    if not found:
        return None
    said = next((one for one in found if one.edges), found[0])
    node = DecisionNode(frozenset({row.sha}), row.ref, part.written_at, said.edges)
    return FoundDecision(
        said.rule, said.sentence, text, part.author, part.written_at, "committer", node,
        weight=_BASE[said.rule] - 1,
    )  # fmt: skip


def find_in_records(store: Store, project: StoredProject, meant: MeantPath) -> Iterator[FoundDecision]:
    """Yield the decision records of the project's tree that are the path, or name it."""
    names = () if meant.kind == "glob" else tuple(name.rstrip("/") for name in meant.names if "/" in name.rstrip("/"))
    for file_id, path in list_code_paths(store, project.id):
        if not is_record(path):
            continue
        text = load_reading(store, f"file:{file_id}")
        is_meant = meant.matches(path) or any(name in line for line in text.lines for name in names)
        record = read_record(text.lines) if is_meant else None
        if record:
            author, touched_at = load_last_touch(store, project.id, path)
            at = (parse_ms(f"{record.day}T00:00:00Z") if record.day else None) or touched_at
            node = DecisionNode(frozenset({path.rpartition("/")[2].lower()}), path, at, record.edges)
            titled = text._replace(title=record.title)
            yield FoundDecision(
                "record", record.sentence, titled, author, at, "committer", node, weight=_BASE["record"]
            )


def item_names(project: StoredProject, row: StoredItem, shas: Iterable[str] = ()) -> frozenset[str]:
    """Return what edges may call an item: #12, acme/web#12, github.com/acme/web#12, the commits that it became. Where
    issues and changes are numbered apart, !12 is another one than #12.
    """
    path = project.name.path.lower()
    places = ("", path, f"{project.name.host}/{path}".lower())
    is_apart = profile_of(project.name.forge).numbering == "apart"
    signs = ("!" if row.kind == "change" else "#",) if is_apart else ("#", "!")
    return frozenset((*(f"{place}{sign}{row.number}" for place in places for sign in signs), *shas))


def _decision(
    reader: ItemReader, item: SourceItem, names: frozenset[str], statement: Statement, part: WrittenPart,
    plainness: float = 0.0,
) -> FoundDecision:  # fmt: skip
    row = item.row
    is_body_of_merged = part.section == "" and row.state == "merged"
    at = row.merged_ms if is_body_of_merged and row.merged_ms else part.written_at
    node = DecisionNode(names, item.text.ref, at, statement.edges)
    role = reader.role_of(part.author)
    others = count_others(reader, item, part.author)
    return FoundDecision(
        statement.rule, statement.sentence, item.text, part.author, at,
        "author" if role == "unknown" and is_body_of_merged else role, node,
        weight=_BASE[statement.rule] + plainness + _weigh(reader, item, statement.sentence, others), others=others,
    )  # fmt: skip


def count_others(reader: ItemReader, item: SourceItem, author: str | None) -> int:
    """Return how many other people took part: below the item, below what it closes, or by naming it in their own."""
    below = {part.author for part in item.text.parts if part.author and part.author != author}
    known = reader.weights.get(item.row.id)
    return len(below) + (known.linking + known.asking if known else 0)


def _weigh(reader: ItemReader, item: SourceItem, sentence: Sentence, others: int) -> float:
    """Return what an item's discussion and size, and that the sentence or the title names the file, weigh."""
    known = reader.weights.get(item.row.id)
    stem = reader.meant.names[0].rstrip("/").rpartition("/")[2].partition(".")[0].lower()
    is_named = len(stem) > 3 and stem in f"{item.row.title} {sentence.text}".lower()
    return math.log2(1 + others) + 0.25 * math.log2(1 + min(known.files if known else 0, 16)) + is_named


def may_decide(reader: ItemReader, row: StoredItem, part: WrittenPart) -> bool:
    """Whether words count that a model calls a decision: a maintainer's; who merges a change agrees with its body.
    Where no maintainer is known at all, anybody's, and the answer says that the role is unknown.
    """
    if (part.section == "" and row.state == "merged") or reader.decides(part.author):
        return True
    return not reader.knows_anybody and reader.is_maintainer(part.author) is None


def _find_last_word(reader: ItemReader, item: SourceItem) -> list[tuple[Statement, WrittenPart]]:
    """Return the last word of a maintainer before an item was closed without being done, as its reason. Of an issue
    that no forge calls declined, only what was sent with the closing.
    """
    row = item.row
    if row.state != "closed" or row.closed_ms is None or item.is_linked:
        return []
    is_declined = row.kind == "change" or row.state_reason == "not_planned"
    for part in reversed(item.text.parts[1:]):
        if part.written_at is None or part.author == row.author or not reader.decides(part.author):
            continue
        before_ms = row.closed_ms - part.written_at
        if abs(before_ms) <= _CLOSING_MS if is_declined else 0 <= before_ms <= CLOSER_MS:
            reason = find_reason(item.text.lines, part.first, part.last, is_closing=True)
            return [(Statement("declined", reason), part)] if reason else []
    return []


def load_kept(store: Store, reader: ItemReader, items: Sequence[SourceItem]) -> list[FoundDecision]:
    """Return the kept decisions of these items that concern the path and still stand."""
    kept = load_kept_decisions(store, [item.row.id for item in items])
    found = (_stand(reader, item, one) for item in items for one in kept.get(item.row.id, ()))
    return [one for one in found if one]


def load_superseding(store: Store, project: StoredProject, found: Sequence[FoundDecision]) -> list[DecisionNode]:
    """Return kept decisions about other files that say they replace one of these."""
    names = frozenset(name for one in found for name in one.node.names)
    here = {one.node.shown for one in found}
    nodes = []
    for target, kind, number, tag, line, decided_at in load_edges_to(store, project.id, names):
        shown = f"{shown_ref(project.name.forge, kind, number, tag)} line {line}"
        if shown not in here:
            nodes.append(DecisionNode(frozenset(), shown, decided_at, (DecisionEdge("supersedes", target),)))
    return nodes


def join_found(kept: Sequence[FoundDecision], by_rules: Sequence[FoundDecision]) -> list[FoundDecision]:
    """Return the kept decisions with what rules know of them, then those that only rules found."""
    rest, joined = [], list(kept)
    for one in by_rules:
        same = next((at for at, other in enumerate(joined) if other.rule == "model" and _overlap(one, other)), None)
        if same is None:
            rest.append(one)
        else:
            node = joined[same].node
            edges = tuple(dict.fromkeys((*node.edges, *one.node.edges)))
            joined[same] = joined[same]._replace(node=node._replace(edges=edges))
    return [*joined, *rest]


def _stand(reader: ItemReader, item: SourceItem, kept: CheckedDecision) -> FoundDecision | None:
    text = item.text
    said = ClaimedCitation(text.key, kept.first_line, kept.last_line, kept.quote)
    found = check_citation(1, said, CitedText(text.title, text.url, text.lines, text.hash))
    part = find_part(text, found.first_line, found.last_line) if found.is_good else None
    if part is None or not may_decide(reader, item.row, part):
        return None
    is_named = any(reader.meant.matches(path) for path in kept.paths)
    if not is_named and (kept.paths or part not in concerned_parts(reader.meant, item)):
        return None
    names = item_names(reader.project, item.row) | {decision_name(kept.id)}
    edges = tuple(DecisionEdge(cast("EdgeRelation", relation), target) for relation, target in kept.edges)
    node = DecisionNode(names, f"{text.ref} line {found.first_line}", part.written_at, edges)
    role, is_merged = reader.role_of(part.author), part.section == "" and item.row.state == "merged"
    return FoundDecision(
        "model", Sentence(kept.quote, found.first_line, found.last_line), text, part.author, part.written_at,
        "author" if role == "unknown" and is_merged else role, node, kept.summary,
        is_stale=kept.content_hash != hash_content(text),
    )  # fmt: skip


def _overlap(one: FoundDecision, other: FoundDecision) -> bool:
    mine, theirs = one.sentence, other.sentence
    return one.text.key == other.text.key and mine.first <= theirs.last and theirs.first <= mine.last
