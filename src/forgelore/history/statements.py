"""Project decisions in text: sentences by which somebody decides, declines, replaces or takes back, or gives a reason.

    decided      "We decided to keep the old format."      superseded   "Superseded by #12."
    declined     "Closing this as out of scope."           reverted     "This reverts commit 1a2b3c4."
    merged       "This drops …, because …"                 of a change that was discussed and merged
    (a reason: "… because locks are per process." decides nothing by itself)

Rules alone, for English. They rather miss a decision than make one up: questions, conditions and proposals are no
decisions, nor is what stands in quotes, code, tables or comments of templates. A sentence may run over lines.

Decision records: files that a project keeps its decisions in (ADRs), and what such a file decides.

    docs/adr/0005-locks.md        # 5. Locks are files
                                  Status: superseded by [0009](0009-leases.md)
                                  ## Decision
                                  We use files as locks, because ...

Known by their folder or name. What is quoted is the first sentence below the heading of the decision (or behind
"**Choice.**"), else the title.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from forgelore.text.refs import page_in_url

DecisionRule = Literal["decided", "declined", "superseded", "reverted", "merged", "record", "model"]
EdgeRelation = Literal["supersedes", "superseded_by"]
MAX_SENTENCE = 400  # characters that are quoted
_MAX_PARAGRAPH = 8_000

_ACTS = r"(?:fix|implement|support|merge|accept|add|do|change|ship|take|keep|allow|pursue|backport|be\s+\w+(?:ed|ing))"
_DECIDED = r"""
    \b(?:we|team|maintainers|committee)(?:['\u2019]ve|\s+have|\s+all)?(?:\s+(?:now|just|finally|already|both))?
      \s+(?:decided|agreed|settled\s+on|concluded|resolved\s+to|voted|chose|opted|went\s+with)\b
    | \bi(?:['\u2019]ve|\s+have)?(?:\s+(?:now|finally))?\s+(?:decided|settled\s+on)\b
    | \bit\s+(?:was|is|has\s+been)\s+(?:decided|agreed)\b
    | \b(?:the|our|final|my)\s+decision\s+(?:is|was)\b | \A\W*(?:final\s+)?decision\s*:
    | \bchosen\s+option\s*:
    | \blet['\u2019]?s
      \s+(?:go\s+with|keep|drop|use|stick|remove|deprecate|support|adopt|switch|ship|not\s+(?!forget|keep))\b
    | \bwe(?:['\u2019]ll|\s+will|['\u2019]re\s+going\s+to|\s+are\s+going\s+to)
      \s+(?:go\s+with|keep|drop|stick|remove|deprecate|support|adopt|switch)\b
    | \b(?:i['\u2019]m|we['\u2019]re|i\s+am|we\s+are)\s+going\s+with\b
"""
_DECLINED = rf"""
    \bwon['\u2019]?t\s?fix\b | \bwill\s+not\s+(?:be\s+)?(?:fix|implement|support|merge|accept|backport)(?:ed|d)?\b
    | \b(?:we|i)\s+(?:won['\u2019]t\s+{_ACTS}|are\s+not\s+going\s+to\s+{_ACTS})\b
    | \b(?:we|i)\s+do(?:n['\u2019]t|\s+not)\s+(?:want|plan|intend)\s+to\s+{_ACTS}\b
    | \bclos(?:ing|ed)\s+(?:this\s+|it\s+)?(?:as|because|since|due\s+to|in\s+favou?r)\b
    | \A\W*closing\b(?!\s+and)(?=.{{12}})
    | \b(?:going\s+to|i['\u2019]ll|i\s+will|i['\u2019]m|let['\u2019]?s)\s+clos(?:e|ing)\s+(?:this|it|the)\b
    | \b(?:is|as|are)\s+out\s+of\s+scope\b | \bworking\s+as\s+intended\b | \b(?:is|as)\s+by\s+design\b
    | \bnot\s+planned\b | \bno\s+plans?\s+to\b
    | \A\W*(?:concept\s+|approach\s+)?(?-i:NACK)\b(?=.{{12}})
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
    | \b(?:propos(?:e|al|ing)|suggest(?:ion|ing)?|maybe|perhaps|probably
      |i\s+(?:guess|think|believe)|i['\u2019]d|would\s+be)\b
    | :\W*\Z | \A\(
"""
_CHANGING = r"""
    remov|drop|deprecat|disabl|enabl|switch|replac|requir|enforc|introduc|allow|prevent|reject|refus|forbid|limit|restrict
    |increas|decreas|reduc|lower|rais|chang|mov|stop|mak|us|add|split|merg|renam|return|treat|ignor|skip|default|convert
    |stor|keep|creat|separat|expos|giv|pass|check|fix|implement|avoid|clean|extend|support|refus|send|relay|delay|refactor
"""
_NOUN = r"(?:pr|pull(?:\s*-?request)?|change(?:s|set)?|commits?|patch(?:es|set)?|series|mr|branch|fix)"
_CHOICE = rf"""
    \b(?:instead\s+of|rather\s+than|no\s+longer|in\s+favou?r\s+of|from\s+now\s+on|by\s+default|not\s+\w+\s+any\s?more)\b
    | \b(?:this|(?:this|the|these)\s+{_NOUN})\s+(?:also\s+|now\s+|therefore\s+|simply\s+)?(?:{_CHANGING})\w*
    | \A\W*(?:{_CHANGING})(?:e|es|s|ed|d|p|ps|ping|pped)?\s+\w
    | \b(?:we|i)\s+(?:now|also|therefore|have|want\s+to)\s+(?:{_CHANGING})\w*
    | \bso\s+(?:this|we|i)\s+(?:now\s+)?(?:{_CHANGING})\w*
"""
_STRONG = r"""
    \b(?:instead\s+of|rather\s+than|no\s+longer|in\s+favou?r\s+of|by\s+default|remov\w+|drop\w*|deprecat\w+|disabl\w+
    |enforc\w+|requir\w+|reject\w*|replac\w+|switch\w*|never|must)\b
"""
_ASIDE = r"""
    \A\W*(?:currently|previously|right\s+now|at\s+the\s+moment|before\s+this|todo|wip|note|edit|update|fix(?:es)?\s+\#
      |clos\w+\s+\#|see\b|depends\b|based\s+on|rebased|suggested|ping\b|tested\b|ack\b|utack\b|thanks|to\s+test
      |steps\b|this\s+is\s+(?:a|an|the|just)\b|alternative)
    | \b(?:not\s+sure|unsure|untested|feedback|comments?\s+welcome|opinions?|discuss|todo|wip|would|could|might
      |review\w*|(?:first|second|third|last|other|two|three)\s+commits?|rebase\w*|squash\w*|travis|previous\s+version
      |force.?push\w*|cherry.?pick\w*|typos?|whitespace|follow.?up)\b
"""
_NUMBER = re.compile(r"[(\[*_`]{0,2}((?:[\w.-]{1,80}/){0,8}(?:[\w.-]{1,80})?)([#!])(\d{1,9})\b")
_SHA = re.compile(r"[(\[*_`]?([0-9a-f]{7,40})(?![\w/-])")
_RECORD = re.compile(r"\[?(?:[^\]]{0,200}\]\()?(?:\./)?([\w./-]{1,200}\.(?:md|rst|adoc|txt))\b", re.IGNORECASE)


# Housekeeping: something was done, repeats something or went quiet. Nobody decided anything by closing it.
_DONE = r"""
    \b(?:(?:has|have|was|were|is|been|got|now)\s+(?:now\s+|already\s+|been\s+){0,3}
        (?:merged|fixed|resolved|addressed|solved|implemented|done|disabled|stabili[sz]ed|landed|released|gives?)
    | it['\u2019]s\s+(?:fixed|done)|as\s+complete\w*|per\s+the\s+above|since\s+been|not\s+(?:going\s+to\s+)?clos\w+
    | fixed\s+(?:in|by|with)|as\s+fixed|no\s+longer\s+publicly|(?:after|with|via)\s+\#\d+
    | work(?:s|ing)\s+(?:now|today|fine|for\s+me)
    | nothing\s+(?:left\s+)?to\s+(?:be\s+done|do)|any\s?more|outdated|obsolete|old\s+(?:build|issue)|caused\s+by
    | inactiv\w+|stale|lack\s+of|no\s+(?:response|reply|activity|feedback|longer\s+(?:seems|an\s+issue))
    | dup(?:e|licate)?s?\s+of|as\s+(?:a\s+)?dup\w*|consolidat\w+|re-?open|reproduc\w+|more\s+information)\b
"""


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
    "want", "nack", "superse", "replace", "obsolete", "favo", "successor", "revert",
)  # fmt: skip
_REFUSING = re.compile(
    r"(?i)\b(?:clos\w+|not|no|\w+n['\u2019]t|nack|instead|reject\w*|unneeded|unnecessary|prefer\w*|against|never|out)\b"
)
_REASONS, _UNDECIDED, _HOUSEKEEPING = _compiled(_REASON), _compiled(_OPEN), _compiled(_DONE)
_CHOICES, _STRONG_CHOICES, _ASIDES = _compiled(_CHOICE), _compiled(_STRONG), _compiled(_ASIDE)
_NO_CHOICE = re.compile(r"\(|\[[ xX]\]|[-*+]\s|\s{0,3}#{1,6}\s")  # an aside, a task, a heading
_MIN_WORDS = 6
_SMALL = re.compile(
    r"(?i)\b(?:tests?|docs?|typos?|renam\w+|refactor\w*|clean-?\s?up|move-?only|scripted-diff|style|lint|nits?|comments?)\b"
)
_MIN_CHOICE, _MAX_CHOICE = 35, 360  # characters of a sentence that says what a change does
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
    if rule is None or _UNDECIDED.search(sentence.text):
        return None
    is_housekeeping = rule == "declined" and _HOUSEKEEPING.search(sentence.text)
    return None if is_housekeeping else Statement(rule, sentence, edges)


def find_reason(lines: Sequence[str], first: int, last: int, *, is_closing: bool = False) -> Sentence | None:
    """Return the first sentence that gives a reason; None where none does. `is_closing`: a reason to decline
    something, and not that it was done.
    """
    return next(
        (
            one
            for one in split_sentences(lines, first, last)
            if _REASONS.search(one.text)
            and not one.text.rstrip().endswith(("?", ":"))
            and not _HEADING.match(one.text)
            and not (is_closing and not _declines(one.text))
        ),
        None,
    )


def _declines(text: str) -> bool:
    """Whether a reason, said while something is closed, is one against it: not that it was done, and no guess."""
    return bool(_REFUSING.search(text)) and not _HOUSEKEEPING.search(text) and not _UNDECIDED.search(text)


def find_choice(lines: Sequence[str], first: int, last: int, title: str) -> tuple[Sentence, float] | None:
    """Return the sentence that says best what a change chooses, and how plainly it does, from about 1; None where none
    does. It is the likelier one the more it speaks of what the title names; the title itself is none, nor are headings,
    what describes the state before, asides, and what ends in a colon.
    """
    named = _roots(title)
    best: tuple[Sentence, float] | None = None
    for at, one in enumerate(split_sentences(lines, first, last)):
        text = one.text.strip()
        said = _roots(text)
        is_sentence = _MIN_CHOICE <= len(text) <= _MAX_CHOICE and len(text.split()) >= _MIN_WORDS and said != named
        if not is_sentence or _NO_CHOICE.match(text) or "~~" in text or not _CHOICES.search(text):
            continue
        if _ASIDES.search(text) or _UNDECIDED.search(text):
            continue
        is_ended = text.rstrip('*_)"`').endswith((".", "!"))
        is_listed = _LIST_ITEM.match(lines[one.first - 1]) is not None
        plain = 1.0 + 0.7 * bool(_STRONG_CHOICES.search(text)) + 0.7 * bool(_REASONS.search(text)) + 0.5 * is_ended
        plain += len(named & said) / (len(named) or 1) - 0.7 * is_listed - 0.1 * min(at, 10)
        if best is None or plain > best[1]:
            best = one, plain
    return best


def is_small(title: str) -> bool:
    """Whether a title speaks of tests, words, names or tidying: people rarely call that a decision."""
    return _SMALL.search(title) is not None


def _roots(text: str) -> frozenset[str]:
    """Return the beginnings of the longer words: "removes" and "Removed" are the same word here."""
    return frozenset(word[:5] for word in re.findall(r"[a-z0-9]{4,}", text.lower()))


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
            whole = _LIST_ITEM.sub("", text[begin:end], count=1).strip()
            cut = whole if len(whole) <= MAX_SENTENCE else whole[:MAX_SENTENCE].rsplit(" ", 1)[0]
            if cut:
                start = text.index(cut, begin)
                shown = cut if cut == whole else f"{cut} …"
                yield Sentence(shown, _line_at(starts, start), _line_at(starts, start + len(cut) - 1))


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


_RECORD_PATH = re.compile(
    r"(?:\A|/)(?:adrs?|decisions|decision-records|architecture-decisions|rfcs?)/(?!readme|index|template)[^/]+\.(?:md|rst|adoc|txt)\Z"
    r"|(?:\A|/)adr-?\d+[^/]*\.(?:md|rst|adoc|txt)\Z",
    re.IGNORECASE,
)
_DECIDING = re.compile(
    r"\A[#=*_\s]{0,8}(?:\d{1,2}[.)]\s*)?(?:decision|choice|resolution)(?:\s+outcome)?\b", re.IGNORECASE
)
_BOLD = re.compile(r"\A\*\*[^*]{1,40}\*\*\s*")
_STATUS_LINES = 40  # within which a record says what became of it
_DATE = re.compile(r"\b(?:19|20)\d\d-\d\d-\d\d\b")


class DecisionRecord(NamedTuple):
    """What a file decides: the sentence to quote, what it replaces or is replaced by, and the day it names."""

    title: str
    sentence: Sentence
    edges: tuple[DecisionEdge, ...]
    day: str


def is_record(path: str) -> bool:
    """Whether a file is a decision record, by its path."""
    return _RECORD_PATH.search(path) is not None


def read_record(lines: Sequence[str]) -> DecisionRecord | None:
    """Return what a record decides; None for a file without a word."""
    title = next((number for number, line in enumerate(lines, 1) if line.strip("#=-* \t")), 0)
    if not title:
        return None
    named = Sentence(lines[title - 1].strip("#=* \t"), title, title)
    head = lines[:_STATUS_LINES]
    edges = tuple(dict.fromkeys(edge for line in head for edge in find_edges(line)))
    day = next((found[0] for line in head if (found := _DATE.search(line))), "")
    return DecisionRecord(named.text, _find_decision(lines) or named, edges, day)


def _find_decision(lines: Sequence[str]) -> Sentence | None:
    for number, line in enumerate(lines, 1):
        if _DECIDING.match(line):
            bold = _BOLD.match(line)
            first = number if bold and line[bold.end() :].strip() else number + 1
            found = next((one for one in split_sentences(lines, first, len(lines)) if _says(one.text)), None)
            if found:
                return found
    return None


def _says(text: str) -> bool:
    """Whether a sentence is more than a heading such as "**Choice.**"."""
    return len(_BOLD.sub("", text).strip("#*= ")) > 3
