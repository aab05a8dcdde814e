"""The pictures of README, drawn from what the program prints for the example project: a search and a comment.

The search is the terminal's output as rich draws it; the comment is the Markdown that `forgelore triage` would post,
rendered by markdown-it into a `foreignObject`, which browsers show and most other viewers leave empty. Neither loads
anything from the network.
"""

import io
import json
import re
from collections.abc import Callable

from markdown_it import MarkdownIt
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

SEARCH = "forgelore search 'why do removed files return' --type issue --limit 3"
COMMENT = "forgelore triage '#11' --json"
_COLUMNS = 100
_WIDTH, _HEIGHT = 900, 500
# rich's own frame, without the typefaces that it would load from another host.
_FRAME = """<svg class="rich-terminal" viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font-family: monospace; font-size: {char_height}px; line-height: {line_height}px; }}
.{unique_id}-title {{ font-size: 18px; font-weight: bold; font-family: sans-serif; }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}" />
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""
_PAGE = """<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">
<style>
.comment {{ font: 14px/1.5 sans-serif; color: #1f2328; background: #fff; border: 1px solid #d1d9e0; border-radius: 6px;
  padding: 0 16px; height: {inner}px; overflow: hidden; box-sizing: border-box; }}
.comment blockquote {{ margin: 0 0 12px; padding: 0 12px; border-left: 4px solid #9a6700; }}
.comment h3 {{ margin: 12px 0; }}
.comment a {{ color: #0969da; text-decoration: none; }}
.comment table {{ border-collapse: collapse; margin: 8px 0; font-size: 13px; }}
.comment td, .comment th {{ border: 1px solid #d1d9e0; padding: 4px 10px; text-align: left; }}
.comment code {{ background: #eff1f3; font-size: 12px; }}
.comment sub {{ color: #59636e; line-height: 1.4; }}
</style>
<foreignObject width="{width}" height="{height}">
<div xmlns="http://www.w3.org/1999/xhtml" class="comment">
{body}</div>
</foreignObject>
</svg>
"""


def build_pictures(run: Callable[[str], str]) -> dict[str, str]:
    """Return each picture's file name with its SVG; `run` runs a command on the example project."""
    return {
        "search.svg": draw_terminal(SEARCH, run(f"{SEARCH} --color always")),
        "comment.svg": draw_comment(json.loads(run(COMMENT))["data"]["report"]),
    }


def draw_terminal(command: str, output: str) -> str:
    """Return a terminal that shows a command with its output, in the colours of the escape sequences in it."""
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    console.print(Text(f"$ {command}", style="bold"))
    console.print(Text.from_ansi(output.rstrip("\n")))
    return console.export_svg(title="forgelore", theme=MONOKAI, code_format=_FRAME, unique_id="search")


def draw_comment(markdown: str) -> str:
    """Return a comment as a forge shows it: folded parts are folded."""
    html = MarkdownIt("commonmark", {"html": True, "xhtmlOut": True}).enable("table").render(markdown)
    html = html.replace("<details open>", '<details open="open">').replace(
        "[!WARNING]", "<strong>⚠ Warning</strong><br />"
    )
    body = re.sub(r"<!--.*?-->\n?", "", html)
    return _PAGE.format(width=_WIDTH, height=_HEIGHT, inner=_HEIGHT, body=body)
