"""Verbs about changes (pull requests): files, pushes, reviews, review threads and merging.

As on GitHub, every review comment belongs to a review; one made alone brings a review with an empty body.
"""

import re

from .records import Change, File, Item, Review, ReviewComment, Thread
from .verbs import sha, touch, verb

CLOSES = re.compile(r"\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?):?\s+(?:([\w.-]+/[\w.-]+))?#(\d+)\b", re.IGNORECASE)
EXAMPLE = (("modified", "src/a.py"),)


def closing_references(change: Change) -> list[tuple[object, int]]:
    """(project, number) of each existing issue that a change says it fixes: "Fixes #12, closes acme/api#3"."""
    found = {}
    for path, number in CLOSES.findall(change.body or ""):
        project = change.project.world.names.get(path.lower()) if path else change.project
        target = project.items.get(int(number)) if project else None
        if target and target.kind == "issue":
            found[target.id] = (project, target.number)
    return list(found.values())


def parse_files(specs) -> list[File]:
    """("renamed", "old.py", "new.py") keeps both names; the others have one. A dict behind them may have a `patch`."""
    found = []
    for status, *rest in specs:
        paths = [part for part in rest if isinstance(part, str)]
        flags = rest[-1] if isinstance(rest[-1], dict) else {}
        found.append(File(status, paths[0], paths[-1], flags.get("patch")))
    return found


class ChangeVerbs:
    @verb
    def add_change(
        self,
        title,
        body="",
        *,
        author="ana",
        labels=(),
        files=EXAMPLE,
        head="branch",
        base=None,
        draft=False,
        created_at=None,
        **extra,
    ) -> int:
        shape = {
            "files": parse_files(files),
            "head": head,
            "base": base or self.default_branch,
            "draft": draft,
        }
        item = self._new_item(Change, title, body, author, labels, created_at, {**shape, **extra})
        item.head_sha = sha(f"{item.id}:{head}:0")
        return item.number

    @verb
    def push(self, number, files, *, by=None, at=None) -> None:
        """New commits: other files, another head; comments on files that left the diff become outdated."""
        item, at = self.items[number], self.world.at(at)
        item.files = parse_files(files)
        item.head_sha = sha(f"{item.head_sha}:{at}")
        paths = {file.new_path for file in item.files}
        for comment in item.review_comments:
            comment.outdated = comment.path not in paths
        self.record_event(item, "head_ref_force_pushed", by, at)
        touch(item, at)

    @verb
    def merge(self, number, *, by=None, at=None) -> None:
        """Close as merged; issues that the body says it fixes close with it, on the default branch only."""
        item, at = self.items[number], self.world.at(at)
        item.state, item.closed_at, item.closed_by = "closed", at, by or self.owner
        item.merged_at, item.merged_by = at, by or self.owner
        self.record_event(item, "merged", item.merged_by, at)
        self.record_event(item, "closed", item.merged_by, at, state_reason=None)
        touch(item, at)
        for project, target in closing_references(item) if item.base == self.default_branch else ():
            if not project.items[target].is_closed:
                project.close(target, by=item.merged_by, at=at)

    @verb
    def review(self, number, body, *, author="ben", state="COMMENTED", at=None) -> int:
        return self._new_review(self.items[number], body, author, state, self.world.at(at)).id

    def _new_review(self, item: Item, body, author, state, at) -> Review:
        self.world.user(author)
        made = self.world.add(Review, item, body, author, at, at, state, item.head_sha)
        item.reviews.append(made)
        item.requested = [login for login in item.requested if login != author]
        touch(item, at)
        return made

    @verb
    def request_review(self, number, login, *, at=None) -> None:
        """Ask for a review; giving one takes the request away."""
        item, at = self.items[number], self.world.at(at)
        self.world.user(login)
        item.requested.append(login)
        touch(item, at)

    @verb
    def review_comment(
        self, number, body, *, author="ben", path=None, line=1, reply_to=None, review=None, at=None
    ) -> int:
        """A reply takes path and line from the comment it answers; threads are one level deep."""
        item, at = self.items[number], self.world.at(at)
        owner = self.world.by_id[review] if review else self._new_review(item, "", author, "COMMENTED", at)
        made = self.world.add(ReviewComment, item, body, author, at, at, review=owner, commit=item.head_sha)
        if reply_to is None:
            made.path, made.line = path or item.files[0].new_path, line
            made.thread = self.world.add(Thread, item)
            item.threads.append(made.thread)
        else:
            answered = self.review_comments[reply_to]
            root = answered.reply_to or answered
            made.path, made.line, made.thread, made.reply_to = root.path, root.line, root.thread, root
            made.outdated = root.outdated
        made.thread.comments.append(made)
        item.review_comments.append(made)
        self.review_comments[made.id] = made
        touch(item, at)
        self.refer(item, body, author, at)
        return made.id

    @verb
    def resolve_thread(self, root_comment_id, *, by=None) -> None:
        """Resolving moves no time: only a fresh look at the threads shows it."""
        thread = self.review_comments[root_comment_id].thread
        thread.is_resolved, thread.resolved_by = True, by or self.owner

    def _forget_review_comment(self, comment: ReviewComment) -> None:
        """Answers to a deleted comment stay, and go on naming it in in_reply_to_id."""
        item, thread = comment.item, comment.thread
        del self.review_comments[comment.id]
        item.review_comments.remove(comment)
        thread.comments.remove(comment)
        if not thread.comments:
            item.threads.remove(thread)
            self.world.by_id.pop(thread.id, None)
