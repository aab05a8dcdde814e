"""Pages as HTML: the templates, the Markdown of forges made safe, marks in a text, times.

Whatever comes from a forge is hostile. A template escapes every value that is not `Markup`, and the only Markup there
is comes from this file: Markdown that nh3 has cleaned, and text that was escaped before marks were put into it. An
image becomes a link: loading it would tell its server who reads.
"""

import datetime as dt
import hashlib
import os
import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

import nh3
from jinja2 import Environment, PackageLoader, StrictUndefined, pass_context
from jinja2.runtime import Context
from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from forgelore.surfaces.present.text import ago as since
from forgelore.surfaces.present.text import as_ms, clean, counted_noun, day, format_ms, printable, safe_url
from forgelore.version import __version__

if TYPE_CHECKING:
    from markdown_it.rules_core import StateCore

STATIC = os.path.join(os.path.dirname(os.path.abspath(__file__)), "static")
_TAGS = {
    "a", "b", "blockquote", "br", "code", "dd", "del", "details", "div", "dl", "dt", "em", "h1", "h2", "h3", "h4", "h5",
    "h6", "hr", "i", "ins", "kbd", "li", "ol", "p", "pre", "s", "samp", "strong", "sub", "summary", "sup", "table",
    "tbody", "td", "th", "thead", "tr", "tt", "ul", "var",
}  # fmt: skip
_ATTRIBUTES = {"a": {"href", "title"}, "details": {"open"}, "ol": {"start"}, "td": {"align"}, "th": {"align"}}
_IMAGE = re.compile(r"<img\b[^>]{0,2000}?\bsrc\s*=\s*[\"']?(https?://[^\s\"'>]{1,1000})[^>]{0,2000}>", re.IGNORECASE)
_REF = re.compile(r"(?<![\w/&#!])[#!]([1-9]\d{0,8})\b")
_MAX_BODY = 70_000  # characters; a forge keeps 65,536, GitLab more


@cache
def templates() -> Environment:
    found = Environment(
        loader=PackageLoader("forgelore.surfaces.web"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    found.filters |= {
        "markdown": markdown, "marked": marked, "ago": ago, "day": day, "clean": clean, "printable": printable,
        "page": item_page, "lines": lines_page, "safe": safe,
    }  # fmt: skip
    found.globals |= {"version": __version__, "counted": counted_noun, "file": static_file}
    return found


@cache
def static_file(name: str) -> str:
    """Return the address of a file of ours. Browsers keep it for ever, so that another content has another address."""
    with open(os.path.join(STATIC, name), "rb") as file:
        return f"/static/{name}?v={hashlib.sha256(file.read()).hexdigest()[:12]}"


def render(name: str, /, **values: object) -> str:
    """Return a page, or a part of one."""
    return templates().get_template(name).render(**values)


@lru_cache(maxsize=10_000)
def safe(url: str | None) -> str:
    """Return an address that a link may have; "" for any other."""
    return (safe_url(url) or "") if url else ""


def item_page(ref: str, project: str = "") -> str:
    """Return the address of our page of an item, a commit or a file."""
    return f"/item/{quote(ref, safe='')}" + (f"?project={quote(project, safe='')}" if project else "")


def lines_page(ref: str, first: int, last: int, project: str = "") -> str:
    """Return the address of some lines of what is read of an item, a commit or a file."""
    more = f"&project={quote(project, safe='')}" if project else ""
    return f"/text/{quote(ref, safe='')}?lines={first}-{last}{more}#L{first}"


def markdown(text: str | None, project: str = "") -> Markup:
    """Return the HTML of what somebody wrote on a forge, without anything that acts or loads."""
    shown = _IMAGE.sub(r" [image](\1) ", printable((text or "")[:_MAX_BODY]))
    html = _parser().render(shown, {"project": project})
    return Markup(  # noqa: S704 - cleaned by nh3
        nh3.clean(
            html, tags=_TAGS, attributes=_ATTRIBUTES, url_schemes={"http", "https", "mailto"},
            attribute_filter=_keep_attribute, link_rel="nofollow noopener noreferrer",
        )
    )  # fmt: skip


def _keep_attribute(_tag: str, name: str, value: str) -> str | None:
    """Keep addresses of other sites and of our own pages of items; a link into the forge's files leads nowhere here."""
    if name == "href" and not value.startswith(("https://", "http://", "mailto:", "/item/")):
        return None
    return value


@cache
def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": True, "breaks": True}).enable(["table", "strikethrough"])
    parser.core.ruler.push("refs", _link_refs)
    parser.add_render_rule("image", _render_image)
    return parser


def _render_image(_self: object, tokens: Sequence[Token], at: int, _options: object, _env: object) -> str:
    token = tokens[at]
    address = escape(str(token.attrs.get("src", "")))
    return f'<a href="{address}">{escape(token.content or "image")}</a>'


def _link_refs(state: "StateCore") -> None:
    """Make links of `#12` and `!34` in running text."""
    for block in state.tokens:
        if block.type == "inline" and block.children:
            block.children = list(_with_refs(block.children, str(state.env.get("project", ""))))


def _with_refs(children: Sequence[Token], project: str) -> Iterator[Token]:
    depth = 0  # of links around
    for token in children:
        depth += (token.type == "link_open") - (token.type == "link_close")
        if token.type != "text" or depth or not _REF.search(token.content):
            yield token
            continue
        end = 0
        for match in _REF.finditer(token.content):
            yield _text(token.content[end : match.start()])
            opening = Token("link_open", "a", 1)
            opening.attrs = {"href": item_page(match[0], project)}
            yield opening
            yield _text(match[0])
            yield Token("link_close", "a", -1)
            end = match.end()
        yield _text(token.content[end:])


def _text(content: str) -> Token:
    token = Token("text", "", 0)
    token.content = content
    return token


def marked(text: str, marks: Sequence[tuple[int, int]] = ()) -> Markup:
    """Return a text with its marks; both are positions in the text before it is cleaned."""
    parts, end = [], 0
    for start, stop in marks:
        parts += [_escaped(text[end:start]), "<mark>", _escaped(text[start:stop]), "</mark>"]
        end = stop
    parts.append(_escaped(text[end:]))
    return Markup("".join(parts))  # noqa: S704 - every part is escaped, or ours


def _escaped(text: str) -> str:
    return str(escape(printable(text))) if text else ""


@pass_context
def ago(context: Context, moment: dt.datetime | int | None) -> Markup:
    """Return how long ago something was, with the time itself behind it; "" for an unknown time."""
    then = as_ms(moment) if isinstance(moment, dt.datetime) else moment
    if then is None:
        return Markup("")
    words = since(then, context["now_ms"])
    shown = escape(format_ms(then) or "")
    return Markup(f'<time datetime="{shown}" title="{shown}">{escape(words)}</time>')  # noqa: S704 - as above
