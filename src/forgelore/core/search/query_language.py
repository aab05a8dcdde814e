r"""The query language: what a person types, as text to search for, conditions on words, and qualifiers.

    crash on exit                text, for words and for meaning
    "connection reset"           text that must occur; a star behind it leaves the end open
    panic OR "stack overflow"    one of them must occur
    -windows  NOT Windows        must not occur: a word, -"a phrase", NOT "a phrase"
    label:bug  -author:ana       qualifiers, the filters of the command line; `qualifiers` says what they mean

What is none of these is text, as it was typed: `TypeError: x`, `std::vec`, `a - b`, `--flag`, `C:\path`, `foo:bar`.

- A qualifier is one of `NAMES`, in lower case, at the beginning of a word, with a value behind the colon: no blank, no
  second colon (`path::join`), no `//`. A value with blanks is quoted. `repo:owner/name` is GitHub's name of `project:`.
- Qualifiers that GitHub knows and this search does not (`FOREIGN`) are text, and a note says so.
- A phrase begins and ends where words do: the quotes in `f("x y")` are text.
- `-word` leaves out a word of three or more lower-case letters and nothing else: `-Xmx`, `-O2`, `-rf` and `-j8` are
  text. Full text folds case, so `-windows` is enough to leave out Windows; `NOT` takes any word, and quotes any text.
- `NOT` and `OR` are operators in capitals, and text beside other capitals: `NOT NULL`, `CREATE OR REPLACE`. Between
  qualifiers of one name OR says what repeating them says already; labels and ranges must all hold, and a note says so.
- A word is left out of something: where nothing else is asked for (`-verbose`), it is text.
- More than `MAX_CHARS` characters are something pasted, and all of it is text.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

NAMES = (
    "assignee", "author", "comments", "created", "in", "is", "label", "milestone", "no", "path", "project", "sort",
    "state", "type", "updated",
)  # fmt: skip
_ANY_OF = (
    "assignee",
    "author",
    "is",
    "milestone",
    "path",
    "project",
    "state",
    "type",
)  # of several values, one is enough
FOREIGN = (
    "archived", "base", "closed", "commenter", "draft", "head", "interactions", "involves", "language", "linked",
    "mentions", "merged", "org", "reactions", "reason", "review", "review-requested", "reviewed-by", "team",
    "user",
)  # fmt: skip
MAX_CHARS = 10_000
_MIN_EXCLUDED = 3  # letters: rm -rf, ls -la
_QUOTES = '"“”„'
_SIGNS = (":", "-", *_QUOTES, "OR", "NOT")  # without one of these all is text, and no pattern need be compiled
_TOKEN = rf"""
    (?P<minus>-?)
    (?:
        (?P<name>{"|".join(NAMES)}|repo):
        (?: [{_QUOTES}](?P<quoted>[^{_QUOTES}]+)[{_QUOTES}] | (?!//)(?P<value>[^\s:{_QUOTES}]\S*) )
      | [{_QUOTES}](?P<phrase>[^{_QUOTES}]+)[{_QUOTES}](?P<star>\*?)[.,;:!?)]*
    )(?!\S)
  | (?P<word>\S+)
"""

Role = Literal["text", "phrase", "excluded", "or", "qualifier"]


class Qualifier(NamedTuple):
    """`label:"good first issue"`: a name and a value that are asked for, or left out."""

    name: str
    value: str
    is_excluded: bool = False


class Piece(NamedTuple):
    """A part of a query, as it was typed, and what it is taken for."""

    typed: str
    role: Role
    term: str = ""  # of phrases and excluded words: the same in the language of ftsquery
    qualifier: Qualifier | None = None
    is_tentative: bool = False  # a word left out, if anything else is asked for; an OR that says nothing


class TypedQuery(NamedTuple):
    """What was asked. `text` is searched by words and by meaning, with its phrases in their place."""

    text: str
    required: tuple[tuple[str, ...], ...] = ()  # of each group one must occur; words, or "phrases" in quotes
    excluded: tuple[str, ...] = ()  # none may occur
    qualifiers: tuple[Qualifier, ...] = ()
    notes: tuple[str, ...] = ()  # what may have been meant otherwise
    pieces: tuple[Piece, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether it is text and nothing else."""
        return not (self.required or self.excluded or self.qualifiers)


def parse_typed(text: str) -> TypedQuery:
    """Return what somebody asks for; every text means something.

    crash -windows label:bug  ->  text "crash", excluded "windows", the qualifier label with the value bug
    """
    if len(text) > MAX_CHARS or not any(sign in text for sign in _SIGNS):
        return TypedQuery(text)
    pieces = _settle_exclusions(_join_operators([_read_piece(match) for match in _tokens().finditer(text)]))
    kept = [piece.typed for piece in pieces if piece.role in ("text", "phrase")]
    is_plain = all(piece.role == "text" for piece in pieces)
    return TypedQuery(
        text if is_plain else " ".join(kept),
        tuple(_required(pieces)),
        tuple(piece.term for piece in pieces if piece.role == "excluded"),
        tuple(piece.qualifier for piece in pieces if piece.qualifier),
        tuple(_notes(pieces)),
        tuple(pieces),
    )


def render_typed(query: TypedQuery) -> str:
    """Return the query as it could have been typed, with one blank between its parts."""
    return " ".join(piece.typed for piece in query.pieces) if query.pieces else query.text


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(_TOKEN, re.VERBOSE)


def _read_piece(match: re.Match[str]) -> Piece:
    typed, is_excluded = match[0], bool(match["minus"])
    name, value = match["name"], match["quoted"] or match["value"]
    if value and value.strip() and (name != "repo" or "/" in value):
        name = "project" if name == "repo" else name
        return Piece(typed, "qualifier", qualifier=Qualifier(name, value.strip(), is_excluded))
    phrase = match["phrase"]
    if phrase and _has_word(phrase):
        return Piece(typed, "excluded" if is_excluded else "phrase", f'"{phrase.strip()}"{match["star"]}')
    word = typed[1:]
    if typed.startswith("-") and len(word) >= _MIN_EXCLUDED and word.isalpha() and word == word.lower():
        return Piece(typed, "excluded", word, is_tentative=True)
    return Piece(typed, "text")


def _join_operators(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with `NOT x` as one, and with every OR that joins something."""
    joined: list[Piece] = []
    at = 0
    while at < len(pieces):
        piece, following = pieces[at], pieces[at + 1] if at + 1 < len(pieces) else None
        if following and piece.typed == "NOT" and (negated := _negate(following)):
            joined.append(negated)
            at += 2
            continue
        joined.append(piece)
        at += 1
    return [_operator(joined, at) if piece.typed == "OR" else piece for at, piece in enumerate(joined)]


def _negate(piece: Piece) -> Piece | None:
    """Return a piece with NOT before it; None where that is no operator."""
    typed = f"NOT {piece.typed}"
    if piece.qualifier and not piece.qualifier.is_excluded:
        return Piece(typed, "qualifier", qualifier=piece.qualifier._replace(is_excluded=True))
    if piece.role == "phrase":
        return Piece(typed, "excluded", piece.term)
    if not _is_operand(piece) or _is_capitals(piece.typed) or piece.typed.startswith("-"):
        return None
    return Piece(typed, "excluded", _quoted(piece.typed), is_tentative=True)


def _operator(pieces: Sequence[Piece], at: int) -> Piece:
    if not 0 < at < len(pieces) - 1:
        return pieces[at]
    sides = (pieces[at - 1], pieces[at + 1])
    if any(side.qualifier for side in sides):
        return Piece("OR", "qualifier", is_tentative=not _is_repeated(*sides))
    if not all(map(_is_operand, sides)) or all(_is_capitals(side.typed) for side in sides):
        return pieces[at]
    return Piece("OR", "or")


def _is_repeated(one: Piece, other: Piece) -> bool:
    """Whether they are two values of which one is enough anyway."""
    if not (one.qualifier and other.qualifier) or one.qualifier.is_excluded or other.qualifier.is_excluded:
        return False
    return one.qualifier.name == other.qualifier.name and one.qualifier.name in _ANY_OF


def _is_operand(piece: Piece) -> bool:
    """Whether OR can join it: a phrase, or a word that full text can look for."""
    return piece.role == "phrase" or (
        piece.role == "text" and piece.typed not in ("OR", "NOT") and _has_word(piece.typed)
    )


def _settle_exclusions(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces; words that would be left out of nothing are text."""
    if any(piece.role != "text" and not piece.is_tentative for piece in pieces):
        return pieces
    if any(piece.role == "text" and _has_word(piece.typed) for piece in pieces):
        return pieces
    return [Piece(piece.typed, "text") for piece in pieces]


def _required(pieces: Iterable[Piece]) -> Iterator[tuple[str, ...]]:
    """Yield the groups of which one must occur: phrases, and what OR joins."""
    group: list[Piece] = []
    is_joined = False
    for piece in pieces:
        if piece.role == "or":
            is_joined = True
            continue
        if not is_joined:
            yield from _group_terms(group)
            group = []
        group.append(piece)
        is_joined = False
    yield from _group_terms(group)


def _group_terms(group: list[Piece]) -> Iterator[tuple[str, ...]]:
    if len(group) > 1 or (group and group[0].role == "phrase"):
        yield tuple(piece.term or _quoted(piece.typed) for piece in group)


def _notes(pieces: Sequence[Piece]) -> Iterator[str]:
    texts = [piece.typed for piece in pieces if piece.role == "text"]
    if len(pieces) > 1:
        for typed in texts:
            if typed.startswith("-") and len(typed) > 2 and typed[1:].isalpha():
                yield f"{typed} is searched for; to leave the word out, write NOT {typed[1:].lower()}"
    for name in dict.fromkeys(typed.lstrip("-").partition(":")[0] for typed in texts if ":" in typed.strip(":")):
        if name in FOREIGN:
            yield f"{name}: is no qualifier here, and is searched for as text"
    if any(piece.role == "qualifier" and piece.is_tentative for piece in pieces):
        yield "OR joins words and phrases, or values of which one is enough; beside another qualifier it says nothing"


def _quoted(word: str) -> str:
    """A word as one thing to look for, whatever signs it has: the quotes keep its parts together."""
    bare = word.strip("()")
    return f'"{bare}"' if not any(sign in bare for sign in _QUOTES) else bare


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _is_capitals(word: str) -> bool:
    return word.isupper() and sum(map(str.isalpha, word)) > 1
