"""Where does each GraphQL field get its value?

`@field("Issue.labels")` names one field of one type, `@field("*.author")` the field of every type that has it.
`RENAMED` says which attribute holds a field of another name; anything else is the record's attribute of the
same name in snake case (createdAt -> created_at).
"""

import functools
import re

from ..base import parse_time  # noqa: TID252  works as servers.* and as tests.servers.*
from .paging import CursorError, decode_cursor, encode_cursor, window
from .payloads import Shapes
from .records import html_url, node_id
from .state import ORDERS, Project, stamp

FIELDS: dict = {}
RENAMED = {
    "Repository.nameWithOwner": "path",
    "Repository.hasDiscussionsEnabled": "has_discussions",
    "Repository.hasIssuesEnabled": "has_issues",
    "Repository.isArchived": "archived",
    "Repository.isPrivate": "private",
    "CrossReferencedEvent.referencedAt": "created_at",
    "PullRequest.baseRefName": "base",
    "PullRequest.headRefName": "head",
    "PullRequest.headRefOid": "head_sha",
    "PullRequestChangedFile.path": "new_path",
    "PullRequestReviewComment.originalLine": "line",
    "PullRequestReviewComment.pullRequestReview": "review",
    "Discussion.answerChosenAt": "answered_at",
    "DiscussionComment.discussion": "item",
    "Label.isDefault": "default",
    "Release.tagName": "tag",
    "Release.description": "body",
    "Release.isPrerelease": "prerelease",
    "CrossReferencedEvent.target": "item",
    "TransferredEvent.issue": "item",
    "*.closed": "is_closed",
    "*.isDraft": "draft",
}
ORDER_NAMES = {"CREATED_AT": "created", "UPDATED_AT": "updated", "COMMENTS": "comments"}
TYPES = {
    "Change": "PullRequest",
    "Comment": "IssueComment",
    "ReviewComment": "PullRequestReviewComment",
    "Review": "PullRequestReview",
    "Thread": "PullRequestReviewThread",
    "Category": "DiscussionCategory",
    "Project": "Repository",
}
EVENT_TYPES = {
    "closed": "ClosedEvent",
    "reopened": "ReopenedEvent",
    "cross-referenced": "CrossReferencedEvent",
    "marked_as_duplicate": "MarkedAsDuplicateEvent",
    "unmarked_as_duplicate": "UnmarkedAsDuplicateEvent",
    "transferred": "TransferredEvent",
}
PERMISSIONS = {
    "Issue": "issues",
    "IssueComment": "issues|pull_requests",
    "PullRequest": "pull_requests",
    "PullRequestReview": "pull_requests",
    "PullRequestReviewThread": "pull_requests",
    "PullRequestReviewComment": "pull_requests",
    "Discussion": "discussions",
    "DiscussionComment": "discussions",
    "Release": "contents",
}


class TroubleError(Exception):
    """An error with GitHub's own `type`, which stands beside `message`."""

    def __init__(self, kind: str, message: str):
        super().__init__(message)
        self.kind = kind


def field(*names: str):
    def register(function):
        FIELDS.update(dict.fromkeys(names, function))
        return function

    return register


def bind(schema) -> None:
    """Give every field of the schema its resolver, once."""
    for kind in schema.type_map.values():
        if kind.name.startswith("__") or not hasattr(kind, "interfaces"):
            continue
        for name, spec in kind.fields.items():
            found = FIELDS.get(f"{kind.name}.{name}") or FIELDS.get(f"*.{name}")
            renamed = RENAMED.get(f"{kind.name}.{name}") or RENAMED.get(f"*.{name}")
            spec.resolve = found or functools.partial(attribute, renamed or snake(name))
            for argument, about in spec.args.items():
                about.out_name = {"id": "node", "input": "given"}.get(argument, snake(argument))


def snake(name: str) -> str:
    return re.sub(r"([A-Z])", r"_\1", name).lower()


def attribute(name: str, source, info, **_):
    return source[info.field_name] if isinstance(source, dict) else getattr(source, name)


def type_name(thing, *_) -> str | None:
    name = type(thing).__name__
    if name == "Event":
        return EVENT_TYPES.get(thing.event)
    if name == "User":
        return "Bot" if thing.kind == "Bot" else "User"
    return TYPES.get(name, name)


def state_of(item) -> str:
    return "MERGED" if getattr(item, "merged_at", None) else item.state.upper()


def project_of(thing) -> Project | None:
    if isinstance(thing, Project):
        return thing
    return thing.item.project if hasattr(thing, "item") else getattr(thing, "project", None)


def visible(project: Project | None, token) -> bool:
    return project is None or token.sees(project)


def allow(info, kind: str) -> None:
    token = info.context.token
    if kind in PERMISSIONS and not token.grants(PERMISSIONS[kind], "read"):
        raise TroubleError("FORBIDDEN", f"Resource not accessible by {token.kind}")


def connect(rows: list, args: dict, *, key=ORDERS["id"], descending=False, unwrap=None) -> dict:
    """A connection over ascending `rows`; cursors name sort keys, so moved rows are met again, not skipped."""
    try:
        cursors = {name: decode_cursor(args[name]) for name in ("after", "before") if args.get(name)}
    except CursorError as bad:
        raise TroubleError("INVALID_CURSOR_ARGUMENTS", f"`{bad}` does not appear to be a valid cursor.") from None
    size, from_end = args.get("first"), args.get("first") is None
    page, before, after = window(
        rows,
        key,
        size=args["last"] if from_end else size,
        descending=descending,
        from_end=from_end,
        **cursors,
    )
    return {
        "nodes": [unwrap(row) for row in page] if unwrap else page,
        "totalCount": len(rows),
        "pageInfo": {
            "hasNextPage": after,
            "hasPreviousPage": before,
            "startCursor": encode_cursor(key(page[0])) if page else None,
            "endCursor": encode_cursor(key(page[-1])) if page else None,
        },
    }


def number_rows(rows, args: dict) -> dict:
    """A connection over things without a number of their own: their place in the list is the key."""
    return connect(list(enumerate(rows)), args, key=lambda row: (row[0],), unwrap=lambda row: row[1])


@field("*.id")
def _id(source, info):
    return node_id(source)


@field("*.databaseId")
def _database_id(source, info):
    return source.id if source.id < 2**31 else None  # the field is a 32-bit Int


@field("*.fullDatabaseId")
def _full_database_id(source, info):
    return str(source.id)


@field("*.url")
def _url(source, info):
    return html_url(source)


@field("User.url", "Bot.url")
def _user_url(source, info):
    return f"{info.context.server.world.web()}/{source.login}"


@field("Bot.login")
def _bot_login(source, info):
    return source.login.removesuffix("[bot]")  # REST keeps the suffix, GraphQL does not


@field("User.name")
def _user_name(source, info):
    return None


@field("*.author", "*.actor", "*.mergedBy", "*.resolvedBy")
def _person(source, info):
    names = {"mergedBy": "merged_by", "resolvedBy": "resolved_by"}
    return info.context.server.world.user(getattr(source, names.get(info.field_name, info.field_name)))


@field("*.authorAssociation")
def _association(source, info):
    return Shapes("", "", None).association(source)


@field("*.body")
def _body(source, info):
    return source.body or ""  # String!: what REST shows as null is empty here


@field("*.isMinimized", "*.isFork", "*.isEmpty", "*.isCollapsed")
def _never(source, info):
    return False


@field("*.startLine", "*.originalStartLine", "Issue.issueType", "Issue.parent")
def _nothing(source, info):
    return None


@field("*.repository")
def _repository(source, info):
    return project_of(source)


@field("*.stateReason")
def _state_reason(source, info, **_):
    reason = source.extra.get("state_reason") if hasattr(source, "extra") else source.state_reason
    return reason.upper() if reason else None


@field("*.labels")
def _labels(source, info, **args):
    rows = (
        list(source.labels.values())
        if isinstance(source, Project)
        else [source.project.label(n) for n in source.labels]
    )
    return connect(sorted(rows, key=ORDERS["id"]), args)


@field("*.assignees")
def _assignees(source, info, **args):
    return number_rows([source.project.world.user(login) for login in source.assignees], args)


@field("Issue.comments", "PullRequest.comments", "PullRequestReviewThread.comments", "Discussion.comments")
def _comments(source, info, **args):
    return connect(source.comments, args)


def since_text(text: str | None) -> str:
    return stamp(parse_time(text)) if text else ""


def order_of(order_by: dict | None, default: tuple[str, str]) -> tuple[str, bool]:
    field_name, direction = (order_by["field"], order_by["direction"]) if order_by else default
    return ORDER_NAMES.get(field_name, "created"), direction == "DESC"
