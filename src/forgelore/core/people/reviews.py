"""Reviews of changes: what a reviewer said in the end, in one vocabulary for every forge.

GitHub and Forgejo name the state of a review. GitLab writes it into system notes ("approved this merge request"), and
there a remark at a line is a review of its own.
"""

import re

from forgelore.core.marker import is_report
from forgelore.core.people.mentions import mentions_in_text
from forgelore.model import Involvement, Note, ReviewVerdict

# What forges call a review -> what it says. One that its author has not sent yet (PENDING) is none.
VERDICTS: dict[str, ReviewVerdict] = {
    "APPROVED": "approved", "CHANGES_REQUESTED": "changes_requested", "REQUEST_CHANGES": "changes_requested",
    "COMMENTED": "commented", "COMMENT": "commented", "DISMISSED": "dismissed", "DiffNote": "commented",
}  # fmt: skip
# GitLab's own sentences, in system notes.
_EVENTS: tuple[tuple[str, ReviewVerdict], ...] = (
    ("approved this merge request", "approved"),
    ("unapproved this merge request", "dismissed"),
    ("requested changes", "changes_requested"),
    ("left review comments", "commented"),
)
_REQUESTED = re.compile(r"requested review from (.*?)(?:\band removed review request|\Z)", re.DOTALL)


def people_in_note(note: Note, owner: str = "") -> list[Involvement]:
    """Return whom a note mentions, and what its author says of a change. What the bot writes is nobody's word."""
    if is_report(note.body):
        return []
    if note.is_system:
        return _people_in_event(note)
    called = people_in_text(note.body, note.created_at, owner)
    verdict = VERDICTS.get(note.type or "")
    if verdict and note.author:
        called.append(Involvement(note.author, "reviewed", verdict, "event", note.created_at))
    return called


def people_in_text(text: str | None, created_at: int | None, owner: str = "") -> list[Involvement]:
    """Return whom a text mentions."""
    return [Involvement(name, "mentioned", None, "text", created_at) for name in mentions_in_text(text, owner)]


def _people_in_event(note: Note) -> list[Involvement]:
    body, when = note.body or "", note.created_at
    asked = _REQUESTED.match(body)
    if asked:
        return [Involvement(name, "requested", None, "event", when) for name in mentions_in_text(asked[1])]
    verdict = next((verdict for sentence, verdict in _EVENTS if body.startswith(sentence)), None)
    return [Involvement(note.author, "reviewed", verdict, "event", when)] if verdict and note.author else []
