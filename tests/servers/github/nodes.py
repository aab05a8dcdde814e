"""The GraphQL fields of the root, repositories, issues and their timelines. Importing this registers them."""

from .changes import closing_references
from .fields import (
    EVENT_TYPES,
    TroubleError,
    allow,
    connect,
    field,
    order_of,
    project_of,
    since_text,
    state_of,
    type_name,
    visible,
)
from .records import Issue
from .state import ORDERS


@field("Query.viewer")
def _viewer(root, info):
    return info.context.server.world.user(info.context.token.login)


@field("Query.rateLimit")
def _rate_limit(root, info, **_):
    call = info.context
    numbers = call.server.limits.numbers("graphql")
    return {**numbers, "cost": call.price.points, "nodeCount": call.price.nodes, "resetAt": call.reset_at()}


@field("Query.repository")
def _repository(root, info, owner, name, follow_renames=True):
    world, path = info.context.server.world, f"{owner}/{name}".lower()
    found = world.names.get(path) or (world.moved.get(path) if follow_renames else None)
    if found is None or not visible(found, info.context.token):
        raise TroubleError("NOT_FOUND", f"Could not resolve to a Repository with the name '{owner}/{name}'.")
    return found


@field("Query.node")
def _node(root, info, node):
    found = _look_up(info, node)
    if isinstance(found, Exception):
        raise found
    return found


@field("Query.nodes")
def _nodes(root, info, ids):
    if len(ids) > 100:
        raise TroubleError("ARGUMENT_LIMIT", f"You may not provide more than 100 node ids; you provided {len(ids)}.")
    # An exception in the list becomes null, and an error that names its place.
    return [_look_up(info, node) for node in ids]


def _look_up(info, node: str):
    found = info.context.server.world.node(node)
    if found is None or type_name(found) is None or not visible(project_of(found), info.context.token):
        return TroubleError("NOT_FOUND", f"Could not resolve to a node with the global id of '{node}'")
    try:
        allow(info, type_name(found))
    except TroubleError as refused:
        return refused
    return found


@field("Repository.issue", "Repository.pullRequest", "Repository.discussion", "Repository.issueOrPullRequest")
def _one(project, info, number):
    kinds = {"issue": ("issue",), "pullRequest": ("change",), "discussion": ("discussion",)}
    found = project.items.get(number)
    if found is None or found.kind not in kinds.get(info.field_name, ("issue", "change")):
        what = {"pullRequest": "a PullRequest", "discussion": "a Discussion"}.get(info.field_name, "an Issue")
        raise TroubleError("NOT_FOUND", f"Could not resolve to {what} with the number of {number}.")
    allow(info, type_name(found))
    return found


@field("Issue.state", "PullRequest.state")
def _state(item, info):
    return state_of(item)


def has_labels(item, wanted: list[str] | None) -> bool:
    """GraphQL's label filter is "any of", unlike REST's "all of"."""
    return not wanted or bool({n.lower() for n in item.labels} & {n.lower() for n in wanted})


@field("Repository.issues")
def _issues(project, info, *, filter_by=None, labels=None, states=None, order_by=None, **args):
    allow(info, "Issue")
    order, down = order_of(order_by, ("CREATED_AT", "ASC"))
    wanted = filter_by or {}
    start, states = since_text(wanted.get("since")), states or wanted.get("states")
    rows = [
        item
        for item in (project.ordered(("issue",), order) if project.has_issues else ())
        if item.updated_at >= start
        and (not states or state_of(item) in states)
        and has_labels(item, labels or wanted.get("labels"))
        and wanted.get("createdBy") in (None, item.author)
    ]
    return connect(rows, args, key=ORDERS[order], descending=down)


@field("Repository.pullRequests")
def _pull_requests(
    project, info, *, labels=None, states=None, order_by=None, base_ref_name=None, head_ref_name=None, **args
):
    allow(info, "PullRequest")
    order, down = order_of(order_by, ("CREATED_AT", "ASC"))
    rows = [
        item
        for item in project.ordered(("change",), order)
        if (not states or state_of(item) in states)
        and has_labels(item, labels)
        and base_ref_name in (None, item.base)
        and head_ref_name in (None, item.head)
    ]
    return connect(rows, args, key=ORDERS[order], descending=down)


@field("Repository.discussions")
def _discussions(project, info, *, order_by=None, states=(), answered=None, category_id=None, **args):
    allow(info, "Discussion")
    order, down = order_of(order_by, ("UPDATED_AT", "DESC"))
    rows = [
        item
        for item in (project.ordered(("discussion",), order) if project.has_discussions else ())
        if (not states or state_of(item) in states) and answered in (None, item.answer is not None)
    ]
    return connect(rows, args, key=ORDERS[order], descending=down)


@field("Repository.releases")
def _releases(project, info, *, order_by=None, **args):
    allow(info, "Release")
    drafts = project.may_push(info.context.token.login)
    _, down = order_of(order_by, ("CREATED_AT", "DESC"))
    rows = sorted((r for r in project.releases.values() if drafts or not r.draft), key=ORDERS["created"])
    return connect(rows, args, key=ORDERS["created"], descending=down)


@field("Issue.closedByPullRequestsReferences")
def _closed_by(issue, info, *, include_closed_prs=False, **args):
    found = issue.project.closers().get(issue.number, [])
    return connect([c for c in found if include_closed_prs or state_of(c) != "CLOSED"], args)


@field("Issue.subIssues")
def _sub_issues(issue, info, **args):
    return connect([], args)


@field("Issue.subIssuesSummary")
def _sub_issues_summary(issue, info):
    return {"total": 0, "completed": 0, "percentCompleted": 0}


@field("Issue.duplicateOf")
def _duplicate_of(issue, info):
    return issue.duplicate_of if isinstance(issue.duplicate_of, Issue) else None


@field("Issue.timelineItems", "PullRequest.timelineItems")
def _timeline(issue, info, *, item_types=None, since=None, skip=0, **args):
    start = since_text(since)
    rows = [e for e in issue.events if e.event in EVENT_TYPES] + issue.comments
    wanted = {name.replace("_", "").lower() for name in item_types or ()}
    rows = [r for r in rows if r.created_at >= start and (not wanted or type_name(r).lower() in wanted)]
    return connect(sorted(rows, key=ORDERS["created"])[skip or 0 :], args, key=ORDERS["created"])


@field("ClosedEvent.duplicateOf")
def _closed_duplicate(event, info):
    return event.item.duplicate_of if event.extra.get("state_reason") == "duplicate" else None


@field("MarkedAsDuplicateEvent.canonical", "UnmarkedAsDuplicateEvent.canonical")
def _canonical(event, info):
    return event.extra["canonical"]


@field("MarkedAsDuplicateEvent.duplicate", "UnmarkedAsDuplicateEvent.duplicate")
def _duplicate(event, info):
    return event.extra["duplicate"]


@field("MarkedAsDuplicateEvent.isCrossRepository", "UnmarkedAsDuplicateEvent.isCrossRepository")
def _is_cross_mark(event, info):
    return event.extra["canonical"].project is not event.extra["duplicate"].project


@field("CrossReferencedEvent.isCrossRepository")
def _is_cross(event, info):
    return event.extra["source"].project is not event.item.project


@field("CrossReferencedEvent.source")
def _source(event, info):
    return event.extra["source"]


@field("CrossReferencedEvent.willCloseTarget")
def _will_close(event, info):
    source = event.extra["source"]
    return source.kind == "change" and (event.item.project, event.item.number) in closing_references(source)


@field("TransferredEvent.fromRepository")
def _from_repository(event, info):
    return event.extra["from_project"]


@field("IssueComment.issue")
def _comment_issue(comment, info):
    return comment.item if comment.item.kind == "issue" else None


@field("*.pullRequest")
def _comment_pull(thing, info):
    return thing.item if thing.item.kind == "change" else None
