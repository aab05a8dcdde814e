"""The answers to REST's GET requests."""

from ..base import Response, parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from . import paging
from .access import RefusedError, invalid, not_found, problem, redirect
from .payloads import NEWEST
from .repository import commit as commit_shape
from .state import ORDERS, stamp

MOST_FILES = 3000  # the list simply stops there
MOST_DIFF_FILES = 300


def choice(call, name: str, allowed: tuple[str, ...], default: str) -> str:
    value = call.request.arg(name) or default
    if value not in allowed:
        raise invalid("Search", name)
    return value


def since(call) -> str:
    """The `since` argument as the server's own time text; rows at exactly that second are included."""
    text = call.request.arg("since")
    if not text:
        return ""
    try:
        moment = parse_time(text)
    except ValueError:
        raise invalid("Issue", "since") from None
    return stamp(moment) if not moment.microsecond else stamp(moment) + "+"  # "+" sorts after the bare second


def me(call):
    if not call.token:
        raise problem(401, "Requires authentication")
    if call.token.kind == "integration":  # the token of a workflow is nobody's
        raise problem(403, "Resource not accessible by integration")
    return call.shapes.me(call.server.world, call.token)


def rate_limit(call):
    limits = call.server.limits
    shape = {"resources": {name: limits.numbers(name) for name in limits.buckets}}
    return shape if call.version == NEWEST else {**shape, "rate": limits.numbers("core")}


def meta(call):
    shape = {"verifiable_password_authentication": False}
    return {**shape, "installed_version": "3.19.0"} if call.server.ghes else shape


def org_repos(call, login):
    owner = call.server.world.users.get(login.lower())
    if owner is None or owner.kind != "Organization":
        raise not_found()
    return repos_of(call, login)


def user_repos(call, login):
    if login.lower() not in call.server.world.users:
        raise not_found()
    return repos_of(call, login)


def repos_of(call, login: str):
    mine = [p for p in call.server.world.projects.values() if p.owner.lower() == login.lower()]
    seen = [p for p in mine if not p.private or (call.token and call.token.sees(p))]
    return paging.numbered(call, sorted(seen, key=lambda p: p.path.lower()), call.shapes.repo)


def repo(call):
    return call.shapes.full_repo(call.project)


def issues(call):
    if not call.project.has_issues:
        raise problem(410, "Issues has been disabled in this repository.")
    state = choice(call, "state", ("open", "closed", "all"), "open")
    order = choice(call, "sort", ("created", "updated", "comments"), "created")
    down = choice(call, "direction", ("asc", "desc"), "desc") == "desc"
    start = since(call)
    names = [n.lower() for n in (call.request.arg("labels") or "").split(",") if n]
    creator = (call.request.arg("creator") or "").lower()

    def wanted(item) -> bool:
        return (
            (state == "all" or item.state == state)
            and item.updated_at >= start
            and (not names or {n.lower() for n in item.labels}.issuperset(names))
            and (not creator or (item.author or "").lower() == creator)
        )

    rows = [item for item in call.project.ordered(("issue", "change"), order) if wanted(item)]
    return paging.keyset(call, rows, ORDERS[order], call.shapes.issue, descending=down)


def find_item(call, number: int, kinds=("issue", "change")):
    """The live item; a deleted issue is 410, a transferred one 301 to its new place, all else 404."""
    project = call.project
    item = project.items.get(number)
    if item and item.kind in kinds:
        if item.kind == "issue" and not project.has_issues:
            raise problem(410, "Issues has been disabled in this repository.")
        return item
    if number in project.gone and "issue" in kinds:
        new = project.gone[number]
        if new is None or new.project.items.get(new.number) is not new:
            raise problem(410, "This issue was deleted")
        below = call.tail.split(f"/issues/{number}", 1)[1]
        raise RefusedError(redirect(call, f"{call.api}/repositories/{new.project.id}/issues/{new.number}{below}"))
    raise not_found()


def find_change(call, number: int):
    return find_item(call, number, ("change",))


def issue(call, number):
    return call.shapes.issue(find_item(call, number))


def comment_rows(call, name: str):
    """All comments of a repository. Without `sort` they come by id and `direction` is ignored."""
    start, order = since(call), choice(call, "sort", ("created", "updated", "created_at", "id"), "id")
    down = choice(call, "direction", ("asc", "desc"), "asc") == "desc"
    rows = call.project.ordered_comments(name, order.removesuffix("_at"))
    rows = [c for c in rows if c.updated_at >= start]
    return rows[::-1] if down and order != "id" else rows


def issue_comments(call):
    return paging.numbered(call, comment_rows(call, "comments"), call.shapes.comment)


def review_comments(call):
    return paging.numbered(call, comment_rows(call, "review_comments"), call.shapes.review_comment)


def issue_comment(call, comment_id):
    return call.shapes.comment(find_comment(call, "comments", comment_id))


def review_comment(call, comment_id):
    return call.shapes.review_comment(find_comment(call, "review_comments", comment_id))


def find_comment(call, name: str, comment_id: int):
    found = getattr(call.project, name).get(comment_id)
    if found is None:
        raise not_found()
    return found


def comments_of(call, number):
    start = since(call)
    rows = [c for c in find_item(call, number).comments if c.updated_at >= start]
    return paging.numbered(call, rows, call.shapes.comment)


def events_of(call, number):
    rows = [e for e in find_item(call, number).events if e.event != "cross-referenced"]
    return paging.numbered(call, rows, call.shapes.event)


def timeline_of(call, number):
    """Events, cross references, comments and reviews by time."""
    item, shapes = find_item(call, number), call.shapes

    def shape(thing):
        if thing in item.comments:
            return {
                **shapes.comment(thing),
                "event": "commented",
                "actor": shapes.user(call.server.world, thing.author),
            }
        if thing in getattr(item, "reviews", ()):
            return {**shapes.review(thing), "event": "reviewed"}
        return shapes.cross_reference(thing) if thing.event == "cross-referenced" else shapes.event(thing)

    rows = [*item.events, *item.comments, *getattr(item, "reviews", ())]
    return paging.numbered(call, sorted(rows, key=ORDERS["created"]), shape)


def labels_of(call, number):
    return paging.numbered(call, call.shapes.labels(find_item(call, number)), dict)


def pulls(call):
    state = choice(call, "state", ("open", "closed", "all"), "open")
    order = choice(call, "sort", ("created", "updated", "popularity", "long-running"), "created")
    down = choice(call, "direction", ("asc", "desc"), "desc" if order == "created" else "asc") == "desc"
    rows = call.project.ordered(("change",), order if order in ORDERS else "comments")
    base, head = call.request.arg("base"), (call.request.arg("head") or "").rpartition(":")[2]
    rows = [
        item
        for item in rows
        if (state == "all" or item.state == state) and base in (None, item.base) and head in ("", item.head)
    ]
    return paging.numbered(call, rows[::-1] if down else rows, call.shapes.pull)


def pull(call, number):
    item = find_change(call, number)
    if "diff" in call.request.headers.get("accept", ""):
        return diff(item)
    return call.shapes.full_pull(item)


def diff(item) -> Response:
    if len(item.files) > MOST_DIFF_FILES:
        text = f"Sorry, the diff exceeded the maximum number of files ({MOST_DIFF_FILES}). Consider using 'List pull requests files' API or locally cloning the repository instead."
        raise problem(406, text, errors=[{"resource": "PullRequest", "field": "diff", "code": "too_large"}])
    return Response(200, diff_text(item), {"Content-Type": "application/vnd.github.diff; charset=utf-8"})


def diff_text(item) -> str:
    parts = []
    for file in item.files:
        old, new = f"a/{file.old_path}", f"b/{file.new_path}"
        parts.append(f"diff --git {old} {new}")
        if file.status == "renamed":
            parts += [f"rename from {file.old_path}", f"rename to {file.new_path}"]
        if file.patch is None:
            parts.append(f"Binary files {old} and {new} differ")
        else:
            sides = (
                "/dev/null" if file.status == "added" else old,
                "/dev/null" if file.status == "deleted" else new,
            )
            parts += [f"--- {sides[0]}", f"+++ {sides[1]}", file.patch]
    return "\n".join(parts) + "\n"


def files_of(call, number):
    item, shapes = find_change(call, number), call.shapes
    return paging.numbered(call, item.files[:MOST_FILES], lambda file: shapes.file(item, file))


def reviews_of(call, number):
    rows = [r for r in find_change(call, number).reviews if r.state != "PENDING" or r.author == call.login]
    return paging.numbered(call, rows, call.shapes.review)


def review_comments_of(call, number):
    start = since(call)
    rows = [c for c in find_change(call, number).review_comments if c.updated_at >= start]
    return paging.numbered(call, rows, call.shapes.review_comment)


def visible_releases(call) -> list:
    drafts = call.project.may_push(call.login)
    return [r for r in call.project.releases.values() if drafts or not r.draft]


def contents(call, path):
    """A file of a branch, as it is: `project.branch_files["branch"]["path"]` holds its text."""
    files = call.project.branch_files.get(call.request.arg("ref") or call.project.default_branch, {})
    if path not in files:
        raise not_found()
    if "raw" not in call.request.headers.get("accept", ""):
        raise problem(415, "only the raw media type is played here")
    return Response(200, files[path], {"Content-Type": "application/vnd.github.raw+json; charset=utf-8"})


def commit(call, ref):
    """The last commit of a branch: `project.branch_times["branch"]` says when it was made."""
    if ref not in call.project.branch_times:
        raise problem(422, f"No commit found for SHA: {ref}")
    return commit_shape(call.project, call.shapes.repo_url(call.project), ref)


def releases(call):
    rows = sorted(visible_releases(call), key=ORDERS["created"], reverse=True)
    return paging.numbered(call, rows, call.shapes.release)


def release(call, release_id):
    for found in visible_releases(call):
        if found.id == release_id:
            return call.shapes.release(found)
    raise not_found()


def labels(call):
    rows = sorted(call.project.labels.values(), key=lambda label: label.name.lower())
    return paging.numbered(call, rows, call.shapes.label)


def require_push(call) -> None:
    if not call.token:
        raise problem(401, "Requires authentication")
    if not call.project.may_push(call.login):
        raise problem(403, "Must have push access to view repository collaborators.")


def collaborators(call):
    require_push(call)
    logins = [call.server.world.users[login].login for login in call.project.collaborators]
    return paging.numbered(call, logins, lambda login: call.shapes.collaborator(call.project, login))


def collaborator_permission(call, login):
    if not (call.token and call.token.kind == "integration"):  # the tokens of Actions may ask this of one person
        require_push(call)
    held = call.project.permission(login)
    legacy = {
        "admin": "admin",
        "maintain": "write",
        "push": "write",
        None: "none" if call.project.private else "read",
    }
    user = {
        **call.shapes.user(call.server.world, login),
        "role_name": call.shapes.collaborator(call.project, login)["role_name"],
    }
    return {"permission": legacy.get(held, "read"), "role_name": user["role_name"], "user": user}
