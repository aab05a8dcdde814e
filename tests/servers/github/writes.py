"""What REST's POST, PATCH and DELETE do to the state.

Anyone with an account may open an issue and comment; changing somebody else's item, and labels, takes push
access. As on GitHub, labels sent by those without it are dropped without a word.
"""

from ..base import Response  # noqa: TID252  works as servers.* and as tests.servers.*
from . import paging, reads
from .access import invalid, not_found, problem
from .issues import UNSET
from .records import Issue

LONGEST_BODY = 65536
REASONS = ("completed", "not_planned", "duplicate", "reopened")


def require_writer(call) -> None:
    if not call.token:
        raise problem(401, "Requires authentication")
    if not call.token.may_write():
        raise not_found()
    if call.project.archived:
        raise problem(403, "Repository was archived so is read-only.")


def payload(call) -> dict:
    try:
        sent = call.request.json()
    except ValueError:
        raise problem(400, "Problems parsing JSON") from None
    return {} if sent is None else sent


def text_of(sent: dict, resource: str) -> str:
    body = sent.get("body") if isinstance(sent, dict) else None
    if not isinstance(body, str) or not body.strip():
        raise invalid(resource, "data", "unprocessable", message="Body cannot be blank")
    if len(body) > LONGEST_BODY:
        raise invalid(resource, "body", message="body is too long (maximum is 65536 characters)")
    return body


def names(labels) -> list[str]:
    return [label["name"] if isinstance(label, dict) else str(label) for label in labels or ()]


def may_edit(call, author: str | None) -> None:
    if not call.project.may_push(call.login) and (author or "").lower() != call.login.lower():
        raise problem(403, "Must have admin rights to Repository.")


def create_issue(call):
    sent = payload(call)
    if not call.project.has_issues:
        raise problem(410, "Issues has been disabled in this repository.")
    if not sent.get("title"):
        raise invalid("Issue", "title", "missing_field")
    if len(sent.get("body") or "") > LONGEST_BODY:
        raise invalid("Issue", "body", message="body is too long (maximum is 65536 characters)")
    pushes = call.project.may_push(call.login)
    number = call.project.add_issue(
        str(sent["title"]), sent.get("body"), author=call.login, labels=names(sent.get("labels")) if pushes else (),
        assignees=list(sent.get("assignees") or ()) if pushes else [],
    )  # fmt: skip
    shape = call.shapes.issue(call.project.items[number])
    return Response(201, shape, {"Location": shape["url"]})


def edit_issue(call, number):
    item, sent = reads.find_item(call, number), payload(call)
    if (
        call.token is None or call.token.kind != "integration"
    ):  # what a workflow's token may do was checked with the route
        may_edit(call, item.author)
    edit_text(call, item, sent)
    pushes = call.project.may_push(call.login)
    if pushes and ("labels" in sent or "assignees" in sent):
        labels = names(sent["labels"]) if "labels" in sent else None
        call.project.edit(number, labels=labels, assignees=sent.get("assignees"), by=call.login)
    change_state(call, item, sent)
    return call.shapes.issue(item)


def edit_text(call, item, sent: dict) -> None:
    if "title" in sent or "body" in sent:
        title = str(sent["title"]) if sent.get("title") else None
        call.project.edit(item.number, title=title, body=sent.get("body", UNSET), by=call.login)


def change_state(call, item, sent: dict) -> None:
    state, reason = sent.get("state"), sent.get("state_reason")
    if state not in (None, "open", "closed"):
        raise invalid("Issue", "state")
    if reason is not None and reason not in REASONS:
        raise invalid("Issue", "state_reason")
    if state == "closed":
        canonical = find_canonical(call, sent.get("duplicate_issue_id")) if reason == "duplicate" else None
        if not item.is_closed or reason not in (None, item.state_reason):
            reason = reason if reason in REASONS[:3] else "completed"
            call.project.close(item.number, reason=reason, duplicate_of=canonical, by=call.login)
    elif state == "open" and item.is_closed:
        if getattr(item, "merged_at", None):
            raise invalid("PullRequest", "state", message="state cannot be changed. The pull request was merged.")
        call.project.reopen(item.number, by=call.login)


def find_canonical(call, database_id):
    if database_id is None:
        return None
    found = call.server.world.by_id.get(database_id)
    if not isinstance(found, Issue):
        raise invalid("Issue", "duplicate_issue_id")
    return found


def create_comment(call, number):
    item = reads.find_item(call, number)
    body = text_of(payload(call), "IssueComment")
    if item.locked and not call.project.may_push(call.login):
        raise problem(403, "Unable to create comment because issue is locked.")
    made = call.project.comment(number, body, author=call.login)
    shape = call.shapes.comment(call.project.comments[made])
    return Response(201, shape, {"Location": shape["url"]})


def edit_issue_comment(call, comment_id):
    return call.shapes.comment(_edit(call, "comments", comment_id))


def edit_review_comment(call, comment_id):
    return call.shapes.review_comment(_edit(call, "review_comments", comment_id))


def _edit(call, name: str, comment_id: int):
    comment = reads.find_comment(call, name, comment_id)
    may_edit(call, comment.author)
    call.project.edit_comment(comment_id, text_of(payload(call), "IssueComment"))
    return comment


def react(call, comment_id):
    """201 for a new reaction, 200 for one that its author has made before."""
    comment = reads.find_comment(call, "comments", comment_id)
    content = payload(call).get("content")
    if content not in ("+1", "-1", "laugh", "confused", "heart", "hooray", "rocket", "eyes"):
        raise invalid("Reaction", "content")
    is_new = call.project.add_reaction(comment, content, by=call.login)
    user = call.shapes.user(call.server.world, call.login)
    made = {"id": 1, "node_id": "REA_1", "content": content, "created_at": "2026-01-01T00:00:00Z", "user": user}
    return Response(201 if is_new else 200, made)


def delete_issue_comment(call, comment_id):
    return _delete(call, "comments", comment_id)


def delete_review_comment(call, comment_id):
    return _delete(call, "review_comments", comment_id)


def _delete(call, name: str, comment_id: int) -> Response:
    may_edit(call, reads.find_comment(call, name, comment_id).author)
    call.project.delete_comment(comment_id)
    return Response(204)


def suggestions_of(call, number):
    """https://docs.github.com/rest/issues/suggestions: only pending ones unless `state` asks for more."""
    item = reads.find_item(call, number, ("issue",))
    if not call.project.has_suggestions:
        raise problem(404, "Not Found")
    state, action = call.request.arg("state") or "pending", call.request.arg("action")
    rows = [one for one in call.project.suggestions if one["issue_id"] == item.id]
    rows = [one for one in rows if state in ("all", one["state"]) and action in (None, one["action"])]
    return paging.numbered(call, rows, dict)


def dismiss_suggestion(call, number, suggestion_id):
    item = reads.find_item(call, number, ("issue",))
    require_triage(call)
    for one in call.project.suggestions:
        if (one["id"], one["issue_id"]) == (int(suggestion_id), item.id):
            if one["state"] != "pending":
                raise problem(422, "The suggestion is not pending")
            one["state"] = "dismissed"
            return one
    raise problem(404, "Not Found")


def add_labels(call, number):
    item, sent = reads.find_item(call, number), payload(call)
    require_triage(call)
    rows = sent if isinstance(sent, list) else sent.get("labels")
    waits = [row for row in rows or () if isinstance(row, dict) and row.get("suggest")]
    for row in waits:
        call.project.suggest(item, "add_label", call.project.label(row["name"]).id, row, by=call.login)
    added = names(row for row in rows or () if row not in waits)
    known = {name.lower() for name in item.labels}
    call.project.edit(number, labels=item.labels + [n for n in added if n.lower() not in known], by=call.login)
    return call.shapes.labels(item)


def remove_label(call, number, label):
    item = reads.find_item(call, number)
    require_triage(call)
    kept = [name for name in item.labels if name.lower() != label.lower()]
    if len(kept) == len(item.labels):
        raise problem(404, "Label does not exist")
    call.project.edit(number, labels=kept, by=call.login)
    return call.shapes.labels(item)


def require_triage(call) -> None:
    if call.token and call.token.kind == "integration":
        return  # what it may do was said by the workflow, and was checked with the route
    if call.project.permission(call.login) in (None, "pull"):
        raise problem(403, "Must have admin rights to Repository.")


def edit_pull(call, number):
    item, sent = reads.find_change(call, number), payload(call)
    may_edit(call, item.author)
    edit_text(call, item, sent)
    change_state(call, item, sent)
    return call.shapes.full_pull(item)
