"""Decisions as a language model lists them: strict JSON, and each looked up in the text that it was read from.

A model has read strangers' words, so nothing that it says is taken on trust. A quote must stand in the text; who said
it and when is known from the text's parts; files and other decisions that it names must be written there. What it says
in its own words is kept as such, beside the quote.
"""

from collections.abc import Collection
from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct, ValidationError, convert

from forgelore.core.ask.citations import CitedText, check_citation
from forgelore.core.ask.tool_calls import SaidCitation
from forgelore.core.decisions.statements import DecisionEdge, EdgeRelation, read_target
from forgelore.core.dedupe.verdict import find_objects
from forgelore.core.reading import ReadingText, WrittenPart
from forgelore.core.text import storable

MAX_SUMMARY = 400
_READ = 200_000  # characters of an answer; what is longer is no list
_Line = Annotated[int, Meta(ge=1, lt=2**31)]
_Names = Annotated[list[Annotated[str, Meta(max_length=1_000)]], Meta(max_length=20)]
Refusal = Literal["no_quote", "quote_not_found", "no_such_lines", "nobody_wrote_it"]


class SaidDecision(Struct, frozen=True, forbid_unknown_fields=True):
    """A decision as a model wrote it; nothing of it is checked yet."""

    decision: Annotated[str, Meta(min_length=1, max_length=2_000)]
    quote: Annotated[str, Meta(max_length=4_000)]
    first_line: _Line
    last_line: _Line
    paths: _Names
    supersedes: _Names
    superseded_by: _Names
    replaces_line: _Line | None


class SaidDecisions(Struct, frozen=True, forbid_unknown_fields=True):
    """All that a model lists of a page."""

    decisions: Annotated[list[SaidDecision], Meta(max_length=50)]


class InvalidList(NamedTuple):
    """An answer that is no list of decisions, and what is wrong with it."""

    problem: str


class CheckedDecision(NamedTuple):
    """A decision whose quote stands in the text, with who wrote it and when. `replaces_line`: of the same text."""

    summary: str
    quote: str
    first_line: int
    last_line: int
    author: str | None
    decided_at: int | None
    paths: tuple[str, ...]
    edges: tuple[DecisionEdge, ...]
    replaces_line: int | None


def parse_decisions(answer: str) -> list[SaidDecision] | InvalidList:
    """Return the decisions of a model's answer, or what keeps it from being a list of them."""
    if len(answer) > _READ:
        return InvalidList(f"the answer has {len(answer)} characters")
    found = find_objects(answer)
    if len(found) != 1:
        return InvalidList("there is no JSON object in it" if not found else f"it holds {len(found)} JSON objects")
    try:
        return convert(found[0], SaidDecisions).decisions
    except ValidationError as error:
        return InvalidList(str(error))


def check_decision(said: SaidDecision, text: ReadingText, paths: Collection[str]) -> CheckedDecision | Refusal:
    """Return a decision as it stands in the text, or why it is refused. `paths`: those that the item touches."""
    quote = storable(said.quote)
    source = CitedText(text.title, text.url, text.lines, text.hash)
    found = check_citation(
        1, SaidCitation(text.key, said.first_line, max(said.first_line, said.last_line), quote), source
    )
    if not found.is_good:
        return found.status if found.status in ("no_quote", "no_such_lines") else "quote_not_found"
    part = find_part(text, found.first_line, found.last_line)
    if part is None:
        return "nobody_wrote_it"
    return CheckedDecision(
        storable(" ".join(said.decision.split()))[:MAX_SUMMARY], " ".join(quote.split()), found.first_line,
        found.last_line, part.author, part.written_at, _known_paths(said, text, paths), _known_edges(said, text),
        said.replaces_line,
    )  # fmt: skip


def find_part(text: ReadingText, first: int, last: int) -> WrittenPart | None:
    """Return the part that holds these lines; None where they are not of one person at one time, or only repeat what
    somebody else wrote ("> …").
    """
    if all(line.lstrip().startswith(">") for line in text.lines[first - 1 : last]):
        return None
    return next((part for part in text.parts if part.first <= first and last <= part.last), None)


def decisions_schema() -> dict[str, object]:
    """Return the JSON Schema of an answer, for servers that hold a model to one."""
    names = {"type": "array", "items": {"type": "string"}}
    properties: dict[str, object] = {
        "decision": {"type": "string"}, "quote": {"type": "string"},
        "first_line": {"type": "integer", "minimum": 1}, "last_line": {"type": "integer", "minimum": 1},
        "paths": names, "supersedes": names, "superseded_by": names,
        "replaces_line": {"type": ["integer", "null"], "minimum": 1},
    }  # fmt: skip
    one = {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}
    listed = {"decisions": {"type": "array", "items": one}}
    return {"type": "object", "properties": listed, "required": ["decisions"], "additionalProperties": False}


def _known_paths(said: SaidDecision, text: ReadingText, paths: Collection[str]) -> tuple[str, ...]:
    """Return the files that a decision names and that are written in the text, or touched by the item. A word without
    a slash or a dot is no file that could be told from other words.
    """
    named = dict.fromkeys(storable(path.strip()).removeprefix("./") for path in said.paths)
    return tuple(
        path
        for path in named
        if path in paths or (set("/.").intersection(path.strip("/.")) and any(path in line for line in text.lines))
    )


def _known_edges(said: SaidDecision, text: ReadingText) -> tuple[DecisionEdge, ...]:
    """Return what a decision replaces, of what is written in the text."""
    edges: list[DecisionEdge] = []
    relations: tuple[tuple[EdgeRelation, list[str]], ...] = (
        ("supersedes", said.supersedes),
        ("superseded_by", said.superseded_by),
    )
    for relation, words in relations:
        for word in words:
            target = read_target(word.strip())
            if target and any(word.strip() in line for line in text.lines):
                edges.append(DecisionEdge(relation, target))
    return tuple(dict.fromkeys(edges))
