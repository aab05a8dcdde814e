"""`history PATH`: what happened to a file, a folder or what a glob names. Decisions first, then the rest, newest first.

    typed path -> its names -> sources (changes, threads, mentions, commits) -> decisions, entries -> one answer

A decision cites its words: the key of a reading text, its lines, and the hash of that version. Decisions that a model
has extracted before (`history/extract`) come first, those that rules find behind them, the weightiest first.
"""

import datetime as dt
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from forgelore.context import JobContext
from forgelore.dedupe.maintainers import find_maintainers, list_maintainers
from forgelore.errors import NotFound
from forgelore.history.decisions import (
    CLOSER_MS,
    DISCUSSED,
    DecisionRole,
    FoundDecision,
    ItemReader,
    find_in_commit,
    find_in_item,
    find_in_records,
    join_found,
    load_kept,
    load_superseding,
)
from forgelore.history.extract import ExtractedDecisions, extract_decisions
from forgelore.history.extraction import DecisionNode, find_superseded
from forgelore.history.sources import (
    MAX_COMMITS,
    MAX_ITEMS,
    ClonePlace,
    MeantPath,
    PathKind,
    PathSources,
    SourceCommit,
    SourceItem,
    find_path,
    load_source_items,
    load_sources,
    suggest_path,
)
from forgelore.history.statements import DecisionRule, find_reason
from forgelore.ports.chat import ChatModel
from forgelore.store.database import Store
from forgelore.store.paths import list_closers, load_weights
from forgelore.store.projects import StoredProject
from forgelore.text.dates import as_time
from forgelore.text.reading import ReadingText

_WORDS = 8  # "This replaces #12." has fewer, and says nothing of what was decided
_CLOSED_OF = 5  # other people whose items somebody closed who counts as a maintainer where none is known
EntryHow = Literal["touched", "discussed", "mentioned", "closed"]
HistoryKind = Literal["", "decision", "issue", "change", "discussion", "release", "commit", "thread"]
_SQUASHED = re.compile(r"\((?:#|!)(\d{1,9})\)\Z")  # what forges write behind the title of a change that they squash


class PathDecision(NamedTuple):
    """What was decided, in whose words, and where they stand: lines of the reading text `key`, in the version `hash`.
    `summary`: in a model's words, where one read it. `role`: whose word it is: a maintainer's; that of somebody who
    closes other people's items, where no maintainer is known (closer); of the author of a merged change; of the
    committer. `weight`: by how much came with it: people, links, files. `superseded_by`: what replaced it, as far as
    anybody said. `is_stale`: the conversation went on since a model read it.
    """

    rule: DecisionRule
    quote: str
    summary: str
    author: str | None
    decided_at: dt.datetime | None
    role: DecisionRole
    weight: float
    ref: str
    kind: str
    title: str
    url: str | None
    key: str
    first_line: int
    last_line: int
    hash: str
    superseded_by: tuple[str, ...] = ()
    is_stale: bool = False


class PathEntry(NamedTuple):
    """Something that happened to a file: a change or commit that touched it, a thread on it, an item that names it or
    that was closed by a change of it. `line`: of the reading text `key`. `reason`: why, as a merged change or a commit
    says itself.
    """

    how: EntryHow
    kind: str
    ref: str
    title: str
    state: str | None
    author: str | None
    happened_at: dt.datetime | None
    url: str | None
    key: str
    line: int
    reason: str = ""


class PathHistory(NamedTuple):
    """What happened to a path. `names`: of a file also those that it had before, or got later. `decision_count` and
    `entry_count` are of all that was found, whatever the limit.
    """

    project: str
    path: str
    kind: PathKind
    names: tuple[str, ...]
    decisions: list[PathDecision]
    entries: list[PathEntry]
    decision_count: int
    entry_count: int
    warnings: tuple[str, ...] = ()
    extracted: ExtractedDecisions | None = None  # what a model was asked before, where it was


class PathRequest(NamedTuple):
    """What is asked. Times are milliseconds: since `after`, before `before`."""

    text: str
    place: ClonePlace = ClonePlace()
    after: int | None = None
    before: int | None = None
    limit: int = 30
    maintainers: Sequence[str] = ()
    offset: int = 0  # how many are passed over, decisions first
    kind: HistoryKind = ""  # only these; "": everything


def load_history(store: Store, project: StoredProject, request: PathRequest) -> PathHistory:
    """Return what happened to a path. Raises NotFound, with the nearest path, for one that nobody knows."""
    meant = find_path(store, project.id, request.text, request.place)
    sources = load_sources(store, project.id, meant)
    if not meant.is_known and not sources.items:
        raise _unknown(store, project, meant)
    found = find_decisions(store, project, meant, sources, request.maintainers)
    others = load_superseding(store, project, found)
    decisions = [one for one in build_decisions(found, others) if _is_within(request, one.decided_at)]
    entries = [one for one in _build_entries(sources) if _is_within(request, one.happened_at)]
    if request.kind:
        decisions = decisions if request.kind == "decision" else []
        entries = [one for one in entries if one.kind == request.kind]
    decisions.sort(key=_turn_of_decision, reverse=True)
    entries.sort(key=_moment_of_entry, reverse=True)
    begin, end = request.offset, request.offset + request.limit
    return PathHistory(
        str(project.name), meant.shown, meant.kind, meant.names, decisions[begin:end],
        entries[max(0, begin - len(decisions)) : max(0, end - len(decisions))], len(decisions), len(entries),
        _warnings(sources, meant),
    )  # fmt: skip


def load_item_decisions(
    store: Store, project: StoredProject, item_id: int, maintainers: Sequence[str]
) -> list[PathDecision]:
    """Return what was decided in one conversation, the weightiest first, each with what replaced it."""
    meant = MeantPath("", "glob", ("",))  # whatever the conversation is about
    items = [
        SourceItem(row, text, row.kind == "change", True, frozenset(one.key for one in text.sections), {})
        for row, text in load_source_items(store, [item_id])
    ]
    found = find_decisions(store, project, meant, PathSources(items, [], is_cut=False), maintainers)
    shown = build_decisions(found, load_superseding(store, project, found))
    return sorted(shown, key=_turn_of_decision, reverse=True)


def extract_history(
    job: JobContext, request: PathRequest, model: ChatModel, budget: int, *, seen: Store
) -> ExtractedDecisions:
    """Let a model read the conversations of a path's history, and keep their decisions. `seen`: the store as it may
    be read for that. Raises NotFound as above.
    """
    store, project = job.store, job.project
    meant = find_path(store, project.id, request.text, request.place)
    sources = load_sources(seen, project.id, meant)
    if not meant.is_known and not sources.items:
        raise _unknown(store, project, meant)
    return extract_decisions(job, sources.items, model, budget)


def find_decisions(
    store: Store, project: StoredProject, meant: MeantPath, sources: PathSources,
    maintainers: Sequence[str],
) -> list[FoundDecision]:  # fmt: skip
    """Return the decisions that a model has read before in the sources of a path, and those that rules find."""
    logins = {part.author for item in sources.items for part in item.text.parts if part.author}
    known = find_maintainers(store, project, logins, named=maintainers)
    is_known = any(one is not None for one in known.values()) or bool(list_maintainers(store, project).logins)
    closers = () if is_known else list_closers(store, project.id, authors=_CLOSED_OF, within_ms=CLOSER_MS)
    reader = ItemReader(
        project, meant, lambda login: known.get(login) if login else None, frozenset(closers),
        load_weights(store, (item.row.id for item in sources.items)),
        knows_anybody=is_known or bool(closers),
    )  # fmt: skip
    squashed = _find_squashed(sources)
    found = [one for item in sources.items for one in find_in_item(reader, item, squashed.get(item.row.id, ()))]
    said = {one.sentence.text for one in found}
    for commit in _own_commits(sources):
        decision = find_in_commit(commit)
        if decision and decision.sentence.text not in said:
            found.append(decision)
    return join_found(load_kept(store, reader, sources.items), [*found, *find_in_records(store, project, meant)])


def build_decisions(found: Sequence[FoundDecision], others: Sequence[DecisionNode] = ()) -> list[PathDecision]:
    """Return decisions as they are shown, each with what superseded it. `others`: decisions that are not shown."""
    replaced = find_superseded([*(one.node for one in found), *others])
    return [_as_shown(one, by) for one, by in zip(found, replaced, strict=False) if _is_shown(one) or by]


def _is_shown(one: FoundDecision) -> bool:
    """Whether a decision is one by itself: a merged change that nobody else spoke of, or which only names what it
    replaces, is there for the sake of the graph.
    """
    if one.rule == "merged":
        return one.others >= DISCUSSED
    return one.rule != "superseded" or one.role in ("maintainer", "closer") or one.sentence.text.count(" ") >= _WORDS


def _as_shown(one: FoundDecision, superseded_by: tuple[str, ...]) -> PathDecision:
    text, sentence = one.text, one.sentence
    return PathDecision(
        one.rule, sentence.text, one.summary, one.author, as_time(one.at), one.role, round(one.weight, 2), text.ref,
        text.kind, text.title, text.url, text.key, sentence.first, sentence.last, text.hash, superseded_by,
        one.is_stale,
    )  # fmt: skip


def _build_entries(sources: PathSources) -> list[PathEntry]:
    entries = [entry for item in sources.items for entry in _item_entries(item)]
    return [*entries, *(_commit_entry(commit) for commit in _own_commits(sources))]


def _item_entries(item: SourceItem) -> Iterable[PathEntry]:
    row, text = item.row, item.text
    at = row.merged_at or row.closed_at or row.created_at
    if item.is_touching or item.is_linked or "" in item.mentions:
        how: EntryHow = "touched" if item.is_touching else "mentioned" if "" in item.mentions else "closed"
        line = 1 if item.is_touching else item.mentions.get("", 1)
        reason = _find_reason(text) if item.is_touching and row.state == "merged" else ""
        yield PathEntry(how, row.kind, text.ref, row.title, row.state, row.author, at, row.url, text.key, line, reason)
    for section in text.sections[1:]:
        parts = [part for part in text.parts if part.section == section.key]
        if not parts or not (section.key in item.threads or section.key in item.mentions):
            continue
        first = next((part for part in parts if part.first <= item.mentions.get(section.key, 0) <= part.last), parts[0])
        line = item.mentions.get(section.key, first.first)
        yield PathEntry(
            "discussed" if section.key in item.threads else "mentioned", "thread", text.ref,
            text.lines[line - 1].strip() or row.title, row.state, first.author, as_time(first.written_at), row.url,
            text.key, line,
        )  # fmt: skip


def _commit_entry(commit: SourceCommit) -> PathEntry:
    row, text = commit
    reason = _find_reason(text)
    return PathEntry(
        "touched", "commit", text.ref, text.title, None, row.author, row.authored_at, text.url, text.key, 1, reason
    )


def _find_reason(text: ReadingText) -> str:
    """Return the sentence by which a change or commit says why it was made; "" where none does."""
    body = text.parts[0]
    found = find_reason(text.lines, body.first, body.last)
    return found.text if found else ""


def _find_squashed(sources: PathSources) -> dict[int, list[str]]:
    """Return change -> the commits that it became, of the changes that are here."""
    changes = {item.row.number: item.row.id for item in sources.items if item.row.kind == "change" and item.is_touching}
    found: dict[int, list[str]] = {}
    for commit, text in sources.commits:
        named = _SQUASHED.search(text.title)
        if named and int(named[1]) in changes:
            found.setdefault(changes[int(named[1])], []).append(commit.sha)
    return found


def _own_commits(sources: PathSources) -> list[SourceCommit]:
    """Return the commits that are no change which is here already."""
    squashed = {sha for shas in _find_squashed(sources).values() for sha in shas}
    return [commit for commit in sources.commits if commit[0].sha not in squashed]


def _is_within(request: PathRequest, moment: dt.datetime | None) -> bool:
    if request.after is None and request.before is None:
        return True
    at = int(moment.timestamp() * 1000) if moment else None
    return at is not None and (request.after or 0) <= at and (request.before is None or at < request.before)


def _turn_of_decision(one: PathDecision) -> tuple[bool, float, float]:
    return one.rule == "model", one.weight, one.decided_at.timestamp() if one.decided_at else 0.0


def _moment_of_entry(one: PathEntry) -> float:
    return one.happened_at.timestamp() if one.happened_at else 0.0


def _warnings(sources: PathSources, meant: MeantPath) -> tuple[str, ...]:
    found = []
    if sources.is_cut:
        found.append(f"only the newest {MAX_ITEMS} changes and threads and {MAX_COMMITS} commits were searched")
    if not meant.is_known:
        found.append("nothing stored touches this path; these results only mention it")
    return tuple(found)


def _unknown(store: Store, project: StoredProject, meant: MeantPath) -> NotFound:
    near = suggest_path(store, project.id, meant.shown)
    hint = f"did you mean {near}?" if near else "paths are known from changes, and from: forgelore index-code"
    return NotFound(f"nothing in {project.name} touches {meant.shown!r}", hint=hint)
