r"""Untrusted text inside our Markdown: it shows what it says, and does nothing.

Titles and bodies are written by strangers, and our comment is posted with the bot's rights. Three things protect it:

1. Only what can be seen is kept, on one line: no control, zero-width or direction-changing characters. So no foreign
   text ever begins a line, where quick actions (`/close`), headings, fences and workflow commands (`::warning`) live.
2. What a forge would turn into a reference is broken with a zero-width space: `@name`, `#12`, `!34`, `~label`,
   `owner/repo#12`, `GH-12`, commit ids, addresses. Escapes are not enough for that: both forges look for references in
   the *rendered* text (GitHub's html-pipeline, GitLab's lib/banzai), where an escaped `\@name` is `@name` again.
3. What Markdown or HTML would read is escaped: `[` becomes `\[`, and `<`, `>`, `&`, `|` become names of characters.

The words "duplicate of" are broken too: before a number they mark a duplicate on GitHub.

An item's own page: the address that may be opened for somebody.

Messages of closings: the comment that names the other item, with a marker by which it is known as ours.

The words are a setting, and a setting may hold anything: a line of it never begins with a slash, so that no forge takes
it for a quick action. `{target}` stands for the other item, `{hours}` for the days of grace in hours.
"""

import re
import sys
from bisect import bisect_right
from collections.abc import Iterable
from urllib.parse import quote, urlsplit, urlunsplit

from forgelore.errors import InvalidValue
from forgelore.profiles import PROFILES, profile_of
from forgelore.text.refs import key_in_url


def is_inside(position: int, spans: list[tuple[int, int]]) -> bool:
    last = bisect_right(spans, (position, sys.maxsize)) - 1
    return last >= 0 and position < spans[last][1]


def _find(text: str, what: str, start: int) -> int:
    """Return where it stands next, the end of the text if nowhere."""
    found = text.find(what, start)
    return found if found >= 0 else len(text)


def code_spans(text: str) -> list[tuple[int, int]]:
    """Return where code is: fences (to the end when unclosed) and `spans` within a line."""
    spans: list[tuple[int, int]] = []
    nowhere = len(text)
    tick = tilde = position = 0
    while True:
        tick = _find(text, "`", position) if tick < position or not position else tick
        tilde = _find(text, "~~~", position) if tilde < position or not position else tilde
        start = min(tick, tilde)
        if start == nowhere:
            return spans
        fence = text[start : start + 3]
        if fence in ("```", "~~~"):
            position = min(_find(text, fence, start + 3) + 3, nowhere)
        else:
            end = _find(text, "`", start + 1)
            if end == nowhere or end == start + 1 or "\n" in text[start:end]:
                position = start + 1
                continue
            position = end + 1
        spans.append((start, position))


BREAK = "\u200b"
ELLIPSIS = "…"
_MAX_URL = 2_000

_JOINERS = "\u200c\u200d"  # part of emoji and of several scripts, nothing between Latin letters
_INVISIBLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
_STRAY_JOINER = re.compile(f"(?<![^\x00-\x7f])[{_JOINERS}]+|[{_JOINERS}]+(?![^\x00-\x7f{_JOINERS}])")
_MARKS = "\u0300-\u036f\u0483-\u0489\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f"
_PILED_MARKS = re.compile(f"([{_MARKS}]{{3}})[{_MARKS}]+")  # letters that grow over the lines above
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc\U00010800-\U00010fff\U0001e800-\U0001efff]")

# A sigil and what follows it, on either forge: @name #12 !34 ~label %milestone $snippet &epic ^alert#1 *iteration:1
# [issue:12]. The variation selector makes an emoji of the sign before it. At the end of a text our own words follow:
# the full stop behind a title that ends in @ would be the beginning of a name.
_SIGIL = re.compile("([@#!$&~%^*\\[])(?=[^\\s\ufe0f]|\\Z)")
_TRACKER = re.compile(r"(?<![A-Za-z0-9])((?:[A-Z][A-Z0-9_]+|[Gg][HhLl])-)(?=\d)")  # GH-12, GL-12, JIRA-12
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*:)(?=//)")
_WWW = re.compile(r"(www)(?=\.)", re.IGNORECASE)
_SHORTCODE = re.compile(r"(:)(?=[\w+-]+:)")
_MARKING = re.compile(r"(duplicat\w*)(?=\s+(?:of|to)\b)", re.IGNORECASE)
_COMMIT = re.compile(r"(?<![0-9A-Za-z_])[0-9a-f]{7,64}(?![0-9A-Za-z_])", re.IGNORECASE)
_CODE = re.compile(r"(?<!`)`(?!`)([^`]*[^`\s][^`]*)(?<!`)`(?!`)")
_UNQUOTABLE = re.compile(r"duplicat\w*\W+(?:of|to)\b|(?<!\w)@\w|[#!]\d|<!--|-->|\$\{\{", re.IGNORECASE)
_BREAKS = (_SIGIL, _TRACKER, _SCHEME, _WWW, _SHORTCODE, _MARKING)

_ESCAPES = str.maketrans({
    **{sign: f"\\{sign}" for sign in "\\`*_[]{}~$^"},
    "<": "&lt;", ">": "&gt;", "&": "&amp;", "|": "&vert;",
})  # fmt: skip


def visible_line(text: str, *, limit: int) -> str:
    r"""Return what can be seen of a text, as one line of at most `limit` characters.

    "a\n\u202eb\x00" -> "a b"
    """
    text = _INVISIBLE.sub("", re.sub(r"\s+", " ", text[: limit * 8]))
    text = _PILED_MARKS.sub(r"\1", _STRAY_JOINER.sub("", text))
    text = re.sub(r" {2,}", " ", text).strip()
    return text if len(text) <= limit else text[: limit - 1].rstrip() + ELLIPSIS


def plain(text: str, *, limit: int) -> str:
    """Return untrusted text as Markdown that shows it on one line; "" when nothing of it can be seen."""
    text = visible_line(text, limit=limit)
    is_isolated = bool(_RIGHT_TO_LEFT.search(text))
    for pattern in _BREAKS:
        text = pattern.sub(rf"\1{BREAK}", text)
    text = _COMMIT.sub(_broken_commit, text).translate(_ESCAPES)
    return f"\u2068{text}\u2069" if is_isolated else text  # its direction ends where it ends


def code(text: str, *, limit: int) -> str:
    """Return untrusted text as a code span, with nothing invisible in it: whoever copies it gets what was written. No
    forge looks for references there. "" when nothing of it can be seen.
    """
    text = visible_line(re.sub(f"[{_JOINERS}]", "", text), limit=limit)
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{text}{pad}{fence}" if text else ""


def is_quotable(text: str) -> bool:
    """Tell whether a text may stand in a code span of ours: it names no account or item, marks no duplicate, and holds
    nothing by which a program would take it for a marker or an expression.
    """
    return not _UNQUOTABLE.search(text)


def titled(text: str, *, limit: int, words: int = 1_000) -> str:
    """Return a title as Markdown, cut after so many words; what its author wrote as `code` is code."""
    text = visible_line(text, limit=limit)
    parts = text.split(" ")
    text = text if len(parts) <= words else " ".join(parts[:words]).rstrip(ELLIPSIS) + ELLIPSIS
    if _RIGHT_TO_LEFT.search(text) or _MARKING.search(text.replace("`", "")):
        return plain(text, limit=limit)
    found = []
    for at, part in enumerate(_CODE.split(text)):
        if at % 2 == 0:
            found.append(re.sub(r"\S(?:.*\S)?", lambda seen: plain(seen[0], limit=limit), part))
        else:
            found.append(code(part, limit=limit) if is_quotable(part) else plain(f"`{part}`", limit=limit))
    return "".join(found)


def link(label: str, url: str | None) -> str:
    """Return a link around Markdown of ours, or the label alone when there is no address."""
    return f"[{label}]({url})" if url else label


def safe_url(url: str) -> str | None:
    """Return a web address that can stand in a link's parentheses, None for anything else."""
    try:
        split = urlsplit(url.strip())
        is_web = split.scheme in ("http", "https") and bool(split.hostname) and "@" not in split.netloc
    except ValueError:
        return None
    if not is_web or len(url) > _MAX_URL or _INVISIBLE.search(url) or re.search(r"[\s\\]", split.netloc):
        return None
    return quote(url.strip(), safe="%/:?#@!$&'*+,;=~-._")


def quiet_url(url: str, forge: str) -> str | None:
    """Return an address of the page that makes no cross reference from a comment on `forge`; None when none is known.

    GitHub documents redirect.github.com for this; it serves github.com alone. GitLab takes a link for a reference only
    when the *whole* address is one of its own, and no fragment with a dot is (app/models/concerns/referable.rb).
    Forgejo and Gitea count the parts of its path (modules/references/references.go).
    """
    safe = safe_url(url)
    if safe is None or key_in_url(safe) is None:
        return safe
    split = urlsplit(safe)
    here, host = profile_of(forge), split.netloc.lower()
    if host not in here.web_hosts and any(host in other.web_hosts for other in PROFILES.values()):
        return safe
    if here.quiet_host:
        if host in here.web_hosts:
            return urlunsplit(("https", here.quiet_host, split.path, split.query, split.fragment))
        return safe if "/-/" in split.path else None  # another forge's page; or perhaps one of this very server
    end_of_path, fragment = here.quiet_ending
    return urlunsplit((split.scheme, split.netloc, split.path + end_of_path, split.query, fragment))


def _broken_commit(match: re.Match[str]) -> str:
    text = match[0]
    return BREAK.join(text[start : start + 6] for start in range(0, len(text), 6))


def check_page(url: str | None, host: str) -> str:
    """Return the address of a page on a project's own host. Raises InvalidValue for anything else: who wrote the item,
    or the file it was imported from, must not choose what opens on somebody's machine.
    """
    if not url:
        raise InvalidValue("this item has no web page", hint="its forge or import file gave no address")
    safe = safe_url(url)
    if safe is None or urlsplit(safe).netloc.lower() != host.lower():
        raise InvalidValue(f"{url[:200]!r} is not a page of {host}", hint="check the address, and open it yourself")
    return safe


CLOSED = "Closing as duplicate of {target}. If this is incorrect, please contact us."
GRACE = (
    "This seems to repeat {target}. It will be closed in {hours} hours, unless somebody comments here, reacts"
    " to this comment, or takes part in any other way."
)
GRACE_LABEL = "possible-duplicate"
WITHDRAWN = "<!-- forgelore:withdrawn -->"
STAYS_OPEN = f"{WITHDRAWN}\nThis stays open after all. It seemed to repeat {{target}}, and somebody took part."
# Labels by which people say that an item is not to be closed as a duplicate; the setting `keep_open_labels`.
KEEP_OPEN_LABELS = (
    "not a duplicate", "not duplicate", "keep open", "do not close", "confirmed", "pinned", "in progress",
)  # fmt: skip
_MARKER_BEGIN = "<!-- forgelore:closing:v1 "


def closing_marker(store_id: str, run_id: int, item_id: int) -> str:
    """Return the first line of a comment of one run of one store on one item."""
    return f"{_MARKER_BEGIN}store={store_id} run={run_id} item={item_id} -->"


def related_marker(store_id: str, run_id: int, item_id: int, targets: Iterable[int]) -> str:
    """Return the first line of a comment that names related items."""
    return (
        f"<!-- forgelore:related:v1 store={store_id} run={run_id} item={item_id} to={','.join(map(str, targets))} -->"
    )


def is_standing_promise(body: str, store_id: str) -> bool:
    """Tell whether a comment of another store's run says that an item is closed or will be, and was not withdrawn."""
    is_others = body.startswith(f"{_MARKER_BEGIN}store=") and not body.startswith(f"{_MARKER_BEGIN}store={store_id} ")
    return is_others and WITHDRAWN not in body


def build_message(words: str, *, marker: str, target: str, hours: int = 0) -> str:
    """Return the comment. Braces that name nothing of ours stay as they are."""
    text = words.replace("{target}", target).replace("{hours}", str(hours))
    lines = [f"\u200b{line}" if line.lstrip().startswith("/") else line for line in text.splitlines()]
    return "\n".join([marker, *lines])


def has_marker(body: str, marker: str) -> bool:
    """Tell whether a comment is the one of this run: the marker is its first line."""
    return body.partition("\n")[0].strip() == marker
