"""What does each POST, PUT and DELETE of the API do? Notes, discussions, issues and changes; nothing else."""

from . import payloads
from .call import REPORTER, ApiError, Call, forbidden, not_found
from .quick import run_commands
from .rest import ITEM, PROJECT, find_note
from .routing import Answer, Route
from .text import split_commands

GUEST = 10
MAINTAINER = 40
OWNER = 50
TITLE_LIMIT = 255
EDITABLE = (
    "title",
    "description",
    "assignee_ids",
    "labels",
    "add_labels",
    "remove_labels",
    "state_event",
    "confidential",
)


def create_issue(call: Call, ref):
    home, _ = call.tracker(ref, "issues")
    given = call.body()
    title = _required(given, "title")
    _check_title(title)
    created_at = given.get("created_at") if call.level >= OWNER else None
    iid = home.add_issue(
        title,
        given.get("description"),
        author=call.who,
        labels=_names(given.get("labels")),
        created_at=created_at,
        confidential=_truthy(given.get("confidential")),
        assignees=_people(call, given.get("assignee_ids")),
    )
    return Answer(payloads.issue(home.issues[iid], single=True), status=201)


def update_item(call: Call, ref, items, iid):
    item = call.item(ref, items, iid)
    if not call.may_update(item):
        raise forbidden()
    given = call.body()
    if not any(name in given for name in EDITABLE):
        missing = f"{', '.join(EDITABLE)} are missing, at least one parameter must be provided"
        raise ApiError(400, {"error": missing})
    event = given.get("state_event")
    if event not in (None, "close", "reopen"):
        raise ApiError(400, {"error": "state_event does not have a valid value"})
    if "title" in given:
        _check_title(given["title"])
    _apply_edit(call, item, given)
    if event == "close":
        item.project.close(item.kind, item.iid, call.who)
    if event == "reopen":
        item.project.reopen(item.kind, item.iid, call.who)
    if item.kind == "change":
        return payloads.single_change(item)
    return payloads.issue(item, single=True, duplicate=call.sees_duplicate(item))


def _apply_edit(call: Call, item, given: dict) -> None:
    labels = set(_names(given["labels"])) if "labels" in given else set(item.labels)
    labels = (labels | set(_names(given.get("add_labels")))) - set(_names(given.get("remove_labels")))
    wanted = {
        "title": given.get("title"),
        "body": given.get("description"),
        "labels": labels if labels != item.labels else None,
        "assignees": _people(call, given["assignee_ids"]) if "assignee_ids" in given else None,
    }
    if any(value is not None for value in wanted.values()):
        item.project.edit(item.kind, item.iid, by=call.who, **wanted)
    if "confidential" in given and item.kind == "issue":
        item.confidential = _truthy(given["confidential"])
        item.project.edit(item.kind, item.iid, by=call.who)


def delete_link(call: Call, ref, iid, link_id):
    item = call.item(ref, "issues", iid)
    found = [one for one in item.project.links if str(one.id) == link_id and item in (one.source, one.target)]
    if not found:
        raise not_found()
    if not call.may_update(item):
        raise forbidden()
    item.project.links.remove(found[0])
    return payloads.issue_link(found[0])


def create_note(call: Call, ref, items, iid):
    item = call.item(ref, items, iid, named=True)
    if item.extra.get("discussion_locked") and call.level < GUEST:  # strangers may not, members may
        raise forbidden()
    text, changes, done = _prepare(call, item)
    if done:
        return done
    given = call.body()
    internal = _truthy(given.get("internal", given.get("confidential")))
    if internal and call.level < REPORTER:
        raise forbidden()
    at = given.get("created_at") if call.level >= OWNER else None
    number = item.project.comment(item.kind, item.iid, text, author=call.who, internal=internal, at=at)
    return Answer(payloads.note(item.project.notes[number]) | {"commands_changes": changes}, status=201)


def create_discussion(call: Call, ref, items, iid):
    item = call.item(ref, items, iid, named=True)
    text, _, done = _prepare(call, item)
    if done:
        return done
    place = call.body().get("position") or {}
    number = item.project.discuss(
        item.kind,
        item.iid,
        text,
        author=call.who,
        path=place.get("new_path") or place.get("old_path"),
        line=place.get("new_line"),
        old_line=place.get("old_line"),
    )
    made = item.project.discussion(item.kind, item.iid, number)
    return Answer(payloads.discussion(made, made.notes), status=201)


def create_reply(call: Call, ref, items, iid, discussion_id):
    item = call.item(ref, items, iid, named=True)
    found = _find_discussion(call, item, discussion_id)
    text, changes, done = _prepare(call, item)
    if done:
        return done
    number = item.project.reply(item.kind, item.iid, found.id, text, author=call.who)
    return Answer(payloads.note(item.project.notes[number]) | {"commands_changes": changes}, status=201)


def resolve_discussion(call: Call, ref, items, iid, discussion_id):
    item = call.item(ref, items, iid, named=True)
    found = _find_discussion(call, item, discussion_id)
    if item.kind != "change" or not call.may_update(item):
        raise forbidden()
    resolved = _truthy(_required(call.body(), "resolved"))
    item.project.resolve(item.iid, found.id, call.who, resolved=resolved)
    return payloads.discussion(found, found.notes)


def update_note(call: Call, ref, items, iid, note_id):
    note = _own_note(call, ref, items, iid, note_id)
    text, commands = split_commands(_required(call.body(), "body"))
    run_commands(call, note.discussion.item, commands)
    if not text:
        raise ApiError(400, {"error": "body is empty"})
    note.discussion.item.project.edit_note(note.id, text)
    return payloads.note(note)


def delete_note(call: Call, ref, items, iid, note_id):
    note = _own_note(call, ref, items, iid, note_id)
    note.discussion.item.project.delete_note(note.id)
    return Answer(None, status=204)


def _prepare(call: Call, item) -> tuple[str, dict, Answer | None]:
    """The text without its commands, what those changed, and the 202 when nothing but commands was said."""
    body = _required(call.body(), "body")
    text, commands = split_commands(body)
    changes, said = run_commands(call, item, commands)
    if commands and not text:
        if not said:
            raise ApiError(400, {"message": '400 Bad request - Note {:commands_only=>["Failed to apply commands."]}'})
        return text, changes, Answer({"commands_changes": changes, "summary": said}, status=202)
    if not text.strip():
        raise ApiError(400, {"message": '400 Bad request - Note {:note=>["can\'t be blank"]}'})
    return text, changes, None


def _find_discussion(call: Call, item, discussion_id: str):
    found = next((d for d in item.discussions if d.id == discussion_id), None)
    if found is None or not any(call.may_read_note(n) for n in found.notes):
        raise not_found("Discussion")
    return found


def _own_note(call: Call, ref, items, iid, note_id):
    note = find_note(call, call.item(ref, items, iid, named=True), note_id)
    if note.system or (note.author != call.who and call.level < MAINTAINER):
        raise forbidden()
    return note


def _required(given: dict, name: str):
    if given.get(name) is None:
        raise ApiError(400, {"error": f"{name} is missing"})
    return given[name]


def _check_title(title: str) -> None:
    if not title.strip():
        raise ApiError(400, {"message": {"title": ["can't be blank"]}})
    if len(title) > TITLE_LIMIT:
        raise ApiError(400, {"message": {"title": [f"is too long (maximum is {TITLE_LIMIT} characters)"]}})


def _names(labels) -> list[str]:
    names = labels.split(",") if isinstance(labels, str) else labels or []
    return [name.strip() for name in names if name.strip()]


def _people(call: Call, ids) -> list[str]:
    wanted = {str(number) for number in (ids if isinstance(ids, list) else [ids])}
    return [u.username for u in call.world.users.values() if str(u.id) in wanted]


def _truthy(value) -> bool:
    return value is True or str(value).lower() in ("true", "1")


ROUTES = (
    Route("POST", f"{PROJECT}/issues", create_issue, signed_in=True),
    Route("PUT", ITEM, update_item, signed_in=True),
    Route("DELETE", f"{PROJECT}/issues/:iid/links/:link_id", delete_link, signed_in=True),
    Route("POST", f"{ITEM}/notes", create_note, signed_in=True),
    Route("PUT", f"{ITEM}/notes/:note_id", update_note, signed_in=True),
    Route("DELETE", f"{ITEM}/notes/:note_id", delete_note, signed_in=True),
    Route("POST", f"{ITEM}/discussions", create_discussion, signed_in=True),
    Route("PUT", f"{ITEM}/discussions/:discussion_id", resolve_discussion, signed_in=True),
    Route("POST", f"{ITEM}/discussions/:discussion_id/notes", create_reply, signed_in=True),
)
