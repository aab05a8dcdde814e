"""Full-text queries: what somebody typed, as an FTS5 expression. Any text makes a valid one; None when it has no word.

    auth error            ("auth") AND ("error")
    auth*  jwt_tok*       ("auth"*) AND ("jwt_tok"* OR "jwttok"*)
    requirem*             ("requirem"* OR "requirement")
    "connection reset"    ("connection reset")
    ChunkCache            ("ChunkCache" OR "chunk cache")
    C++ -DWITH_SSL        ("cplusplus") AND ("-DWITH_SSL" OR "dwithssl")
    what is don't         ("don't")            stop words go when something else remains
    日本語                 ("日本語" OR "日本 本語")

Everything is quoted, so AND, NOT, NEAR, `:` and `-` are text. The tokenizer folds and stems on both sides; the rules
for identifiers, signs and CJK are those of `terms`. Alternatives look at all columns: prose may say "chunk cache" too.

Terms that must occur or must not, as FTS5 expressions: words and "phrases" that a query sets apart.

    "mismatched types"                  (("mismatched types"))
    panic OR "stack overflow"           (("panic")) OR ({title text} : (("stack overflow")))
    memory leak in:title                {title} : (("memory") AND ("leak"))

They are written as in a query, and an identifier in them is not taken apart: who quotes ChunkCache means that. Nor is
one put together: who quotes "stack overflow" does not mean StackOverflow, whose parts the column of terms has.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from operator import itemgetter
from typing import NamedTuple

from forgelore.text.fence import storable
from forgelore.text.terms import (
    find_specials,
    find_words,
    has_unspaced,
    pair_query,
    pairs_of,
    split_runs,
    split_word,
    word_terms,
)

# Nobody asks for more, a pasted log has more, and each word costs: an OR of 30 takes 64 ms at 100,000 documents.
MAX_WORDS = 64
_MAX_CHARS = 10_000  # what is read of a query; 64 distinct words fit into it
_MAX_WORD_CHARS = 256  # a phrase opens a list per word of it
_MAX_RARE = 12
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_MIN_STEMMED = 3  # shorter words stay as they are
# Letters to Python that are none to the tokenizer. Quoted alone they would match nothing and spoil an AND.
_NO_LETTERS = frozenset(map(chr, (*range(0x19B0, 0x19CA), 0x1CF2, 0x1CF3)))
_STOPS = """
a about after all also am an and any are as at be because been but by can could did do does doing for from get gets had
has have how i if in into is it its just me my no not of on or our should so some than that the their them then there
these they this to too was we were what when where which while who why will with would you your
"""
_STOP_WORDS = frozenset(_STOPS.split())
# A prefix meets stems: "transacti"* finds nothing, for transaction is stored as "transact". So the words that a prefix
# may be the beginning of are asked for as well. In a tracker's vocabulary 11 % of all prefixes failed, now 0.1 %.
_ENDINGS = (
    "ing", "ed", "er", "ment", "ness", "able", "ible", "ability", "ibility", "ation", "ator", "ative", "ate", "ance",
    "ence", "ent", "ion", "ity", "ive", "ize", "ization", "ly", "al", "ous", "ful",
)  # fmt: skip
# "typed phrase" with an optional star, straight or typographic; else anything up to a blank.
_TYPED = r'["“”„]([^"“”„]+)["“”](\*?)|(\S+)'


class Phrase(NamedTuple):
    """Words that stand side by side, as FTS5 will cut them; the last may be a prefix."""

    text: str
    is_prefix: bool = False


class Word(NamedTuple):
    """One thing asked for, as typed, and the phrases that satisfy it: any one will do."""

    text: str
    alternatives: tuple[Phrase, ...]
    is_stop: bool = False
    synonym: str = ""  # the last alternative, where it is what an acronym stands for, or the acronym


def parse_words(text: str, *, limit: int = MAX_WORDS) -> tuple[Word, ...]:
    """Return the words asked for in order, each once; none when the text has no letter or digit."""
    if len(text) > _MAX_CHARS:
        text = (text[:_MAX_CHARS].rsplit(maxsplit=1) or [""])[0]
    found: dict[str, Word] = {}
    for word in _words(storable(text).replace("\ufffd", " ")):
        if word.text.lower() not in found and len(found) == limit:
            break
        found.setdefault(word.text.lower(), word)
    return tuple(found.values())


def is_too_long(text: str, words: Sequence[Word]) -> bool:
    """Return whether a text has more than the words that were read of it."""
    return len(text) > _MAX_CHARS or len(words) == MAX_WORDS < len(parse_words(text, limit=MAX_WORDS + 1))


def build_and(words: Sequence[Word]) -> str | None:
    """Return the expression for documents that have every word; None without words. Stop words do not count."""
    return _join(without_stops(words), " AND ")


def build_or(words: Sequence[Word]) -> str | None:
    """Return the expression for documents that have any of the words; None without words."""
    return _join(without_stops(words), " OR ")


def without_stops(words: Sequence[Word]) -> Sequence[Word]:
    """Return the words that are not stop words; all of them when there are no others."""
    return [word for word in words if not word.is_stop] or words


def loosen(words: Sequence[Word]) -> list[Word]:
    """Return the smallest words inside these, for a second try: an exact path, phrase or sentence is often not there.

    src/net/conn.cpp -> src, net, conn, cpp    ChunkCache -> ChunkCache, chunk, cache    日本語 -> 日本, 本語
    """
    found: dict[str, Word] = {}
    for word in words:
        for piece in _pieces(word):
            found.setdefault(piece.text.lower(), piece)
    return list(found.values())


def choose_rare(
    words: Sequence[Word], document_counts: Mapping[str, int], *, total: int, budget: int, most: int = _MAX_RARE
) -> list[Word]:
    """Return the words worth OR-ing, rarest first: at least one, at most `most`, together in about `budget` documents.

    `document_counts` is keyed by `Word.text`; a word without a count is taken to be everywhere. Words that are
    nowhere find nothing and are left out, unless all are such.
    """
    counted = [(document_counts.get(word.text, total), word) for word in without_stops(words)]
    found = [pair for pair in counted if pair[0]] or counted[:1]
    chosen: list[Word] = []
    spent = 0
    for count, word in sorted(found, key=itemgetter(0)):
        spent += count
        if chosen and (spent > budget or len(chosen) == most):
            break
        chosen.append(word)
    return chosen


def _join(words: Sequence[Word], operator: str) -> str | None:
    return operator.join(map(_group, words)) or None


def _group(word: Word) -> str:
    return f"({' OR '.join(_quoted(phrase) for phrase in word.alternatives)})"


def _quoted(phrase: Phrase) -> str:
    text = phrase.text.replace('"', '""')
    return f'"{text}"{"*" if phrase.is_prefix else ""}'


def _words(text: str) -> Iterator[Word]:
    for match in _compiled(_TYPED).finditer(text):
        phrase, star, token = match.groups()
        if phrase is None:
            yield from _token_words(token)
        elif len(phrase.split()) > 1 and not has_unspaced(phrase):
            if _is_usable(phrase):
                yield Word(_cut(_trimmed(phrase)), _alternatives(phrase.strip(), is_prefix=bool(star)))
        else:  # a quoted word is a word; pairs of several runs do not stand side by side
            for part in phrase.split():
                yield from _token_words(part + star, is_phrase=True)


def _token_words(token: str, *, is_phrase: bool = False) -> Iterator[Word]:
    """Yield the words of what stands between blanks: mostly one. "C++/CLI" -> C++, /CLI"""
    position = 0
    for special in find_specials(token):
        if special.start < position:
            continue
        yield from _plain_words(token[position : special.start], is_phrase=is_phrase)
        name = token[special.start : special.end]
        alternatives = (Phrase(name),) if special.is_plain else ()
        yield Word(name, (*alternatives, Phrase(special.terms)))
        position = special.end
    yield from _plain_words(token[position:], is_phrase=is_phrase)


def _plain_words(token: str, *, is_phrase: bool) -> Iterator[Word]:
    if not _is_usable(token):
        return
    bare = token.rstrip("*")
    is_prefix = bare != token
    if has_unspaced(token):
        yield from (_run_word(run) for run in split_runs(token) if _is_usable(run))
        return
    word = _trimmed(_cut(bare)) or bare
    is_stop = not is_phrase and not is_prefix and word.lower() in _STOP_WORDS
    yield Word(word, _alternatives(bare, is_prefix=is_prefix), is_stop)


def _run_word(run: str) -> Word:
    """Return a word of a script without blanks: the run as it is, or its pairs inside a longer one."""
    run, is_cut = run[:_MAX_WORD_CHARS], len(run) > _MAX_WORD_CHARS
    whole = Phrase(run, is_cut)
    return Word(run, (whole, Phrase(*pair_query(run))) if has_unspaced(run) else (whole,))


def _alternatives(text: str, *, is_prefix: bool) -> tuple[Phrase, ...]:
    """Return the text itself and what identifiers in it may also be written as."""
    cut = _cut(text)
    found = [Phrase(cut, is_prefix or cut != text)]
    words = [match[0] for match in find_words(cut)]
    others = word_terms(words[0]) if len(words) == 1 else _split_phrase(words)
    if _is_ascii_word(cut):
        found += [Phrase(other, found[0].is_prefix) for other in others]
    if is_prefix and cut == text:
        found += _completions(cut)
    return tuple(found)


def _completions(text: str) -> Iterator[Phrase]:
    """Yield what a prefix may be the beginning of, where stemming would hide it: "requirem" -> "requirement"."""
    text = text.lower() if text.isascii() else text
    word = text[len(text.rstrip(_LETTERS)) :]
    if len(word) < _MIN_STEMMED:
        return
    if word.endswith(("y", "ys")):
        yield Phrase(f"{text}e", is_prefix=True)  # alone "key" becomes "kei"; the stemmer takes the e off and stops
    if word[-1] == word[-2]:
        yield Phrase(f"{text}ing")
    for ending in _ENDINGS:
        for size in range(len(ending) - 1, 0, -1):
            if word.endswith(ending[:size]) and len(word) > size + 1:
                yield Phrase(text + ending[size:])
                break


def _split_phrase(words: list[str]) -> tuple[str, ...]:
    """Return "ChunkCache::insert" as "chunk cache insert"; nothing when it would say the same."""
    split = [split_word(word) for word in words]
    plain = [word.replace("_", " ").replace("-", " ").lower() for word in words]
    return (" ".join(split),) if split != plain else ()


def _pieces(word: Word) -> Iterator[Word]:
    if find_specials(word.text) or (len(word.alternatives) == 1 + bool(word.synonym) and word.text.isalnum()):
        yield word
        return
    is_prefix = word.alternatives[0].is_prefix
    for run in split_runs(word.text):
        if has_unspaced(run):
            yield from (Word(pair, (Phrase(pair, len(pair) == 1),)) for pair in pairs_of(run))
            continue
        for piece in dict.fromkeys([run, *split_word(run).split()]) if run.isascii() else [run]:
            if _is_usable(piece):
                is_last = is_prefix and word.text.endswith(piece)
                yield Word(piece, (Phrase(piece, is_last),), not is_last and piece.lower() in _STOP_WORDS)


def _is_usable(text: str) -> bool:
    """Whether the tokenizer finds a word in it."""
    return any(character.isalnum() and character not in _NO_LETTERS for character in text)


def _is_ascii_word(text: str) -> bool:
    """Whether no other letter touches the ASCII words: "größeMax" is not to be read as "e max"."""
    return text.isascii() or not any(character.isalnum() for character in text if not character.isascii())


def _trimmed(text: str) -> str:
    """Drop the punctuation around a word: it is shown and compared without."""
    return text.strip().strip("!\"'(),.:;?[]{}`*_<>…“”\u2018\u2019")


def _cut(text: str) -> str:
    """Return the beginning of a long text, cut between words where there is a place."""
    if len(text) <= _MAX_WORD_CHARS:
        return text
    end = _MAX_WORD_CHARS
    while end and text[end - 1].isalnum():
        end -= 1
    start = text[:end]
    return start if _is_usable(start) else text[:_MAX_WORD_CHARS]


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


def build_any_of(terms: Sequence[str], prose: Sequence[str] = ()) -> str | None:
    """Return the expression for documents that have one of the terms; None when none of them holds a word. `prose`: the
    columns that hold what people wrote, in which a phrase must stand.
    """
    either = [_build_term(parse_words(term), prose) for term in terms]
    return " OR ".join(f"({one})" for one in either if one) or None


def _build_term(words: Sequence[Word], prose: Sequence[str]) -> str | None:
    expression = build_and([_exact(word) for word in words])
    is_phrase = len(words) == 1 and " " in words[0].text and not _is_rewritten(words[0])
    return build_within(expression, prose) if expression and prose and is_phrase else expression


def build_within(expression: str, columns: Sequence[str]) -> str:
    """Return the expression for documents that meet another one in these columns."""
    return f"{{{' '.join(columns)}}} : ({expression})"


def join_groups(words: Sequence[Word], groups: Sequence[Sequence[str]]) -> tuple[Word, ...]:
    """Return the words with what each group names as one word, which any of its members satisfies.

    panic crash linker, with the group panic and crash -> (panic or crash), linker
    """
    found = list(words)
    for group in groups:
        members = [word for term in group for word in parse_words(term)]
        texts = {word.text.lower() for word in members}
        places = [at for at, word in enumerate(found) if word.text.lower() in texts]
        if len(group) < 2 or not places:
            continue
        alternatives = tuple(dict.fromkeys(phrase for word in members for phrase in word.alternatives))
        joined = Word(" ".join(word.text for word in members), alternatives)
        found = [joined if at == places[0] else word for at, word in enumerate(found) if at not in places[1:]]
    return tuple(found)


def _exact(word: Word) -> Word:
    """Return a word with its own spelling alone, where full text can look for that."""
    return word if _is_rewritten(word) else word._replace(alternatives=word.alternatives[:1])


def _is_rewritten(word: Word) -> bool:
    """Whether a word is found by what the column of terms has of it: C++, 日本語; or by its beginning."""
    return word.alternatives[0].is_prefix or has_unspaced(word.text) or bool(find_specials(word.text))
