"""Verdict: what a judge said of an item and its candidates, as strict JSON.

A model's answer is hostile text: it has read a stranger's. So it is taken by the letter. What is missing, of another
type or out of range makes it invalid as a whole, and so do two answers in one. A fence or a sentence around the one
object is forgiven, since many models cannot leave them out.
"""

import json
from typing import Annotated, Literal, NamedTuple, get_args

from msgspec import Meta, Struct, ValidationError, convert

PairRelation = Literal["same_instance", "related_followup", "partial_overlap", "different"]
RootCause = Literal["same", "adjacent", "different"]
ScopeRelation = Literal["same_scope", "source_subset", "source_superset", "partial_overlap", "different_scope"]
PathMatch = Literal["same", "different", "unknown"]
Certainty = Literal["sure", "unsure"]

SharedFact = Annotated[str, Meta(min_length=1, max_length=500)]
_READ = 200_000  # characters of an answer; what is longer is no verdict


class Verdict(Struct, frozen=True):
    """What a judge says. `facts` are quotes that stand in both texts; `target` is None for "none of them"."""

    is_duplicate: bool
    target: Annotated[int, Meta(ge=1, lt=2**53)] | None
    confidence: Annotated[float, Meta(ge=0, le=1)]
    relation: PairRelation
    root_cause: RootCause
    scope: ScopeRelation
    path: PathMatch
    certainty: Certainty
    reasoning: Annotated[str, Meta(max_length=4_000)]
    facts: Annotated[list[SharedFact], Meta(max_length=20)]


class InvalidVerdict(NamedTuple):
    """An answer that is no verdict, and what is wrong with it."""

    problem: str


def parse_verdict(answer: str) -> Verdict | InvalidVerdict:
    """Return the verdict in a model's answer, or what keeps it from being one."""
    if len(answer) > _READ:
        return InvalidVerdict(f"the answer has {len(answer)} characters")
    found = find_objects(answer)
    if len(found) != 1:
        return InvalidVerdict("there is no JSON object in it" if not found else f"it holds {len(found)} JSON objects")
    try:
        verdict = convert(found[0], Verdict)
    except ValidationError as error:
        return InvalidVerdict(str(error))
    if any(sign in answer for sign in ("\\ud", "\\uD")) and not _is_text(verdict):
        return InvalidVerdict("it holds half a character")
    if verdict.is_duplicate and verdict.target is None:
        return InvalidVerdict("it says duplicate and names no target")
    return verdict


def find_objects(answer: str) -> list[dict[str, object]]:
    """Return the JSON objects that stand in a text one after another, not those within others."""
    decoder, found, at = json.JSONDecoder(parse_constant=_refuse_constant), [], 0
    while (start := answer.find("{", at)) >= 0:
        try:
            value, at = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            at = start + 1
            continue
        found.append(value)
    return found


def _is_text(verdict: Verdict) -> bool:
    """False where an escape makes half of a pair of surrogates: nothing could keep that."""
    try:
        "".join((verdict.reasoning, *verdict.facts)).encode()
    except UnicodeEncodeError:
        return False
    return True


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


def verdict_schema(allowed: list[int]) -> dict[str, object]:
    """Return the JSON Schema of an answer, for servers that hold a model to one. `allowed`: numbers it may name.

    A type stands beside every enum: OpenAI takes no strict schema without.
    """
    words = {
        "relation": PairRelation,
        "root_cause": RootCause,
        "scope": ScopeRelation,
        "path": PathMatch,
        "certainty": Certainty,
    }
    properties: dict[str, object] = {
        "is_duplicate": {"type": "boolean"},
        "target": {"type": ["integer", "null"], "enum": [*allowed, None]},
        "confidence": {"type": "number", "minimum": 0, "maximum": 1},
        **{name: {"type": "string", "enum": list(get_args(kind))} for name, kind in words.items()},
        "reasoning": {"type": "string"},
        "facts": {"type": "array", "items": {"type": "string"}, "minItems": 2, "maxItems": 6},
    }
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
