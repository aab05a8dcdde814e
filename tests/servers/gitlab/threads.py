"""Who says what on an item? Discussions, notes and the system notes GitLab writes itself.

The rule every client trips over: a note moves its item's `updated_at` only when that stands a minute or more
behind (throttled_touch.rb). Edits and deletions of notes never move it here, the harder case for a client.
"""

import contextlib
import functools
import hashlib

from .records import Discussion, Item, Note, seconds_between
from .text import find_references

TOUCH_INTERVAL_S = 60


def locked(verb):
    """Tests call verbs while a client is talking: take the server's lock so that each verb is one step."""

    @functools.wraps(verb)
    def guarded(self, *args, **kwargs):
        with self.world.lock:
            return verb(self, *args, **kwargs)

    return guarded


def touch(item: Item, at: str) -> None:
    if seconds_between(item.updated_at, at) >= TOUCH_INTERVAL_S:
        item.updated_at = at


def bump(item: Item, at: str) -> None:
    """What a real change does: at once, and never backwards when a test tells history out of order."""
    item.updated_at = max(item.updated_at, at)


class Threads:
    """The half of a project's verbs that concerns notes."""

    @locked
    def comment(self, kind, iid, body, *, author="ana", at=None, internal=False) -> int:
        """A plain comment. With `at` it happened then, which is also the time that may move the item."""
        note = self._open_discussion(self.item(kind, iid), body, author=author, at=at, individual=True)
        note.internal = internal
        return self._said(note)

    @locked
    def discuss(self, kind, iid, body, *, author="ana", path=None, line=None, old_line=None, at=None) -> str:
        """A thread; with `path` on a line of the diff: `line` of the new file or `old_line` of the old."""
        item = self.item(kind, iid)
        note = self._open_discussion(item, body, author=author, at=at, individual=False)
        note.type = "DiscussionNote"
        if path is not None:
            note.type, note.position = "DiffNote", self._position(item, path, line, old_line)
        self._said(note)
        return note.discussion.id

    @locked
    def reply(self, kind, iid, discussion_id, body, *, author="ana", at=None) -> int:
        """An answer in a thread; answering a plain comment turns it into a thread, as the real one does."""
        discussion = self.discussion(kind, iid, discussion_id)
        first = discussion.notes[0]
        if discussion.individual:
            discussion.individual, first.type = False, "DiscussionNote"
        note = self._add_note(discussion, body, author=author, at=at)
        note.type, note.position, note.internal = first.type, first.position, first.internal
        return self._said(note)

    @locked
    def resolve(self, iid, discussion_id, by="ana", *, resolved=True, at=None) -> None:
        now = self.world.at(at)
        for note in self.discussion("change", iid, discussion_id).notes:
            if note.resolvable:
                note.resolved_by, note.resolved_at = (by, now) if resolved else (None, None)
                note.updated_at = now

    @locked
    def request_review(self, iid, username, by="ana", *, at=None) -> None:
        """A reviewer stays one after the review: what was asked and answered stands in system notes."""
        item, now = self.item("change", iid), self.world.at(at)
        if username not in item.reviewers:
            item.reviewers.append(username)
        self.write_system_note(item, f"requested review from @{username}", by, now)
        bump(item, now)

    @locked
    def approve(self, iid, by, *, at=None) -> None:
        item, now = self.item("change", iid), self.world.at(at)
        self.write_system_note(item, "approved this merge request", by, now)
        bump(item, now)

    @locked
    def edit_note(self, note_id, body, *, at=None) -> None:
        note = self.notes[note_id]
        note.body, note.updated_at = body, self.world.at(at)
        if not note.internal:
            self.mention(note.discussion.item, body, note.author, note.updated_at)

    @locked
    def delete_note(self, note_id) -> None:
        note = self.notes.pop(note_id)
        note.discussion.notes.remove(note)
        if not note.discussion.notes:
            note.discussion.item.discussions.remove(note.discussion)

    @locked
    def react(self, note_id, by="ben") -> None:
        """A thumb up. It moves no time."""
        self.notes[note_id].likes.append(by)

    @locked
    def system_note(self, kind, iid, body, *, author="ana", at=None) -> int:
        return self.write_system_note(self.item(kind, iid), body, author, self.world.at(at)).id

    def discussion(self, kind, iid, discussion_id) -> Discussion:
        for discussion in self.item(kind, iid).discussions:
            if discussion.id == discussion_id:
                return discussion
        raise KeyError(discussion_id)

    def write_system_note(self, item: Item, body, author, at, mentioner=None) -> Note:
        note = item.project._open_discussion(item, body, author=author, at=at, individual=True)
        note.system, note.mentioner = True, mentioner
        touch(item, at)
        return note

    def mention(self, source: Item, text, author, at) -> None:
        """Tell each item that `text` refers to, once per mentioning item."""
        for path, kind, iid in find_references(text, self.world.web):
            with contextlib.suppress(KeyError):
                target = self._referred(path).item(kind, iid)
                if target is source or source in target.mentioned_by:
                    continue
                target.mentioned_by.add(source)
                body = f"mentioned in {source.noun} {source.reference(target.project)}"
                self.write_system_note(target, body, author, at, mentioner=source)

    def _referred(self, path):
        if path is None:
            return self
        return self.world.find_project(path if "/" in path else f"{self.namespace}/{path}")

    def _said(self, note: Note) -> int:
        touch(note.discussion.item, note.created_at)
        if not note.internal:
            self.mention(note.discussion.item, note.body, note.author, note.created_at)
        return note.id

    def _open_discussion(self, item: Item, body, *, author, at, individual) -> Note:
        number = self.world.next_id("discussion")
        digest = hashlib.sha1(f"discussion {number}".encode()).hexdigest()
        discussion = Discussion(digest, item, individual)
        item.discussions.append(discussion)
        return self._add_note(discussion, body, author=author, at=at)

    def _add_note(self, discussion: Discussion, body, *, author, at) -> Note:
        now = self.world.at(at)
        note = Note(self.world.next_id("note"), body, author, now, now, discussion)
        discussion.notes.append(note)
        self.notes[note.id] = note
        return note

    def _position(self, item: Item, path, line, old_line) -> dict:
        file = next((f for f in item.files if path in (f.new_path, f.old_path)), None)
        return {
            "base_sha": item.base_sha,
            "start_sha": item.base_sha,
            "head_sha": item.sha,
            "old_path": file.old_path if file else path,
            "new_path": file.new_path if file else path,
            "position_type": "text",
            "old_line": old_line,
            "new_line": line,
            "line_range": None,
        }
