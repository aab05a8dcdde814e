r"""Intent card: what an item is about, in a few fields, so that two are compared by content, not by wording.

    "wallet: crash on startup", "After the update …\nERROR: Disk full at 0x7f\n  at Cache.put(Cache.java:2)"
    → component wallet, symptom "crash on startup", context "After the update …", error "ERROR: Disk full at 0x7f",
      frame "at Cache.put"

`extract_card` takes it from the item's own words; `coerce_card` reads what a language model wrote. A card is for
finding and for judges: its words are never shown as if a person had written them.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable

from msgspec import Struct
from msgspec.json import decode, encode

from forgelore.compare.differences import usual_lines
from forgelore.compare.sameness import without_boilerplate
from forgelore.compare.signatures import What, parse_signature
from forgelore.dedupe.verdict import ItemType, find_item_type, find_objects
from forgelore.index.cleaning import telling_text
from forgelore.records import JudgedItem
from forgelore.text.fence import printable, storable

SCHEMA_VERSION = 1  # of the fields and of the rules that fill them; another one: all cards are made again
BUILTIN = "builtin"  # the model of a card that no model wrote

MAX_CHARS = 400  # of a field
MAX_ENTRIES = 10  # of a list
_CONTEXT = 300  # characters of the text that are taken over as they are
_MARKS: dict[str, tuple[What, int]] = {
    "errors": ("error", 4),
    "frames": ("frame", 4),
    "identifiers": ("identifier", 8),
    "paths": ("path", 6),
    "versions": ("version", 3),
}
# `wallet: …`, `net, rpc: …`, `[gui] …`, `fix(wallet): …`
_COMPONENT = re.compile(
    r"\A\s*(?:\w{2,20}\((?P<scope>[^()\n]{2,40})\)!?:|\[(?P<tag>[^\[\]\n]{2,30})\]:?"
    r"|(?P<prefix>[A-Za-z][\w./+-]{1,24}(?:, ?[A-Za-z][\w./+-]{1,24}){0,3}):)\s+(?=\S)"
)


class IntentCard(Struct, frozen=True, omit_defaults=True):
    """What an item is about. Empty is what nobody said."""

    type: ItemType = "unknown"
    component: str = ""
    symptom: str = ""
    context: str = ""
    wants: str = ""
    cause: str = ""
    errors: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    identifiers: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()
    versions: tuple[str, ...] = ()


def extract_card(source: JudgedItem, boilerplate: Collection[int] = ()) -> IntentCard:
    """Return the card of an item from its own words. `boilerplate`: lines that every item of the project has."""
    body = without_boilerplate(source.body, frozenset(boilerplate) | usual_lines())
    component, symptom = _split_title(source.title)
    written = _marks_of(f"{source.title}\n{body}")
    touched = _first(source.files, MAX_ENTRIES)
    return IntentCard(
        type=find_item_type(source.title, source.body, ()),
        component=tidy(component or _common_folder(source.files)),
        symptom=tidy(symptom),
        context=_beginning(telling_text(body)),
        errors=written["errors"],
        frames=written["frames"],
        identifiers=written["identifiers"],
        paths=touched or written["paths"],
        versions=written["versions"],
    )


def card_text(card: IntentCard) -> str:
    """Return what of a card is embedded and searched: its values, a line each."""
    lists = (card.errors, card.frames, card.identifiers, card.paths, card.versions)
    lines = [card.component, card.symptom, card.context, card.wants, card.cause, *(", ".join(each) for each in lists)]
    return "\n".join(line for line in lines if line)


def encode_card(card: IntentCard) -> str:
    """Return a card as it is kept."""
    return encode(card).decode()


def decode_card(kept: str) -> IntentCard:
    """Return a card that was kept. Raises msgspec.DecodeError for anything else."""
    return decode(kept, type=IntentCard)


def hash_source(source: JudgedItem) -> str:
    """Return the hash by which a card is known to be up to date."""
    parts = [source.kind, source.title, source.body, sorted(source.files)]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()


def tidy(text: str, limit: int = MAX_CHARS) -> str:
    r"""Return a field on one line, without what could act on a terminal: "a\n\x1b[2J b" -> "a \ufffd[2J b"."""
    return printable(storable(" ".join(text[: 4 * limit].split())))[:limit].strip()


def _split_title(title: str) -> tuple[str, str]:
    """Return the part that a title names before it says anything, and the rest. "fix: crash" names none."""
    found = _COMPONENT.match(title)
    if not found:
        return "", title
    part = found["scope"] or found["tag"] or found["prefix"]
    is_type = find_item_type(f"{part}: x", "", ()) != "unknown"
    return "" if is_type else part, title[found.end() :]


def _common_folder(paths: Collection[str]) -> str:
    """Return the folder of most files, up to two names deep."""
    folders = Counter("/".join(os.path.dirname(path).split("/")[:2]) for path in paths)
    return min(folders, key=lambda name: (-folders[name], name)) if folders else ""


def _marks_of(text: str) -> dict[str, tuple[str, ...]]:
    marks = parse_signature(text).marks
    return {
        field: _first((mark.written for mark in marks if mark.what == what), most)
        for field, (what, most) in _MARKS.items()
    }


def _first(written: Iterable[str], most: int) -> tuple[str, ...]:
    tidied = dict.fromkeys(tidy(each, 200) for each in written)
    return tuple(each for each in tidied if each)[:most]


def _beginning(text: str) -> str:
    """Return the first words of a text, whole ones."""
    text = tidy(text, 2 * _CONTEXT)
    return text if len(text) <= _CONTEXT else text[:_CONTEXT].rpartition(" ")[0] or text[:_CONTEXT]


_READ = 100_000  # characters of an answer; a longer one is refused
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


def coerce_card(answer: str) -> IntentCard | str:
    """Return the card in a model's answer, of several objects the one that says most; or what is wrong with it.

    Leniently, unlike a verdict: a card decides nothing, so a list where a text was asked for, another name of a field
    or a sentence around the object cost no card. {"Error": "Disk full", "versions": 2.1} -> errors, versions ("2.1",)
    """
    if len(answer) > _READ:
        return "the answer is too long for a card"
    found = find_objects(answer)
    if not found:
        return "the answer contains no JSON object"
    best = max((_as_card(one) for one in found), key=_count_fields)
    return best if _count_fields(best) else "the card is empty"


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
    tidied = dict.fromkeys(tidy(line, _ENTRY) for line in lines[: 10 * MAX_ENTRIES])
    return tuple(entry for entry in tidied if entry)[:MAX_ENTRIES]


def _as_type(value: object) -> ItemType:
    said = value.lower() if isinstance(value, str) else ""
    if "bug" in said or "fault" in said or "defect" in said:
        return "bug"
    return "feature" if "feature" in said or "enhancement" in said else "unknown"


def _count_fields(card: IntentCard) -> int:
    return sum(bool(getattr(card, name)) for name in (*_TEXTS, *_LISTS))
