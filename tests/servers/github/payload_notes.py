"""The JSON of what hangs below an item: comments, reviews, events. One half of `payloads.Shapes`."""

from .records import html_url, node_id


class NoteShapes:
    def written(self, thing) -> dict:
        """What comments of both sorts say alike."""
        return {
            "id": thing.id,
            "node_id": node_id(thing),
            "html_url": html_url(thing),
            "body": thing.body,
            "user": self.user(thing.item.project.world, thing.author),
            "created_at": thing.created_at,
            "updated_at": thing.updated_at,
            "author_association": self.association(thing),
        }

    def comment(self, comment) -> dict:
        repo = self.repo_url(comment.item.project)
        url = f"{repo}/issues/comments/{comment.id}"
        return {
            "url": url,
            "issue_url": f"{repo}/issues/{comment.item.number}",
            **self.written(comment),
            "reactions": self.reactions(url, comment.likes, comment.dislikes),
            "performed_via_github_app": None,
        }

    def review_comment(self, comment) -> dict:
        """Outdated comments have a null line and position; the original ones stay."""
        repo = self.repo_url(comment.item.project)
        url, pull = f"{repo}/pulls/comments/{comment.id}", f"{repo}/pulls/{comment.item.number}"
        line = None if comment.outdated else comment.line
        shape = {
            "url": url,
            "pull_request_review_id": comment.review.id,
            "pull_request_url": pull,
            **self.written(comment),
            "diff_hunk": f"@@ -1,1 +1,1 @@\n+new line 0 of {comment.path}",
            "path": comment.path,
            "commit_id": comment.item.head_sha,
            "original_commit_id": comment.commit,
            "line": line,
            "position": line,
            "original_line": comment.line,
            "original_position": comment.line,
            "start_line": None,
            "original_start_line": None,
            "start_side": None,
            "side": "RIGHT",
            "subject_type": "line" if comment.line else "file",
            "_links": {n: {"href": u} for n, u in (("self", url), ("html", html_url(comment)), ("pull_request", pull))},
            "reactions": self.reactions(url),
        }
        if comment.reply_to:
            shape["in_reply_to_id"] = comment.reply_to.id
        return shape

    def review(self, review) -> dict:
        pull = f"{self.repo_url(review.item.project)}/pulls/{review.item.number}"
        shape = {
            **self.written(review),
            "state": review.state,
            "pull_request_url": pull,
            "submitted_at": review.created_at,
            "commit_id": review.commit,
            "_links": {"html": {"href": html_url(review)}, "pull_request": {"href": pull}},
        }
        del shape["created_at"], shape["updated_at"]
        return shape

    def event(self, event) -> dict:
        project, extra = event.item.project, event.extra
        shape = {
            "id": event.id,
            "node_id": node_id(event),
            "url": f"{self.repo_url(project)}/issues/events/{event.id}",
            "actor": self.user(project.world, event.actor),
            "event": event.event,
            "commit_id": None,
            "commit_url": None,
            "created_at": event.created_at,
            "performed_via_github_app": None,
        }
        if "label" in extra:
            shape["label"] = {"name": extra["label"], "color": project.label(extra["label"]).color}
        return shape | {name: extra[name] for name in ("rename", "state_reason") if name in extra}

    def cross_reference(self, event) -> dict:
        return {
            "event": "cross-referenced",
            "actor": self.user(event.item.project.world, event.actor),
            "created_at": event.created_at,
            "updated_at": event.created_at,
            "source": {"type": "issue", "issue": self.issue(event.extra["source"])},
        }
