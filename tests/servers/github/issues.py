"""Verbs about issues and the comments below issues and changes.

A comment always moves its parent's updated_at. Editing one moves only the comment's own time, and deleting
one moves nothing: neither a since-list nor the parent tells that it is gone.
"""

import re

from .records import Comment, DiscussionComment, Issue, Item, ReviewComment
from .verbs import touch, verb

MENTION = re.compile(r"(?:([\w.-]+/[\w.-]+))?#(\d+)\b")
# A link's target counts as much as a bare address; redirect.github.com is the documented way to link without a trace:
# docs.github.com/get-started/writing-on-github/working-with-advanced-formatting/autolinked-references-and-urls
ADDRESS = re.compile(r"https?://(?:www\.)?github\.com/([\w.-]+/[\w.-]+)/(?:issues|pull)/(\d+)")
MARKS_DUPLICATE = re.compile(r"^\s*duplicate of #(\d+)", re.IGNORECASE | re.MULTILINE)
UNSET = object()


class IssueVerbs:
    @verb
    def add_issue(self, title, body="", *, author="ana", labels=(), created_at=None, **extra) -> int:
        return self._new_item(Issue, title, body, author, labels, created_at, extra).number

    def suggest(self, item, action: str, target_id, given: dict, *, by: str) -> None:
        for one in self.suggestions:  # a newer one for the same change takes its place
            is_same = (one["issue_id"], one["action"], one["state"]) == (item.id, action, "pending")
            if is_same and (action == "close_issue" or one["target_id"] == target_id):
                one["state"] = "replaced"
        self.suggestions.append({
            "id": len(self.suggestions) + 1, "issue_id": item.id, "action": action, "state": "pending",
            "target_id": target_id, "target_value": None, "rationale": given.get("rationale"),
            "confidence": given.get("confidence"), "actor_id": self.world.user(by).id, "issue_event_id": None,
            "resolved_by": None, "created_at": self.world.now(), "updated_at": self.world.now(),
        })  # fmt: skip

    def _new_item(self, kind, title, body, author, labels, created_at, extra) -> Item:
        at = self.world.at(created_at)
        self.world.user(author)
        self.last_number += 1
        item = self.world.add(kind, self, self.last_number, title, body, author, at, at)
        for name, value in extra.items():
            setattr(item, name, value)
        item.labels = [self.label(name).name for name in labels]
        for name in item.labels:
            self.record_event(item, "labeled", author, at, label=name)
        self.items[item.number] = item
        self.refer(item, body, author, at)
        return item

    def refer(self, source: Item, text: str | None, actor: str | None, at: str) -> None:
        """Leave a cross reference on each item the text mentions. It does not move the mentioned item's time."""
        mentions = MENTION.findall(text) if text and "#" in text else []
        mentions += ADDRESS.findall(text) if text and "github.com/" in text else []
        for path, number in mentions:
            project = self.world.names.get(path.lower()) if path else self
            target = project.items.get(int(number)) if project else None
            if target and target is not source:
                project.record_event(target, "cross-referenced", actor, at, source=source)

    @verb
    def comment(self, number, body, *, author="ben", at=None) -> int:
        item, at = self.items[number], self.world.at(at)
        self.world.user(author)
        made = self.world.add(Comment, item, body, author, at, at)
        self.comments[made.id] = made
        item.comments.append(made)
        touch(item, at)
        self.refer(item, body, author, at)
        marked = MARKS_DUPLICATE.search(body)
        if marked and self.may_push(author) and int(marked.group(1)) in self.items:
            self.mark_duplicate(number, int(marked.group(1)), by=author, at=at)
        return made.id

    @verb
    def edit_comment(self, comment_id, body, *, at=None, touch_parent=None) -> None:
        """Discussions have no list of changed comments, so there the parent moves unless told otherwise."""
        comment, at = self.find_comment(comment_id), self.world.at(at)
        comment.body, comment.updated_at = body, at
        if isinstance(comment, DiscussionComment) if touch_parent is None else touch_parent:
            touch(comment.item, at)

    @verb
    def delete_comment(self, comment_id) -> None:
        comment = self.find_comment(comment_id)
        del self.world.by_id[comment.id]
        if isinstance(comment, ReviewComment):
            self._forget_review_comment(comment)
        elif isinstance(comment, DiscussionComment):
            siblings = comment.reply_to.replies if comment.reply_to else comment.item.comments
            siblings.remove(comment)
            for reply in comment.replies:
                del self.world.by_id[reply.id]
            if comment.item.answer is comment:
                comment.item.answer = comment.item.answered_at = None
        else:
            del self.comments[comment.id]
            comment.item.comments.remove(comment)

    @verb
    def react(self, comment_id, *, down=False) -> None:
        """Somebody's thumb, up or down. It moves no time."""
        comment = self.find_comment(comment_id)
        if down:
            comment.dislikes += 1
        else:
            comment.likes += 1

    def add_reaction(self, comment, content: str, *, by: str) -> bool:
        is_new = (comment.id, content, by) not in self.reactions
        self.reactions.append((comment.id, content, by))
        return is_new

    def find_comment(self, comment_id) -> Comment:
        comment = self.world.by_id.get(comment_id)
        if not isinstance(comment, Comment) or comment.item.project is not self:
            raise KeyError(comment_id)
        return comment

    @verb
    def edit(self, number, *, title=None, body=UNSET, labels=None, author=UNSET, assignees=None, by=None, at=None):
        """Change what is given; `body=None` and `author=None` are values of their own."""
        item, at = self.items[number], self.world.at(at)
        if title is not None and title != item.title:
            self.record_event(item, "renamed", by, at, rename={"from": item.title, "to": title})
            item.title = title
        if body is not UNSET:
            item.body = body
        if author is not UNSET:
            item.author = author
        if labels is not None:
            self._relabel(item, [self.label(name).name for name in labels], by, at)
        if assignees is not None:
            item.assignees = list(assignees)
        touch(item, at)

    def _relabel(self, item: Item, names: list[str], by: str | None, at: str) -> None:
        for name in names:
            if name not in item.labels:
                self.record_event(item, "labeled", by, at, label=name)
        for name in item.labels:
            if name not in names:
                self.record_event(item, "unlabeled", by, at, label=name)
        item.labels = names

    @verb
    def close(self, number, *, reason="completed", duplicate_of=None, by=None, at=None) -> None:
        item, at = self.items[number], self.world.at(at)
        if duplicate_of is not None:
            self.mark_duplicate(number, duplicate_of, by=by, at=at)
        item.state, item.closed_at, item.closed_by = "closed", at, by or item.author
        item.state_reason = reason if item.kind == "issue" else None
        self.record_event(item, "closed", by, at, state_reason=item.state_reason)
        touch(item, at)

    @verb
    def reopen(self, number, *, by=None, at=None) -> None:
        item, at = self.items[number], self.world.at(at)
        item.state, item.closed_at, item.closed_by = "open", None, None
        item.state_reason = None if item.kind == "change" else "reopened"
        self.record_event(item, "reopened", by, at, state_reason=item.state_reason)
        touch(item, at)

    @verb
    def mark_duplicate(self, number, of, *, by=None, at=None) -> None:
        item, at = self.items[number], self.world.at(at)
        item.duplicate_of = of if isinstance(of, Item) else self.items[of]
        self._record_mark("marked_as_duplicate", item, by, at)
        touch(item, at)

    @verb
    def unmark_duplicate(self, number, *, by=None, at=None) -> None:
        item, at = self.items[number], self.world.at(at)
        self._record_mark("unmarked_as_duplicate", item, by, at)
        item.duplicate_of = None
        touch(item, at)

    def _record_mark(self, event: str, item: Item, by: str | None, at: str) -> None:
        """GitHub puts the event on both of a pair; each names the original as the original, the original's too."""
        original = item.duplicate_of
        for project, one in ((self, item), (original.project, original)):
            project.record_event(one, event, by, at, canonical=original, duplicate=item)

    @verb
    def delete(self, number) -> None:
        """The item and everything below it vanish; nothing else changes its time."""
        self._forget(self.items.pop(number))
        self.gone[number] = None

    @verb
    def transfer(self, number, other, *, by=None) -> int:
        """Move an issue: a new number and id there, its comments along, labels only where `other` knows them."""
        old, at = self.items.pop(number), self.world.now()
        other.changed()
        labels = [name for name in old.labels if name.lower() in other.labels]
        new = other._new_item(Issue, old.title, old.body, old.author, (), old.created_at, {})
        new.state, new.state_reason, new.closed_at, new.closed_by = (
            old.state, old.state_reason, old.closed_at, old.closed_by,
        )  # fmt: skip
        new.labels, new.assignees, new.comments = labels, old.assignees, old.comments
        for comment in new.comments:
            comment.item = new
            other.comments[comment.id] = self.comments.pop(comment.id)
        other.record_event(new, "transferred", by, at, from_project=self)
        touch(new, at)
        del self.world.by_id[old.id]
        self.gone[number] = new
        return new.number

    def _forget(self, item: Item) -> None:
        below = [*item.comments, *(r for c in item.comments for r in getattr(c, "replies", ()))]
        if item.kind == "change":
            below += [*item.review_comments, *item.reviews, *item.threads]
        for thing in [item, *below, *item.events]:
            self.world.by_id.pop(thing.id, None)
            self.comments.pop(thing.id, None)
            self.review_comments.pop(thing.id, None)
