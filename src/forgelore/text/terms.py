"""Terms: what the full-text tokenizer loses, written out as words for the `terms` column.

The tokenizer cuts at everything that is neither letter nor digit and folds case. So `merge_base` becomes two words by
itself, but ChunkCache stays one, C++ loses its signs, and a Japanese sentence is a single word. The same rules rewrite
queries (`ftsquery`), so both sides meet:

    ChunkCache, HTTPServer, x509Cert    chunk cache   http server   x509 cert
    chunk_cache, chunk-cache            chunkcache    (their parts are in the text already)
    my_ChunkCache                       my chunk cache   mychunkcache
    C++17, C#, .NET, Node.js            cplusplus 17   csharp   dotnet   nodejs
    日本語API                            日本 本語 語 api

Parts stand side by side in their order, so that they can be found as a phrase. Each identifier is written once: the
text itself says how often it occurs. The last character of a run of CJK stands alone behind its pairs: it makes single
characters findable as prefixes and keeps the pairs of two runs apart.

Entries stand side by side too, so that a phrase may be found across two neighbours: "chunk cache" in a text with
DataChunk and CacheLine. That is rare, and `snippets` marks nothing there: no word of the text is what was asked for.

Rarity of words, like inverse document frequency: the rarer a word, the more it says that two texts share it.

The project's own counts decide, joined with what is common in any tracker: in an index of four items every word is in
a quarter of them at least, and counts alone would call "the" as telling as "deadlock".

    weight = -ln((documents with it + PRIOR * usual share) / (documents + PRIOR))

Keys are stems, as the full-text tokenizer makes them.
"""

import math
import re
import sys
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

Token = tuple[int, int, str]  # first character, character behind the last, stem

_INSIDE = re.compile(rb"[\x80-\xbf]")  # bytes that begin no character


def char_offsets(data: bytes, tokens: Iterable[Token]) -> list[Token]:
    """Return tokens with the byte offsets into UTF-8 `data` turned into character offsets."""
    if data.isascii():
        return list(tokens)
    inside = [match.start() for match in _INSIDE.finditer(data)]
    return [(start - bisect_left(inside, start), end - bisect_left(inside, end), stem) for start, end, stem in tokens]


# Diacritics: 2, because 1 (the default, kept by SQLite for old indexes only) leaves letters that carry two of them, as
# in Vietnamese, unfolded.
TOKENIZER = ("porter", "unicode61", "remove_diacritics", "2")

_WORD = r"[A-Za-z0-9]++(?:(?:_++|-)[A-Za-z0-9]++)*"
# The group stays empty for plain words: passing over them inside the pattern makes building twice as fast.
_TELLING_WORD = rf"[A-Z]?+[a-z]++(?![A-Za-z0-9_-])|({_WORD})"
_SEPARATOR = r"[_-]+"
# Names that look like two words and are one. Without them GitHubToken is "git hub token" and nobody finds it.
_NAMES = (
    "DevOps|GitHub|GitLab|GraphQL|IPv|JavaScript|LaTeX|LibreOffice|MacOS|MinGW|MongoDB|MySQL|NoSQL|NumPy|OAuth|OpenSSL|"
    "PostgreSQL|PowerShell|PyPI|PyTorch|SQLite|TypeScript|VSCode|WebSocket|YouTube|iOS|iPad|iPhone|macOS|pgSQL"
)
# In order: a name; URLs; HTTP before a capitalised word, X509; a word that may begin with a capital and hold digits.
_PART = rf"(?:{_NAMES})s?[0-9]*+(?![a-z])|[A-Z]{{2,}}s(?![a-z0-9])|[A-Z]+[0-9]*+(?![a-z])|[A-Z]?[a-z0-9]+|[A-Z]+"
_MAX_PARTS = 8  # more are base64, keys and addresses, whose pieces nobody asks for
_MAX_LENGTH = 64  # of an identifier that is split; the stemmer stops here too
_MAX_JOINED = 4  # pieces that are joined: more are slugs, UUIDs and dates

# Scripts without blanks between words, and Hangul, where particles stick to the noun: 서버가 must be found by 서버.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai and Lao, Burmese, Khmer
    "\u3005-\u3007\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\uff66-\uff9f"  # kana
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U000323af\uac00-\ud7a3"  # Han, Hangul
)
# The same as a first look at UTF-8. A class of large characters takes 6 ms to compile, and a document is more likely to
# hold a dash, a curly quote or an emoji than one of these.
_UNSPACED_BYTES = rb"[\xe3-\xed]|\xe0[\xb8-\xbb]|\xe1[\x80-\x82\x9e\x9f]|\xef[\xa4-\xab\xbd\xbe]|\xf0[\xa0-\xb2]"
_JS = "angular|backbone|chart|d3|discord|ember|express|knockout|meteor|moment|nest|next|node|nuxt|react|three|vue"
_STARTS, _ENDS = r"(?<![A-Za-z0-9_])", r"(?![A-Za-z0-9_])"
# What must be in the folded text before the pattern is tried, the pattern, its words, whether the plain words tell
# the same ("node js" does, the "c" of C++ does not).
_SPECIALS = (
    ("++", rf"{_STARTS}(c|g|clang|libc|libstdc|notepad)\+\+(\d[0-9a-z])?(?![A-Za-z0-9_+])", "{}plusplus {}", False),
    ("c#", rf"(?<![A-Za-z0-9_/.-])(c)#(\d\d?)?{_ENDS}", "{}sharp {}", False),
    ("f#", rf"(?<![A-Za-z0-9_/.-])(f)#(\d\d?)?{_ENDS}", "{}sharp {}", False),
    (".net", rf"{_STARTS}\.net(\d\d?)?{_ENDS}", "dotnet {}", False),
    (".net", rf"{_STARTS}(ado|asp|ml|vb)\.net{_ENDS}", "{}net dotnet", True),
    (".js", rf"{_STARTS}({_JS})\.js{_ENDS}", "{}js", True),
    (".io", rf"{_STARTS}(socket)\.io{_ENDS}", "{}io", True),
)

_SPECIAL_ENDS = ("plusplus", "plusplu", "sharp", "net", "js", "j", "io")  # of what they are written as, and its stems


class Special(NamedTuple):
    """A name that lives by its signs, where it stands, and how it is found. `is_plain`: also by its bare words."""

    start: int
    end: int
    terms: str
    is_plain: bool


def build_terms(title: str, text: str) -> str:
    """Return the words that the tokenizer would not see, blank-separated; "" for plain prose.

    ("Crash in ChunkCache", "since merge_base, C++") -> "chunk cache mergebase cplusplus"
    """
    return " ".join(list_terms(title, text))


def list_terms(title: str, text: str) -> list[str]:
    """Return the entries of the column one by one: ["chunk cache", "mergebase", "cplusplus"]."""
    whole = f"{title}\n{text}"
    found: dict[str, None] = {}
    for word in identifiers(whole):
        found.update(dict.fromkeys(word_terms(word)))
    found.update((special.terms, None) for special in find_specials(whole))
    found.update((" ".join(_run_terms(run)), None) for run in unspaced_runs(whole))
    return list(found)


def split_word(word: str) -> str:
    """Return the parts of an identifier, folded: "ChunkCache" -> "chunk cache"; a plain word comes back folded."""
    return " ".join(part for piece in _compiled(_SEPARATOR).split(word) for part in _parts(piece)).lower()


@lru_cache(maxsize=1 << 15)  # the words of a tracker come back again and again
def word_terms(word: str) -> tuple[str, ...]:
    """Return what to write, or to look for, beside an identifier: its split form, its joined form, or nothing.

    "my_ChunkCache" -> ("my chunk cache", "mychunkcache")    "cache" -> ()
    """
    if word.isalpha() and (word.islower() or word.istitle() or word.isupper()):
        return ()
    pieces = _compiled(_SEPARATOR).split(word)
    split = [_parts(piece) for piece in pieces]
    found = []
    if sum(map(len, split)) > len(pieces):
        if len(pieces) <= _MAX_PARTS:
            found.append(" ".join(part for parts in split for part in parts).lower())
        else:
            found += [" ".join(parts).lower() for parts in split if len(parts) > 1]
    if 1 < len(pieces) <= _MAX_JOINED and len(word) <= _MAX_LENGTH:
        joined = "".join(pieces).lower()
        if not joined.isdigit():
            found.append(joined)
    return tuple(dict.fromkeys(found))


def identifiers(text: str) -> list[str]:
    """Return the words that have terms, each once, in order."""
    return [word for word in dict.fromkeys(_compiled(_TELLING_WORD).findall(text)) if word_terms(word)]


def find_words(text: str, start: int = 0, end: int = sys.maxsize) -> Iterator[re.Match[str]]:
    """Yield every ASCII word in a part of a text as these rules see it: letters and digits, joined by `_` or `-`."""
    return _compiled(_WORD).finditer(text, start, end)


def find_specials(text: str) -> list[Special]:
    """Return C++, C#, .NET, Node.js and their like, in order.

    "in C++17" -> [Special(3, 8, "cplusplus 17", False)]
    """
    if "+" not in text and "#" not in text and "." not in text:
        return []
    found, folded = [], text.lower()
    for needle, pattern, words, is_plain in _SPECIALS:
        if needle in folded:
            for match in _compiled(pattern, re.IGNORECASE | re.ASCII).finditer(text):
                if _stands_alone(text, *match.span()):
                    terms = words.format(*match.groups(default="")).strip().lower()
                    found.append(Special(*match.span(), terms, is_plain))
    return sorted(found)


def may_be_special(stem: str) -> bool:
    """Whether one of these names may be found by a stem: most are not, and looking for the names takes time.

    "cplusplu" "nodej" "dotnet" "17" -> True    "wallet" -> False
    """
    return stem[:1].isdigit() or stem.endswith(_SPECIAL_ENDS)


def has_unspaced(text: str) -> bool:
    """Whether the text holds a character of a script that is searched by pairs."""
    if text.isascii() or not _compiled_bytes(_UNSPACED_BYTES).search(text.encode(errors="surrogatepass")):
        return False
    return bool(_unspaced().search(text))


def unspaced_runs(text: str) -> list[str]:
    """Return the words that hold such characters, each once: "使用API时, ok" -> ["使用API时"]."""
    if not has_unspaced(text):
        return []
    return [run for run in dict.fromkeys(_runs().findall(text)) if has_unspaced(run) and _letters(run)]


def find_inside_runs(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, word) of what is written in other scripts inside such words: the API of 使用API时."""
    if not has_unspaced(text):
        return
    for run in _runs().finditer(text):
        if has_unspaced(run[0]):
            start = run.start()
            for segment in _cut_scripts(run[0]):
                if not has_unspaced(segment):
                    yield start, start + len(segment), segment
                start += len(segment)


def split_runs(text: str) -> list[str]:
    """Return every word of such a text, those of other scripts included: "使用API、ok" -> ["使用API", "ok"]."""
    return [run for run in _runs().findall(text) if _letters(run)]


def pair_query(run: str) -> tuple[str, bool]:
    """Return the phrase that finds a run inside longer ones, and whether its last word is a prefix.

    "日本語" -> ("日本 本語", False)    "語" -> ("語", True)    "本語API時" -> ("本語 語 api 時", True)
    """
    *before, last = _segments(run) or [""]
    words = [word for segment in before for word in _segment_terms(segment)]
    closing = _segment_terms(last)
    if len(closing) > 1:  # the run may go on in the document: its last character closes nothing
        return " ".join(words + closing[:-1]), False
    return " ".join(words + closing), has_unspaced(last)


def pairs_of(run: str) -> list[str]:
    """Return the pairs and words of a run that stand for it one by one: "日本語API" -> ["日本", "本語", "api"]."""
    pieces = []
    for segment in _segments(run):
        words = _segment_terms(segment)
        pieces += words[:-1] if len(words) > 1 else words
    return list(dict.fromkeys(pieces))


def _parts(piece: str) -> list[str]:
    """Return the words inside camelCase; the piece itself where there are none, or too many to be words."""
    if len(piece) > _MAX_LENGTH or piece.islower():
        return [piece]
    parts = _compiled(_PART).findall(piece)
    return parts if len(parts) <= _MAX_PARTS and 2 * len(parts) <= len(piece) else [piece]


def _stands_alone(text: str, start: int, end: int) -> bool:
    """Whether no letter of the same word touches it: in éC++ one does, in のC++ none. The pattern looked at ASCII."""
    around = text[max(0, start - 1) : start] + text[end : end + 1]
    return around.isascii() or all(side.isascii() or not side.isalnum() or has_unspaced(side) for side in around)


def _run_terms(run: str) -> list[str]:
    return [word for segment in _segments(run) for word in _segment_terms(segment)]


def _segment_terms(segment: str) -> list[str]:
    if not has_unspaced(segment):
        return [segment.lower()]
    letters = _letters(segment)
    return [*map("".join, pairwise(letters)), *letters[-1:]]


def _letters(segment: str) -> str:
    """Drop vowel signs and tone marks, at which the tokenizer cuts."""
    return segment if segment.isalnum() else "".join(filter(str.isalnum, segment))


def _segments(run: str) -> list[str]:
    """Cut between scripts, dropping what holds marks alone: "使用API" -> ["使用", "API"]."""
    return [segment for segment in _cut_scripts(run) if _letters(segment)]


def _cut_scripts(run: str) -> Iterator[str]:
    position = 0
    for match in _unspaced().finditer(run):
        yield from filter(None, (run[position : match.start()], match[0]))
        position = match.end()
    yield from filter(None, (run[position:],))


# Patterns are compiled when first needed: together they take 8 ms, and most commands need none or one.
@cache
def _compiled(pattern: str, flags: int = 0) -> re.Pattern[str]:
    return re.compile(pattern, flags)


@cache
def _compiled_bytes(pattern: bytes) -> re.Pattern[bytes]:
    return re.compile(pattern)


@cache
def _unspaced() -> re.Pattern[str]:
    return re.compile(f"[{_UNSPACED}]+")


@cache
def _runs() -> re.Pattern[str]:
    return re.compile(rf"(?:[^\W_]|[{_UNSPACED}])+")


PRIOR = 200  # documents of a tracker that nobody knows
RARE = 0.003  # the usual share of a word that is in no list below
LARGEST = 7.5  # a word in 1 of 1,800 documents; rarer ones are names and slips of the pen

# Stems by the share of issues that hold them: means over three public trackers.
_SHARES = {
    0.4: "a and be for http i in is it not of on the thi to us with",
    0.2: (
        "all an ar as at but by can com error expect file from github have if issu no or org s should so t test that "
        "user version wa when which work"
    ),
    0.1: (
        "actual add after also ani bug build chang code configur creat current default do doe fail fix follow get ha "
        "how like load log make messag more my need new onli open oper other problem report reproduc result run same "
        "see set some src start step support system then there time type up updat we will window you"
    ),
    0.055: (
        "about access ad address anoth becaus been befor behavior block c call cannot case caus check client close "
        "command compil complet config connect content core could data detail did differ directori doesn don dure e en "
        "enabl even exampl except exist failur find first found function gener go happen header help here html includ "
        "info inform initi instal instead into just kei line link linux list local look m mai main mani miss move name "
        "normal note now option os out page perform pleas possibl process project provid read relat releas remov "
        "request return secur seem server show sinc site size sourc still string such text than thei them these thread "
        "tool try two upgrad wai want warn what where while without would www x"
    ),
    0.028: (
        "abl abov account activ addit again allow alreadi alwai am api appear applic attach avail b back base below "
        "better between bin bit blob both branch broken cach class clean come comment commit common consid contain "
        "copi correct correctli crash d debug defin delet depend descript design develop disabl displai doc document "
        "done down download due each either empti end environ etc everi execut extra fals featur few field final fine "
        "format full g give good got h had handl home howev id imag implement import index input instanc intern "
        "invalid io job keep know larg last latest lead let lib librari long longer lot manag master mayb me mean "
        "memori method might modul most much multipl must net network never next non noth notic null number o object "
        "observ occur old origin our output over packag part pass path point port pre prefer present previou probabl "
        "public pull re reason receiv recent refer replac requir right sai screenshot script search second select send "
        "servic sever share similar someth space specif specifi statu stop store sure switch take target task their "
        "thing think those through too track tri true unabl under unknown until upload url usag usr util valu ve veri "
        "via wait web websit well were write wrong your"
    ),
}
_USUAL = {stem: share for share, stems in _SHARES.items() for stem in stems.split()}
COMMON = frozenset(_USUAL)


def weight_of(stem: str, count: int, total: int) -> float:
    """Return 0 (in every document) to `LARGEST`: "the" in 26,000 of 29,000 -> 0.1, "deadlock" in 40 -> 6.6."""
    usual = _USUAL.get(stem, RARE)
    share = (min(count, total) + PRIOR * usual) / (total + PRIOR)
    return min(LARGEST, -math.log(share))
