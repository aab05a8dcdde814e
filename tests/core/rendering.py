"""Markdown as the forges show it: an independent parser, and after it the filters that look for references in what was rendered.

GitHub's html-pipeline and GitLab's banzai both leave the text inside links and code alone, and search everything else.
"""

import html.parser
import re
from typing import NamedTuple

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])
REFERENCES = {
    "mention": re.compile(r"@[\w.]", re.ASCII),
    "issue": re.compile(r"#\d"),
    "change": re.compile(r"!\d"),
    "label": re.compile(r"~[\w\"]", re.ASCII),
    "milestone": re.compile(r"%[\w\"]", re.ASCII),
    "snippet": re.compile(r"\$\w", re.ASCII),
    "epic": re.compile(r"&\w", re.ASCII),
    "bracketed": re.compile(r"\[(?:issue|work_item|epic|vulnerability|feature_flag|contact|wiki_page|cadence):"),
    "wiki": re.compile(r"\[\["),
    "tracker": re.compile(r"\b(?:GH|GL|[A-Z][A-Z0-9]+)-\d"),
    "commit": re.compile(r"(?<![\w])[0-9a-f]{7,40}(?![\w])"),
    "address": re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S|www\.\w", re.IGNORECASE),
    "emoji": re.compile(r":[a-z0-9_+-]+:"),
    "duplicate mark": re.compile(r"duplicate\s+of", re.IGNORECASE),
}


class Seen(NamedTuple):
    links: list[tuple[str, str]]  # target, text
    images: list[str]
    tags: list[str]
    text: str  # everything a reader sees
    uncoded: str  # ... but for code, where no forge looks for references
    prose: str  # the part of it that forges search for references
    html: str


class _Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.links, self.images, self.tags, self.text, self.uncoded, self.prose = [], [], [], "", "", ""
        self._inside = []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag == "a":
            self.links.append((dict(attrs).get("href", ""), ""))
        if tag == "img":
            self.images.append(dict(attrs).get("src", ""))
        if tag in ("a", "code", "pre"):
            self._inside.append(tag)

    def handle_endtag(self, tag):
        if tag in self._inside:
            self._inside.remove(tag)

    def handle_data(self, data):
        self.text += data
        self.uncoded += data if not {"code", "pre"} & set(self._inside) else "\n"
        if "a" in self._inside:
            target, said = self.links.pop()
            self.links.append((target, said + data))
        # A break keeps two neighbours from becoming one reference, as separate nodes would.
        self.prose += data if not self._inside else "\n"


def render(markdown: str) -> Seen:
    page = _PARSER.render(markdown)
    reader = _Reader()
    reader.feed(page)
    reader.close()
    return Seen(reader.links, reader.images, reader.tags, reader.text, reader.uncoded, reader.prose, page)


def references(seen: Seen) -> list[str]:
    """The kinds of references that a forge would find: in links too, to be on the safe side, and marks of duplicates even in
    code.
    """
    mark = REFERENCES["duplicate mark"]
    found = [name for name, pattern in REFERENCES.items() if pattern.search(seen.uncoded)]
    return found or (["duplicate mark"] if mark.search(seen.text) else [])
