"""Signatures: what a report quotes besides its words. Errors, stack frames, identifiers, paths, versions, other items.

Each mark has a key, by which two texts are compared, and the text as its author wrote it, which is shown:

    kind         written                                              key
    error        ERROR: Disk full at 0x7f (12 MB left)                error disk full at mb left
                 java.lang.NullPointerException                       nullpointerexception
    frame        at org.acme.Cache.put(Cache.java:218)                cache.put
                 File "/usr/lib/app/cache.py", line 12, in put        cache.py", line 12, in put -> put of cache.py
                 #3 0x00005581 in Cache::put (this=0x0)               cache::put
    identifier   ChunkCache::insert, merge_base(), --dry-run          chunkcache::insert, merge_base, --dry-run
    path         src/net/cache.cpp:218                                cache.cpp
    version      v2.1.0-rc1                                           2.1.0-rc1

Only the text that asks is taken apart. In the others its keys are looked up, which takes a tenth of the time. What
changes from run to run (times, addresses, line numbers) is no part of a key. Every repetition in a pattern is bounded
or cannot be tried twice, so time is linear in the length of the text.
"""

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from forgelore.text.refs import PAGE_KINDS

What = Literal["error", "frame", "path", "identifier", "version", "title", "file"]  # file: one that both change

READ = 6_000  # characters; what names the failure stands before that
_MAX = 40  # of each kind: a trace of a thousand frames says no more than its first ones
_ERROR_WORDS = 10  # of a message: the rest is what it was called with
_LINE = 300  # characters of a line that are looked at and quoted


class Mark(NamedTuple):
    what: What
    key: str
    written: str


class Signature(NamedTuple):
    marks: tuple[Mark, ...]
    refs: frozenset[int]  # numbers of other items
    written: dict[tuple[What, str], list[str]]  # kind and key of a mark -> every way in which the text writes it


_WORDS = re.compile(r"[^\W\d_]{2,}")
# A message, not prose about one: the word is followed by a colon, or a log shouts it.
_MESSAGE = re.compile(
    r"\b(?:[Ee]rror|[Ff]atal(?: error)?|[Ee]xception|[Pp]anic|[Aa]ssert(?:ion)?(?: failure)?|[Ff]ailure|[Ff]ailed"
    r"|[Cc]aused by)(?: ?\[[^\]\n]{1,40}\]| ?\([^)\n]{1,40}\)| [A-Z]{0,2}\d{1,6})?: ?(?=\S)"
    r"|\b[A-Z]\w{0,60}(?:Error|Exception): ?(?=\S)"
    r"|\b(?:ERROR|FATAL|PANIC|SEVERE|CRITICAL)\b[\]:|]{0,3} ?(?=\S)"
    r"|\bpanicked at |\bundefined reference to |\b[Aa]ssertion [^\n]{1,120}failed|\b[Ss]egmentation fault"
    r"|\bterminate called"
)
_EXCEPTION = re.compile(r"\b(?:[a-z_]\w{0,40}\.){0,8}([A-Z]\w{0,60}(?:Error|Exception|Fault|Failure))\b")
_FRAME = re.compile(
    r"""^[ \t>|*]{0,40}(?:
        at\ (?:[\w$<>/@-]{1,120}\.){0,12}(?P<java>[\w$<>-]{1,120}\.[\w$<>-]{1,120})\ ?\(               # Java, C#
      | at\ (?:async\ )?(?P<js>[\w$.<>-]{1,160})\ \(                                                   # JavaScript
      | File\ "(?:[^"\n]{0,300}[/\\])?(?P<python>[^"\n/\\]{1,120}",\ line\ \d+,\ in\ [\w<>]{1,120})
      | \#\d{1,3}:?\ +(?:0x[0-9a-fA-F]{4,16}\ +(?:in\ )?)?(?P<gdb>[A-Za-z_~][\w:~<>,*&]{2,160})\ ?\(   # gdb, sanitizers
      | \d{1,3}:\ +(?:0x[0-9a-fA-F]{4,16}\ +-\ +)?(?P<rust>[A-Za-z_<][\w:<>]{2,160}::\w{1,120})        # Rust
    )""",
    re.VERBOSE | re.MULTILINE,
)
_URL = re.compile(r"\b(?:https?|ftp|file)://[^\s<>()\[\]{}\"'|`]{1,600}")
_REF_URL = re.compile(rf"/(?:{'|'.join(PAGE_KINDS)}|browse)/(?:[A-Z][A-Z0-9]{{1,15}}-)?(\d{{1,9}})\b")
_REF = re.compile(r"(?<![\w#&])(?:[#!]|[Bb]ug |[Ii]ssue )(\d{1,9})\b")
_EXTENSIONS = (
    "am|asm|bat|bmp|c|cc|cfg|cmake|conf|cpp|cs|css|csv|dat|db|dll|dmg|exe|gif|go|gradle|h|hpp|htm|html|in|ini|ipynb|jar"
    "|java|jpg|js|json|jsx|kt|lock|log|m4|md|mk|mm|php|plist|png|po|pro|properties|proto|ps1|py|qml|rb|rc|rs|scala|sh"
    "|sln|so|sql|svg|swift|tar|tgz|toml|ts|tsx|txt|ui|vcxproj|vue|wasm|xhtml|xml|xul|yaml|yml|zip"
)
_PATH = re.compile(
    rf"(?<![\w./\\])(?:[\w.~+-]{{0,80}}[/\\]){{0,12}}([\w+-][\w.+-]{{0,80}}\.(?:{_EXTENSIONS}))(?![\w/\\])",
    re.IGNORECASE,
)
_IDENTIFIER = re.compile(
    r"(?<![\w.:/-])(?:"
    r"--[a-z][\w-]{2,60}"  # an option
    r"|[A-Za-z_]\w{0,80}(?:(?:::|->|\.|\#)~?[A-Za-z_]\w{0,80}){1,6}"  # a member of something
    r"|[A-Za-z]\w{0,80}_\w{1,80}"  # snake_case, CONSTANT_CASE
    r"|[a-z]{1,80}[A-Z][A-Za-z0-9]{1,80}|[A-Z][a-z0-9]{1,80}[A-Z][A-Za-z0-9]{1,80}"  # camelCase
    r"|[a-z]\w{1,60}(?=\(\))"  # a call
    r")"
)
_NO_NAME = re.compile(
    r"[a-z]{2,}\.[A-Z]?[a-z]+\Z|(?:e\.g|i\.e|etc|vs)\b", re.IGNORECASE
)  # a full stop, an abbreviation
_VERSION = re.compile(
    r"(?<![\w.:/-])[vV]?(\d{1,4}(?:\.\d{1,5}){1,3}(?:[-. ]?(?:rc|beta|alpha|pre|dev)[-. ]?\d{0,3})?)(?![\w%]|\.\d)"
)
_LINE_NUMBER = re.compile(r'", line \d+, in ')


def parse_signature(text: str) -> Signature:
    """Return the marks of a text's first `READ` characters, each once, the most telling kinds first."""
    text = text[:READ]
    refs = {int(number) for number in _REF.findall(text)}
    if "://" in text:
        refs.update(int(number) for number in _REF_URL.findall(text))
        text = _URL.sub(" ", text)
    written: dict[tuple[What, str], list[str]] = {}
    for found in (_errors(text), _frames(text), _identifiers(text), _paths(text), _versions(text)):
        written |= _ways(found)
    return Signature(tuple(Mark(*key, ways[0]) for key, ways in written.items()), frozenset(refs), written)


def _ways(found: Iterator[Mark]) -> dict[tuple[What, str], list[str]]:
    ways: dict[tuple[What, str], list[str]] = {}
    for mark in found:
        ways.setdefault((mark.what, mark.key), []).append(mark.written)
        if len(ways) >= _MAX:
            break
    return ways


def _errors(text: str) -> Iterator[Mark]:
    for match in _EXCEPTION.finditer(text):
        yield Mark("error", match[1].lower(), match[0])
    for match in _MESSAGE.finditer(text):
        end = text.find("\n", match.start())
        written = text[match.start() : end if end >= 0 else len(text)][:_LINE].strip()
        words = fold_words(written).split(" ")[:_ERROR_WORDS]
        if len(words) >= 3:  # two are "error: failed"
            yield Mark("error", " ".join(words), written)


def _frames(text: str) -> Iterator[Mark]:
    for match in _FRAME.finditer(text):
        key = next(group for group in match.groups() if group)
        # The line number moves with every release.
        file, line, function = key.partition('", line ')
        yield Mark(
            "frame",
            (f"{function.partition(', in ')[2]} of {file}" if line else key).lower(),
            match[0].strip(" \t>|*(")[:_LINE],
        )


def _paths(text: str) -> Iterator[Mark]:
    return (Mark("path", match[1].lower(), match[0]) for match in _PATH.finditer(text))


def _identifiers(text: str) -> Iterator[Mark]:
    for match in _IDENTIFIER.finditer(text):
        written = match[0]
        if "." not in written or not (_NO_NAME.match(written) or _PATH.match(written)):
            yield Mark("identifier", written.lower(), written)


def _versions(text: str) -> Iterator[Mark]:
    for match in _VERSION.finditer(text):
        parts = match[1].split(".")
        is_address = len(parts) == 4 and match[0] == match[1] and parts[3].isdigit() and int(parts[0]) > 9
        if not is_address:
            yield Mark("version", match[1].lower(), match[0])


def fold_words(text: str) -> str:
    """Return the words of a text as messages are compared by: "Error: 12 MB left" -> "error mb left"."""
    return " ".join(_WORDS.findall(text.lower()))


class Place(NamedTuple):
    """A text in which marks are looked up."""

    text: str
    folded: str  # lower case

    @classmethod
    def of(cls, text: str) -> "Place":
        text = text[:READ]
        return cls(text, text.lower())

    def has(self, mark: Mark) -> bool:
        if mark.what == "error" and " " in mark.key:
            # Its longest word first: folding a text takes twenty times as long as missing a word in it.
            return max(mark.key.split(" "), key=len) in self.folded and mark.key in fold_words(self.text)
        if mark.what == "frame" and " of " in mark.key:
            return all(part in self.folded for part in mark.key.split(" of "))
        return self.find(mark.key) >= 0

    def find(self, key: str) -> int:
        """Return where a key stands by itself, -1 for nowhere: 1.2 does not stand in 11.2."""
        at = self.folded.find(key)
        while at >= 0:
            before, behind = self.folded[at - 1 : at], self.folded[at + len(key) : at + len(key) + 1]
            is_begun = before.isalnum() and key[0].isalnum() and not (before == "v" and key[0].isdigit())
            if not is_begun and not behind.isalnum() and behind != "_":
                return at
            at = self.folded.find(key, at + 1)
        return -1

    def quote(self, mark: Mark) -> str:
        """Return how this text writes a mark that it has."""
        key = mark.key.partition(" of ")[0] if mark.what == "frame" else mark.key
        at = self.find(key)
        if at < 0 or len(self.folded) != len(self.text):  # a message with other numbers; a letter that folds into two
            return self._line_like(mark) if mark.what == "error" else mark.written
        return self.text[at : at + len(key)] if mark.what in ("identifier", "version") else self._token(at, len(key))

    def _token(self, at: int, length: int) -> str:
        """Return what stands around a place between blanks and quotes: the whole path, the whole name."""
        start, end = at, at + length
        while start > max(0, at - 80) and self.text[start - 1] not in " \t\n\r\"'`()<>[]{},;":
            start -= 1
        return self.text[start:end]

    def _line_like(self, mark: Mark) -> str:
        first = " ".join(mark.key.split(" ")[:4])
        for line in self.text.splitlines():
            if first in fold_words(line):
                return line.strip()[:_LINE]
        return mark.written
