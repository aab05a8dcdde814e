"""The answers to GET requests. Lists have a fixed order and pages of at most `server.most_rows` rows."""

import urllib.parse

from ..base import Response, parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from ..github.reads import diff_text  # noqa: TID252
from . import payloads
from .access import RefusedError, not_found

DEFAULT_ROWS = 30


def paged(call, rows: list, shape) -> Response:
    """`limit` is cut without a word; the total is told, and `Link` where there is more than a page."""
    limit = number(call, "limit", DEFAULT_ROWS) or DEFAULT_ROWS
    limit, page = min(limit, call.server.most_rows), max(1, number(call, "page", 1))
    pages = -(-len(rows) // limit)
    headers = {"X-Total-Count": str(len(rows))}
    targets = {"next": page + 1, "last": pages} if page < pages else {}
    targets |= {"first": 1, "prev": page - 1} if page > 1 else {}
    if targets:
        headers["Link"] = ",".join(f'<{address(call, n)}>; rel="{rel}"' for rel, n in targets.items())
    return Response(200, [shape(row) for row in rows[(page - 1) * limit : page * limit]], headers)


def number(call, name: str, default: int) -> int:
    text = call.request.arg(name) or ""
    return int(text) if text.isdecimal() else default


def address(call, page: int) -> str:
    query = {name: values for name, values in call.request.query.items() if name != "page"} | {"page": [str(page)]}
    return f"{call.request.base}{call.request.path}?{urllib.parse.urlencode(query, doseq=True)}"


def in_window(call, rows: list) -> list:
    """Rows that were updated between `since` and `before`, both included, in whole seconds."""
    bounds = []
    for name in ("since", "before"):
        text = call.request.arg(name)
        try:
            bounds.append(parse_time(text).strftime("%Y-%m-%dT%H:%M:%SZ") if text else None)
        except ValueError:
            raise RefusedError(422, f"parsing time {text!r}") from None
    since, before = bounds
    return [row for row in rows if (since or "") <= row.updated_at <= (before or "9")]


def version(call):
    return {"version": "15.0.0+gitea-1.22.0"}


def me(call):
    if call.token is None:
        raise RefusedError(401, "token is required")
    return payloads.user(call.world, call.token.login) | {"full_name": call.token.name}


def org_repos(call, login):
    owner = call.world.users.get(login.lower())
    if owner is None or owner.kind != "Organization":
        raise not_found()
    return user_repos(call, login)


def user_repos(call, login):
    if login.lower() not in call.world.users:
        raise not_found()
    mine = [p for p in call.world.projects.values() if p.owner.lower() == login.lower() and call.may_see(p)]
    return paged(call, sorted(mine, key=lambda p: p.path.lower()), payloads.repository)


def repo(call):
    return payloads.repository(call.project)


def issues(call):
    """Newest first, by creation: this list knows no other order."""
    state = call.request.arg("state") or "open"
    wanted = {"issues": ("issue",), "pulls": ("change",)}.get(call.request.arg("type"), ("issue", "change"))
    kinds = tuple(kind for kind in wanted if call.is_on(kind))
    rows = [item for item in call.project.ordered(kinds, "created") if state in ("all", item.state)]
    return paged(call, in_window(call, rows)[::-1], payloads.issue)


def find_item(call, index, kinds=("issue", "change")):
    item = call.project.items.get(index)
    if item is None or item.kind not in kinds or not call.is_on(item.kind):
        raise not_found()
    return item


def issue(call, index):
    return payloads.issue(find_item(call, index))


def all_comments(call):
    """Oldest first, by creation."""
    rows = [one for one in call.project.ordered_comments("comments", "created") if call.is_on(one.item.kind)]
    answer = paged(call, in_window(call, rows), payloads.comment)
    answer.headers.pop("Link", None)
    return answer


def comments_of(call, index):
    """All of them in one answer, whatever their number."""
    rows = in_window(call, find_item(call, index).comments)
    return Response(200, [payloads.comment(one) for one in rows], {"X-Total-Count": str(len(rows))})


def timeline_of(call, index):
    """Comments and events by time; of the events only those that a state has."""
    item = find_item(call, index)
    events = [one for one in item.events if one.event in payloads.TIMELINE_TYPES]
    rows = sorted([*item.comments, *events], key=lambda one: (one.created_at, one.id))
    return paged(call, rows, payloads.timeline_row)


def reactions_of(call, comment_id):
    found = call.project.comments.get(comment_id)
    if found is None:
        raise not_found()
    return [payloads.reaction(call.world, found) for _ in range(found.likes)]


def pull(call, index):
    return payloads.pull(find_item(call, index, ("change",)))


def diff(call, index):
    text = diff_text(find_item(call, index, ("change",)))  # of any size, unlike GitHub's
    return Response(200, text, {"Content-Type": "text/plain; charset=utf-8"})


def files_of(call, index):
    return paged(call, find_item(call, index, ("change",)).files, payloads.changed_file)


def reviews_of(call, index):
    rows = find_item(call, index, ("change",)).reviews
    return paged(call, [one for one in rows if one.state != "PENDING" or one.author == call.login], payloads.review)


def line_comments_of(call, index, review_id):
    found = [one for one in find_item(call, index, ("change",)).reviews if one.id == review_id]
    if not found:
        raise not_found()
    return [payloads.line_comment(one) for one in payloads.comments_of(found[0])]


def releases(call):
    rows = sorted(visible_releases(call), key=lambda one: (one.created_at, one.id), reverse=True)
    return paged(call, rows, payloads.release)


def visible_releases(call) -> list:
    return [one for one in call.project.releases.values() if not one.draft or call.project.may_push(call.login)]


def release(call, release_id):
    found = [one for one in visible_releases(call) if one.id == release_id]
    if not found:
        raise not_found()
    return payloads.release(found[0])


def labels(call):
    return paged(call, sorted(call.project.labels.values(), key=lambda one: one.name), payloads.label)


def collaborators(call):
    if call.token is None:
        raise RefusedError(401, "token is required")
    return paged(call, sorted(call.project.collaborators), lambda login: payloads.user(call.world, login))


def branch(call, name):
    if name not in call.project.branch_times:
        raise not_found()
    return payloads.branch(call.project, name)


def raw_file(call, path):
    files = call.project.branch_files.get(call.request.arg("ref") or call.project.default_branch, {})
    if path not in files:
        raise not_found()
    return Response(200, files[path], {"Content-Type": "text/plain; charset=utf-8"})
