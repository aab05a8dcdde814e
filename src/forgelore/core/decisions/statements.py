"""Project decisions in text: sentences by which somebody decides, declines, replaces or takes back, or gives a reason.

    decided      "We decided to keep the old format."      superseded   "Superseded by #12."
    declined     "Closing this as out of scope."           reverted     "This reverts commit 1a2b3c4."
    reason       "… because locks are per process."        asked for by itself: it decides nothing alone

Rules alone, for English. They rather miss a decision than make one up: questions, conditions and proposals are no
decisions, nor is what stands in quotes, code, tables or comments of templates. A sentence may run over lines.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from forgelore.core.names import page_in_url

DecisionRule = Literal["decided", "declined", "superseded", "reverted", "reason", "record", "model"]
EdgeRelation = Literal["supersedes", "superseded_by"]
MAX_SENTENCE = 400  # characters that are quoted
_MAX_PARAGRAPH = 8_000

_DECIDED = r"""
    \b(?:we|i|team|maintainers|committee)(?:['\u2019]ve|\s+have|\s+all)?(?:\s+(?:now|just|finally|already|both))?
      \s+(?:decided|agreed|settled\s+on|concluded|resolved\s+to|voted|chose|opted|went\s+with)\b
    | \bit\s+(?:was|is|has\s+been)\s+(?:decided|agreed)\b
    | \b(?:the|our|final|my)\s+decision\s+(?:is|was)\b | \A\W*(?:final\s+)?decision\s*:
    | \bchosen\s+option\s*:
    | \blet['\u2019]?s
      \s+(?:go\s+with|keep|drop|use|stick|remove|deprecate|support|adopt|switch|ship|make|not\s+(?!forget))\b
    | \bwe(?:['\u2019]ll|\s+will|['\u2019]re\s+going\s+to|\s+are\s+going\s+to)
      \s+(?:go\s+with|keep|drop|use|stick|remove|deprecate|support|adopt|switch|not)\b
    | \b(?:i['\u2019]m|we['\u2019]re|i\s+am|we\s+are)\s+going\s+with\b
"""
_DECLINED = r"""
    \bwon['\u2019]?t\s?fix\b | \bwill\s+not\s+(?:fix|implement|support|merge|accept)\b
    | \b(?:we|i)\s+(?:won['\u2019]t|are\s+not\s+going\s+to|do(?:n['\u2019]t|\s+not)\s+(?:want|plan|intend)\s+to)\b
    | \bclos(?:ing|ed)\s+(?:this\s+|it\s+)?(?:as|because|since|in\s+favou?r)\b
    | \b(?:is|as|are)\s+out\s+of\s+scope\b | \bworking\s+as\s+intended\b | \b(?:is|as)\s+by\s+design\b
    | \bnot\s+planned\b | \bno\s+plans?\s+to\b
"""
_LINKED = r"\s+(?:(?:the|pr|mr|pull\s+request|merge\s+request|issue|change|commit)\s+){0,2}(?P<target>\S{1,300})"
_SUPERSEDED = rf"(?:\b(?:superseded|replaced|obsoleted)\s+by|\bin\s+favou?r\s+of|\bsuccessor\s+is){_LINKED}"
_SUPERSEDES = rf"\b(?:supersedes|replaces|obsoletes){_LINKED}"
_REVERTS = rf"\brevert(?:s|ed)?{_LINKED}"
_REVERT_TITLE = r"\A\W*revert\s+[\"\u201c'\u2018]"
_REASON = r"""
    \b(?:because|so\s+that|in\s+order\s+to|instead\s+of|rather\s+than|the\s+reason\s+(?:is|was|for|why)|otherwise|due\s+to)\b
    | \bto\s+(?:avoid|prevent)\b | \bthis\s+(?:fixes|avoids|prevents|allows)\b
    | \A\W*(?:why|reason|rationale|motivation)\b\W
"""
_OPEN = r"""
    \?[\"'\u201d\u2019)\]*_]*\Z
    | \A\W*(?:if|unless|until|before|once|when|whether)\b | \b(?:if|whether|unless)\s+(?:we|you|they|it)\b
    | \b(?:should|shall|could|can|might|may|did|would|have)\s+(?:we|i|you|they)\b
    | \b(?:have|has|had|was|were|is)(?:n['\u2019]t|\s+not|\s+never)\s+(?:yet\s+)?(?:been\s+)?
      (?:decided|agreed|settled|voted)\b
    | \bnot\s+yet\b | \b(?:nobody|no\s+one|never)\s+(?:has\s+|have\s+)?(?:decided|agreed)\b
    | \b(?:propos(?:e|al|ing)|suggest(?:ion|ing)?|maybe|perhaps|i\s+think|i['\u2019]d|would\s+be)\b
"""
_NUMBER = re.compile(r"[(\[*_`]{0,2}((?:[\w.-]{1,80}/){0,8}(?:[\w.-]{1,80})?)([#!])(\d{1,9})\b")
_SHA = re.compile(r"[(\[*_`]?([0-9a-f]{7,40})(?![\w/-])")
_RECORD = re.compile(r"\[?(?:[^\]]{0,200}\]\()?(?:\./)?([\w./-]{1,200}\.(?:md|rst|adoc|txt))\b", re.IGNORECASE)


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE | re.VERBOSE)


_EDGES: tuple[tuple[re.Pattern[str], EdgeRelation, DecisionRule], ...] = (
    (_compiled(_REVERTS), "supersedes", "reverted"),
    (_compiled(_SUPERSEDED), "superseded_by", "superseded"),
    (_compiled(_SUPERSEDES), "supersedes", "superseded"),
)
_RULES: tuple[tuple[re.Pattern[str], DecisionRule], ...] = (
    (_compiled(_REVERT_TITLE), "reverted"),
    (_compiled(_DECLINED), "declined"),
    (_compiled(_DECIDED), "decided"),
)
_EDGE_RULES = tuple((pattern, rule) for pattern, _, rule in _EDGES)
# One of these stands in every sentence that a rule knows; looking for them takes a hundredth of the patterns' time.
_KEYS = (
    "decid", "decision", "agreed", "settled", "conclud", "resolved", "voted", "chose", "opted", "went", "going", "let",
    "we'll", "we\u2019ll", "we will", "fix", "won't", "won\u2019t", "not", "clos", "scope", "intend", "design", "plan",
    "want", "superse", "replace", "obsolete", "favo", "successor", "revert",
)  # fmt: skip
_REASONS, _UNDECIDED = _compiled(_REASON), _compiled(_OPEN)
_END = re.compile(r"(?<=[.!?])[\"\u201d\u2019)*_]{0,3}\s+(?=[^\s])")
_LIST_ITEM = re.compile(r"\A\s{0,3}(?:[-*+]|\d{1,3}[.)])\s")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s")
_NO_PROSE = re.compile(r"\s{4}|\t|\s{0,3}[>|]")
_FENCE = re.compile(r"\s{0,3}(?:```|~~~)")


class Sentence(NamedTuple):
    """A sentence and its lines, both counted from 1 and both included."""

    text: str
    first: int
    last: int


class DecisionEdge(NamedTuple):
    """What a sentence says of another decision. `target`: `#12`, `!34`, what a commit begins with, a file's name."""

    relation: EdgeRelation
    target: str


class Statement(NamedTuple):
    """A sentence that decides something, by which rule, and what it replaces."""

    rule: DecisionRule
    sentence: Sentence
    edges: tuple[DecisionEdge, ...] = ()


def find_statements(lines: Sequence[str], first: int, last: int) -> Iterator[Statement]:
    """Yield the sentences of these lines that decide something, in their order."""
    for sentence in split_sentences(lines, first, last):
        found = read_statement(sentence)
        if found:
            yield found


def read_statement(sentence: Sentence) -> Statement | None:
    """Return what a sentence decides; None for one that decides nothing."""
    lowered = sentence.text.lower()
    if not any(word in lowered for word in _KEYS):
        return None
    edges = find_edges(sentence.text)
    either = _EDGE_RULES if edges else _RULES
    rule = next((rule for pattern, rule in either if pattern.search(sentence.text)), None)
    return None if rule is None or _UNDECIDED.search(sentence.text) else Statement(rule, sentence, edges)


def find_reason(lines: Sequence[str], first: int, last: int) -> Sentence | None:
    """Return the first sentence that gives a reason; None where none does."""
    return next(
        (
            one
            for one in split_sentences(lines, first, last)
            if _REASONS.search(one.text) and not one.text.rstrip().endswith("?")
        ),
        None,
    )


def find_edges(text: str) -> tuple[DecisionEdge, ...]:
    """Return what a sentence says it replaces, or is replaced by: "reverts #12", "superseded by 0005-locks.md"."""
    found = [
        DecisionEdge(relation, target) for pattern, relation, _ in _EDGES for target in _targets(pattern, text)
    ]  # fmt: skip
    return tuple(dict.fromkeys(found))


def _targets(pattern: re.Pattern[str], text: str) -> list[str]:
    return [target for match in pattern.finditer(text) if (target := read_target(match["target"]))]


def read_target(word: str) -> str:
    """Return what a word names that can be decided: "#12", "acme/web!12", "1a2b3c4", "0005-locks.md"; else ""."""
    if number := _NUMBER.match(word):
        return f"{number[1].lower()}{number[2]}{int(number[3])}"
    if word.startswith("http"):
        return _read_page(word.rstrip(".,;:!?)>]*_`"))
    if sha := _SHA.match(word):
        return sha[1]
    record = _RECORD.match(word)
    return record[1].rpartition("/")[2].lower() if record else ""


def _read_page(url: str) -> str:
    try:
        page = page_in_url(url)
    except ValueError:  # what only begins like an address
        return ""
    return f"{page[0].lower()}{'!' if page[1] == 'change' else '#'}{page[2]}" if page else ""


def split_sentences(lines: Sequence[str], first: int, last: int) -> Iterator[Sentence]:
    """Yield the sentences that somebody wrote in these lines: no quotes, no code, no tables, no comments."""
    for paragraph in _paragraphs(lines, first, last):
        text = " ".join(line for _, line in paragraph)
        starts, at = [], 0
        for number, line in paragraph:
            starts.append((at, number))
            at += len(line) + 1
        for begin, end in _spans(text):
            cut = _LIST_ITEM.sub("", text[begin:end], count=1).strip()
            cut = cut if len(cut) <= MAX_SENTENCE else cut[:MAX_SENTENCE].rsplit(" ", 1)[0]
            if cut:
                start = text.index(cut, begin)
                yield Sentence(cut, _line_at(starts, start), _line_at(starts, start + len(cut) - 1))


def _spans(text: str) -> Iterator[tuple[int, int]]:
    begin = 0
    for end in _END.finditer(text):
        yield begin, end.end()
        begin = end.end()
    yield begin, len(text)


def _line_at(starts: list[tuple[int, int]], at: int) -> int:
    return max((number for start, number in starts if start <= at), default=starts[0][1])


def _paragraphs(lines: Sequence[str], first: int, last: int) -> Iterator[list[tuple[int, str]]]:
    """Yield lines with their numbers that belong together."""
    found: list[tuple[int, str]] = []
    size, is_code, is_comment = 0, False, False
    for number in range(first, last + 1):
        line = lines[number - 1]
        if _FENCE.match(line):
            is_code = not is_code
            line = ""
        line, is_comment = _without_comment(line, is_comment=is_comment)
        is_text = not is_code and line.strip() and not _NO_PROSE.match(line)
        is_alone = _HEADING.match(line) is not None
        is_new = not is_text or is_alone or _LIST_ITEM.match(line) or size > _MAX_PARAGRAPH
        if is_new and found:
            yield found
            found, size = [], 0
        if is_text:
            found.append((number, line.strip()))
            size += len(line)
        if is_text and is_alone:
            yield found
            found, size = [], 0
    if found:
        yield found


def _without_comment(line: str, *, is_comment: bool) -> tuple[str, bool]:
    """Return a line without what stands in `<!-- -->`, and whether such a comment is still open."""
    kept = ""
    while line:
        if is_comment:
            _, end, line = line.partition("-->")
            is_comment = not end
        else:
            before, begin, line = line.partition("<!--")
            kept += before
            is_comment = bool(begin)
    return kept, is_comment
