"""What would a perfect client know of a project? Computed from the state, never from an answer of the API."""

from .records import html_url


def truth(project, *, drafts: bool = False) -> list[dict]:
    """One dict per live item and release, by kind and number. Draft releases need push access: `drafts=True`."""
    hidden = {kind for kind, on in (("issue", project.has_issues), ("discussion", project.has_discussions)) if not on}
    items = [item_truth(i) for i in project.items.values() if i.kind not in hidden]
    releases = [release_truth(r) for r in project.releases.values() if drafts or not r.draft]
    return sorted(items + releases, key=lambda known: (known["kind"], known["number"]))


def item_truth(item) -> dict:
    merged = getattr(item, "merged_at", None)
    return {
        "kind": item.kind,
        "number": item.number,
        "title": item.title,
        "body": item.body,
        "state": "merged" if merged else item.state,
        "state_reason": item.state_reason,
        "author": item.author,
        "labels": sorted(item.labels),
        "created_at": item.created_at,
        "updated_at": item.updated_at,
        "closed_at": item.closed_at,
        "url": html_url(item),
        "files": file_truth(getattr(item, "files", ())),
        "notes": sorted(notes(item), key=lambda note: (note["created_at"], note["body"])),
    }


def file_truth(files) -> list[dict]:
    known = [{"old_path": f.old_path, "new_path": f.new_path, "status": f.status} for f in files]
    return sorted(known, key=lambda f: f["new_path"])


def notes(item) -> list[dict]:
    found = [note(c) for c in item.comments]
    for comment in item.comments:
        found += [note(reply) for reply in getattr(comment, "replies", ())]
    if item.kind == "change":
        found += [note(c, c.path, c.line) for c in item.review_comments]
        found += [note(r) for r in item.reviews if r.body and r.state != "PENDING"]
    return found


def note(comment, path: str | None = None, line: int | None = None) -> dict:
    return {
        "author": comment.author,
        "body": comment.body,
        "created_at": comment.created_at,
        "path": path,
        "line": line,
        "is_system": False,
    }


def release_truth(release) -> dict:
    return {
        "kind": "release",
        "number": release.id,
        "title": release.name or release.tag,
        "body": release.body,
        "state": None,
        "state_reason": None,
        "author": release.author,
        "labels": [],
        "created_at": release.published_at or release.created_at,
        "updated_at": release.updated_at,
        "closed_at": None,
        "url": html_url(release),
        "files": [],
        "notes": [],
    }
