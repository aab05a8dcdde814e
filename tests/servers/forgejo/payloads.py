"""The JSON of each thing, as modules/structs of Gitea has it. Times carry the server's own zone."""

import datetime as dt

from ..base import parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from ..github.verbs import sha  # noqa: TID252

ZONE = dt.timezone(dt.timedelta(hours=2))
GHOST = {"id": -1, "login": "Ghost", "full_name": "", "email": "ghost@noreply.invalid", "active": False}
PARTS = {"issue": "issues", "change": "pulls"}


def moment(text: str | None) -> str | None:
    """`2026-03-01T12:00:00Z` -> `2026-03-01T14:00:00+02:00`."""
    return parse_time(text).astimezone(ZONE).isoformat(timespec="seconds") if text else None


def user(world, login: str | None) -> dict:
    """A deleted account is Ghost, number -1."""
    if login is None:
        return dict(GHOST)
    known = world.user(login)
    page = f"{world.web()}/{login}"
    return {
        "id": known.id, "login": known.login, "login_name": "", "full_name": "", "email": f"{known.id}@noreply.invalid",
        "avatar_url": f"{page}.png", "html_url": page, "language": "", "is_admin": False, "active": True,
        "created": moment(known.created_at), "restricted": False, "visibility": "public",
    }  # fmt: skip


def repository(project) -> dict:
    shape = {
        "id": project.id, "owner": user(project.world, project.owner), "name": project.name, "full_name": project.path,
        "description": project.description or "", "empty": False, "private": project.visibility == "private",
        "fork": False, "html_url": project.web, "clone_url": f"{project.web}.git",
        "default_branch": project.default_branch, "archived": project.archived,
        "created_at": moment(project.created_at), "updated_at": moment(project.updated_at),
        "has_issues": project.has_issues, "has_pull_requests": True, "has_releases": True,
        "internal": project.visibility == "internal",
    } | project.told  # fmt: skip
    return {name: value for name, value in shape.items() if value is not None or name not in project.told}


def label(record) -> dict:
    return {
        "id": record.id, "name": record.name, "color": record.color.lstrip("#"), "exclusive": False,
        "description": record.description or "", "url": f"{record.project.web}/labels/{record.id}",
    }  # fmt: skip


def page_of(item) -> str:
    return f"{item.project.web}/{PARTS[item.kind]}/{item.number}"


def issue(item) -> dict:
    """An issue or a pull request, as the list of issues and the page of one issue show it."""
    world, project = item.project.world, item.project
    shape = {
        "id": item.id, "url": f"{page_of(item)}/api", "html_url": page_of(item), "number": item.number,
        "user": user(world, item.author), "original_author": "", "original_author_id": 0, "title": item.title,
        "body": item.body or "", "ref": "", "labels": [label(project.label(name)) for name in item.labels],
        "assignees": [user(world, login) for login in item.assignees] or None, "state": item.state,
        "is_locked": item.locked, "comments": len(item.comments), "milestone": {"title": item.milestone} if item.milestone else None, "created_at": moment(item.created_at),
        "updated_at": moment(item.updated_at), "closed_at": moment(item.closed_at), "pin_order": 0,
        "repository": {"id": project.id, "name": project.name, "owner": project.owner, "full_name": project.path},
    }  # fmt: skip
    if item.kind == "change":
        merged = {"merged": item.merged_at is not None, "merged_at": moment(item.merged_at)}
        shape["comments"] += len(item.review_comments)  # those on lines are counted as well, by most versions
        shape["pull_request"] = merged | {"draft": item.draft, "html_url": page_of(item)}
    return shape


def pull(item) -> dict:
    head = {"label": item.head, "ref": item.head, "sha": item.head_sha, "repo_id": item.project.id}
    base = {"label": item.base, "ref": item.base, "sha": sha(f"base of {item.id}"), "repo_id": item.project.id}
    return {
        "id": item.id, "number": item.number, "html_url": page_of(item), "title": item.title, "body": item.body or "",
        "state": item.state, "draft": item.draft, "is_locked": item.locked, "user": user(item.project.world, item.author),
        "comments": len(item.comments), "review_comments": len(item.review_comments), "head": head, "base": base,
        "merged": item.merged_at is not None, "merged_at": moment(item.merged_at),
        "created_at": moment(item.created_at), "updated_at": moment(item.updated_at),
        "closed_at": moment(item.closed_at), "changed_files": len(item.files),
        "requested_reviewers": [user(item.project.world, login) for login in item.requested],
    }  # fmt: skip


def comment(record) -> dict:
    item = record.item
    is_change = item.kind == "change"
    return {
        "id": record.id, "html_url": f"{page_of(item)}#issuecomment-{record.id}",
        "pull_request_url": page_of(item) if is_change else "", "issue_url": "" if is_change else page_of(item),
        "user": user(item.project.world, record.author), "original_author": "", "original_author_id": 0,
        "body": record.body, "assets": [], "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at),
    }  # fmt: skip


def review(record) -> dict:
    item = record.item
    state = {"COMMENTED": "COMMENT", "CHANGES_REQUESTED": "REQUEST_CHANGES"}.get(record.state, record.state)
    return {
        "id": record.id, "user": user(item.project.world, record.author), "state": state, "body": record.body or "",
        "commit_id": record.commit, "stale": False, "official": False, "dismissed": False,
        "comments_count": len(comments_of(record)), "submitted_at": moment(record.created_at),
        "updated_at": moment(record.updated_at), "html_url": f"{page_of(item)}#issuecomment-{record.id}",
        "pull_request_url": page_of(item),
    }  # fmt: skip


def comments_of(review) -> list:
    """An answer belongs to the review of what it answers."""
    return [one for one in review.item.review_comments if (one.reply_to or one).review is review]


def line_comment(record) -> dict:
    item, thread = record.item, record.thread
    is_resolved = thread.is_resolved and thread.comments[:1] == [record]
    return {
        "id": record.id, "body": record.body, "user": user(item.project.world, record.author),
        "resolver": user(item.project.world, thread.resolved_by) if is_resolved else None,
        "pull_request_review_id": (record.reply_to or record).review.id, "created_at": moment(record.created_at),
        "updated_at": moment(record.updated_at), "path": record.path, "commit_id": record.commit,
        "original_commit_id": record.commit, "diff_hunk": "@@ -1 +1 @@", "position": record.line or 0,
        "original_position": 0, "html_url": f"{page_of(item)}#issuecomment-{record.id}",
        "pull_request_url": page_of(item),
    }  # fmt: skip


def changed_file(file) -> dict:
    status = {"modified": "changed"}.get(file.status, file.status)
    shape = {
        "filename": file.new_path, "status": status, "additions": file.additions, "deletions": file.deletions,
        "changes": file.additions + file.deletions,
    }  # fmt: skip
    return shape | ({"previous_filename": file.old_path} if file.status == "renamed" else {})


def release(record) -> dict:
    return {
        "id": record.id, "tag_name": record.tag, "target_commitish": record.project.default_branch,
        "name": record.name or "", "body": record.body or "", "draft": record.draft, "prerelease": record.prerelease,
        "html_url": f"{record.project.web}/releases/tag/{record.tag}", "author": user(record.project.world, record.author),
        "created_at": moment(record.created_at), "published_at": moment(record.published_at or record.created_at),
        "assets": [],
    }  # fmt: skip


def branch(project, name: str) -> dict:
    commit = {"id": sha(f"{project.id}:{name}"), "message": "Update", "timestamp": moment(project.branch_times[name])}
    return {"name": name, "commit": commit, "protected": False}


TIMELINE_TYPES = {
    "closed": "close", "reopened": "reopen", "auto_merge_enabled": "pull_scheduled_merge",
    "auto_merge_disabled": "pull_cancel_scheduled_merge",
}  # fmt: skip


def timeline_row(record) -> dict:
    """A comment or an event: both are comments here, with a type."""
    if hasattr(record, "body"):
        return comment(record) | {"type": "comment"}
    return {
        "id": record.id, "type": TIMELINE_TYPES[record.event], "html_url": f"{page_of(record.item)}#event-{record.id}",
        "user": user(record.item.project.world, record.actor), "body": "", "created_at": moment(record.created_at),
        "updated_at": moment(record.created_at),
    }  # fmt: skip


def reaction(world, record) -> dict:
    return {"user": user(world, "ana"), "content": "+1", "created_at": moment(record.created_at)}
