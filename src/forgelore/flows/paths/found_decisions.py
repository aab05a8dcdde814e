"""Decisions that rules find in a path's sources, each with the sentence it stands in: no model is asked.

    a merged change that says why            what a maintainer stated in a thread on the file, or beside its name
    a change or commit that reverts          an issue or change that was closed with a reason
    a decision record that names the file    a commit that says why

Who may decide: maintainers. Of people of whom nobody knows whether they are (`is_by_maintainer` is null), words count
too, and the answer says so; what somebody wrote who is none is no decision.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from forgelore.core.decisions.graph import DecisionNode
from forgelore.core.decisions.records import is_record, read_record
from forgelore.core.decisions.statements import (
    DecisionRule,
    Sentence,
    Statement,
    find_reason,
    find_statements,
    read_statement,
)
from forgelore.core.reading import ReadingText, WrittenPart
from forgelore.core.times import parse_ms
from forgelore.flows.browse.reading_text import load_reading
from forgelore.flows.paths.meant_path import MeantPath
from forgelore.flows.paths.sources import SourceCommit, SourceItem
from forgelore.profiles import profile_of
from forgelore.store.browse import ShownRow
from forgelore.store.db import Store
from forgelore.store.path_history import list_code_paths, load_last_touch
from forgelore.store.projects import StoredProject

IsMaintainer = Callable[[str | None], bool | None]
_MOST_STATEMENTS = 4  # of one item: whoever decides more often is quoted by the last
_CLOSING_MS = 86_400_000  # within which the last word before a closing is its reason


class FoundDecision(NamedTuple):
    """A decision with its place in a reading text, and what the graph knows it by."""

    rule: DecisionRule
    sentence: Sentence
    text: ReadingText
    author: str | None
    at: int | None
    is_by_maintainer: bool | None
    node: DecisionNode
    summary: str = ""  # in a model's words
    is_stale: bool = False


class ItemReader(NamedTuple):
    """What is needed to find the decisions of items: the project, the path, and who maintains it."""

    project: StoredProject
    meant: MeantPath
    is_maintainer: IsMaintainer


def find_in_item(reader: ItemReader, item: SourceItem, shas: Iterable[str] = ()) -> list[FoundDecision]:
    """Return the decisions of an item that concern the path. `shas`: of commits that are this change, squashed."""
    names = item_names(reader.project, item.row, shas)
    found = [
        _decision(reader, item, names, statement, part)
        for part in concerned_parts(reader.meant, item)
        if may_decide(reader, item.row, part)
        for statement in find_statements(item.text.lines, part.first, part.last)
    ]
    is_merged = item.row.state == "merged" and item.is_touching
    title = read_statement(Sentence(item.row.title, 1, 1)) if is_merged else None
    body = item.text.parts[0]
    if title and title.rule == "reverted" and not any(one.rule == "reverted" for one in found):
        found.insert(0, _decision(reader, item, names, title, body))
    if not found and is_merged and (reason := find_reason(item.text.lines, body.first, body.last)):
        found.append(_decision(reader, item, names, Statement("reason", reason), body))
    if not any(one.rule in ("declined", "superseded") for one in found):
        found += [_decision(reader, item, names, *last) for last in _find_last_word(reader, item)]
    return found[-_MOST_STATEMENTS:]


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
    """Return what the message of a commit decides, or the reason that it gives."""
    (part,) = commit.text.parts
    statements = list(find_statements(commit.text.lines, part.first, part.last))
    if not statements and (reason := find_reason(commit.text.lines, part.first, part.last)):
        statements = [Statement("reason", reason)]
    if not statements:
        return None
    said = next((one for one in statements if one.edges), statements[0])
    node = DecisionNode(frozenset({commit.row.sha}), commit.row.sha[:12], part.written_at, said.edges)
    return FoundDecision(said.rule, said.sentence, commit.text, part.author, part.written_at, True, node)


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
            yield FoundDecision("record", record.sentence, titled, author, at, True, node)


def item_names(project: StoredProject, row: ShownRow, shas: Iterable[str] = ()) -> frozenset[str]:
    """Return what edges may call an item: #12, acme/web#12, github.com/acme/web#12, the commits that it became. Where
    issues and changes are numbered apart, !12 is another one than #12.
    """
    path = project.name.path.lower()
    places = ("", path, f"{project.name.host}/{path}".lower())
    is_apart = profile_of(project.name.forge).numbering == "apart"
    signs = ("!" if row.kind == "change" else "#",) if is_apart else ("#", "!")
    return frozenset((*(f"{place}{sign}{row.number}" for place in places for sign in signs), *shas))


def _decision(
    reader: ItemReader, item: SourceItem, names: frozenset[str], statement: Statement, part: WrittenPart
) -> FoundDecision:
    row = item.row
    is_body_of_merged = part.section == "" and row.state == "merged"
    at = row.merged_at if is_body_of_merged and row.merged_at else part.written_at
    node = DecisionNode(names, item.text.ref, at, statement.edges)
    by_maintainer = True if is_body_of_merged else reader.is_maintainer(part.author)
    return FoundDecision(statement.rule, statement.sentence, item.text, part.author, at, by_maintainer, node)


def may_decide(reader: ItemReader, row: ShownRow, part: WrittenPart) -> bool:
    """Whether words count: a maintainer's, or of somebody who may be one; who merges a change agrees with its body."""
    return (part.section == "" and row.state == "merged") or reader.is_maintainer(part.author) is not False


def _find_last_word(reader: ItemReader, item: SourceItem) -> list[tuple[Statement, WrittenPart]]:
    """Return the last word of somebody else before an item was closed without being done, as its reason."""
    row = item.row
    is_declined = row.state == "closed" and (row.kind == "change" or row.state_reason == "not_planned")
    if not is_declined or row.closed_at is None:
        return []
    for part in reversed(item.text.parts[1:]):
        is_near = part.written_at is not None and abs(part.written_at - row.closed_at) <= _CLOSING_MS
        if is_near and part.author != row.author and reader.is_maintainer(part.author) is not False:
            reason = find_reason(item.text.lines, part.first, part.last)
            return [(Statement("declined", reason), part)] if reason else []
    return []
