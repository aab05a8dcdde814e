"""The GraphQL fields of pull requests, reviews, discussions and the two mutations. Importing this registers them."""

from .changes import closing_references
from .fields import TroubleError, connect, field, number_rows
from .records import Issue
from .state import ORDERS


@field("PullRequest.merged")
def _merged(change, info):
    return change.merged_at is not None


@field("PullRequest.changedFiles")
def _changed_files(change, info):
    return len(change.files)


@field("PullRequest.additions", "PullRequest.deletions")
def _sums(change, info):
    return sum(getattr(file, info.field_name) for file in change.files)


@field("PullRequest.headRepository")
def _head_repository(change, info):
    return None if change.fork_gone else change.project


@field("PullRequest.files")
def _files(change, info, **args):
    return number_rows(change.files[:3000], args)


@field("PullRequestChangedFile.changeType")
def _change_type(file, info):
    return file.status.upper()


@field("PullRequest.reviews")
def _reviews(change, info, *, author=None, states=None, **args):
    me = info.context.token.login
    rows = [r for r in change.reviews if r.state != "PENDING" or r.author == me]
    rows = [r for r in rows if (not states or r.state in states) and author in (None, r.author)]
    return connect(rows, args)


@field("PullRequest.reviewRequests")
def _review_requests(change, info, **args):
    world = info.context.server.world
    return number_rows([{"requestedReviewer": world.user(login)} for login in change.requested], args)


@field("PullRequestReview.comments")
def _review_comments(review, info, **args):
    return connect([c for c in review.item.review_comments if c.review is review], args)


@field("PullRequestReview.submittedAt")
def _submitted_at(review, info):
    return None if review.state == "PENDING" else review.created_at


@field("PullRequest.reviewThreads")
def _threads(change, info, **args):
    return connect(change.threads, args)


@field("PullRequestReviewThread.path", "PullRequestReviewThread.originalLine")
def _thread_place(thread, info):
    root = thread.comments[0]
    return root.path if info.field_name == "path" else root.line


@field("PullRequestReviewThread.isOutdated")
def _thread_outdated(thread, info):
    return thread.comments[0].outdated


@field("PullRequestReviewThread.line", "PullRequestReviewComment.line")
def _line(source, info):
    comment = source.comments[0] if hasattr(source, "comments") else source
    return None if comment.outdated else comment.line


@field("PullRequestReviewComment.diffHunk")
def _hunk(comment, info):
    return f"@@ -1,1 +1,1 @@\n+new line 0 of {comment.path}"


@field("*.replyTo")
def _reply_to(comment, info):
    parent = comment.reply_to
    return parent if parent and parent.id in info.context.server.world.by_id else None


@field("PullRequest.closingIssuesReferences")
def _closing(change, info, **args):
    rows = [project.items[number] for project, number in closing_references(change)]
    return connect(sorted(rows, key=ORDERS["id"]), args)


@field("Discussion.isAnswered")
def _is_answered(discussion, info):
    return discussion.answer is not None if discussion.category.is_answerable else None


@field("DiscussionCategory.slug")
def _slug(category, info):
    return category.name.lower().replace("&", "-").replace(" ", "-")


@field("DiscussionComment.isAnswer")
def _is_answer(comment, info):
    return comment.item.answer is comment


@field("DiscussionComment.replies")
def _replies(comment, info, **args):
    return connect(comment.replies, args)


@field("Mutation.closeIssue")
def _close_issue(root, info, given):
    world, login = info.context.server.world, info.context.token.login
    issue = world.node(given["issueId"])
    canonical = world.node(given["duplicateIssueId"]) if given.get("duplicateIssueId") else None
    if not isinstance(issue, Issue) or (given.get("duplicateIssueId") and canonical is None):
        raise TroubleError("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['issueId']}'")
    may_write = (info.context.token.permissions or {}).get(
        "issues"
    ) == "write" and info.context.token.kind == "integration"
    if not may_write and not issue.project.may_push(login) and issue.author != login:
        raise TroubleError("FORBIDDEN", f"{login} does not have the correct permissions to execute `CloseIssue`")
    reason = (given.get("stateReason") or "COMPLETED").lower()
    if given.get("isSuggestion"):
        if not issue.project.has_suggestions:
            raise TroubleError("FORBIDDEN", "Issue suggestions are not enabled for this repository")
        if len(given.get("rationale") or "") > 280:
            raise TroubleError("UNPROCESSABLE", "Rationale is too long (maximum is 280 characters)")
        issue.project.suggest(issue, "close_issue", canonical and canonical.id, given, by=login)
        return {"issue": issue, "clientMutationId": given.get("clientMutationId")}
    issue.project.close(
        issue.number, reason=reason, duplicate_of=canonical if reason == "duplicate" else None, by=login
    )
    return {"issue": issue, "clientMutationId": given.get("clientMutationId")}


@field("Mutation.unmarkIssueAsDuplicate")
def _unmark(root, info, given):
    world, login = info.context.server.world, info.context.token.login
    item, canonical = world.node(given["duplicateId"]), world.node(given["canonicalId"])
    if item is None or item.duplicate_of is not canonical:
        raise TroubleError("NOT_FOUND", f"Could not resolve to a node with the global id of '{given['duplicateId']}'")
    if not item.project.may_push(login):
        what = "`UnmarkIssueAsDuplicate`"
        raise TroubleError("FORBIDDEN", f"{login} does not have the correct permissions to execute {what}")
    item.project.unmark_duplicate(item.number, by=login)
    return {"duplicate": item, "clientMutationId": given.get("clientMutationId")}
