"""Verbs about discussions and releases."""

from .records import Category, Discussion, DiscussionComment, Release
from .verbs import touch, verb

ANSWERABLE = ("Q&A", "Help")


class ForumVerbs:
    @verb
    def add_discussion(self, title, body="", *, author="ana", category="Ideas", labels=(), created_at=None) -> int:
        extra = {"category": self.category(category)}
        return self._new_item(Discussion, title, body or "", author, labels, created_at, extra).number

    def category(self, name: str) -> Category:
        if name not in self.categories:
            made = self.world.add(Category, self, name, name in ANSWERABLE, self.world.now())
            self.categories[name] = made
        return self.categories[name]

    @verb
    def discussion_comment(self, number, body, *, author="ben", at=None) -> int:
        item = self.items[number]
        made = self._say(item, body, author, at)
        item.comments.append(made)
        return made.id

    @verb
    def discussion_reply(self, comment_id, body, *, author="ben", at=None) -> int:
        parent = self.find_comment(comment_id)
        made = self._say(parent.item, body, author, at)
        made.reply_to = parent.reply_to or parent
        made.reply_to.replies.append(made)
        return made.id

    def _say(self, item: Discussion, body: str, author: str | None, at) -> DiscussionComment:
        at = self.world.at(at)
        self.world.user(author)
        touch(item, at)
        return self.world.add(DiscussionComment, item, body, author, at, at)

    @verb
    def answer(self, comment_id, *, at=None) -> None:
        comment, at = self.find_comment(comment_id), self.world.at(at)
        comment.item.answer, comment.item.answered_at = comment, at
        touch(comment.item, at)

    @verb
    def close_discussion(self, number, reason="RESOLVED", *, by=None, at=None) -> None:
        item, at = self.items[number], self.world.at(at)
        item.state, item.closed_at, item.closed_by = "closed", at, by or item.author
        item.state_reason = reason.lower()
        touch(item, at)

    @verb
    def add_release(self, tag, *, name=None, body="", author="ana", at=None, draft=False, prerelease=False) -> int:
        at = self.world.at(at)
        self.world.user(author)
        made = self.world.add(Release, self, tag, name, body, author, at, at, None if draft else at, draft, prerelease)
        self.releases[made.id] = made
        return made.id

    @verb
    def edit_release(self, release_id, *, at=None, **fields) -> None:
        """`draft=False` publishes: published_at is set then, and created_at stays."""
        release, at = self.releases[release_id], self.world.at(at)
        for field, value in fields.items():
            setattr(release, field, value)
        release.updated_at = at
        if not release.draft and release.published_at is None:
            release.published_at = at

    @verb
    def delete_release(self, release_id) -> None:
        del self.world.by_id[self.releases.pop(release_id).id]
