"""Which JSON does GitLab answer for a record? Shapes only: who may see what is decided in `rest.py`.

Field names follow the entities of the official description; constants stand where this world has no state.
"""

from .records import File, Item, Label, Link, Note
from .state import World

TIME_STATS = {
    "time_estimate": 0,
    "total_time_spent": 0,
    "human_time_estimate": None,
    "human_total_time_spent": None,
}


def user(world: World, username: str | None) -> dict | None:
    if username is None:
        return None
    person = world.user(username)
    return {
        "id": person.id,
        "username": person.username,
        "public_email": "",
        "name": person.name,
        "state": "active",
        "locked": False,
        "avatar_url": None,
        "web_url": f"{world.web}/{person.username}",
    }


def label(world: World, record: Label) -> dict:
    return {
        "id": record.id,
        "name": record.name,
        "description": record.description,
        "description_html": record.description or "",
        "text_color": "#1F1E24",
        "color": record.color,
        "archived": False,
    }


def project_label(world: World, record: Label) -> dict:
    return {**label(world, record), "subscribed": False, "priority": None, "is_project_label": True}


def web_url(item: Item) -> str:
    folder = "issues" if item.kind == "issue" else "merge_requests"
    return f"{item.project.world.web}/{item.project.path}/-/{folder}/{item.iid}"


def _common(item: Item, *, label_details=False) -> dict:
    project, world = item.project, item.project.world
    names = sorted(item.labels)
    people = [user(world, name) for name in item.assignees]
    return {
        "id": item.id,
        "iid": item.iid,
        "project_id": project.id,
        "title": item.title,
        "description": item.body,
        "state": item.state,
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "closed_at": item.closed_at,
        "closed_by": user(world, item.closed_by),
        "labels": [label(world, project.labels[n]) for n in names] if label_details else names,
        "milestone": None,
        "assignees": people,
        "assignee": people[0] if people else None,
        "author": user(world, item.author),
        "user_notes_count": sum(not note.system for note in item.notes()),
        "upvotes": 0,
        "downvotes": 0,
        "discussion_locked": None,
        "web_url": web_url(item),
        "references": {
            "short": f"{item.sigil}{item.iid}",
            "relative": f"{item.sigil}{item.iid}",
            "full": f"{project.path}{item.sigil}{item.iid}",
        },
        "time_stats": dict(TIME_STATS),
        "task_completion_status": {"count": 0, "completed_count": 0},
        "imported": False,
        "imported_from": "none",
    }


def issue(item: Item, *, label_details=False, single=False, duplicate=False) -> dict:
    """`duplicate`: whether the reader may learn which issue this one repeats."""
    project = item.project
    api = f"{project.world.web}/api/v4/projects/{project.id}"
    payload = _common(item, label_details=label_details) | {
        "type": "ISSUE",
        "issue_type": "issue",
        "merge_requests_count": 0,
        "due_date": None,
        "confidential": item.confidential,
        "weight": None,
        "blocking_issues_count": 0,
        "has_tasks": False,
        "task_status": "0 of 0 checklist items completed",
        "_links": {
            "self": f"{api}/issues/{item.iid}",
            "notes": f"{api}/issues/{item.iid}/notes",
            "award_emoji": f"{api}/issues/{item.iid}/award_emoji",
            "project": api,
            "closed_as_duplicate_of": issue_address(item.duplicate_of) if duplicate else None,
        },
        "severity": "UNKNOWN",
        "moved_to_id": item.moved_to.id if item.moved_to else None,
        "service_desk_reply_to": None,
        "epic_iid": None,
        "epic": None,
        "iteration": None,
        "health_status": None,
    }
    if single:
        payload["subscribed"] = False
    return payload | item.extra


def issue_address(item: Item) -> str:
    return f"{item.project.world.web}/api/v4/projects/{item.project.id}/issues/{item.iid}"


def related_issue(link: Link, other: Item) -> dict:
    return issue(other) | {
        "issue_link_id": link.id,
        "link_type": "relates_to",
        "link_created_at": link.created_at,
        "link_updated_at": link.created_at,
    }


def issue_link(link: Link) -> dict:
    return {"source_issue": issue(link.source), "target_issue": issue(link.target), "link_type": "relates_to"}


def award(note: Note, username: str, number: int) -> dict:
    return {
        "id": number, "name": "thumbsup", "user": user(note.discussion.item.project.world, username),
        "created_at": note.created_at, "updated_at": note.created_at, "awardable_id": note.id, "awardable_type": "Note",
        "url": None,
    }  # fmt: skip


def change(item: Item, *, label_details=False) -> dict:
    world = item.project.world
    draft = item.title.lower().startswith("draft:")
    payload = _common(item, label_details=label_details) | {
        "merged_by": user(world, item.merged_by),
        "merge_user": user(world, item.merged_by),
        "merged_at": item.merged_at,
        "target_branch": item.base,
        "source_branch": item.head,
        "reviewers": [user(world, name) for name in item.reviewers],
        "source_project_id": item.project.id,
        "target_project_id": item.project.id,
        "draft": draft,
        "work_in_progress": draft,
        "merge_when_pipeline_succeeds": False,
        "merge_status": "can_be_merged",
        "detailed_merge_status": _merge_status(item, draft=draft),
        "merge_after": None,
        "sha": item.sha,
        "merge_commit_sha": item.merge_commit_sha,
        "squash_commit_sha": None,
        "should_remove_source_branch": None,
        "force_remove_source_branch": False,
        "prepared_at": item.created_at,
        "reference": f"!{item.iid}",
        "squash": False,
        "squash_on_merge": False,
        "has_conflicts": False,
        "blocking_discussions_resolved": all(note.resolved_at for note in item.notes() if note.resolvable),
        "approvals_before_merge": None,
    }
    return payload | item.extra


def _merge_status(item: Item, *, draft: bool) -> str:
    if item.state != "opened":
        return "not_open"
    return "draft_status" if draft else "mergeable"


def changes_count(item: Item) -> str:
    """A string, as in the real answer: "1000+" where the server keeps no more files of a diff."""
    most = item.project.most_diff_files
    return f"{most}+" if len(item.files) > most else str(len(item.files))


def single_change(item: Item) -> dict:
    return change(item) | {
        "subscribed": False,
        "changes_count": changes_count(item),
        "latest_build_started_at": None,
        "latest_build_finished_at": None,
        "first_deployed_to_production_at": None,
        "pipeline": None,
        "head_pipeline": None,
        "diff_refs": {"base_sha": item.base_sha, "head_sha": item.sha, "start_sha": item.base_sha},
        "merge_error": None,
        "first_contribution": False,
        "user": {"can_merge": False},
    }


def diff(item: Item, file: File) -> dict:
    hidden = file.collapsed or file.too_large
    return {
        "diff": "" if hidden else _diff_text(item, file),
        "collapsed": file.collapsed,
        "too_large": file.too_large,
        "new_path": file.new_path,
        "old_path": file.old_path,
        "a_mode": "0" if file.status == "added" else "100644",
        "b_mode": "0" if file.status == "deleted" else "100644",
        "new_file": file.status == "added",
        "renamed_file": file.status == "renamed",
        "deleted_file": file.status == "deleted",
        "generated_file": False,
    }


def _diff_text(item: Item, file: File) -> str:
    if file.patch is not None:
        return file.patch
    old, new = f"-before {item.base_sha[:8]}\n", f"+after {item.sha[:8]}\n"
    if file.status == "added":
        return f"@@ -0,0 +1 @@\n{new}"
    if file.status == "deleted":
        return f"@@ -1 +0,0 @@\n{old}"
    if file.status == "renamed":
        return ""
    return f"@@ -1,2 +1,2 @@\n {file.new_path}\n{old}{new}"


def note(record: Note) -> dict:
    item = record.discussion.item
    world = item.project.world
    payload = {
        "id": record.id,
        "type": record.type,
        "body": record.body,
        "attachment": None,
        "author": user(world, record.author),
        "created_at": record.created_at,
        "updated_at": record.updated_at,
        "system": record.system,
        "noteable_id": item.id,
        "noteable_type": item.type_name,
        "project_id": item.project.id,
        "resolvable": record.resolvable,
        "confidential": record.internal,
        "internal": record.internal,
        "imported": False,
        "imported_from": "none",
        "noteable_iid": item.iid,
        "commands_changes": {},
    }
    if record.type == "DiffNote":
        payload |= {"commit_id": None, "position": record.position, "suggestions": []}
    if record.resolvable:
        payload |= {
            "resolved": record.resolved_at is not None,
            "resolved_by": user(world, record.resolved_by),
            "resolved_at": record.resolved_at,
        }
    return payload


def discussion(record, notes: list[Note]) -> dict:
    return {"id": record.id, "individual_note": record.individual, "notes": [note(n) for n in notes]}


def _event(item: Item, event) -> dict:
    return {
        "id": event.id,
        "user": user(item.project.world, event.user),
        "created_at": event.created_at,
        "resource_type": item.type_name,
        "resource_id": item.id,
    }


def state_event(item: Item, event) -> dict:
    return _event(item, event) | {
        "source_commit": None,
        "source_merge_request_id": event.source_change_id,
        "state": event.what,
    }


def label_event(item: Item, event) -> dict:
    action = "add" if event.what[0] == "+" else "remove"
    named = item.project.labels.get(event.what[1:])
    return _event(item, event) | {
        "label": label(item.project.world, named) if named else None,
        "action": action,
    }
