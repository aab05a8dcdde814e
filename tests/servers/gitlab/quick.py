"""What do quick actions in a note do? Each runs with the rights of whoever posted the text.

A note of nothing but commands leaves no note behind; the API then answers 202 and says what changed.
"""

import re

from .call import Call
from .records import Item


def run_commands(call: Call, item: Item, commands: list[tuple[str, str]]) -> tuple[dict, list[str]]:
    """What changed, in the API's words, and a sentence per command that ran; empty without the right."""
    changes, said = {}, []
    for name, argument in commands if call.may_update(item) else ():
        action = ACTIONS.get(name)
        result = action(call, item, argument) if action else ({}, f"Ran /{name}.")
        if result:
            changes |= result[0]
            said.append(result[1])
    return changes, said


def _close(call, item, argument):
    if item.state != "opened":
        return None
    item.project.close(item.kind, item.iid, call.who)
    return {"state_event": "close"}, f"Closed this {item.noun}."


def _reopen(call, item, argument):
    if item.state != "closed":
        return None
    item.project.reopen(item.kind, item.iid, call.who)
    return {"state_event": "reopen"}, f"Reopened this {item.noun}."


def _duplicate(call, item, argument):
    other = _find_issue(item, argument)
    if other is None:
        return None
    item.project.mark_duplicate(item.iid, other.iid, call.who)
    said = f"Closed this issue. Marked as related to, and a duplicate of, #{other.iid}."
    return {"canonical_issue_id": other.id}, said


def _relate(call, item, argument):
    other = _find_issue(item, argument)
    if other is None:
        return None
    item.project.relate(item.iid, other.iid, call.who)
    return {}, f"Added #{other.iid} as a linked item related to this issue."


def _find_issue(item: Item, argument: str) -> Item | None:
    number = re.fullmatch(r"#(\d+)", argument)
    other = item.project.issues.get(int(number[1])) if number else None
    return other if item.kind == "issue" and other is not item else None


def _label(call, item, argument):
    names = _known_labels(item, argument)
    if not names:
        return None
    item.project.edit(item.kind, item.iid, labels=item.labels | set(names), by=call.who)
    return {"add_label_ids": _label_ids(item, names)}, f"Added {_tildes(names)} labels."


def _unlabel(call, item, argument):
    names = _known_labels(item, argument) if argument else sorted(item.labels)
    if not names:
        return None
    item.project.edit(item.kind, item.iid, labels=item.labels - set(names), by=call.who)
    return {"remove_label_ids": _label_ids(item, names)}, f"Removed {_tildes(names)} labels."


def _relabel(call, item, argument):
    names = _known_labels(item, argument)
    item.project.edit(item.kind, item.iid, labels=set(names), by=call.who)
    return {"label_ids": _label_ids(item, names)}, f"Replaced all labels with {_tildes(names)} labels."


def _known_labels(item: Item, argument: str) -> list[str]:
    """`~bug ~"needs info" ~nope` -> the labels that the project has."""
    named = [quoted or bare for quoted, bare in re.findall(r'~?(?:"([^"]+)"|(\S+))', argument)]
    return [name.lstrip("~") for name in named if name.lstrip("~") in item.project.labels]


def _label_ids(item: Item, names: list[str]) -> list[int]:
    return [item.project.labels[name].id for name in names]


def _tildes(names: list[str]) -> str:
    return " ".join(f"~{name}" for name in names)


def _title(call, item, argument):
    item.project.edit(item.kind, item.iid, title=argument, by=call.who)
    return {"title": argument}, f'Changed the title to "{argument}".'


def _assign(call, item, argument):
    people = [call.who if name == "me" else name for name in re.findall(r"@([\w.-]+)|\bme\b", argument)]
    item.project.edit(item.kind, item.iid, assignees=people, by=call.who)
    return {"assignee_ids": [call.world.user(p).id for p in people]}, f"Assigned {argument}."


def _unassign(call, item, argument):
    item.project.edit(item.kind, item.iid, assignees=[], by=call.who)
    return {"assignee_ids": []}, "Removed all assignees."


def _confidential(call, item, argument):
    item.confidential = True
    item.project.edit(item.kind, item.iid, by=call.who)
    item.project.system_note(item.kind, item.iid, "made the issue confidential", author=call.who)
    return {"confidential": True}, "Made this issue confidential."


def _move(call, item, argument):
    other = call.world.paths.get(argument.lower())
    if item.kind != "issue" or other is None or not call.may_enter(other):
        return None
    item.project.move(item.iid, other, call.who)
    return {"target_project_id": other.id}, f"Moved this issue to {argument}."


def _merge(call, item, argument):
    if item.kind != "change" or item.state != "opened":
        return None
    item.project.merge(item.iid, call.who)
    return {"merge": item.sha}, "Merged this merge request."


ACTIONS = {
    "assign": _assign,
    "close": _close,
    "confidential": _confidential,
    "duplicate": _duplicate,
    "label": _label,
    "merge": _merge,
    "move": _move,
    "relabel": _relabel,
    "relate": _relate,
    "remove_label": _unlabel,
    "reopen": _reopen,
    "title": _title,
    "unassign": _unassign,
    "unlabel": _unlabel,
}
