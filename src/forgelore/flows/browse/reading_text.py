"""Documents as they are shown to programs, agents and models: the structured header, then the text.

Made from what `flows/browse/items` loads, so that an item reads the same wherever it is shown.
"""

from forgelore.core.marker import is_report
from forgelore.core.search.documents import DocumentNote, ShownHeader, build_shown
from forgelore.core.times import as_ms
from forgelore.flows.browse.items import ShownItem, ShownThread


def show_document(item: ShownItem) -> str:
    """Return an item and, below it, each thread that people wrote; system notes, internal ones and reports of the bot
    stay out.
    """
    parts = [build_shown(_header(item), item.body or "")]
    for thread in item.threads:
        notes = [
            DocumentNote(
                note.author, as_ms(note.created_at) if note.created_at else None, note.body, note.path, note.url
            )
            for note in thread.notes
            if note.body and not note.is_system and not note.is_internal and not is_report(note.body)
        ]
        if notes:
            parts.append(build_shown(_header(item, thread=thread, first=notes[0]), "", notes))
    return "\n\n".join(parts)


def _header(item: ShownItem, *, thread: ShownThread | None = None, first: DocumentNote | None = None) -> ShownHeader:
    branches = (item.source_branch, item.target_branch) if item.source_branch and item.target_branch else None
    return ShownHeader(
        "thread" if thread else "item", item.kind, item.ref, item.title, item.project,
        (first.url if first else None) or item.url, item.labels, item.state, item.author,
        None if thread else branches, [thread.path] if thread and thread.path else [],
    )  # fmt: skip
