"""The pictures of README, drawn from what the program prints for the example project: a search and a comment.

The search is the terminal's output as rich draws it; the comment is the Markdown that `forgelore triage` would post,
rendered by markdown-it into a `foreignObject`, which browsers show and most other viewers leave empty. Neither loads
anything from the network. `python scripts/docs_pictures.py` draws comments of every kind with a real browser.
"""

import io
import json
import pathlib
import re
import sys
import tempfile
from collections.abc import Callable, Iterable

from markdown_it import MarkdownIt
from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

SEARCH = "forgelore search 'why do removed files return' --type issue --limit 3"
COMMENT = "forgelore triage '#11' --json"
_COLUMNS = 100
_WIDTH, _HEIGHT = 900, 230
_ROOT = pathlib.Path(__file__).resolve().parent.parent
_OPEN = "{% open %}"
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
# What GitHub's pages look like, in words of our own.
_STYLE = """
.comment { --ink: #1f2328; --dim: #59636e; --line: #d1d9e0; --page: #fff; --head: #f6f8fa; --link: #0969da;
  --code: #eff1f3; }
.dark .comment { --ink: #f0f6fc; --dim: #9198a1; --line: #3d444d; --page: #0d1117; --head: #151b23; --link: #4493f8;
  --code: #2a313c; }
.comment { font: 14px/1.5 -apple-system, "Segoe UI", "Noto Sans", Helvetica, Arial, sans-serif; color: var(--ink);
  background: var(--page); border: 1px solid var(--line); border-radius: 6px; box-sizing: border-box; }
.comment .head { background: var(--head); border-bottom: 1px solid var(--line); border-radius: 6px 6px 0 0;
  padding: 8px 16px; color: var(--dim); }
.comment .head b { color: var(--ink); }
.comment .head i { border: 1px solid var(--line); border-radius: 2em; padding: 0 7px; font-size: 12px;
  font-style: normal; }
.comment .body { padding: 4px 16px 8px; }
.comment p, .comment details { margin: 12px 0; }
.comment summary { cursor: pointer; }
.comment ul { padding-left: 2em; }
.comment a { color: var(--link); text-decoration: underline; }
.comment code { background: var(--code); border-radius: 6px; padding: .2em .4em; font: 12px ui-monospace, monospace; }
.comment sub { color: var(--dim); font-size: 12px; vertical-align: baseline; }
"""
_FRAMED = """<div class="comment"><div class="head"><b>github-actions</b> <i>bot</i> commented now</div>
<div class="body">{body}</div></div>"""
_PAGE = """<svg viewBox="0 0 {width} {height}" width="{width}" height="{height}" xmlns="http://www.w3.org/2000/svg">
<style>{style}</style>
<foreignObject width="{width}" height="{height}">
<div xmlns="http://www.w3.org/1999/xhtml">
{framed}
</div>
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


def frame_comment(markdown: str) -> str:
    """Return a comment as a forge shows it: what is folded is folded."""
    html = MarkdownIt("commonmark", {"html": True, "xhtmlOut": True}).render(markdown)
    return _FRAMED.format(body=re.sub(r"<!--.*?-->\n?", "", html))


def draw_comment(markdown: str) -> str:
    return _PAGE.format(width=_WIDTH, height=_HEIGHT, style=_STYLE, framed=frame_comment(markdown))


def build_page(comments: Iterable[str], scheme: str) -> str:
    """Return a page of comments as GitHub shows them, light or dark; `{% open %}` before one opens its folds."""
    parts = []
    for one in comments:
        framed = frame_comment(one.removeprefix(_OPEN))
        parts.append(framed.replace("<details>", "<details open>") if one.startswith(_OPEN) else framed)
    spaced = "<div style='height: 16px'></div>".join(parts)
    ground = "#0d1117" if scheme == "dark" else "#fff"
    return (
        f"<!doctype html><meta charset='utf-8'><style>{_STYLE} body {{ margin: 0; padding: 16px; width: 868px;"
        f" background: {ground} }}</style><body class='{scheme}'>{spaced}</body>"
    )


def main() -> None:
    """Draw comments of every kind with a browser: what a person sees of them on GitHub."""
    sys.path[:0] = [str(_ROOT / "tests"), str(_ROOT / "tests" / "core")]
    from test_comments import comments

    from browser import Browser

    said = dict(comments())
    issue = ("github", "issue")
    shown = [
        said[*issue, "open", "similar, warned"], _OPEN + said[*issue, "fixed before", "similar, warned"],
        said[*issue, "fixed since", "similar, listed"], said[*issue, "open", "same_text, closing"],
        said["github", "change", "open", "similar, rival"],
    ]  # fmt: skip
    for scheme in ("light", "dark"):
        with tempfile.TemporaryDirectory() as folder, Browser(pathlib.Path(folder)) as browser:
            page = pathlib.Path(folder) / "page.html"
            page.write_text(build_page(shown, scheme), encoding="utf-8")
            browser.open(page, width=900, scheme=scheme)
            (_ROOT / "docs" / "pictures" / f"comment-{scheme}.png").write_bytes(browser.screenshot())


if __name__ == "__main__":
    main()
