"""Cards that a model wrote: what is asked for, and as much as can be made of what it answered.

Leniently, unlike a verdict: a card decides nothing, so a list where a text was asked for, another name of a field or a
sentence around the object cost no card. What remains is short, on one line and without what acts on a terminal.

    {"Component": "wallet", "error": "Disk full", "versions": 2.1, "mood": "bad"}
    -> component wallet, errors ("Disk full",), versions ("2.1",)
"""

import re
from typing import NamedTuple

from forgelore.core.dedupe.gates import ItemType
from forgelore.core.dedupe.verdict import find_objects
from forgelore.core.intent.card import MOST_ENTRIES, IntentCard, tidy

_READ = 100_000  # characters of an answer; what is longer is no card
_TEXTS = ("component", "symptom", "context", "wants", "cause")
_LISTS = ("errors", "frames", "identifiers", "paths", "versions")
_OTHER_NAMES = {
    "kind": "type", "category": "type", "area": "component", "module": "component", "summary": "symptom",
    "title": "symptom", "problem": "symptom", "conditions": "context", "environment": "context", "steps": "context",
    "goal": "wants", "request": "wants", "intent": "wants", "expected": "wants", "rootcause": "cause",
    "error": "errors", "errorsignature": "errors", "frame": "frames", "stack": "frames", "stacktrace": "frames",
    "identifier": "identifiers", "symbols": "identifiers", "path": "paths", "files": "paths", "version": "versions",
}  # fmt: skip
_ENTRY = 200  # characters
_NO_LETTER = re.compile(r"[\W_]+")


class InvalidCard(NamedTuple):
    """An answer that is no card, and what is wrong with it."""

    problem: str


def coerce_card(answer: str) -> IntentCard | InvalidCard:
    """Return the card in a model's answer: of several objects the one that says most."""
    if len(answer) > _READ:
        return InvalidCard("the answer is too long for a card")
    found = find_objects(answer)
    if not found:
        return InvalidCard("there is no JSON object in the answer")
    best = max((_as_card(one) for one in found), key=_count_fields)
    return best if _count_fields(best) else InvalidCard("the card says nothing")


def card_schema() -> dict[str, object]:
    """Return the JSON Schema of a card, for servers that hold a model to one."""
    properties: dict[str, object] = {"type": {"type": "string", "enum": ["bug", "feature", "unknown"]}}
    properties |= {name: {"type": "string"} for name in _TEXTS}
    properties |= {name: {"type": "array", "items": {"type": "string"}} for name in _LISTS}
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _as_card(said: dict[str, object]) -> IntentCard:
    fields: dict[str, object] = {}
    for name, value in said.items():
        plain = _NO_LETTER.sub("", name.lower())
        fields.setdefault(_OTHER_NAMES.get(plain, plain), value)
    component, symptom, context, wants, cause = (tidy(", ".join(_entries(fields.get(name)))) for name in _TEXTS)
    errors, frames, identifiers, paths, versions = (_as_list(fields.get(name)) for name in _LISTS)
    return IntentCard(
        _as_type(fields.get("type")), component, symptom, context, wants, cause, errors, frames, identifiers, paths,
        versions,
    )  # fmt: skip


def _entries(value: object) -> list[str]:
    """Return what a value says, as texts; what is nested says nothing."""
    if isinstance(value, list):
        return [entry for each in value for entry in ([] if isinstance(each, list) else _entries(each))]
    if isinstance(value, str):
        return [value]
    return [str(value)] if isinstance(value, int | float) and not isinstance(value, bool) else []


def _as_list(value: object) -> tuple[str, ...]:
    lines = value.splitlines() if isinstance(value, str) else _entries(value)
    tidied = dict.fromkeys(tidy(line, _ENTRY) for line in lines[: 10 * MOST_ENTRIES])
    return tuple(entry for entry in tidied if entry)[:MOST_ENTRIES]


def _as_type(value: object) -> ItemType:
    said = value.lower() if isinstance(value, str) else ""
    if "bug" in said or "fault" in said or "defect" in said:
        return "bug"
    return "feature" if "feature" in said or "enhancement" in said else "unknown"


def _count_fields(card: IntentCard) -> int:
    return sum(bool(getattr(card, name)) for name in (*_TEXTS, *_LISTS))
