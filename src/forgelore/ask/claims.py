"""The sentences of an answer that claim something, and whether the citations they rest on are true.

    prose           a sentence, with the marks behind its full stop; `e.g.`, `v1.2`, `foo.py` and `J. Smith` end none
    list            each item by itself
    table           each row but the head; code, and what is quoted, each as one
    a sentence      that ends with a colon rests on its own marks, or on what it introduces, where all of that holds
    a heading       of a few words claims nothing; a long one is a sentence like any other

Code, quotes and rows without a mark of their own take those of the sentence with a colon above them, or of a line below
them that has nothing but marks. A sentence that says only what the history lacks needs no citation.

A citation is *found* when its quote stands in the lines it names, and *moved* when it stands elsewhere in the same item
(then it gets the right lines). Otherwise it proves nothing (`ask/quotes` says when). A claim is checked when one of its
citations was found or moved: somebody wrote this. It need not be true, nor need the claim follow from it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from forgelore.ask.quotes import find_evidence
from forgelore.ask.tool_calls import ClaimedCitation

CitationStatus = Literal[
    "found",
    "moved",
    "no_quote",
    "quote_not_found",
    "negated",
    "not_evidence",
    "no_such_lines",
    "no_such_item",
    "malformed",
]
MIN_QUOTE = 8  # letters and digits of a quote that is worth looking for
_SLACK = 2  # lines around the named ones in which a quote may stand
_MAX_SOURCE = 600  # characters that are kept of the lines where a quote stands
_WORDS = re.compile(r"\w+", re.UNICODE)


class CheckedCitation(NamedTuple):
    """A citation of an answer. Lines are those where the quote stands, where it does; `url` leads to
    the comment or the line of code, or else to the page of the item.
    `quote` is what the model wrote, `source` what these lines say.
    """

    number: int
    id: str
    first_line: int
    last_line: int
    quote: str
    status: CitationStatus
    title: str = ""
    url: str | None = None
    hash: str = ""  # of the version of the item that was read
    source: str = ""

    @property
    def is_good(self) -> bool:
        return self.status in ("found", "moved")


class Claim(NamedTuple):
    """A sentence of an answer, the numbers of its citations, and whether one of them holds. `bad`: those that do not.
    `is_absence`: it only says that the history does not say, or what was looked for, and needs no citation.
    """

    text: str
    citations: tuple[int, ...]
    is_checked: bool
    bad: tuple[int, ...] = ()
    is_absence: bool = False


class CitedText(NamedTuple):
    """What a citation points to, as the store has it now. `written`: the first and the last line of what each person
    wrote, in order; nothing: every line is. `code_path`: it is a file of code.
    """

    title: str
    url: str | None
    lines: Sequence[str]
    hash: str
    written: tuple[tuple[int, int], ...] = ()
    code_path: str = ""


def check_citation(number: int, said: ClaimedCitation, source: CitedText | None) -> CheckedCitation:
    """Return a citation with what became of it; `source` is None where there is no such item."""
    if said.problem:
        return CheckedCitation(number, said.id, said.first_line, said.last_line, said.quote, "malformed")
    if source is None:
        return CheckedCitation(number, said.id, said.first_line, said.last_line, said.quote, "no_such_item")
    checked = CheckedCitation(
        number, said.id, said.first_line, said.last_line, said.quote, "no_quote", source.title, source.url, source.hash
    )
    place = find_evidence(
        source.lines, said.quote, (said.first_line, said.last_line), written=source.written, title=source.title,
        code_path=source.code_path,
    )  # fmt: skip
    if place is None:
        is_outside, letters = said.last_line > len(source.lines), sum(map(len, _words(said.quote)))
        missing: CitationStatus = "no_such_lines" if is_outside else "quote_not_found"
        return _with_source(checked._replace(status="no_quote" if letters < MIN_QUOTE else missing), source)
    is_near = said.first_line - _SLACK <= place.last and place.first <= said.last_line + _SLACK
    status: CitationStatus = ("found" if is_near else "moved") if place.worth == "good" else place.worth
    return _with_source(checked._replace(status=status, first_line=place.first, last_line=place.last), source)


def _with_source(checked: CheckedCitation, source: CitedText) -> CheckedCitation:
    """Return a citation with what its lines say."""
    said = "\n".join(source.lines[checked.first_line - 1 : checked.last_line])
    return checked._replace(source=said if len(said) <= _MAX_SOURCE else said[:_MAX_SOURCE] + "…")


def find_quote(lines: Sequence[str], quote: str) -> tuple[int, int] | None:
    """Return the first and the last line of a quote; None where it stands nowhere. It may run over lines; blanks,
    capitals and punctuation at its ends do not matter, but no word may be left out.
    """
    wanted = _words(quote)
    if not wanted:
        return None
    words: list[str] = []
    line_of: list[int] = []
    for number, line in enumerate(lines, 1):
        found = _words(line)
        words += found
        line_of += [number] * len(found)
    at = -1
    while True:
        try:
            at = words.index(wanted[0], at + 1)
        except ValueError:
            return None
        if words[at : at + len(wanted)] == wanted:
            return line_of[at], line_of[at + len(wanted) - 1]


def _words(text: str) -> list[str]:
    return _WORDS.findall(text.casefold())


_NUMBERS = r"\d{1,3}(?:\s*[,;\u2013-]\s*\d{1,3})*"
_ONE_MARK = rf"(?:\[\^?{_NUMBERS}\]|\u3010{_NUMBERS}\u3011)"
MARK = re.compile(rf"\[\^?({_NUMBERS})\]|\u3010({_NUMBERS})\u3011")
_MARKS_LINE = re.compile(rf"\s*{_ONE_MARK}(?:[\s,]*{_ONE_MARK})*\.?\s*\Z")
_END = re.compile(
    rf"(?<![.!?\u2026])[.!?\u2026]+[\"'\u201d\u2019)*_]*(?:[ \t]*{_ONE_MARK})*(?=\s|\Z)"
    rf"|[\u3002\uff01\uff1f\uff61\u0964\u061f]+[\u300d\u300f\u201d\uff09]*(?:[ \t]*{_ONE_MARK})*"
)
_FENCE = re.compile(r"\s*(```|~~~)")
_ITEM = re.compile(r"\s*(?:[-*+\u2022]|\d{1,3}[.)])\s+")
_HEADING = re.compile(r"\s*(?:#{1,6}\s+(\S.*)|\*\*([^*]+)\*\*:?\s*\Z)")
_SEPARATOR = re.compile(r"(?=.*--)[\s|:-]+\Z")
_CODE_SPAN = re.compile(r"`[^`\n]+`")
_NEXT = re.compile(r"\s*(\S?)")
_HEADING_WORDS = 6
_MAX_INTRODUCED = 200  # parts of a list below one sentence; a longer one proves nothing for it
_MAX_ABBREVIATION = 20  # characters
_WRAPPED = 40  # characters of a line that goes on in the next one
_ALWAYS = frozenset((
    "e.g", "i.e", "eg", "ie", "vs", "cf", "approx", "fig", "dr", "mr", "mrs", "ms", "prof", "resp", "incl", "excl",
    "ca", "viz", "z.b", "d.h", "bzw", "a.k.a",
))  # fmt: skip
_MAYBE = frozenset((
    "etc", "no", "nr", "inc", "ltd", "max", "min", "al", "sec", "st", "vol", "ver", "jr", "sr", "u.s", "est", "p", "pp",
))  # fmt: skip

_PLACE = (
    r"(?:the |this |its |our )?(?:(?:stored|project'?s?|available|recorded) )*(?:history|records?|tracker|issues?"
    r"|database|repository|discussions?|sources?|items?|documents?|threads?|archive|material)"
    r"(?:,? (?:and|or|nor) (?:the )?[a-z]+){0,3}"
    r"(?: (?:that )?i (?:have )?(?:read|found|searched))?(?: of (?:this|the) project)?"
)
_SAYS = r"(?:say|mention|state|explain|contain|record|show|describe|tell|specify|cover|include|discuss|answer|give)"
_THING = r"no (?:mention|record|evidence|information|explanation|reason|answer|issue|discussion|item|statement)s?"
_ABSENCE = tuple(
    re.compile(pattern + r"\Z")
    for pattern in (
        rf"{_PLACE} (?:does not|do not|doesn't|don't|never|did not|didn't) {_SAYS}s?\b.*",
        rf"(?:nothing|{_THING})(?: in {_PLACE})? (?:{_SAYS}s?|was found|were found|could be found|is recorded)\b.*",
        r"i (?:could not|couldn't|did not|didn't|cannot|can't|was unable to) (?:find|see|locate)\b.*",
        r"i (?:have )?found (?:no|nothing)\b.*",
        rf"there (?:is|are|was|were) (?:no|nothing)\b.* in {_PLACE}",
        rf"(?:it|that|this) is (?:not|never) (?:said|mentioned|recorded|stated|documented|explained)(?: in {_PLACE})?",
        r"i (?:have )?(?:looked|searched|checked)\b.*",
        r"(?:项目|项目的|專案)?(?:历史|歷史)(?:记录|記錄)?[中里裡]?(?:没有|沒有|未|并未|並未).{0,40}",
        r"履歴に(?:は)?.{0,40}(?:ありません|見つかりません|書かれていません)",
        r"die (?:historie|geschichte) (?:sagt|enthält|erwähnt|nennt)\b.{0,100}\b(?:nichts|nicht|keine?n?)\b.{0,60}",
        r"l'historique ne (?:dit|mentionne|contient|précise)\b.{0,100}",
        r"el historial no (?:dice|menciona|contiene|explica)\b.{0,100}",
    )
)
# What could bring in a second statement, which would then need a citation.
_MORE = re.compile(
    r"\b(?:but|however|although|though|because|since|so|therefore|yet|except|instead|actually|probably|likely"
    r"|presumably|which|whereas|while|only|aber|sondern|weil|mais|parce|pero|porque)\b"
    r"|[;:\u2014\u2013\uff0c\uff1b\uff1a\u3001]| - |但"
    r"|,? and (?!why\b|how\b|when\b|what\b|who\b|where\b|whether\b|i (?:looked|searched|found no)\b)"
)
_MAX_ABSENCE = 300


class _Piece(NamedTuple):
    """A part of the text: its kind (sentence, heading, block, row, marks), and where it stands."""

    kind: str
    start: int
    end: int
    is_item: bool = False


def split_claims(text: str, citations: Sequence[CheckedCitation]) -> list[Claim]:
    """Return the claims of an answer, in order, each a part of its text, with what each rests on."""
    good = {one.number for one in citations if one.is_good}
    pieces = _join_marks(text, list(_pieces(text)))
    claims: list[Claim | None] = []
    above: tuple[int, ...] = ()  # the marks of a sentence with a colon, while what stands below it takes them
    for piece in pieces:
        introduced_by, above = above, _numbers_below(text, piece, above)
        said = text[piece.start : piece.end]
        plain = MARK.sub("", said).strip()
        if not re.search(r"\w", plain) or (piece.kind == "heading" and _is_short(plain)):
            claims.append(None)
            continue
        numbers = list_numbers(said) if piece.kind != "code" else list_numbers(said[said.rfind("\n") :])
        if not numbers and piece.kind in ("code", "block", "row"):
            numbers = introduced_by
        bad = tuple(number for number in numbers if number not in good)
        is_checked = len(bad) < len(numbers)
        claims.append(Claim(said.strip(), numbers, is_checked, bad, not is_checked and says_nothing(plain)))
    for at in range(len(pieces) - 1, -1, -1):  # from below: what is introduced may introduce something itself
        claim = claims[at]
        if claim and not claim.is_checked and _is_lead(text, pieces[at]):
            below = [claims[index] for index in _introduced(text, pieces, at)]
            if below and all(one is None or one.is_checked or one.is_absence for one in below) and any(below):
                numbers = tuple(dict.fromkeys(number for one in below if one for number in one.citations))
                claims[at] = claim._replace(citations=(*claim.citations, *numbers), is_checked=True)
    return [claim for claim in claims if claim]


def list_numbers(text: str) -> tuple[int, ...]:
    """Return the numbers of the marks in a text; those in code are none. "so [1-3], [5; 7]" -> 1, 2, 3, 5, 7"""
    found: list[int] = []
    for mark in MARK.finditer(_mask(text)):
        for part in re.split(r"\s*[,;]\s*", mark[1] or mark[2]):
            low, *high = (int(number) for number in re.split(r"\s*[\u2013-]\s*", part))
            last = high[-1] if high else low
            found += range(low, last + 1) if low <= last <= low + 100 else [low, *high]
    return tuple(dict.fromkeys(found))


def find_marks(text: str) -> list[tuple[int, int]]:
    """Return where the marks of a text stand; those in code are none."""
    return [mark.span() for mark in MARK.finditer(_mask(text))]


def says_nothing(sentence: str) -> bool:
    """Whether a sentence says only that the history does not say, or what was looked for."""
    plain = re.sub(
        r"[\"\u201c\u201d`][^\"\u201c\u201d`\n]{0,60}[\"\u201c\u201d`]", "it", sentence.replace("\u2019", "'")
    )
    item = _ITEM.match(plain)
    plain = " ".join(plain[item.end() if item else 0 :].casefold().strip(" *_.!\u3002\n").split())
    is_looking = re.match(r"i (?:have )?(?:looked|searched|checked)\b", plain)
    more = (
        re.search(r"\b(?:but|however|because|which|so)\b|[;:]", plain)
        if is_looking
        else _MORE.search(re.sub(rf"\A{_PLACE} ", "", plain))
    )
    return len(plain) <= _MAX_ABSENCE and not more and any(pattern.match(plain) for pattern in _ABSENCE)


def _is_short(heading: str) -> bool:
    return len(re.findall(r"\w+", heading)) <= _HEADING_WORDS


def _is_lead(text: str, piece: _Piece) -> bool:
    said = MARK.sub("", text[piece.start : piece.end]).rstrip(" \n*_")
    return piece.kind in ("sentence", "heading") and said.endswith((":", "\uff1a"))


def _introduced(text: str, pieces: Sequence[_Piece], at: int) -> list[int]:
    """Return which pieces a sentence with a colon introduces: a list, rows, blocks, or the one sentence below it."""
    found: list[int] = []
    for index in range(at + 1, len(pieces)):
        piece = pieces[index]
        is_part = piece.is_item or piece.kind in ("code", "block", "row")
        if piece.kind == "heading" or (found and not is_part):
            break
        found.append(index)
        if len(found) > _MAX_INTRODUCED:
            return []
        if not is_part and not _is_lead(text, piece):
            break
    return found


def _numbers_below(text: str, piece: _Piece, above: tuple[int, ...]) -> tuple[int, ...]:
    """Return the marks that code, a quote or a row right below a piece takes; rows hand on what they take."""
    if _is_lead(text, piece):
        return list_numbers(text[piece.start : piece.end])
    return above if piece.kind == "row" else ()


def _join_marks(text: str, pieces: list[_Piece]) -> list[_Piece]:
    """Return the pieces; a line with nothing but marks belongs to what stands above it."""
    joined: list[_Piece] = []
    for piece in pieces:
        if joined and joined[-1].kind != "heading" and _MARKS_LINE.match(text[piece.start : piece.end]):
            joined[-1] = joined[-1]._replace(end=piece.end)
        else:
            joined.append(piece)
    return joined


def _pieces(text: str) -> Iterator[_Piece]:
    """Yield the parts of a text in their order: blocks line by line, paragraphs sentence by sentence."""
    lines, at = [], 0
    for line in text.split("\n"):
        lines.append((at, line))
        at += len(line) + 1
    index, start, before = 0, -1, ""
    while index < len(lines):
        offset, line = lines[index]
        kind, taken = _kind_of(lines, index)
        is_going_on = kind == "text" and start >= 0 and _goes_on(before)
        if start >= 0 and not is_going_on:
            yield from _sentences(text, start, offset - 1)
            start = -1
        if kind in ("text", "item"):
            start, before = (start if is_going_on else offset), line
        elif kind not in ("blank", "head"):
            last, ending = lines[index + taken - 1]
            yield _Piece(kind, offset, last + len(ending))
        index += taken
    if start >= 0:
        yield from _sentences(text, start, len(text))


def _kind_of(lines: Sequence[tuple[int, str]], index: int) -> tuple[str, int]:
    """Return what begins at a line, and how many lines it takes."""
    line = lines[index][1]
    if not line.strip():
        return "blank", 1
    if fence := _FENCE.match(line):
        return "code", _count_until(lines, index, lambda text: text.strip().startswith(fence[1]), is_included=True)
    if line.lstrip().startswith(">"):
        return "block", _count_until(lines, index, lambda text: not text.lstrip().startswith(">"))
    if line.lstrip().startswith("|"):
        is_head = index + 1 < len(lines) and _SEPARATOR.match(lines[index + 1][1])
        return ("head", 2) if is_head else ("row", 1)
    if heading := _HEADING.match(line):
        return ("heading", 1) if heading[1] or _is_short(heading[2]) else ("text", 1)
    return ("item", 1) if _ITEM.match(line) else ("text", 1)


def _count_until(
    lines: Sequence[tuple[int, str]], index: int, is_end: Callable[[str], bool], *, is_included: bool = False
) -> int:
    """Return how many lines there are from one to the next that ends it, or to the last."""
    end = index + 1
    while end < len(lines) and not is_end(lines[end][1]):
        end += 1
    return min(end + is_included, len(lines)) - index


def _goes_on(line: str) -> bool:
    """Whether a line was wrapped: it is long, and does not end as a sentence or with a mark."""
    ended = MARK.sub("", line).rstrip()
    return (
        len(line) >= _WRAPPED and ended == line.rstrip() and not ended.endswith(tuple(".!?:\u3002\uff01\uff1f\uff1a"))
    )


def _sentences(text: str, start: int, end: int) -> Iterator[_Piece]:
    """Yield the sentences of a paragraph, or of an item of a list."""
    said = _mask(text[start:end])
    item = _ITEM.match(said)
    begin = 0
    for stop in _END.finditer(said, item.end() if item else 0):
        if _is_end(said, stop) and said[begin : stop.end()].strip():
            yield _Piece("sentence", start + begin, start + stop.end(), bool(item))
            begin = stop.end()
    if said[begin:].strip():
        yield _Piece("sentence", start + begin, end, bool(item))


def _is_end(said: str, stop: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence, and is not one of an abbreviation or of dots."""
    if not stop[0].startswith((".", "\u2026")) or MARK.search(stop[0]):
        return True
    following = _NEXT.match(said, stop.end())
    after = following[1] if following else ""
    if stop[0].startswith(("..", "\u2026")):
        return not after.islower()
    word = re.split(r"[\s(\[/\"'\u201c]", said[max(0, stop.start() - _MAX_ABBREVIATION) : stop.start()])[-1]
    if word.lower() in _ALWAYS or (word.lower() in _MAYBE and not after.isupper() and bool(after)):
        return False
    return not (len(word) == 1 and word.isupper() and after.isupper())


def _mask(text: str) -> str:
    """Return a text with its code out of sight, at the same length."""
    return _CODE_SPAN.sub(lambda span: "x" * len(span[0]), text)
