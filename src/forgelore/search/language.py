r"""The query language: what a person types, as text to search for, conditions on words, and qualifiers.

    crash on exit                text, for words and for meaning
    "connection reset"           text that must occur; a star behind it leaves the end open
    panic OR "stack overflow"    one of them must occur
    panic AND linker             the same as without AND
    -windows  NOT Windows        must not occur: a word, -"a phrase", NOT "a phrase"
    label:bug  -author:ana       qualifiers, the filters of the command line; `qualifiers` says what they mean
    label:a,"b c"                one of them is enough
    created:>"3 months ago"      a comparison stands before the quotes or within; so far back needs none

What is none of these is text, as it was typed: `TypeError: x`, `std::vec`, `a - b`, `--flag`, `C:\path`, `foo:bar`.

- A qualifier is one of `NAMES`, in lower case, at the beginning of a word, with a value behind the colon: no blank, no
  second colon (`path::join`), no `//`. A value with blanks is quoted. `repo:` is GitHub's name of `project:`.
- Qualifiers that GitHub knows and this search does not (`FOREIGN`), and those without a value, are text, which is
  noted.
- There are no groups. A parenthesis around qualifiers is not part of their values, and a note says that it is ignored.
- A phrase begins and ends where words do: the quotes in `f("x y")` are text.
- `-word` leaves out a word of three or more lower-case letters and nothing else: `-Xmx`, `-O2`, `-rf` and `-j8` are
  text. Full text folds case, so `-windows` is enough to leave out Windows; `NOT` takes any word, and quotes any text.
- `-dbcache too high` means an option: `is_option` decides by how the project writes the word; it gets whether the word
  stands in a sentence: other words follow, or one such as `using` comes before. A note says what is left out, or what
  is searched for with its dash.
- `NOT`, `OR` and `AND` are operators in capitals, and text beside other capitals: `NOT NULL`, `CREATE OR REPLACE`.
  Between qualifiers of one name OR says what repeating them says already; labels and ranges must all hold, and a note
  says so.
- A word is left out of something: where nothing else is asked for (`-verbose`), it is text, and a note says so.
- More than `MAX_CHARS` characters are something pasted, and all of it is text.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from typing import Literal, NamedTuple

from forgelore.text.values import suggest

NAMES = (
    "assignee", "author", "commenter", "comments", "created", "in", "involves", "is", "label", "mentions", "milestone",
    "no", "path", "project", "sort", "state", "type", "updated",
)  # fmt: skip
_ANY_OF = (
    "assignee",
    "author",
    "commenter",
    "involves",
    "is",
    "mentions",
    "milestone",
    "path",
    "project",
    "state",
    "type",
)  # of several values, one is enough
FOREIGN = (
    "archived", "base", "closed", "draft", "head", "interactions", "language", "linked",
    "merged", "org", "reactions", "reason", "review", "review-requested", "reviewed-by", "team",
    "user",
)  # fmt: skip
MAX_CHARS = 10_000
_MIN_MISSPELT = 4  # letters of a name that may be meant to be a qualifier
_MIN_EXCLUDED = 3  # letters: rm -rf, ls -la
_LEADING = (
    "a", "add", "an", "and", "by", "for", "from", "if", "in", "of", "on", "option", "or", "set", "the", "to", "use",
    "using", "via", "when", "with", "without",
)  # fmt: skip
_QUOTES = '"“”„'
_OPERATORS = ("OR", "NOT", "AND")
_SIGNS = (":", "-", *_QUOTES, *_OPERATORS)  # without one of these all is text, and no pattern need be compiled
_COMPARED = "(?:[<>]=?)?"
_LISTED = rf"(?:[{_QUOTES}][^{_QUOTES}]+[{_QUOTES}]\)*|[^\s,{_QUOTES}]+)"
_AGO = r"(?:[0-9]{1,6}|last|an?)[ ](?:hour|day|week|month|year)s?(?:[ ]ago)?"
_TOKEN = rf"""
    (?:
        (?P<sign>\(*(?:-\(*)?)(?P<name>{"|".join(NAMES)}|repo):
        (?:
            (?P<compared>{_COMPARED})[{_QUOTES}](?P<quoted>[^{_QUOTES}]+)[{_QUOTES}](?P<end>\)*)
          | (?<=label:)(?![:,])(?P<list>{_LISTED}(?:,{_LISTED})+)
          | (?<=ated:)(?P<ago>{_COMPARED}{_AGO}\)*)
          | (?!//)(?P<value>[^\s:{_QUOTES}]\S*)
        )
      | (?P<minus>-?)[{_QUOTES}](?P<phrase>[^{_QUOTES}]+)[{_QUOTES}](?P<star>\*?)[.,;:!?)]*
    )(?!\S)
  | (?P<word>\S+)
"""

Role = Literal["text", "phrase", "excluded", "or", "qualifier", "silent"]  # silent: it changes nothing


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
    is_grouped: bool = False  # a parenthesis was taken away


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


IsOption = Callable[[str, bool], bool]  # (a word behind a dash, whether it stands within a sentence)


def parse_typed(text: str, is_option: IsOption = lambda _word, _is_within: False) -> TypedQuery:
    """Return what somebody asks for; every text means something. `is_option`: of a word behind a dash.

    crash -windows label:bug  ->  text "crash", excluded "windows", the qualifier label with the value bug
    """
    if len(text) > MAX_CHARS or not any(sign in text for sign in _SIGNS):
        return TypedQuery(text)
    read = _silence_parentheses([_read_piece(match) for match in _tokens().finditer(text)])
    pieces = _settle_exclusions(_keep_options(_join_operators(read), is_option))
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
    qualifier, is_grouped = _read_qualifier(match)
    typed = match[0]
    if qualifier:
        return Piece(typed, "qualifier", qualifier=qualifier, is_grouped=is_grouped)
    phrase = match["phrase"]
    if phrase and _has_word(phrase):
        return Piece(typed, "excluded" if match["minus"] else "phrase", f'"{phrase.strip()}"{match["star"]}')
    word = typed[1:]
    if typed.startswith("-") and len(word) >= _MIN_EXCLUDED and word.isalpha() and word == word.lower():
        return Piece(typed, "excluded", word, is_tentative=True)
    return Piece(typed, "text")


def _read_qualifier(match: re.Match[str]) -> tuple[Qualifier | None, bool]:
    """Return the qualifier that was typed, if it is one, and whether a parenthesis was taken away from it."""
    name, quoted = match["name"], match["quoted"]
    if quoted and quoted.strip():
        is_own_comma = name == "label" and "," in quoted  # else it would be a list
        value = f'"{quoted.strip()}"' if is_own_comma else f"{match['compared']}{quoted.strip()}"
        is_grouped = bool(match["end"])
    else:
        typed = _straight(match["list"] or "") or match["ago"] or match["value"] or ""
        value = _without_parentheses(typed)
        is_grouped = value != typed
    if not value:
        return None, False
    name, sign = "project" if name == "repo" else name, match["sign"]
    return Qualifier(name, value, "-" in sign), is_grouped or "(" in sign


def _without_parentheses(value: str) -> str:
    """Return a value without those at its ends that nothing in it opens or closes.

    "Wallet)" -> "Wallet"      "f(x)" -> "f(x)"
    """
    more = value.count(")") - value.count("(")
    if more < 0:
        opening = len(value) - len(value.lstrip("("))
        return value[min(opening, -more) :]
    closing = len(value) - len(value.rstrip(")"))
    return value[: len(value) - min(closing, more)]


def _straight(value: str) -> str:
    """A list of labels has one kind of quotes, however it was typed."""
    return re.sub(f"[{_QUOTES}]", '"', value)


def _join_operators(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces with `NOT x` as one, and with every OR and AND that joins something."""
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
    return [_operator(joined, at) if piece.typed in ("OR", "AND") else piece for at, piece in enumerate(joined)]


def _negate(piece: Piece) -> Piece | None:
    """Return a piece with NOT before it; None where NOT is an ordinary word."""
    typed = f"NOT {piece.typed}"
    if piece.qualifier and not piece.qualifier.is_excluded:
        return piece._replace(typed=typed, qualifier=piece.qualifier._replace(is_excluded=True))
    if piece.role == "phrase":
        return Piece(typed, "excluded", piece.term)
    if not _is_operand(piece) or _is_capitals(piece.typed) or piece.typed.startswith("-"):
        return None
    return Piece(typed, "excluded", _quoted(piece.typed), is_tentative=True)


def _operator(pieces: Sequence[Piece], at: int) -> Piece:
    if not 0 < at < len(pieces) - 1:
        return pieces[at]
    sides = (pieces[at - 1], pieces[at + 1])
    if pieces[at].typed == "AND":
        return _conjunction(*sides)
    if any(side.qualifier for side in sides):
        return Piece("OR", "qualifier", is_tentative=not _is_repeated(*sides))
    if not all(map(_is_operand, sides)) or all(_is_capitals(side.typed) for side in sides):
        return pieces[at]
    return Piece("OR", "or")


def _conjunction(one: Piece, other: Piece) -> Piece:
    """Return what an AND between these is: all that is asked for holds anyway, and between capitals it is a word."""
    sides = (one, other)
    is_joining = all(side.qualifier or side.role == "excluded" or _is_operand(side) for side in sides)
    if not is_joining or all(_is_capitals(side.typed) for side in sides):
        return Piece("AND", "text")
    return Piece("AND", "silent", is_tentative=True)


def _is_repeated(one: Piece, other: Piece) -> bool:
    """Whether they are two values of which one is enough anyway."""
    if not (one.qualifier and other.qualifier) or one.qualifier.is_excluded or other.qualifier.is_excluded:
        return False
    return one.qualifier.name == other.qualifier.name and one.qualifier.name in _ANY_OF


def _is_operand(piece: Piece) -> bool:
    """Whether OR can join it: a phrase, or a word that full text can look for."""
    return piece.role == "phrase" or (piece.role == "text" and piece.typed not in _OPERATORS and _has_word(piece.typed))


def _settle_exclusions(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces; words that would be left out of nothing are text."""
    if any(piece.role != "text" and not piece.is_tentative for piece in pieces):
        return pieces
    if any(piece.role == "text" and _has_word(piece.typed) for piece in pieces):
        return pieces
    return [Piece(piece.typed, "text", is_tentative=piece.role == "excluded") for piece in pieces]


def _keep_options(pieces: list[Piece], is_option: IsOption) -> list[Piece]:
    """Return the pieces; options of a program, such as -dbcache, are text."""

    def is_kept(at: int) -> bool:
        piece = pieces[at]
        if piece.role != "excluded" or piece.typed != f"-{piece.term}":
            return False
        is_followed = at + 1 < len(pieces) and _is_operand(pieces[at + 1])
        return is_option(piece.term, is_followed or (at > 0 and pieces[at - 1].typed.lower() in _LEADING))

    return [Piece(piece.typed, "text") if is_kept(at) else piece for at, piece in enumerate(pieces)]


def _silence_parentheses(pieces: list[Piece]) -> list[Piece]:
    """Return the pieces; a parenthesis by itself, in a query with qualifiers, is not text."""
    if not any(piece.qualifier for piece in pieces):
        return pieces
    return [
        piece._replace(role="silent", is_grouped=True)
        if piece.role == "text" and not piece.typed.strip("()")
        else piece
        for piece in pieces
    ]


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
    """Yield what may have been meant otherwise, each sentence once."""
    texts = [piece for piece in pieces if piece.role == "text"]
    alone = [piece.typed for piece in texts if piece.is_tentative]
    if alone:
        yield f"{_joined(alone)} searched for: a query cannot consist of exclusions alone"
    elif len(pieces) > 1:
        signed = [one.typed for one in texts if one.typed[0] == "-" and len(one.typed) > 2 and one.typed[1:].isalpha()]
        if signed:
            yield f"{_joined(signed)} searched for; to exclude the word, write NOT {signed[0][1:].lower()}"
    if left_out := [piece.term for piece in pieces if piece.role == "excluded"]:
        shown = ", ".join(term.strip('"') for term in left_out)
        yield f"items with {shown} are excluded; to search for a word instead, drop the dash or NOT before it"
    yield from _notes_on_names([piece.typed for piece in texts])
    if any(piece.role == "qualifier" and piece.is_tentative for piece in pieces):
        yield (
            "OR joins words and phrases, or values of one qualifier; between other qualifiers it is ignored;"
            " for one of several labels write label:a,b"
        )
    if any(piece.is_grouped for piece in pieces):
        yield "groups are not supported: parentheses are ignored, and all qualifiers must match"


def _notes_on_names(texts: Sequence[str]) -> Iterator[str]:
    """Yield what is said of words that look like qualifiers and are none."""
    split = [typed.strip("(-").partition(":") for typed in texts if ":" in typed]
    empty = [name for name, _, value in split if name in (*NAMES, "repo") and not value.strip(f"{_QUOTES} )")]
    if empty:
        yield f"{_joined(f'{name}:' for name in empty)} searched for as text: put the value right after the colon"
    for name in dict.fromkeys(name for name, _, value in split if value.strip(":") and value[0] not in ":/"):
        if name in FOREIGN:
            yield f"{name}: is not a qualifier here and is searched for as text"
        elif len(name) >= _MIN_MISSPELT and name.isalpha() and name not in NAMES and (meant := suggest(name, NAMES)):
            yield f"{name}: is searched for as text; did you mean {meant}:?"


def _joined(words: Iterable[str]) -> str:
    """`a is`, `a and b are`: what a sentence says of them follows."""
    each = list(dict.fromkeys(words))
    if len(each) == 1:
        return f"{each[0]} is"
    return f"{', '.join(each[:-1])} and {each[-1]} are"


def _quoted(word: str) -> str:
    """A word as one thing to look for, whatever signs it has: the quotes keep its parts together."""
    bare = word.strip("()")
    return f'"{bare}"' if not any(sign in bare for sign in _QUOTES) else bare


def _has_word(text: str) -> bool:
    return any(map(str.isalnum, text))


def _is_capitals(word: str) -> bool:
    return word.isupper() and sum(map(str.isalpha, word)) > 1
