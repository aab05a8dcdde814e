"""Definitions in a file of code: the lines where something with a name begins.

Python is read by its own parser. Other languages are read by the words that definitions begin with, at the beginning of
a line: no parser, so that a name inside a comment may be taken for one, and an unusual spelling missed. What is cut at
such a line is still text.

Chunks of a file of code: spans of lines that are found, shown and embedded each by itself.

    definitions -> spans -> small neighbours joined -> long ones cut at blank lines

Every line belongs to exactly one chunk, in order. A chunk knows what is defined in it, and what it is a part of.

Languages of files, told by their names, as people call them.
"""

import ast
import re
import warnings
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from forgelore.records import CodeChunk

MAX_PARSED = 600_000  # characters: the parser takes some 50 times the memory


class Definition(NamedTuple):
    """A line (from 1) and the name that begins there. `is_cut`: a chunk may begin here; otherwise the name (a constant)
    belongs to what stands around it. `is_end`: nothing begins, and what goes on is a part of `name` ("": of the file).
    """

    line: int
    name: str
    is_cut: bool = True
    is_end: bool = False


def find_definitions(text: str, language: str) -> list[Definition]:
    """Return what a file defines, in the order of its lines."""
    if language == "Python":
        found = _parse_python(text)
        if found is not None:
            return found
    return _find_by_words(text, language)


def _parse_python(text: str) -> list[Definition] | None:
    """None for what Python cannot parse: Python 2, templates, stack overflows made on purpose."""
    if len(text) > MAX_PARSED:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of escapes in other people's strings
            tree = ast.parse(text.replace("\r", " "))
        found: list[Definition] = []
        _walk(tree.body, "", text.split("\n"), found)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return sorted(found, key=lambda one: (one.line, not one.is_end))


def _walk(body: list[ast.stmt], inside: str, lines: list[str], found: list[Definition]) -> None:
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = f"{inside}{node.name}"
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append(Definition(_with_comment(lines, first), name))
            if isinstance(node, ast.ClassDef):
                _walk(node.body, f"{name}.", lines, found)
            found.append(Definition((node.end_lineno or node.lineno) + 1, inside.rstrip("."), is_end=True))
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            names = [target.id for target in targets if isinstance(target, ast.Name)]
            found += [Definition(node.lineno, f"{inside}{name}", is_cut=False) for name in names]
        elif isinstance(node, ast.If | ast.Try | ast.With):
            for part in ("body", "orelse", "finalbody"):
                _walk(getattr(node, part, []), inside, lines, found)
            for handler in getattr(node, "handlers", []):
                _walk(handler.body, inside, lines, found)


def _with_comment(lines: list[str], line: int) -> int:
    """Return where the comment begins that stands right above a line."""
    while line > 1 and lines[line - 2].lstrip().startswith("#"):
        line -= 1
    return line


_NAME = r"(?P<name>[A-Za-z_$~][\w$]*(?:(?:::|\.|#|-(?=[a-z]))~?[A-Za-z_$][\w$]*)*[?!]?)"
_C_TYPE = (
    r"(?:(?:static|inline|extern|const|constexpr|virtual|explicit|friend|unsigned|signed|struct|enum|union|class)\s+)*"
)
_MODIFIERS = (
    r"(?:(?:public|private|protected|internal|static|final|abstract|sealed|async|override|virtual|readonly|export|default"
    r"|declare|open|data|inline|suspend|partial|unsafe|const|extern|pub(?:\([^)]*\))?|mut)\s+)*"
)
# By language, what a definition looks like at the beginning of a line. Blanks before it: it may stand inside another.
_C = (
    rf"^(?:{_C_TYPE}[A-Za-z_][\w:<>,&* ]*?[\s*&]\**)?{_NAME}\s*\([^;{{}}]*(?:\{{|$)",
    r"^\s*(?:typedef\s+)?(?:struct|enum|union|class|namespace)\s+(?P<name>[A-Za-z_]\w*)[^;()]*\{?\s*$",
    r"^\s*#\s*define\s+(?P<name>[A-Za-z_]\w*)",
)
_JAVA = (
    rf"^\s*{_MODIFIERS}(?:class|interface|enum|record|struct|trait|object|namespace|module)\s+(?P<name>[A-Za-z_$][\w$]*)",
    rf"^\s+{_MODIFIERS}(?:<[^>]+>\s*)?[A-Za-z_$][\w$<>\[\],.? ]*\s+(?P<name>[A-Za-z_$][\w$]*)\s*\([^;]*$",
)
_SCRIPT = (
    rf"^\s*{_MODIFIERS}(?:function\*?|class|interface|enum|type|namespace|module)\s+(?P<name>[A-Za-z_$][\w$]*)",
    r"^(?:export\s+)?(?:const|let|var)\s+(?P<name>[A-Za-z_$][\w$]*)\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function|\(|[\w$]+\s*=>)",
    (
        r"^\s+(?:(?:static|async|get|set|public|private|protected|readonly)\s+)*(?!(?:if|for|while|switch|catch|return)\b)"
        r"(?P<name>#?[A-Za-z_$][\w$]*)\s*\([^;]*\)\s*(?::\s*[^{;]+)?\{\s*$"
    ),
)
_WORDS: dict[str, tuple[str, ...]] = {
    "C": _C,
    "C++": (*_C, *_JAVA[:1]),
    "C/C++ header": (*_C, *_JAVA[:1]),
    "Objective-C": (
        *_C,
        r"^[-+]\s*\([^)]*\)\s*(?P<name>\w+)",
        r"^@(?:interface|implementation|protocol)\s+(?P<name>\w+)",
    ),
    "C#": _JAVA,
    "Java": _JAVA,
    "Groovy": (*_JAVA, r"^\s*def\s+(?P<name>\w+)"),
    "Kotlin": (*_JAVA[:1], rf"^\s*{_MODIFIERS}fun\s+(?:<[^>]+>\s*)?(?P<name>[\w.]+)"),
    "Scala": (*_JAVA[:1], rf"^\s*{_MODIFIERS}(?:def|val)\s+(?P<name>\w+)"),
    "Swift": (rf"^\s*{_MODIFIERS}(?:func|class|struct|enum|protocol|extension|actor)\s+(?P<name>\w+)",),
    "Dart": _JAVA,
    "JavaScript": _SCRIPT,
    "TypeScript": _SCRIPT,
    "HTML": _SCRIPT[:2],
    "PHP": (*_JAVA[:1], rf"^\s*{_MODIFIERS}function\s+&?(?P<name>\w+)"),
    "Go": (r"^func\s+(?:\([^)]*\)\s*)?(?P<name>\w+)", r"^type\s+(?P<name>\w+)"),
    "Rust": (
        rf"^\s*{_MODIFIERS}(?:fn|struct|enum|trait|union|mod|type|macro_rules!)\s+(?P<name>\w+)",
        r"^\s*impl\b(?:<[^>]*>)?\s*(?P<name>[\w:]+)",
    ),
    "Python": (r"^\s*(?:async\s+def|def|class|cdef\s+class|cpdef\s+\w+)\s+(?P<name>\w+)",),
    "Ruby": (r"^\s*(?:def|class|module)\s+(?P<name>[\w:.]+[?!]?)",),
    "Crystal": (r"^\s*(?:def|class|module|struct)\s+(?P<name>[\w:.]+[?!]?)",),
    "Elixir": (r"^\s*(?:def|defp|defmodule|defmacro)\s+(?P<name>[\w.]+[?!]?)",),
    "Perl": (r"^\s*(?:sub|package)\s+(?P<name>[\w:]+)",),
    "Lua": (r"^\s*(?:local\s+)?function\s+(?P<name>[\w.:]+)",),
    "Shell": (r"^\s*(?:function\s+)?(?P<name>[A-Za-z_][\w-]*)\s*\(\)",),
    "PowerShell": (r"(?i)^\s*function\s+(?P<name>[\w-]+)",),
    "SQL": (
        (r"(?i)^\s*create\s+(?:or\s+replace\s+)?(?:unique\s+|virtual\s+|temp\w*\s+)*\w+\s+"
        r"(?:if\s+not\s+exists\s+)?(?P<name>[\w.]+)"),
    ),
    "Haskell": (r"^(?:data|newtype|class|type|module)\s+(?P<name>[\w.]+)", r"^(?P<name>[a-z]\w*)\s*::"),
    "OCaml": (r"^\s*(?:let(?:\s+rec)?|type|module)\s+(?P<name>\w+)",),
    "Julia": (r"^\s*(?:function|struct|mutable\s+struct|macro|module)\s+(?P<name>[\w.!]+)",),
    "R": (r"^\s*(?P<name>[\w.]+)\s*(?:<-|=)\s*function\b",),
    "Lisp": (r"^\(def\w*\s+\(?(?P<name>[^\s()]+)",),
    "Clojure": (r"^\(def\w*\s+(?P<name>[^\s()]+)",),
    "Zig": (r"^\s*(?:pub\s+)?(?:fn|const)\s+(?P<name>\w+)",),
    "Nim": (r"^\s*(?:proc|func|type|template|macro)\s+(?P<name>\w+)",),
    "Protocol Buffers": (r"^\s*(?:message|service|enum|rpc)\s+(?P<name>\w+)",),
    "GraphQL": (r"^\s*(?:type|input|interface|enum|union|scalar)\s+(?P<name>\w+)",),
    "Makefile": (r"^(?P<name>[A-Za-z][\w./-]*)\s*:(?!=)",),
    "HCL": (r'^(?:resource|data|module|variable|output)\s+"(?P<name>[^"]+)"',),
    "Markdown": (r"^\#{1,6}\s+(?P<name>\S.{0,80})",),
    "TOML": (r"^\[+(?P<name>[^\]]+)\]",),
    "INI": (r"^\[(?P<name>[^\]]+)\]",),
    "Solidity": (r"^\s*(?:contract|interface|library|function|event|struct|modifier)\s+(?P<name>\w+)",),
    "Erlang": (r"^(?P<name>[a-z]\w*)\(.*->",),
}  # fmt: skip
_NOT_NAMES = frozenset(
    ["if", "for", "while", "switch", "return", "else", "do", "catch", "sizeof", "throw", "case", "elif"]
)
_MAX_LINE = 400  # characters: a longer one is data, and some patterns look at each place of a line again


def _find_by_words(text: str, language: str) -> list[Definition]:
    patterns = _compiled(language)
    if not patterns:
        return []
    found = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line or len(line) > _MAX_LINE or line.isspace():
            continue
        for pattern in patterns:
            match = pattern.match(line)
            if match and match["name"] not in _NOT_NAMES:
                found.append(Definition(number, match["name"].strip()))
                break
    return found


@cache
def _compiled(language: str) -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern) for pattern in _WORDS.get(language, ()))


JOINED = 24  # lines up to which neighbours are joined: a one-line function alone says little
LONGEST = 80  # lines of a chunk
WIDEST = 6_000  # characters of a chunk, where lines are that long: it is cut at a line


class _Span(NamedTuple):
    start: int
    end: int
    name: str


def cut_code(text: str, language: str) -> list[CodeChunk]:
    """Return the chunks of a file; none of an empty one."""
    lines = text.split("\n")
    if lines and not lines[-1]:
        lines.pop()  # nothing follows the last line end
    if not lines:
        return []
    definitions = find_definitions(text, language)
    pieces = [piece for span in _join(_spans(definitions, len(lines))) for piece in _cut(span, lines)]
    return _name(pieces, [one for one in definitions if not one.is_end])


def _name(pieces: list[_Span], definitions: Sequence[Definition]) -> list[CodeChunk]:
    lines = [one.line for one in definitions]
    return [_chunk(one, definitions[bisect_left(lines, one.start) : bisect_right(lines, one.end)]) for one in pieces]


def _chunk(piece: _Span, definitions: Sequence[Definition]) -> CodeChunk:
    names = [one.name for one in definitions]
    return CodeChunk(piece.start, piece.end, piece.name or next(iter(names), ""), tuple(dict.fromkeys(names)))


def _spans(definitions: Sequence[Definition], last: int) -> list[_Span]:
    """Return the lines between the places where a chunk may begin, each with the name that holds there."""
    starts = {1: ""}
    for one in definitions:
        if one.is_cut and one.line <= last:
            starts[one.line] = one.name  # of several at one line the last: what begins, not what ends
    ordered = sorted(starts)
    return [_Span(start, end - 1, starts[start]) for start, end in zip(ordered, [*ordered[1:], last + 1], strict=True)]


def _join(spans: list[_Span]) -> list[_Span]:
    """Join small neighbours that are parts of the same thing: the methods of a class, the functions of a module."""
    joined: list[_Span] = []
    for span, behind in zip_longest(spans, spans[1:]):
        before = joined[-1] if joined else None
        is_small = before is not None and span.end - before.start < JOINED
        if before and is_small and not _begins_parts(before, span, behind) and _is_near(before.name, span.name):
            joined[-1] = before._replace(end=span.end, name=before.name or span.name)
        else:
            joined.append(span)  # what has parts begins a chunk, so that they can join it
    return joined


def _begins_parts(before: _Span, span: _Span, behind: _Span | None) -> bool:
    """Whether a span is the head of something whose first part comes next."""
    inside = f"{span.name}."
    is_head = bool(span.name) and behind is not None and behind.name.startswith(inside)
    return is_head and before.name != span.name and not before.name.startswith(inside)


def _is_near(name: str, other: str) -> bool:
    """Whether two are siblings, or one the part of the other. Blank lines between two functions have no name."""
    owner, owner_of_other = name.rpartition(".")[0], other.rpartition(".")[0]
    return owner in (owner_of_other, other) or owner_of_other == name


def _cut(span: _Span, lines: Sequence[str]) -> list[_Span]:
    """Cut what is too long: at the last blank line of its second half, or where it must."""
    found: list[_Span] = []
    start = span.start
    while start <= span.end:
        end, width = start, 0
        while end <= span.end and end - start < LONGEST and (end == start or width + len(lines[end - 1]) < WIDEST):
            width += len(lines[end - 1]) + 1
            end += 1
        if end <= span.end:
            blanks = [at for at in range((start + end) // 2, end) if not lines[at - 1].strip()]
            end = blanks[-1] + 1 if blanks else end
        found.append(_Span(start, end - 1, span.name))
        start = end
    return found


_BY_EXTENSION = {
    "Ada": "adb ads",
    "Assembly": "asm s",
    "Batchfile": "bat cmd",
    "C": "c",
    "C#": "cs",
    "C++": "cc cpp cxx c++ hpp hh hxx ipp tpp",
    "C/C++ header": "h",
    "CMake": "cmake",
    "CSS": "css less sass scss",
    "Clojure": "clj cljc cljs",
    "Crystal": "cr",
    "D": "d",
    "Dart": "dart",
    "Diff": "diff patch",
    "Elixir": "ex exs",
    "Elm": "elm",
    "Erlang": "erl hrl",
    "F#": "fs fsi fsx",
    "Fortran": "f f90 f95 f03",
    "Go": "go",
    "GraphQL": "graphql gql",
    "Groovy": "groovy gradle",
    "HCL": "hcl tf",
    "HTML": "html htm xhtml vue svelte",
    "Haskell": "hs",
    "INI": "ini cfg conf properties",
    "JSON": "json jsonl json5",
    "Java": "java",
    "JavaScript": "js jsx mjs cjs",
    "Julia": "jl",
    "Kotlin": "kt kts",
    "Lisp": "lisp el scm rkt",
    "Lua": "lua",
    "Markdown": "md markdown mdx",
    "Nim": "nim",
    "Nix": "nix",
    "OCaml": "ml mli",
    "Objective-C": "m mm",
    "PHP": "php",
    "Pascal": "pas",
    "Perl": "pl pm",
    "PowerShell": "ps1 psm1",
    "Protocol Buffers": "proto",
    "Python": "py pyi pyw pyx pxd",
    "R": "r",
    "Ruby": "rb rake gemspec",
    "Rust": "rs",
    "SQL": "sql",
    "Scala": "scala sc",
    "Shell": "sh bash zsh fish",
    "Solidity": "sol",
    "Swift": "swift",
    "TOML": "toml",
    "Tcl": "tcl",
    "TeX": "tex bib",
    "Text": "txt",
    "TypeScript": "ts tsx mts cts",
    "Verilog": "v sv",
    "Vim script": "vim",
    "XML": "xml xsd xsl",
    "YAML": "yml yaml",
    "Zig": "zig",
    "reStructuredText": "rst",
}
_BY_NAME = {
    "cmakelists.txt": "CMake",
    "dockerfile": "Dockerfile",
    "gemfile": "Ruby",
    "gnumakefile": "Makefile",
    "jenkinsfile": "Groovy",
    "justfile": "Makefile",
    "makefile": "Makefile",
    "rakefile": "Ruby",
    "sconstruct": "Python",
}
_LANGUAGES = {extension: language for language, each in _BY_EXTENSION.items() for extension in each.split()}


def find_language(path: str) -> str:
    """Return what a file is written in; "" where its name does not say.

    "src/net/conn.cpp" -> "C++"    "Makefile" -> "Makefile"    "LICENSE" -> ""
    """
    name = path.rpartition("/")[2].lower()
    if name in _BY_NAME:
        return _BY_NAME[name]
    stem, _, extension = name.rpartition(".")
    return _LANGUAGES.get(extension, "") if stem else ""
