"""What POST, PATCH and DELETE do: comments, labels and the state of an item, nothing else."""

import re

from ..base import Response  # noqa: TID252  works as servers.* and as tests.servers.*
from . import payloads
from .access import RefusedError, not_found
from .reads import find_item


def require_writer(call) -> None:
    if call.token is None:
        raise RefusedError(401, "token is required")
    if "write:issue" not in call.token.scopes:
        needed = "token does not have at least one of required scope(s): [write:issue]"
        raise RefusedError(403, needed)
    if call.project.archived:
        raise RefusedError(423, f"{call.project.path} is archived")


def text_of(call) -> str:
    body = (call.request.json() or {}).get("body")
    if not isinstance(body, str) or not body:
        raise RefusedError(422, "[Body]: Required")
    return body


def refer_by_links(call, index, text: str) -> None:
    """A link to a page of this server is a reference when its path is /owner/name/issues|pulls/number, and no longer;
    query and fragment do not matter (modules/references/references.go).
    """
    for path, number in re.findall(
        rf"\]\({re.escape(call.world.web())}/([^/)]+/[^/)]+)/(?:issues|pulls)/(\d+)[?#)]", text
    ):
        project = call.world.names.get(path.lower())
        target = project.items.get(int(number)) if project else None
        if target is not None and target is not call.project.items[index]:
            project.record_event(target, "cross-referenced", call.login, call.world.now())


def create_comment(call, index):
    item = find_item(call, index)
    if item.locked and not call.project.may_push(call.login):
        raise RefusedError(403, "Du kannst ein gesperrtes Issue nicht kommentieren.")
    made = call.project.comment(index, text_of(call), author=call.login)
    refer_by_links(call, index, text_of(call))
    return Response(201, payloads.comment(call.project.comments[made]))


def find_own_comment(call, comment_id):
    found = call.project.comments.get(comment_id)
    if found is None:
        raise not_found()
    if found.author != call.login and not call.project.may_push(call.login):
        raise RefusedError(403, "")
    return found


def edit_comment(call, comment_id):
    found = find_own_comment(call, comment_id)
    call.project.edit_comment(comment_id, text_of(call))
    return payloads.comment(found)


def delete_comment(call, comment_id):
    call.project.delete_comment(find_own_comment(call, comment_id).id)
    return Response(204)


def edit_issue(call, index):
    """The state of an issue or a change; nothing else is needed here."""
    item = find_item(call, index)
    if item.author != call.login and not call.project.may_push(call.login):
        raise RefusedError(403, "")
    state = (call.request.json() or {}).get("state")
    if state == "closed" and not item.is_closed:
        call.project.close(index, reason=None, by=call.login)
    if state == "open" and item.is_closed:
        call.project.reopen(index, by=call.login)
        item.state_reason = None
    return Response(201, payloads.issue(item))


def remove_label(call, index, label_id):
    item = find_item(call, index)
    names = [one.name for one in call.project.labels.values() if one.id == label_id]
    call.project.edit(index, labels=[name for name in item.labels if name not in names], by=call.login)
    return Response(204)


def create_label(call):
    """Names are not unique here; sent twice, it would be there twice."""
    given = call.request.json() or {}
    if not given.get("name") or not str(given.get("color", "")).startswith("#"):
        raise RefusedError(422, "[Name]: Required")
    call.project.add_label(given["name"], given["color"].lstrip("#"))
    return Response(201, payloads.label(call.project.label(given["name"])))


def add_labels(call, index):
    item = find_item(call, index)
    known = {one.id: one.name for one in call.project.labels.values()}
    names = [known[given] for given in (call.request.json() or {}).get("labels", []) if given in known]
    call.project.edit(index, labels=list(dict.fromkeys([*item.labels, *names])), by=call.login)
    return [payloads.label(call.project.label(name)) for name in item.labels]
