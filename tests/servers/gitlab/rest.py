"""What does each GET of the API answer? One function per route; the table at the end is the whole surface.

Notes, discussions, events, members and the server's version need a signed-in reader even on public projects
(`before { authenticate! }` in GitLab's own code); lists, single items, labels and releases do not.
"""

from . import payloads, places
from .call import ApiError, Call, not_found
from .lists import filter_items, items
from .paging import paginate
from .routing import Answer, Route


def version(call: Call):
    kas = {"enabled": False, "externalUrl": None, "version": None}
    return {"version": "18.5.0", "revision": "0a1b2c3d4e5", "kas": kas, "enterprise": False}


def me(call: Call):
    return places.current_user(call.world, call.token)


def project(call: Call, ref):
    found = call.project(ref)
    return places.full_project(found, call.token) if call.token else places.basic_project(found)


def group(call: Call, ref):
    path = _group_path(call, ref)
    payload = places.group(call.world, path)
    if call.flag("with_projects", default=True):
        payload["projects"] = [_project_row(call, p) for p in _projects_of(call, path, deep=False)]
    return payload


def group_projects(call: Call, ref):
    path = _group_path(call, ref)
    deep = call.flag("include_subgroups", default=False)
    return _project_list(call, _projects_of(call, path, deep=deep))


def user_projects(call: Call, ref):
    world = call.world
    known = next((u for u in world.users.values() if ref in (u.username, str(u.id))), None)
    if known is None:
        raise not_found("User")
    owned = [p for p in world.projects.values() if p.personal and p.namespace == known.username]
    return _project_list(call, [p for p in owned if call.may_enter(p)])


def _group_path(call: Call, reference: str) -> str:
    groups = call.world.groups
    by_id = {str(number): path for path, number in groups.items()}
    path = by_id.get(reference, reference)
    if path not in groups or not _projects_of(call, path, deep=True):
        raise not_found("Group")
    return path


def _projects_of(call: Call, path: str, *, deep: bool) -> list:
    every = (p for p in call.world.projects.values() if not p.personal and call.may_enter(p))
    return [p for p in every if p.namespace == path or (deep and p.namespace.startswith(f"{path}/"))]


def _project_list(call: Call, rows: list):
    order = call.choice(
        "order_by",
        ("id", "name", "path", "created_at", "updated_at", "last_activity_at", "similarity", "star_count"),
        "created_at",
    )
    archived = call.flag("archived")
    rows = [p for p in rows if archived is None or p.archived is archived]
    keys = {"name": lambda p: p.name, "path": lambda p: p.name, "last_activity_at": places.last_activity}
    key = keys.get(order, lambda p: p.id)  # projects are made in the order of their numbers
    rows.sort(key=lambda p: (key(p), p.id), reverse=call.choice("sort", ("asc", "desc"), "desc") == "desc")
    wanted, headers = paginate(call, rows)
    return Answer([_project_row(call, p) for p in wanted], headers)


def _project_row(call: Call, found):
    if call.token is None or call.flag("simple", default=False):
        return places.basic_project(found)
    return places.full_project(found, call.token)


def issues_statistics(call: Call, ref):
    home, kind = call.tracker(ref, "issues")
    states = [item.state for item in filter_items(call, home, kind, by_state=False)]
    counts = {"all": len(states), "closed": states.count("closed"), "opened": states.count("opened")}
    return {"statistics": {"counts": counts}}


def single_item(call: Call, ref, items, iid):
    item = call.item(ref, items, iid)
    if item.kind == "change":
        return payloads.single_change(item)
    return payloads.issue(item, single=True, duplicate=call.sees_duplicate(item))


def discussions(call: Call, ref, items, iid):
    """Pages count every discussion; what the reader may not see is left out after: pages can be short."""
    item = call.item(ref, items, iid, named=True)
    rows = sorted(item.discussions, key=lambda d: (d.notes[0].created_at, d.notes[0].id))
    wanted, headers = paginate(call, rows)
    shown = [(d, [n for n in d.notes if call.may_read_note(n)]) for d in wanted]
    return Answer([payloads.discussion(d, notes) for d, notes in shown if notes], headers)


def single_discussion(call: Call, ref, items, iid, discussion_id):
    item = call.item(ref, items, iid, named=True)
    found = next((d for d in item.discussions if d.id == discussion_id), None)
    notes = [n for n in found.notes if call.may_read_note(n)] if found else []
    if not notes:
        raise not_found("Discussion")
    return payloads.discussion(found, notes)


def notes(call: Call, ref, items, iid):
    item = call.item(ref, items, iid, named=True)
    field = call.choice("order_by", ("created_at", "updated_at"), "created_at")
    only = call.choice("activity_filter", ("all_notes", "only_comments", "only_activity"), "all_notes")
    rows = [n for n in item.notes() if only == "all_notes" or n.system is (only == "only_activity")]
    descending = call.choice("sort", ("asc", "desc"), "desc") == "desc"
    rows.sort(key=lambda n: (getattr(n, field), n.id), reverse=descending)
    wanted, headers = paginate(call, rows)
    return Answer([payloads.note(n) for n in wanted if call.may_read_note(n)], headers)


def single_note(call: Call, ref, items, iid, note_id):
    item = call.item(ref, items, iid, named=True)
    return payloads.note(find_note(call, item, note_id))


def award_emoji(call: Call, ref, items, iid, note_id):
    note = find_note(call, call.item(ref, items, iid, named=True), note_id)
    return Answer(*paginate(call, [payloads.award(note, name, place) for place, name in enumerate(note.likes, 1)]))


def find_note(call: Call, item, note_id: str):
    note = item.project.notes.get(int(note_id)) if note_id.isdigit() else None
    if note is None or note.discussion.item is not item:
        raise not_found()
    if not call.may_read_note(note):
        raise not_found("Note")
    return note


def state_events(call: Call, ref, items, iid):
    item = call.item(ref, items, iid, named=True)
    wanted, headers = paginate(call, item.state_events)
    return Answer([payloads.state_event(item, e) for e in wanted], headers)


def approvals(call: Call, ref, iid):
    item = call.item(ref, "merge_requests", iid, named=True)
    people = [{"user": payloads.user(item.project.world, name)} for name in item.approved_by]
    return {"approved": bool(people), "approved_by": people}


def label_events(call: Call, ref, items, iid):
    item = call.item(ref, items, iid, named=True)
    wanted, headers = paginate(call, item.label_events)
    return Answer([payloads.label_event(item, e) for e in wanted], headers)


def milestone_events(call: Call, ref, items, iid):
    call.item(ref, items, iid, named=True)
    return Answer(*paginate(call, []))


def links(call: Call, ref, iid):
    item = call.item(ref, "issues", iid)
    pairs = [(link, link.target if link.source is item else link.source) for link in item.project.links]
    mine = [(link, other) for link, other in pairs if item in (link.source, link.target)]
    return [payloads.related_issue(link, other) for link, other in mine if call.may_read(other)]


def raw_file(call: Call, ref, path):
    """A file of a branch: `project.branch_files["branch"]["path"]` holds its text."""
    home = call.project(ref)
    files = home.branch_files.get(call.arg("ref"), {})
    if path not in files or not call.may_use(home, "repository"):
        raise not_found("File")
    return Answer(files[path], {"Content-Type": "text/plain"})


def commit(call: Call, ref, name):
    """The last commit of a branch: `project.branch_times["branch"]` says when it was made."""
    home = call.project(ref)
    if name not in home.branch_times or not call.may_use(home, "repository"):
        raise not_found("Commit")
    return places.commit(home, name)


def diffs(call: Call, ref, iid):
    item = call.item(ref, "merge_requests", iid)
    wanted, headers = paginate(call, item.files[: item.project.most_diff_files])
    return Answer([payloads.diff(item, f) for f in wanted], headers)


def changes(call: Call, ref, iid):
    item = call.item(ref, "merge_requests", iid)
    rows = [payloads.diff(item, f) for f in item.files]
    return payloads.single_change(item) | {"changes": rows, "overflow": any(f.too_large for f in item.files)}


def closes_issues(call: Call, ref, iid):
    item = call.item(ref, "merge_requests", iid)
    wanted, headers = paginate(call, [i for i in item.project.closes(item) if call.may_read(i)])
    return Answer([payloads.issue(i) for i in wanted], headers)


def releases(call: Call, ref):
    home = call.project(ref)
    field = call.choice("order_by", ("released_at", "created_at"), "released_at")
    descending = call.choice("sort", ("asc", "desc"), "desc") == "desc"
    rows = sorted(home.releases.values(), key=lambda r: (getattr(r, field), r.tag), reverse=descending)
    wanted, headers = paginate(call, rows)
    return Answer([places.release(home, r) for r in wanted], headers)


def single_release(call: Call, ref, tag):
    home = call.project(ref)
    if tag not in home.releases:
        raise ApiError(404, {"message": "404 Not Found"})
    return places.release(home, home.releases[tag])


def labels(call: Call, ref):
    home = call.project(ref)
    wanted, headers = paginate(call, sorted(home.labels.values(), key=lambda r: r.name.lower()))
    rows = [payloads.project_label(call.world, r) for r in wanted]
    if call.flag("with_counts", default=False):
        rows = [row | _label_counts(home, row["name"]) for row in rows]
    return Answer(rows, headers)


def _label_counts(home, name: str) -> dict:
    issues = [i.state for i in home.issues.values() if name in i.labels]
    changes = [c.state for c in home.changes.values() if name in c.labels]
    return {
        "open_issues_count": issues.count("opened"),
        "closed_issues_count": issues.count("closed"),
        "open_merge_requests_count": changes.count("opened"),
    }


def members(call: Call, ref):
    home = call.project(ref)
    rows = sorted(home.members.items(), key=lambda m: call.world.user(m[0]).id)
    wanted, headers = paginate(call, rows)
    return Answer([places.member(call.world, name, level, home.created_at) for name, level in wanted], headers)


PROJECT = "/projects/:ref"
ITEM = "/projects/:ref/:items/:iid"
ROUTES = (
    Route("GET", "/version", version, signed_in=True),
    Route("GET", "/metadata", version, signed_in=True),
    Route("GET", "/user", me, signed_in=True),
    Route("GET", "/groups/:ref", group),
    Route("GET", "/groups/:ref/projects", group_projects),
    Route("GET", "/users/:ref/projects", user_projects),
    Route("GET", PROJECT, project, etag=True),
    Route("GET", f"{PROJECT}/:items", items),
    Route("GET", f"{PROJECT}/issues_statistics", issues_statistics),
    Route("GET", ITEM, single_item),
    Route("GET", f"{ITEM}/discussions", discussions, thread=True, etag=True),
    Route("GET", f"{ITEM}/discussions/:discussion_id", single_discussion, thread=True),
    Route("GET", f"{ITEM}/notes", notes, thread=True),
    Route("GET", f"{ITEM}/notes/:note_id", single_note, thread=True),
    Route("GET", f"{ITEM}/notes/:note_id/award_emoji", award_emoji, thread=True),
    Route("GET", f"{ITEM}/resource_state_events", state_events, thread=True),
    Route("GET", f"{ITEM}/resource_label_events", label_events, thread=True),
    Route("GET", f"{ITEM}/resource_milestone_events", milestone_events, thread=True),
    Route("GET", f"{PROJECT}/issues/:iid/links", links),
    Route("GET", f"{PROJECT}/repository/files/:path/raw", raw_file),
    Route("GET", f"{PROJECT}/repository/commits/:name", commit),
    Route("GET", f"{PROJECT}/merge_requests/:iid/approvals", approvals, signed_in=True),
    Route("GET", f"{PROJECT}/merge_requests/:iid/diffs", diffs),
    Route("GET", f"{PROJECT}/merge_requests/:iid/changes", changes),
    Route("GET", f"{PROJECT}/merge_requests/:iid/closes_issues", closes_issues),
    Route("GET", f"{PROJECT}/releases", releases, etag=True),
    Route("GET", f"{PROJECT}/releases/:tag", single_release),
    Route("GET", f"{PROJECT}/labels", labels, etag=True),
    Route("GET", f"{PROJECT}/members/all", members, thread=True, etag=True),
)
