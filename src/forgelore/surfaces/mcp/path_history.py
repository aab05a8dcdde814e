"""What `history` answers to an agent: decisions about a file with their lines, then what else happened to it."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.surfaces.mcp.answers import ToolAnswer, fit_answer
from forgelore.surfaces.mcp.fence import fence, one_line, without_commands
from forgelore.surfaces.present.text import day

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forgelore.api import PathDecision, PathEntry, PathHistory

_MOST_NAMES = 5
_PATH = 200


class FileDecision(NamedTuple):
    """A quote with its lines for `read`; `summary` is a model's. `role`: of the author; closer: closes others' items.
    `is_stale`: people wrote there since it was read.
    """

    ref: str
    first_line: int
    last_line: int
    hash: str
    day: str
    author: str | None
    role: str
    rule: str
    summary: str
    quote: str
    superseded_by: list[str]
    is_stale: bool


class FileEvent(NamedTuple):
    """A change, commit, thread or item, and the reason it gives."""

    ref: str
    line: int
    kind: str
    how: str
    day: str
    author: str | None
    title: str
    reason: str


class FileHistory(NamedTuple):
    """Decisions, the weightiest first, and events, newest first; the counts are of all there is. `next`: the offset of
    the next page.
    """

    path: str
    project: str
    names: list[str]
    decisions: list[FileDecision]
    events: list[FileEvent]
    decision_count: int
    event_count: int
    notes: list[str]
    next: int | None


def answer_history(found: "PathHistory", about_limit: "Sequence[str]" = (), offset: int = 0) -> ToolAnswer:
    end = offset + len(found.decisions) + len(found.entries)
    more = end if end < found.decision_count + found.entry_count and end > offset else None
    notes = [one_line(said, 200) for one in (*about_limit, *found.warnings) if (said := without_commands(one))]

    def build(width: int) -> ToolAnswer:
        data = FileHistory(
            one_line(found.path, _PATH), found.project, [one_line(name, _PATH) for name in found.names[:_MOST_NAMES]],
            [_decision(one, width) for one in found.decisions], [_event(one, width) for one in found.entries],
            found.decision_count, found.entry_count, notes, more,
        )  # fmt: skip
        return ToolAnswer(_write(data), data)

    return fit_answer(build)


def _decision(one: "PathDecision", width: int) -> FileDecision:
    return FileDecision(
        _ref(one), one.first_line, one.last_line, one.hash, day(one.decided_at), one_line(one.author, 40) or None,
        one.role, one.rule, one_line(one.summary, width), one_line(one.quote, max(2 * width, 40)),
        [one_line(by, 60) for by in one.superseded_by[:_MOST_NAMES]], one.is_stale,
    )  # fmt: skip


def _event(one: "PathEntry", width: int) -> FileEvent:
    title = one_line(one.title, min(90, max(width, 30)))
    author = one_line(one.author, 40) or None
    reason = one_line(one.reason, max(width, 30))
    return FileEvent(_ref(one), one.line, one.kind, one.how, day(one.happened_at), author, title, reason)


def _ref(one: "PathDecision | PathEntry") -> str:
    """What `read` takes: a file is read by its key."""
    return one.key if one.key.startswith("file:") else one_line(one.ref, 90)


def _write(found: FileHistory) -> str:
    counts = f"{found.decision_count} decisions, {found.event_count} events"
    shown = f"{len(found.decisions)} and {len(found.events)} of them below"
    first = f"{counts}; {shown}; cite as ref and lines"
    first += f"; for more: offset={found.next}" if found.next is not None else ""
    lines = [f"{found.path} in {found.project}"]
    lines += (
        [f"also known as {', '.join(names)}"] if (names := [one for one in found.names if one != found.path]) else []
    )
    for one in found.decisions:
        author = f"@{one.author} ({one.role})" if one.author else ""
        facts = ", ".join(fact for fact in ("decision", one.rule, author, one.day) if fact)
        lines.append(f"{one.ref} lines {one.first_line}-{one.last_line} ({facts}): {one.summary}".rstrip())
        lines.append(f'    "{one.quote}"')
        lines += [f"    superseded by {', '.join(one.superseded_by)}"] if one.superseded_by else []
        lines += ["    the conversation went on since a model read it"] if one.is_stale else []
    for event in found.events:
        author = f"@{event.author}" if event.author else ""
        facts = ", ".join(fact for fact in (event.kind, event.how, author, event.day) if fact)
        lines.append(f"{event.ref} line {event.line} ({facts}): {event.title}")
        lines += [f'    reason: "{event.reason}"'] if event.reason else []
    return "\n".join([first, *found.notes, fence("\n".join(lines))])
