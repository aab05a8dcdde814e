"""Differences: what two items do not have in common, in words that people can check.

Titles are compared word by word. A word that only one of them has may be of a kind that makes two reports different
whatever else they share:

    platform     iOS: Login fails            Android: Login fails
    component    wallet: Fix a race          net: Fix a race
    version      Bump foo to 1.2             Bump foo to 1.3
    identifier   test_mempool.py fails       test_wallet.py fails
    number       Weekly report 2024-03-01    Weekly report 2024-03-08

Where both titles name something of a kind that the other one does not, they say different things: a veto. Where only
one does, it may merely say more ("Login fails", "iOS: Login fails"): an addition, which counts for items that claim to
have the same text.

Texts are compared line by line, without the lines of the project's forms. A line is known by a hash of its words, so
that `### Steps to reproduce` and `**Steps to reproduce:**` are one. Here nothing is decided: rules (dedupe/gates) and
people read it.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Collection
from functools import cache, lru_cache
from typing import Literal, NamedTuple, Protocol

from forgelore.compare.signatures import parse_signature
from forgelore.index.cleaning import is_form_line
from forgelore.text.fence import folded
from forgelore.text.terms import has_unspaced

Kind = Literal["platform", "component", "version", "identifier", "number"]
Relation = Literal["twin", "sibling", ""]

KINDS: tuple[Kind, ...] = ("platform", "component", "version", "identifier", "number")
SIBLING_DAYS = 7
_NEAR_TITLE = 0.6  # of the words of two titles by one author that make siblings
_TITLE = 300  # characters of a title that are compared; forges allow 255
_LINES = 40  # that are returned of each side
_LINE = 300  # characters of each
_READ = 30_000  # characters of a text whose lines are compared
_DAY_MS = 86_400_000

# Each name with the one that it counts as; what stands alone counts as itself.
_PLATFORMS = """
ios iphone; ipad; ipados; tvos; watchos; android; windows win win32 win64 win7 win8 win10 win11 mswindows; wsl wsl2
macos mac osx macosx darwin; linux gnu/linux; ubuntu; debian; fedora; rhel redhat; centos; alpine; archlinux; nixos
suse opensuse; freebsd; openbsd; netbsd; solaris; haiku; cygwin; mingw mingw32 mingw64 mingw-w64; msvc; musl; glibc
x86 i386 i486 i586 i686 x86-32 x86_32 32-bit 32bit; x86_64 x86-64 amd64 x64 64-bit 64bit; arm armv6 armv7 armhf arm32
arm64 aarch64 armv8; riscv riscv32 riscv64 risc-v; ppc powerpc ppc64 ppc64le; s390 s390x; mips mipsel mips64; sparc
sparc64; wasm wasm32 webassembly; avr; web; desktop; mobile; tablet; firefox; chrome; chromium; safari; opera; brave
ie ie8 ie9 ie10 ie11; msie; edge; webkit; electron; wayland; x11; gtk; qt; docker; podman; kubernetes k8s
postgres postgresql; mysql; mariadb; sqlite sqlite3
"""
_PLATFORM = {
    name: names[0]
    for line in _PLATFORMS.strip().splitlines()
    for part in line.split(";")
    if (names := part.split())
    for name in names
}
_SPELT = ((re.compile(r"\bmac[ -]?os(?: ?x)?\b|\bos x\b", re.IGNORECASE), "macOS"),)
_DATE_WORDS = """
january february march april june july august september october november december jan feb mar apr jun jul aug sep sept
oct nov dec monday tuesday wednesday thursday friday saturday sunday first second third fourth fifth sixth seventh
eighth ninth tenth one two three four five six seven eight nine ten
"""
_DATES = frozenset(_DATE_WORDS.split())
# What stands before a colon or in brackets and says what a report is, not which part it is about.
_GENERIC_WORDS = """
bug bugs feature request feat fix fixes bugfix hotfix chore docs doc documentation refactor style test tests ci build
perf revert wip rfc draft question help idea proposal discussion task todo note error errors ice fatal warning warn
panic crash regression enhancement improvement suggestion support urgent info meta epic story re fw internal issue
problem solved done closed duplicate dup rfe pr mr qa
"""
_GENERIC = frozenset(_GENERIC_WORDS.split())
_WORD = re.compile(r"[#v]?[^\W_](?:[\w]|[.+/\\:'@_-](?=\w))*(?:\+\+|#|\(\))?|_[\w.:/-]*\w(?:\(\))?")
_PREFIX = re.compile(
    r"\s{0,9}(?:(?:\[[^\[\]\n]{1,40}\]|\([^()\n]{1,40}\))\s{0,3}:?\s{0,3}){1,4}"  # [Wallet] [RPC]
    r"|\s{0,9}`?[\w./+-]{1,40}`?(?:\([\w ./,+-]{1,40}\)!?)?(?:,\s?[\w./+-]{1,40}){0,3}:(?=\s)"  # wallet, rpc: feat(ui):
    r"|\s{0,9}[\w.+-]{1,30}(?:/[\w.+-]{1,30}){1,6}\s(?=-\s)"  # src/net - a path as a label
)
_CODE = re.compile(r"`([^`\n]{1,60})`")
_CODE_WORDS = 3  # of a code span that names something; more are a message
_VERSION = re.compile(
    r"v\d{1,5}\Z|v?\d{1,4}(?:\.\d{1,5}){1,3}(?:[-.]?(?:rc|beta|alpha|pre|dev)[-.]?\d{0,3})?\Z", re.IGNORECASE
)
_LINE_WORD = re.compile(r"[^\W_]+")
_ASCII_WORDS = bytes(ord(chr(code).lower()) if chr(code).isalnum() and code < 128 else ord(" ") for code in range(256))
_MAX_LINE_WORDS = 40  # a paragraph that is repeated word by word is a quotation
_DATE = re.compile(r"\d{1,4}([./-])\d{1,2}\1\d{1,4}\Z")


class Differences(NamedTuple):
    """The words that only one of two titles has, as they are written, and their kinds.

    `vetoes`: kinds of which each title names something that the other does not. `additions`: kinds of which only one
    does. `is_twin`: words of these kinds are all that differs. `likeness`: the share of words that both have.
    """

    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    vetoes: tuple[Kind, ...]
    additions: tuple[Kind, ...] = ()
    is_twin: bool = False
    likeness: float = 0.0


class TitledItem(Protocol):
    """What makes an item another's twin or sibling. `author` "": unknown."""

    @property
    def title(self) -> str: ...
    @property
    def author(self) -> str: ...
    @property
    def created_at(self) -> int | None: ...


class _Word(NamedTuple):
    start: int
    end: int
    written: str
    key: str
    in_prefix: bool
    in_code: bool


@lru_cache(maxsize=4096)  # a pair is looked at by a rule, by the list of copies and by the page
def compare_titles(title: str, other: str) -> Differences:
    """Return the words in which two titles differ, and what that means.

    ("iOS: Login fails", "Android: Login fails")  ->  ("iOS",), ("Android",), vetoes ("platform",)
    """
    first, second = _words(title), _words(other)
    shared = Counter(one.key for one in first) & Counter(one.key for one in second)
    both = sum(shared.values())
    mine, theirs = _without(first, shared), _without(second, shared)
    kinds = [{kind for one in each if (kind := _kind(one))} for each in (mine, theirs)]
    is_named = all(_kind(one) or _is_generic(one) for one in (*mine, *theirs))
    return Differences(
        _joined(mine), _joined(theirs), tuple(kind for kind in KINDS if kind in kinds[0] & kinds[1]),
        tuple(kind for kind in KINDS if kind in kinds[0] ^ kinds[1]),
        both > 0 and is_named and bool(kinds[0] | kinds[1]), 2 * both / max(1, len(first) + len(second)),
    )  # fmt: skip


def find_relation(one: TitledItem, other: TitledItem) -> Relation:
    """Return "twin" for titles that are equal but for a platform, component, version, identifier or number, "sibling"
    for near titles by one author within a week, "" for everything else.

    ("Weekly report 2024-03-01", "Weekly report 2024-03-08")  ->  "twin"
    """
    found = compare_titles(one.title, other.title)
    if found.is_twin:
        return "twin"
    is_near = bool(found.only_first or found.only_second) and found.likeness >= _NEAR_TITLE
    return "sibling" if is_near and are_of_one_hand(one, other) else ""


def are_of_one_hand(one: TitledItem, other: TitledItem) -> bool:
    """Tell whether one author filed both within a week."""
    if not one.author or one.author.casefold() != other.author.casefold():
        return False
    times = one.created_at, other.created_at
    return None not in times and abs((times[0] or 0) - (times[1] or 0)) <= SIBLING_DAYS * _DAY_MS


def compare_lines(text: str, other: str, *, boilerplate: Collection[int] = ()) -> list[list[str]]:
    """Return the lines that two texts share, those of the first alone, and those of the second alone, in order; 40 of
    each at most. Addresses and numbers of stack frames do not count. `boilerplate`: keys of the lines that every report
    of the project has (`line_key`); those of common forms are left out in any case.
    """
    first, second = _lines(text, boilerplate), _lines(other, boilerplate)
    shared = [line for key, line in first.items() if key in second]
    only_first = [line for key, line in first.items() if key not in second]
    only_second = [line for key, line in second.items() if key not in first]
    return [shared[:_LINES], only_first[:_LINES], only_second[:_LINES]]


# The lines of GitHub's own templates for bugs and features (docs.github.com, "About issue and pull request
# templates"): a young project has them before there is anything to learn from.
_USUAL_LINES = """\
Describe the bug
A clear and concise description of what the bug is.
To Reproduce
Steps to reproduce the behavior:
1. Go to '...'
2. Click on '....'
3. Scroll down to '....'
4. See error
Expected behavior
A clear and concise description of what you expected to happen.
If applicable, add screenshots to help explain your problem.
Desktop (please complete the following information):
- OS: [e.g. iOS]
- Browser [e.g. chrome, safari]
- Version [e.g. 22]
Smartphone (please complete the following information):
- Device: [e.g. iPhone6]
- OS: [e.g. iOS8.1]
- Browser [e.g. stock browser, safari]
Add any other context about the problem here.
Is your feature request related to a problem? Please describe.
A clear and concise description of what the problem is. Ex. I'm always frustrated when [...]
Describe the solution you'd like
A clear and concise description of what you want to happen.
Describe alternatives you've considered
A clear and concise description of any alternative solutions or features you've considered.
Add any other context or screenshots about the feature request here.
"""


def line_key(line: str) -> int | None:
    """Return the hash of a line's words, None for a line that has none.

    "- [x] I have **searched**" and "- [ ] I have searched" have the same.
    """
    words = _line_words(line)
    if words and words[0] == b"x" and len(words) > 1:  # a box that somebody ticked
        del words[0]
    if not words or len(words) > _MAX_LINE_WORDS:
        return None
    digest = hashlib.blake2b(b" ".join(words), digest_size=8).digest()
    return int.from_bytes(digest, "little", signed=True)  # as SQLite holds it


def _line_words(line: str) -> list[bytes]:
    """Return the words of a line in lower case. Nearly all lines are ASCII, and a table takes a fifth of the time."""
    if line.isascii():
        return line.encode().translate(_ASCII_WORDS).split()
    return [word.encode(errors="replace") for word in _LINE_WORD.findall(line.casefold())]


@cache
def usual_lines() -> frozenset[int]:
    """Return the keys of the lines that common forms have."""
    return frozenset(key for key in map(line_key, _USUAL_LINES.splitlines()) if key is not None)


# "  7:  0x7f88d5a31 - rt::unwind::begin_unwind::h914723071770349": where code lay in one run, and the compiler's hash.
_FRAME = re.compile(r"\A\s*(?:#?\d{1,4}[:.)]?\s+)(?=0x|in\b|at\b|\w+(?:::|\.|\())")
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,}\b|::h[0-9a-f]{8,}\w*")


def _lines(text: str, boilerplate: Collection[int]) -> dict[int, str]:
    lines: dict[int, str] = {}
    usual = usual_lines()
    for line in without_comments(text[:_READ]).splitlines():
        key = line_key(_ADDRESS.sub("", _FRAME.sub("", line[:_LINE])))
        if key is not None and key not in usual and key not in boilerplate and not is_form_line(line):
            lines.setdefault(key, line.strip()[:_LINE])
    return lines


def without_comments(text: str) -> str:
    """Return a text without HTML comments; one without an end hides nothing."""
    parts, at = [], 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join([*parts, text[at:]])


def _words(title: str) -> list[_Word]:
    """Return the words of a title in order; of a script without blanks each character."""
    title = title[:_TITLE]
    for pattern, name in _SPELT:
        title = pattern.sub(name, title)
    prefix = match.end() if (match := _PREFIX.match(title)) else 0
    spans = [one.span() for one in _CODE.finditer(title) if len(one[1].split()) <= _CODE_WORDS]
    found = []
    for match in _WORD.finditer(title):
        start, end = match.span()
        in_code = any(begin < start and end <= stop for begin, stop in spans)
        pieces = [(at, at + 1) for at in range(start, end)] if has_unspaced(match[0]) else [(start, end)]
        found += [_word(title, *piece, in_prefix=start < prefix, in_code=in_code) for piece in pieces]
    return found


def _word(title: str, start: int, end: int, *, in_prefix: bool, in_code: bool) -> _Word:
    written = title[start:end]
    key = folded(written)
    return _Word(start, end, written, _PLATFORM.get(key, key.removesuffix("()")), in_prefix, in_code)


def _without(words: list[_Word], shared: Counter[str]) -> list[_Word]:
    left, kept = shared.copy(), []
    for one in words:
        if left[one.key] > 0:
            left[one.key] -= 1
        else:
            kept.append(one)
    return kept


def _joined(words: list[_Word]) -> tuple[str, ...]:
    """Return the words as they are written, those that touch each other as one."""
    found: list[str] = []
    end = -1
    for one in words:
        if one.start == end:
            found[-1] += one.written
        else:
            found.append(one.written)
        end = one.end
    return tuple(found)


def _kind(one: _Word) -> Kind | None:
    """Return the kind of a word that only one title has; None for an ordinary word."""
    if one.key in _PLATFORM:
        return "platform"
    if _DATE.match(one.key) or one.key.strip("#").isdigit() or one.key in _DATES:
        return "number"
    if _VERSION.match(one.key):
        return "version"
    if one.in_prefix and not _is_generic(one):
        return "component"
    return _kind_of_name(one)


def _kind_of_name(one: _Word) -> Kind | None:
    has_digit = any(sign.isdigit() for sign in one.key)
    if has_digit and one.key[0].isdigit():
        return "number"  # 10mb, 12th, 5-10
    is_mixed = any(sign.isupper() for sign in one.written[1:]) and not one.written.isupper()  # CNode, iFrame
    is_name = one.in_code or has_digit or is_mixed or one.written.endswith(("()", "+", "#"))
    if is_name or any(mark.what in ("identifier", "path") for mark in parse_signature(one.written).marks):
        return "identifier"
    return None


def _is_generic(one: _Word) -> bool:
    return one.key in _GENERIC
