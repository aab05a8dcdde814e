"""The triage comment, rendered for a terminal: the Markdown and HTML that our own reports are made of, and no more.

    ### heading, <summary>     bold             | tables |       aligned, links as their labels
    > warning                  behind a bar     - points         with a hanging indent
    **bold**, <code>, <sub>    painted          [label](url)     label and address

What strangers wrote in it was escaped (core/triage/markdown) and is shown as they wrote it.
"""

import html
import re
from collections.abc import Callable, Iterator

from forgelore.surfaces.cli.terminal import Style, cells, table
from forgelore.surfaces.present.text import printable, wrap_words

_INLINE = re.compile(
    r"\\(?P<escaped>[^A-Za-z0-9\s])|\*\*(?P<bold>(?:\\.|[^\\])+?)\*\*|\[(?P<label>(?:\\.|[^\]\\])*)\]\((?P<url>[^()\s]*)\)"
    r"|<code>(?P<code>.*?)</code>|(?P<tag></?[a-z][^<>]*>)|(?P<entity>&\w+;)"
)
_UNSEEN = re.compile("[\u200b\u2068\u2069]")  # what keeps references and directions apart on a page
_ALERT = re.compile(r"\[!(\w+)\]\Z")
_RULE = re.compile(r"\|[\s|:-]+\Z")


def render_comment(comment: str, style: Style, columns: int) -> list[str]:
    """Return a comment as lines of a terminal."""
    lines = list(_Renderer(style, columns).blocks(printable(_UNSEEN.sub("", comment)).split("\n")))
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return kept[:-1] if kept and not kept[-1] else kept


class _Renderer:
    def __init__(self, style: Style, columns: int) -> None:
        self._style, self._columns = style, columns

    def blocks(self, lines: list[str]) -> Iterator[str]:
        rows: list[list[str]] = []
        for line in [*lines, ""]:
            if line.startswith("|"):
                if not _RULE.match(line):
                    rows.append([self._inline(cell.strip(), with_url=False) for cell in line.strip("|").split("|")])
                continue
            yield from self._table(rows)
            rows = []
            yield from self._block(line)

    def _block(self, line: str) -> Iterator[str]:
        style = self._style
        if line.startswith(("<!--", "</details")):
            return
        if summary := re.match(r"<details[^>]*><summary>(.*)</summary>", line):
            yield style.bold(self._inline(summary[1]))
        elif heading := re.match(r"#+ (.*)", line):
            yield style.bold(self._inline(heading[1]))
        elif line.startswith(">"):
            said = line[1:].strip()
            alert = _ALERT.match(said)
            shown = style.yellow(alert[1].lower()) if alert else self._inline(said)
            yield from self._wrapped(shown, style.yellow("│") + " ")
        elif line.startswith("- "):
            yield from self._wrapped(self._inline(line[2:]), "• ", "  ")
        elif line.startswith("<sub>"):
            yield from (style.dim(one) for one in self._wrapped(self._inline(line)))
        else:
            yield from self._wrapped(self._inline(line))

    def _wrapped(self, text: str, first: str = "", rest: str | None = None) -> list[str]:
        if not text:
            return [""] if not first else []
        lines = wrap_words(text, self._columns - cells(first))
        return [first + lines[0], *((first if rest is None else rest) + line for line in lines[1:])]

    def _table(self, rows: list[list[str]]) -> list[str]:
        if not rows:
            return []
        widest = max(range(len(rows[0])), key=lambda column: max(cells(row[column]) for row in rows))
        head, *others = [[*row, *[""] * (len(rows[0]) - len(row))] for row in rows]
        return table(others, grow=widest, head=head, style=self._style, columns=self._columns)

    def _inline(self, text: str, *, with_url: bool = True) -> str:
        def replaced(match: re.Match[str]) -> str:
            paints: dict[str, Callable[[str], str]] = {"bold": self._style.bold, "code": self._style.cyan}
            kind = match.lastgroup or ""
            if kind in paints:
                return paints[kind](self._inline(match[kind], with_url=with_url))
            if kind == "url":
                label = self._inline(match["label"], with_url=False)
                return f"{label} {self._style.dim(match['url'])}" if with_url and match["url"] else label
            return {"escaped": match["escaped"], "entity": html.unescape(match[0])}.get(kind) or ""

        return _INLINE.sub(replaced, text)
