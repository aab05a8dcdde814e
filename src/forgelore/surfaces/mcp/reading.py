"""What the tools that read answer: a window of a text, an outline of an item, the history of a file, a cited answer."""

from typing import TYPE_CHECKING, NamedTuple

from forgelore.api import TextPlace
from forgelore.surfaces.mcp.answers import ToolAnswer, fit_answer, one_line, without_commands
from forgelore.surfaces.present.text import day, seen
from forgelore.surfaces.present.text import fence_alone as fence

if TYPE_CHECKING:
    from collections.abc import Sequence

    from forgelore.api import (
        AskAnswer,
        CheckedCitation,
        PathDecision,
        PathEntry,
        PathHistory,
        ReadingWindow,
        ReadItem,
        ScrollDirection,
        StoredItem,
        StoredNote,
    )

_MAX_PLACES = 40
_MAX_NOTES = 30
_MAX_NAMES = 20
_MAX_TEXT = 4_000
_MAX_CITATIONS = 20
_MAX_OLD_NAMES = 5
_MAX_PATH = 200


class ReadWindow(NamedTuple):
    """A part of an item's text with line numbers. `above` and `below`: where to read on, with direction up or down;
    null at the ends. `found`: where the words of `find` stand. `hash` names the version of the text.
    """

    ref: str
    project: str
    kind: str
    title: str
    url: str | None
    first_line: int
    last_line: int
    total_lines: int
    above: TextPlace | None
    below: TextPlace | None
    found: list[TextPlace]
    hash: str
    text: str


class OutlinedNote(NamedTuple):
    """The beginning of a comment. `path`: the file it is about."""

    author: str | None
    day: str
    text: str
    path: str | None
    is_internal: bool


class ItemOutline(NamedTuple):
    """An item: its facts, the beginning of its text and of each comment. `read` gives all of the text."""

    ref: str
    project: str
    kind: str
    title: str
    state: str | None
    state_reason: str | None
    author: str | None
    created: str
    updated: str
    closed: str
    url: str | None
    labels: list[str]
    links: list[str]
    linked_from: list[str]
    files: list[str]
    file_count: int
    text: str
    notes: list[OutlinedNote]
    note_count: int
    is_confidential: bool


def answer_read(read: "ReadItem", find: str) -> ToolAnswer:
    window = read.window
    shown = seen(str(window))
    data = ReadWindow(
        ref=one_line(read.ref, 90), project=read.project, kind=read.kind, title=one_line(read.title, 200),
        url=one_line(read.url, 300) or None, first_line=window.first, last_line=window.last, total_lines=window.total,
        above=window.above, below=window.below,
        found=list(read.found[:_MAX_PLACES]), hash=read.hash, text=shown,
    )  # fmt: skip
    named = (
        f"{data.ref} in {data.project}" if data.project else data.ref
    )  # a path or a tag is a stranger's word as well
    lines = [
        f"{data.kind}, lines {data.first_line} to {data.last_line} of {data.total_lines}, version {data.hash}",
        *_describe_places(read.found, find), fence(f"{named}, {data.url or 'without a page'}\n{shown}"),
        *_describe_rest(window),
    ]  # fmt: skip
    return ToolAnswer("\n".join(lines), data)


def answer_show(item: "StoredItem") -> ToolAnswer:
    def build(width: int) -> ToolAnswer:
        data = _outline(item, width)
        return ToolAnswer(_write_outline(data), data)

    return fit_answer(build)


def _describe_places(found: tuple[TextPlace, ...], find: str) -> list[str]:
    if not find:
        return []
    lines = ", ".join(str(place.line) for place in found[:_MAX_PLACES])
    more = f" and {len(found) - _MAX_PLACES} more" if len(found) > _MAX_PLACES else ""
    return [f"the words of `find` stand in lines {lines}{more}" if found else "no line has the words of `find`"]


def _describe_rest(window: "ReadingWindow") -> list[str]:
    return [*_describe_end("above", window.above, "up"), *_describe_end("below", window.below, "down")]


def _describe_end(side: str, place: TextPlace | None, direction: "ScrollDirection") -> list[str]:
    if place is None:
        return []
    column = f", column={place.column}" if place.column > 1 else ""
    return [f'more {side}: line={place.line}{column}, direction="{direction}"']


def _outline(item: "StoredItem", width: int) -> ItemOutline:
    notes = [note for thread in item.threads for note in thread.notes if not note.is_system and note.body]
    return ItemOutline(
        ref=one_line(item.ref, 90), project=item.project, kind=item.kind, title=one_line(item.title, 200),
        state=item.state, state_reason=item.state_reason, author=one_line(item.author, 40) or None,
        created=day(item.created_at), updated=day(item.updated_at), closed=day(item.closed_at),
        url=one_line(item.url, 300) or None, labels=[one_line(label, 50) for label in item.labels[:_MAX_NAMES]],
        links=[one_line(f"{link.relation} {link.ref}", 90) for link in item.links[:_MAX_NAMES]],
        linked_from=[
            one_line(f"{link.relation} {link.ref}: {link.title}", max(width, 40))
            for link in item.linked_from[:_MAX_NAMES]
        ],
        files=[one_line(file.new_path, 120) for file in item.files[:_MAX_NAMES]], file_count=len(item.files),
        text=one_line(item.body, 5 * width), notes=[_outline_note(note, width) for note in notes[:_MAX_NOTES]],
        note_count=len(notes), is_confidential=item.is_confidential,
    )  # fmt: skip


def _outline_note(note: "StoredNote", width: int) -> OutlinedNote:
    return OutlinedNote(
        one_line(note.author, 40) or None, day(note.created_at), one_line(note.body, width),
        one_line(note.path, 120) or None, note.is_internal,
    )  # fmt: skip


def _write_outline(item: ItemOutline) -> str:
    state = f"{item.state} ({item.state_reason})" if item.state_reason else item.state
    facts = [item.kind, state, f"by @{item.author}" if item.author else "", item.created and f"created {item.created}"]
    facts += ["confidential" if item.is_confidential else "", item.closed and f"closed {item.closed}"]
    lines = [f"{item.ref} in {item.project}: {item.title}", ", ".join(fact for fact in facts if fact)]
    lines += [item.url] if item.url else []
    for name, values in (
        ("labels", item.labels), ("links", item.links), ("linked from", item.linked_from), ("files", item.files),
    ):  # fmt: skip
        lines += [f"{name}: {', '.join(values)}"] if values else []
    lines += ["", item.text or "no description"]
    for note in item.notes:
        place = f" at {note.path}" if note.path else ""
        internal = " (internal)" if note.is_internal else ""
        lines += ["", f"@{note.author or 'ghost'} {note.day}{place}{internal}: {note.text}"]
    more = [f"{item.note_count - len(item.notes)} more comments"] if item.note_count > len(item.notes) else []
    return "\n".join(["an outline; `read` gives the whole text, with lines", fence("\n".join(lines)), *more])


def answer_history(found: "PathHistory", about_limit: "Sequence[str]" = (), offset: int = 0) -> ToolAnswer:
    end = offset + len(found.decisions) + len(found.entries)
    more = end if end < found.decision_count + found.entry_count and end > offset else None
    notes = [one_line(said, 200) for one in (*about_limit, *found.warnings) if (said := without_commands(one))]

    def build(width: int) -> ToolAnswer:
        data = found._replace(
            path=one_line(found.path, _MAX_PATH), warnings=tuple(notes), extracted=None,
            names=tuple(one_line(name, _MAX_PATH) for name in found.names[:_MAX_OLD_NAMES]),
            decisions=[_trim_decision(one, width) for one in found.decisions],
            entries=[_trim_entry(one, width) for one in found.entries],
        )  # fmt: skip
        return ToolAnswer(_write_history(data, more), data)

    return fit_answer(build)


def _trim_decision(one: "PathDecision", width: int) -> "PathDecision":
    return one._replace(
        ref=_readable_ref(one), title=one_line(one.title, 90), url=one_line(one.url, 300) or None,
        author=one_line(one.author, 40) or None, summary=one_line(one.summary, width),
        quote=one_line(one.quote, max(2 * width, 40)),
        superseded_by=tuple(one_line(by, 60) for by in one.superseded_by[:_MAX_OLD_NAMES]),
    )  # fmt: skip


def _trim_entry(one: "PathEntry", width: int) -> "PathEntry":
    return one._replace(
        ref=_readable_ref(one), title=one_line(one.title, min(90, max(width, 30))), url=one_line(one.url, 300) or None,
        author=one_line(one.author, 40) or None, reason=one_line(one.reason, max(width, 30)),
    )  # fmt: skip


def _readable_ref(one: "PathDecision | PathEntry") -> str:
    """What `read` takes: a file is read by its key."""
    return one.key if one.key.startswith("file:") else one_line(one.ref, 90)


def _write_history(found: "PathHistory", more: int | None) -> str:
    counts = f"{found.decision_count} decisions, {found.entry_count} events"
    shown = f"{len(found.decisions)} and {len(found.entries)} of them below"
    first = f"{counts}; {shown}; cite as ref and lines"
    first += f"; for more: offset={more}" if more is not None else ""
    lines = [f"{found.path} in {found.project}"]
    lines += (
        [f"also known as {', '.join(names)}"] if (names := [one for one in found.names if one != found.path]) else []
    )
    for one in found.decisions:
        author = f"@{one.author} ({one.role})" if one.author else ""
        facts = ", ".join(fact for fact in ("decision", one.rule, author, day(one.decided_at)) if fact)
        lines.append(f"{one.ref} lines {one.first_line}-{one.last_line} ({facts}): {one.summary}".rstrip())
        lines.append(f'    "{one.quote}"')
        lines += [f"    superseded by {', '.join(one.superseded_by)}"] if one.superseded_by else []
        lines += ["    the conversation has continued since a model read it"] if one.is_stale else []
    for event in found.entries:
        author = f"@{event.author}" if event.author else ""
        facts = ", ".join(fact for fact in (event.kind, event.how, author, day(event.happened_at)) if fact)
        lines.append(f"{event.ref} line {event.line} ({facts}): {event.title}")
        lines += [f'    reason: "{event.reason}"'] if event.reason else []
    return "\n".join([first, *found.warnings, fence("\n".join(lines))])


def answer_ask(answer: "AskAnswer") -> ToolAnswer:
    def build(width: int) -> ToolAnswer:
        data = answer._replace(
            question=one_line(answer.question, width), text=seen(answer.marked_text)[:_MAX_TEXT], steps=(), passages=(),
            claims=tuple(
                claim._replace(text=one_line(claim.text, max(width, 60))) for claim in answer.claims[:_MAX_CITATIONS]
            ),
            citations=tuple(_trim_citation(one, width) for one in answer.citations[:_MAX_CITATIONS]),
            model=one_line(answer.model, 100),
            problem=one_line(without_commands(answer.problem) or answer.problem, 300),
            warnings=tuple(one_line(without_commands(one), 200) for one in answer.warnings),
        )  # fmt: skip
        return ToolAnswer(_write_asked(data), data)

    return fit_answer(build)


def _trim_citation(one: "CheckedCitation", width: int) -> "CheckedCitation":
    return one._replace(
        id=one_line(one.id, 200), quote=one_line(one.quote, width), title=one_line(one.title, 90),
        url=one_line(one.url, 300) or None, source=one_line(one.source, width),
    )  # fmt: skip


def _write_asked(answer: "AskAnswer") -> str:
    kept = f", session {answer.session}" if answer.session else ""
    first = f"an answer by {answer.model or 'a model'}, {answer.tokens_in + answer.tokens_out} tokens{kept}"
    if answer.is_partial:
        first = f"no answer: the run ended ({answer.ended_by}); the notes of the model, unchecked"
    unchecked = len(answer.unchecked)
    lines = [answer.text or "(nothing)"]
    for one in answer.citations:
        status = "" if one.is_good else f' NOT PROVED ({one.status}), the model quotes "{one.quote}"'
        lines.append(
            f'[{one.number}] {one.id} lines {one.first_line}-{one.last_line}{status}: "{one.source}" {one.url or ""}'
        )
    if answer.problem:  # it may quote the model, and the model a stranger
        lines.append(f"problem: {answer.problem}")
    notes = [f"{unchecked} of {len(answer.claims)} claims have no citation that holds"] if unchecked else []
    return "\n".join([first, *notes, fence("\n".join(lines))])
