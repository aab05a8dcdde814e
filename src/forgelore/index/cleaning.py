"""Cleaning of a text before it gets a vector: which lines say what it is about, and what is left of them.

A vector stands for some hundred words, so templates, logs, stack traces and code must not use up its room. Full text
keeps everything; only embedding reads what is kept here.

    dropped                                                     kept of it
    HTML comments, checkboxes, headings of issue forms, and     nothing
    fields that every report has (User Agent, Build ID)
    blocks of code, logs                                        the first lines of a block, and lines that name an error
    stack frames, tables of numbers, keys, encoded data         nothing
    inside a line: tags, hashes, addresses, decoration          the words; a link keeps its text, or its last part

Time is linear in the length of the text: every repetition in a pattern is bounded or cannot be tried twice.

Chunks: spans of a document that get one vector each.

Only lines worth embedding count (`index/cleaning`): logs and templates stay in full text and cost no vector. The
first chunk stands for the document as a whole; the others make the rest of a long text findable.
"""

import re
from collections.abc import Iterator

from forgelore.records import Chunk
from forgelore.words import Passage

_BLOCK_LINES = 3  # of a block of code: what is called or configured stands in its first lines
_ERROR_LINES = 4  # of a text: the first errors name the failure, the others follow from it
_FALLBACK_CHARS = 2_000  # of a text in which nothing was worth keeping
_MIN_LETTERS = 0.5  # of a line's visible characters; prose has 0.8, hex dumps and tables of numbers 0.3
_MAX_FORM = 16  # words of a heading or question of an issue form
_MAX_WORD = 25  # characters per word; prose has 5, minified and encoded data hundreds

_FENCE = re.compile(r"[ \t>]{0,12}(```|~~~)")
_JIRA_BLOCK = re.compile(r"\{(?:code|noformat)(?::[^{}\n]{0,80})?\}", re.IGNORECASE)
_FRAME = re.compile(
    r"""[ \t>|*]{0,40}(?:
        at\ [\w.$<>/@\[\]:;-]{1,300}\ ?\(            # Java, JavaScript, C#
      | at\ \S{1,300}:\d+(?::\d+)?\s*$               # JavaScript, Rust
      | File\ "[^"\n]{1,300}",\ line\ \d+            # Python
      | \#\d{1,3}:?\ +(?:0x[0-9a-fA-F]{6,16}\b|[^\s(]{1,300}\ \()     # gdb, sanitizers
      | \d{1,3}:?\ +0x[0-9a-fA-F]{6,16}\b
      | \d{1,3}\ +[\w.-]+\ +0x[0-9a-fA-F]{8,16}\b    # macOS
      | \S{1,300}\.go:\d+(?:\ \+0x[0-9a-f]+)?\s*$
      | \.\.\.\ \d+\ (?:more|common\ frames)
    )""",
    re.VERBOSE,
)
_LOG = re.compile(
    r"""[ \t>|*]{0,40}(?:
        [\[(]?\d{4}[-/]\d\d[-/]\d\d[T ,_]{1,2}\d\d:\d\d
      | [\[(]?\d\d[-/.]\d\d[-/.]\d{2,4}[T ,]{1,2}\d\d:\d\d
      | [\[(]?\d\d:\d\d:\d\d\b
      | [A-Z][a-z]{2}\ +\d{1,2}\ \d\d:\d\d:\d\d
      | \[\ {0,4}\d+\.\d{3,6}\]
      | \[?(?:INFO|DEBUG|TRACE|WARN|WARNING|VERBOSE|NOTICE)\]?[\ :|]
      | (?:make|gmake|ninja)(?:\[\d+\])?:\ |CXX\ |CC\ |(?:checking|Making)\ (?:for|whether|all)\b
    )""",
    re.VERBOSE,
)
# Stems, looked for in the folded line: twenty times as fast as one pattern of alternatives.
_ERRORS = (
    "error", "exception", "fail", "assert", "panic", "fatal", "crash", "abort", "segfault", "segmentation", "cannot",
    "can't", "could not", "couldn't", "unable", "undefined", "denied", "refused", "corrupt", "caused by",
)  # fmt: skip
_CHECKBOX = re.compile(r"[ \t>]{0,12}[-*+] \[[ xX]?\]")
_FIELD = re.compile(
    r"[ \t>*_#-]{0,16}(?:user ?-?agent|build ?(?:id|name|naam|identifier)|browser / version|tested another browser"
    r"|problem type|signed-off-by|co-authored-by|change-id)[*_]{0,4} ?:",
    re.IGNORECASE,
)
_FORM_WORDS = (
    "a about actual add additional affected agent alternative alternatives any anything are attach attached "
    "attachments be been before behavior behaviour below bug build can change changes check checklist code "
    "component context core could current currently debug debugging describe description did do does else "
    "environment error exact example existing expected extra feature for from get happen happened happening happens "
    "hardware have help how i id if in info information installation installed is issue issues it latest like list "
    "log logs machine made main manager may message method might minimal mode name need no node none notes obtain "
    "of on operating or os other output package platform please possible prerequisites problem process propose "
    "proposed provide question reason related release relevant reliably report reproduce reproducible reproduction "
    "request response result results run running screens screenshot screenshots search searched section see seeing "
    "should so software solution specifications specs stack step steps suggested suggestion summary system that the "
    "there this to trace type url use used useful using version versions video view want was we what when where "
    "which why with workaround would yes you youd your "
)
_FORM = frozenset(_FORM_WORDS.split())

# No possessive groups ((…)*+) here: Python 3.11.2, which Debian ships, gets them wrong.
_COMMENT = re.compile(r"<!--(?:(?!<!--|-->).)*-->|<!--")
_TAG = re.compile(
    r"</?(?:a|b|blockquote|br|code|dd|del|details|div|dl|dt|em|h[1-6]|hr|i|img|kbd|li|ol|p|picture|pre|s|samp|source|span"
    r"|strong|sub|summary|sup|table|tbody|td|th|thead|tr|u|ul|video)\b[^<>]{0,1000}>",
    re.IGNORECASE,
)
_IMAGE = re.compile(r"!\[[^\[\]]{0,200}\]\([^()\s]{0,1000}\)")
_LINK = re.compile(r"\[([^\[\]]{1,300})\]\([^()\s]{0,1000}\)")
_URL = re.compile(r"\b(?:https?|ftp|file)://([^\s<>()\[\]{}\"'|`/?#]+)([^\s<>()\[\]{}\"'|`]*)")
_HEX = re.compile(r"\b(?:0[xX][0-9a-fA-F]+|(?=[a-f]*\d)[0-9a-f]{7,}|(?=[A-F]*\d)[0-9A-F]{12,})\b")
_LONG = re.compile(r"[A-Za-z0-9+/]{32,}=*")
_STAMP = re.compile(r"[\[(]?\d{4}[-/]\d\d[-/]\d\d[T ,_]{1,2}\d\d:\d\d(?::\d\d)?(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?[\])]?")
_LEAD = re.compile(r"[\s>]*(?:#{1,6}(?= )|h[1-6]\. |[-+](?= )|\(?\d{1,2}[.)](?= ))?[\s>]*")
_EMPHASIS = str.maketrans("*`|", "   ")
_MARKS = re.compile(
    r"(?=[_~{}=-])(?:(?<!\w)_+|_+(?!\w)|~~+|\{\{|\}\}|\{(?:code|noformat|quote|color)[^{}]{0,80}\}|==+|--+)"
)
_DIGIT = re.compile(r"\d")
_LETTERS = re.compile(r"[^\W\d_]+")


def clean(text: str) -> str:
    r"""Return the kept lines, cleaned and joined; never empty for a text that has letters.

    "## Steps to reproduce\n<!-- be brief -->\n**Crash** on `sync`" -> "Crash on sync"
    """
    lines = [words for _, _, words in _telling_lines(text)]
    return "\n".join(lines or [clean_line(text[start:end]) for start, end in _beginning(text)])


def telling_text(text: str) -> str:
    """Return what is left when forms, logs and code are gone; empty for a form that nobody filled in."""
    return "\n".join(words for _, _, words in _telling_lines(text))


def is_form_line(line: str) -> bool:
    """Tell whether a line comes with a form: a box to tick, a field of every report, a heading or question in the words
    that forms use.
    """
    letters = _LETTERS.findall(_stripped(line))
    is_asked = bool(letters) and len(letters) <= _MAX_FORM and _is_form(line, letters)
    return bool(_CHECKBOX.match(line) or _FIELD.match(line)) or is_asked


def kept_lines(text: str) -> list[tuple[int, int]]:
    """Return the character spans of the lines worth embedding, in order; never none for a text that has letters."""
    return [(start, end) for start, end, _ in _kept_lines(text)]


def _kept_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield them with their words, "" where nothing told what a line says."""
    is_empty = True
    for line in _telling_lines(text):
        is_empty = False
        yield line
    if is_empty:
        yield from ((start, end, "") for start, end in _beginning(text))


def clean_line(line: str) -> str:
    """Return the words of a line without decoration; a line with letters keeps some.

    "- see [the **log**](https://a.example/x) at 0x7ffe12" -> "see the log at"
    """
    return _stripped(line) or " ".join(line.split())[:_FALLBACK_CHARS]


def _telling_lines(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and words of each line that says something."""
    errors: set[str] = set()
    is_traced = False
    for start, end, place in _visible_lines(text):
        line = text[start:end]
        # The line below a Python frame is the code that stood there.
        was_traced, is_traced = is_traced, _FRAME.match(line) is not None
        if is_traced or (was_traced and line[:1] in " \t"):
            continue
        if place > _BLOCK_LINES or _LOG.match(line):
            error = _error_in(line) if len(errors) < _ERROR_LINES else ""
            if not error or error in errors:
                continue
            errors.add(error)
        if words := _telling_words(line):
            yield start, end, words


def _visible_lines(text: str) -> Iterator[tuple[int, int, int]]:
    """Yield start, end and place within a block of code (0: outside) of what stands outside of long HTML comments."""
    place = 0
    fence = ""
    for start, end in _uncommented(text):
        line = text[start:end]
        mark = _FENCE.match(line)
        if mark and (not fence or mark[1] == fence):
            fence = "" if fence else mark[1]
            place = 1 if fence else 0
            continue
        # The line that opens or closes a block of Jira's may hold words of its own.
        yield start, end, place
        if not fence and "{" in line and len(_JIRA_BLOCK.findall(line)) % 2:
            place = 0 if place else 1
        elif place:
            place += 1


def _uncommented(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of lines; of a comment that goes over lines, what stands before and behind it."""
    at = hidden_to = 0
    can_close = True
    for line in text.splitlines(keepends=True):
        start, at = max(at, hidden_to), at + len(line)
        if start >= at:
            continue
        opened = text.rfind("<!--", start, at)
        end = at
        if opened >= 0 and can_close and text.find("-->", opened, at) < 0:
            closed = text.find("-->", at)
            # A comment without an end hides nothing: somebody deleted it together with the template.
            can_close = closed >= 0
            if can_close:
                end, hidden_to = opened, closed + 3
        yield start, end


def _error_in(line: str) -> str:
    """Return the words of a line that names an error, without the numbers that differ from run to run; else ""."""
    folded = line.lower()
    return " ".join(_LETTERS.findall(folded)) if any(stem in folded for stem in _ERRORS) else ""


def _telling_words(line: str) -> str:
    """Return what is left of a line that has words of its own, else ""."""
    if _CHECKBOX.match(line) or _FIELD.match(line):
        return ""
    words = _stripped(line)
    letters = _LETTERS.findall(words)
    count, gaps = sum(map(len, letters)), words.count(" ")
    visible = len(words) - gaps
    if count < 2 or count < _MIN_LETTERS * visible or visible > _MAX_WORD * (gaps + 1):
        return ""
    return "" if len(letters) <= _MAX_FORM and _is_form(line, letters) else words


def _is_form(line: str, letters: list[str]) -> bool:
    """Tell whether a line is a heading or a question of an issue form: nothing but the words that forms use."""
    line = line.strip()
    is_marked = line[0] in "#*_>h" or line[-1] in ":?*_"
    return (is_marked or len(letters) <= 4) and all(word.lower() in _FORM for word in letters)


def _stripped(line: str) -> str:
    """Return a line without decoration, or "" when no letter is left. Each look for a sign saves a pattern's run."""
    if "<!--" in line:
        line = _COMMENT.sub(" ", line)
    if "<" in line:
        line = _TAG.sub(" ", line)
    if "](" in line:
        line = _LINK.sub(r"\1", _IMAGE.sub(" ", line))
    if "://" in line:
        line = _URL.sub(_short_url, line)
    line = _LEAD.sub("", line, count=1).translate(_EMPHASIS)
    if _DIGIT.search(line):
        line = _HEX.sub(" ", _LONG.sub(_without_code, _STAMP.sub(" ", line)))
    words = " ".join(_MARKS.sub(" ", line).split())
    return words if _LETTERS.search(words) else ""


def _without_code(match: re.Match[str]) -> str:
    """A long run of letters is a path or a name; with digits in it, it is a key or encoded data."""
    return " " if _DIGIT.search(match[0]) else match[0]


def _short_url(match: re.Match[str]) -> str:
    """https://github.com/a/b/blob/main/src/net.cpp#L3 -> net.cpp; https://example.org/ -> example.org."""
    last = match[2].split("?")[0].split("#")[0].rstrip("/.,:;").rpartition("/")[2]
    return last if _LETTERS.search(last) else match[1].removeprefix("www.")


def _beginning(text: str) -> list[tuple[int, int]]:
    """Return the first lines that have letters, for a text that is nothing but template or log."""
    spans: list[tuple[int, int]] = []
    at = 0
    for line in text.splitlines(keepends=True):
        start, at = at, at + len(line)
        if _LETTERS.search(line):
            spans.append((start, at))
        if at > _FALLBACK_CHARS and spans:
            break
    return spans


def build_chunks(title: str, text: str, *, max_chars: int) -> list[Chunk]:
    r"""Return at least one chunk, in order; each holds at most `max_chars` of clean text.

    ("T", "one\ntwo\n", max_chars=4) -> one chunk per line
    """
    return list(_each_chunk(title, text, max_chars))


def first_chunk(title: str, text: str, *, max_chars: int) -> Chunk:
    """Return the chunk that stands for a text as a whole; what follows is not read."""
    return next(_each_chunk(title, text, max_chars))


def _each_chunk(title: str, text: str, max_chars: int) -> Iterator[Chunk]:
    lines: list[str] = []
    start = end = room = 0
    for line_start, line_end, line in _pieces(text, max_chars):
        if not line:
            continue
        if lines and len(line) > room:
            yield Chunk(start, end, Passage(title, "\n".join(lines)))
            lines = []
        if not lines:
            start, room = line_start, max_chars
        lines.append(line)
        end, room = line_end, room - len(line) - 1
    yield Chunk(start, end, Passage(title, "\n".join(lines)))


def _pieces(text: str, max_chars: int) -> Iterator[tuple[int, int, str]]:
    """Yield start, end and words of the lines worth embedding, cut where they are longer than a chunk; a paragraph
    without line breaks is one line to a forge.
    """
    for start, end, words in _kept_lines(text):
        if words and end - start <= max_chars:
            yield start, end, words
            continue
        for at in range(start, max(end, start + 1), max_chars):
            until = min(at + max_chars, end)
            yield at, until, clean_line(text[at:until])
