"""Verdict: what a judge is asked, what it answers, and as much of the answer as can be believed.

Rules and a language model are two judges. A judge says what it thinks and decides nothing: gates read its answer
(dedupe/gates). A model has read strangers' text, so its answer is hostile and taken by the letter: what is missing, of
another type or out of range makes it invalid as a whole, and so do two answers in one. A fence or a sentence around the
one object is forgiven, since many models cannot leave them out. The facts that it names are looked up in both texts.
"""

import json
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, NamedTuple, Protocol, get_args

from msgspec import DecodeError, Meta, Struct, ValidationError, convert
from msgspec.json import decode

from forgelore.compare.sameness import Sameness
from forgelore.dedupe.reasons import ReasonCode
from forgelore.errors import LoreError
from forgelore.records import JudgedItem
from forgelore.text.fence import folded

ItemType = Literal["bug", "feature", "unknown"]


PairRelation = Literal["same_instance", "related_followup", "partial_overlap", "different"]
RootCause = Literal["same", "adjacent", "different"]
ScopeRelation = Literal["same_scope", "source_subset", "source_superset", "partial_overlap", "different_scope"]
PathMatch = Literal["same", "different", "unknown"]
Certainty = Literal["sure", "unsure"]

SharedFact = Annotated[str, Meta(min_length=1, max_length=500)]
_ANSWER_CHARS = 200_000  # of an answer; a longer one is refused


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


def parse_verdict(answer: str) -> Verdict | str:
    """Return the verdict in a model's answer, or what is wrong with the answer."""
    if len(answer) > _ANSWER_CHARS:
        return f"the answer has {len(answer)} characters"
    found = find_objects(answer)
    if len(found) != 1:
        return "it contains no JSON object" if not found else f"it contains {len(found)} JSON objects"
    try:
        verdict = convert(found[0], Verdict)
    except ValidationError as error:
        return str(error)
    if any(sign in answer for sign in ("\\ud", "\\uD")) and not _is_text(verdict):
        return "it contains half a character"
    if verdict.is_duplicate and verdict.target is None:
        return "it says duplicate but names no target"
    return verdict


def decode_verdict(kept: str) -> Verdict | str:
    """Return a verdict that was kept as JSON, or what is wrong with the text."""
    try:
        return decode(kept, type=Verdict)
    except (ValidationError, DecodeError) as error:
        return str(error)


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
    raise ValueError(f"not a number: {name}")


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


class JudgedCandidate(NamedTuple):
    """An item that is offered to a judge, with the numbers of the pair. A language model sees the item alone."""

    item: JudgedItem
    strength: float
    similarity: float
    sameness: Sameness
    marks: tuple[str, ...] = ()
    features: Mapping[str, float] = {}
    is_said: bool = False  # somebody with the right to write has said that the source is a duplicate of it


class Question(NamedTuple):
    """Does the source repeat one of the candidates, which come best first?"""

    source: JudgedItem
    candidates: tuple[JudgedCandidate, ...]


class JudgeAnswer(NamedTuple):
    """What a judge said. `verdict`: a text says what is wrong with its answer; None: it said nothing, and `reason` says
    why.
    """

    verdict: Verdict | str | None
    reason: ReasonCode | None = None
    facts_found: int | None = None  # None: the facts of the verdict are to be looked up in both texts
    prompt_hash: str = ""
    prompt_tokens: int = 0
    answer_tokens: int = 0
    cost: float = 0.0
    error: LoreError | None = None  # what kept it from answering


class AnyJudge(Protocol):
    """Who says whether an item repeats one of its candidates. `name` and `model` are kept with every decision."""

    @property
    def name(self) -> str: ...
    @property
    def model(self) -> str: ...
    def ask(self, question: Question) -> JudgeAnswer: ...


_WORD = re.compile(r"\w+")
_IDENTIFIER = re.compile(r"\w*(?:\d\w*[^\W\d]|[^\W\d]\w*\d|_\w|[a-z][A-Z])\w*|\w+(?:::|\.|/|->)\w+")
_MIN_WORDS = 3
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be been but by can do does for from get had has have how i if in into is it its me my no"
        " not of on or our so than that the their then there these they this to us was we were what when where which"
        " who will with would you your bug issue error fix fails failed problem please version expected actual behavior"
        " behaviour steps reproduce description using use used work works working",
    )
)


def count_shared_facts(facts: Iterable[str], text: str, other: str) -> int:
    """Return how many of the facts stand in both texts and say something.

    A model that invents, or that was talked into something, cannot make words appear in the other text. A quote counts
    when it stands in both (case, blanks and punctuation aside), says something (an identifier, a number with letters,
    or three words that are not all common ones), and is not part of another quote.
    """
    mine, theirs = _flat(text), _flat(other)
    found: list[str] = []
    for fact in facts:
        flat = _flat(fact)
        if flat.strip() and _says_something(fact) and flat in mine and flat in theirs:
            found.append(flat)
    distinct = set(found)
    return sum(not any(one != longer and one in longer for longer in distinct) for one in distinct)


def _flat(text: str) -> str:
    """Return the words of a text with one blank around each, so that a part of a word is not found."""
    return f" {' '.join(_WORD.findall(folded(text)))} "


def _says_something(fact: str) -> bool:
    if _IDENTIFIER.search(fact):
        return True
    words = [word for word in _WORD.findall(folded(fact)) if not word.isdigit()]
    return len(words) >= _MIN_WORDS and any(word not in _COMMON for word in words)


_BUG_WORDS = {"bug", "bugs", "defect", "regression", "crash", "fault", "ice", "panic", "flake", "flaky"}
_FEATURE_WORDS = {
    "feature",
    "features",
    "enhancement",
    "enhancements",
    "improvement",
    "wish",
    "wishlist",
    "rfc",
    "idea",
}
_TITLE = re.compile(
    r"\A\W*(?:(?P<bug>bug(?:fix)?|fix(?:es|ed)?|defect|regression|crash|hotfix)"
    r"|(?P<feature>feat(?:ure)?(?:[ -]request)?|rfe|enhancement|proposal|rfc|idea|wish))"
    r"\s*(?:\([^)\n]{0,40}\)\s*)?!?\s*[\])>:]",
    re.IGNORECASE,
)
_BUG_FORM = re.compile(
    r"^[#* \t]*(?:steps? to reproduce|how to reproduce|reproduction|expected (?:behaviou?r|result)|"
    r"actual (?:behaviou?r|result)|current behaviou?r|describe the bug|what happened|to reproduce)\b",
    re.IGNORECASE | re.MULTILINE,
)
_FEATURE_FORM = re.compile(
    r"^[#* \t]*(?:describe the (?:solution|feature)|is your feature request|feature description|motivation|"
    r"alternatives? (?:you've )?considered|describe alternatives|use ?case|proposed solution)\b",
    re.IGNORECASE | re.MULTILINE,
)
_LABEL_WORD = re.compile(r"[a-z]+")
_BODY_CHARS = 20_000


def find_item_type(title: str, body: str, labels: Iterable[str]) -> ItemType:
    """Return whether an item reports a fault or asks for something new. ("Dark theme", "", ["C-feature"]) -> feature

        labels    `bug`, `kind/bug`, `C-bug`, `type: defect`; `enhancement`, `feature request`, `C-feature-request`
        title     `[Bug]`, `fix:`, `Feature request: …`, `feat(ui): …`
        form      headings such as "Steps to reproduce" and "Describe the solution you'd like"

    The first of these that says either decides. What says both, or nothing, is unknown, and no gate objects to it.
    """
    words = {word for label in labels for word in _LABEL_WORD.findall(label.lower())}
    by_label = _one_of(is_bug=bool(words & _BUG_WORDS), is_feature=bool(words & _FEATURE_WORDS))
    if by_label != "unknown":
        return by_label
    begins = _TITLE.match(title)
    if begins:
        return "bug" if begins["bug"] else "feature"
    text = body[:_BODY_CHARS]
    return _one_of(is_bug=bool(_BUG_FORM.search(text)), is_feature=bool(_FEATURE_FORM.search(text)))


def _one_of(*, is_bug: bool, is_feature: bool) -> ItemType:
    if is_bug == is_feature:
        return "unknown"
    return "bug" if is_bug else "feature"
