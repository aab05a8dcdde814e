"""What would a perfect client know of a project? Read straight from the records, not through the API."""

from .payloads import web_url
from .project import Project
from .records import Item, Note, Release

STATES = {"opened": "open", "locked": "open"}


def truth(project: Project) -> list[dict]:
    """Issues, changes and releases, in that order, by number and by tag."""
    items = [*project.issues.values(), *project.changes.values()]
    releases = sorted(project.releases.values(), key=lambda r: r.tag)
    return [describe_item(item) for item in items] + [describe_release(project, r) for r in releases]


def describe_item(item: Item) -> dict:
    return {
        "kind": item.kind,
        "number": item.iid,
        "title": item.title,
        "body": item.body,
        "state": STATES.get(item.state, item.state),
        "state_reason": _reason(item),
        "author": item.author,
        "labels": sorted(item.labels),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "closed_at": item.closed_at,
        "url": web_url(item),
        "files": _files(item),
        "notes": sorted((describe_note(n) for n in item.notes()), key=lambda n: (n["created_at"], n["body"])),
    }


def describe_note(note: Note) -> dict:
    place = note.position or {}
    return {
        "author": note.author,
        "body": note.body,
        "created_at": f"{note.created_at[:19]}Z",  # GraphQL tells it to the second
        "path": place.get("new_path") or place.get("old_path"),
        "line": place.get("new_line") or place.get("old_line"),
        "is_system": note.system,
    }


def describe_release(project: Project, release: Release) -> dict:
    return {
        "kind": "release",
        "number": None,
        "tag": release.tag,
        "title": release.name or release.tag,
        "body": release.body,
        "state": None,
        "state_reason": None,
        "author": release.author,
        "labels": [],
        "created_at": release.released_at,
        "updated_at": None,
        "closed_at": None,
        "url": f"{project.world.web}/{project.path}/-/releases/{release.tag}",
        "files": [],
        "notes": [],
    }


def _reason(item: Item) -> str | None:
    if item.duplicate_of:
        return "duplicate"
    return "moved" if item.moved_to else None


def _files(item: Item) -> list[dict]:
    rows = [{"old_path": f.old_path, "new_path": f.new_path, "status": f.status} for f in item.files]
    return sorted(rows, key=lambda row: row["new_path"])
