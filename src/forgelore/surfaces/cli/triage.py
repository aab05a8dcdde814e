"""`forgelore triage [REF]`: does an item repeat another? Inside CI: the bot, for the event that started the job.

The comment is rendered for a terminal: the Markdown and HTML that our own reports are made of, and no more.

    <summary>              bold        - points         with a hanging indent
    **bold**, `code`, <sub>    painted     [label](url)     label and address

What strangers wrote in it was escaped (text/markdown) and is shown as they wrote it.
"""

import argparse
import html
import os
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from forgelore.errors import UsageError
from forgelore.surfaces.cli.command import Command, Context
from forgelore.surfaces.present.text import Style, cells, clean, printable, width, wrap_words

if TYPE_CHECKING:
    from forgelore.api import Inputs, TriageAnswer
    from forgelore.surfaces.present.replay import ReplayData, ReportData
    from forgelore.surfaces.present.triage import BotData, TriageData

_INLINE = re.compile(
    r"\\(?P<escaped>[^A-Za-z0-9\s])|\*\*(?P<bold>(?:\\.|[^\\])+?)\*\*|\[(?P<label>(?:\\.|`[^`]*`|[^\]\\`])*)\]\((?P<url>[^()\s]*)\)"
    r"|(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)|(?P<tag></?[a-z][^<>]*>)|(?P<entity>&\w+;)"
)
_PAD = re.compile(r"\A (`.*|.*`) \Z")
_INVISIBLE = re.compile("[\u200b\u2068\u2069]")  # what keeps references and directions apart on a page


def add_triage_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "ref",
        metavar="REF",
        nargs="?",
        help="#12, !34, owner/repo#12 or a page's URL; with --since a project;"
        " or `report`: how the bot's comments turned out",
    )
    parser.add_argument("of", metavar="PROJECT", nargs="?", help="with `report`: the project of the bot")
    parser.add_argument("--project", metavar="NAME", help="the project of a short REF")
    parser.add_argument("--index-branch", metavar="NAME", help="with `report`: where the bot keeps its index")
    posting = parser.add_mutually_exclusive_group()
    posting.add_argument("--post", action="store_true", help="create, update or delete the comment (default in CI)")
    posting.add_argument("--dry-run", action="store_true", help="write nothing on the forge")
    for name, kind, what in (
        ("--similarity-threshold", str, "how close an item must be to be shown (0.75)"),
        ("--duplicate-threshold", str, "how close the first must be for a warning (0.92)"),
        ("--max-results", str, "rows in the report, 1 to 20 (3)"),
    ):
        parser.add_argument(name, type=kind, metavar="N", help=what)
    split = parser.add_mutually_exclusive_group()
    split.add_argument("--emit", metavar="FILE", help="in CI: write the judgement to FILE and nothing else anywhere")
    split.add_argument("--apply", metavar="FILE", help="in CI: post what a judgement in FILE allows")
    parser.add_argument("--keep", metavar="FOLDER", help="in CI: keep the index there while it cannot be pushed")
    group = parser.add_argument_group("what it would have said", "nothing is posted; the project must be synced")
    group.add_argument("--since", metavar="WHEN", help="judge every item filed since: 30d, 2026-03-01, last month …")
    group.add_argument("--until", metavar="WHEN", help="... and before")
    group.add_argument("--kind", choices=("issue", "change"), help="only these")
    group.add_argument("--html", metavar="FILE", help="write a page with every case; it loads nothing")


def run_triage(context: Context, arguments: argparse.Namespace) -> "TriageData | BotData | ReplayData | ReportData":
    from forgelore.surfaces.cli.ci import find_ci

    if arguments.since is not None:
        from forgelore.surfaces.cli.replay import run_replay

        return run_replay(context, arguments, _read_inputs(context, arguments))
    if arguments.ref == "report":
        from forgelore.surfaces.cli.replay import run_outcomes

        return run_outcomes(context, arguments)
    if arguments.of or arguments.index_branch:
        hint = "forgelore triage report owner/repo"
        raise UsageError("a second name and --index-branch go with the word report", hint=hint)
    for name in ("until", "kind", "html"):
        if getattr(arguments, name) is not None:
            raise UsageError(f"--{name} goes with --since", hint="forgelore triage --since 30d --dry-run owner/repo")
    where = find_ci(os.environ)
    if arguments.ref is None:
        if where is None:
            raise UsageError("name an item", hint="forgelore triage '#12'; without one it runs inside CI")
        from forgelore.surfaces.cli.ci import run_in_ci

        return run_in_ci(
            context, where, emit=arguments.emit or "", apply=arguments.apply or "", keep=arguments.keep or "",
            is_dry=arguments.dry_run,
        )  # fmt: skip
    if arguments.emit or arguments.apply or arguments.keep:
        raise UsageError(
            "--emit, --apply and --keep are for events, not for a named item", hint="leave REF out, inside CI"
        )
    return _triage_one(context, arguments)


def _triage_one(context: Context, arguments: argparse.Namespace) -> "TriageData":
    from forgelore.surfaces.present.triage import present_triage

    inputs = _read_inputs(context, arguments)
    project = context.history.projects.name(arguments.project)
    answer = context.history.triage.run(arguments.ref, inputs, project=project, post=arguments.post)
    context.warn(*answer.warnings)
    if not context.is_data:
        _print(context, arguments.ref, answer)
    return present_triage(arguments.ref, answer)


def _read_inputs(context: Context, arguments: argparse.Namespace) -> "Inputs":
    from forgelore.api import parse_inputs

    names = ("similarity_threshold", "duplicate_threshold", "max_results")
    given = {f"INPUT_{name.upper()}": getattr(arguments, name) or "" for name in names}
    inputs, complaints = parse_inputs(given)
    context.warn(*complaints)
    return inputs


def _print(context: Context, ref: str, answer: "TriageAnswer") -> None:
    found, posted = answer
    context.print(f"{context.style.bold(clean(ref))} {clean(found.title)}", "")
    if found.body:
        context.print(*render_comment(found.body, context.style, min(width(), 110)))
    else:
        context.print(f"nothing to say: {found.reason}")
    if posted is not None:
        where = f" {posted.url}" if posted.url else ""
        context.print("", f"comment: {posted.action}{where}" + (f" ({posted.reason})" if posted.reason else ""))
    elif found.body:
        context.print("", context.style.dim("nothing was posted; --post does"))


def render_comment(comment: str, style: Style, columns: int) -> list[str]:
    """Return a comment as lines of a terminal."""
    renderer = _Renderer(style, columns)
    lines = [shown for line in printable(_INVISIBLE.sub("", comment)).split("\n") for shown in renderer.block(line)]
    kept = [line for at, line in enumerate(lines) if line or (at and lines[at - 1])]
    return kept[:-1] if kept and not kept[-1] else kept


class _Renderer:
    def __init__(self, style: Style, columns: int) -> None:
        self._style, self._columns = style, columns

    def block(self, line: str) -> Iterator[str]:
        style = self._style
        if line.startswith(("<!--", "</details")):
            return
        if summary := re.match(r"<details><summary>(.*)</summary>", line):
            yield style.bold(self._inline(summary[1]))
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

    def _inline(self, text: str, *, with_url: bool = True) -> str:
        def replaced(match: re.Match[str]) -> str:
            kind = match.lastgroup or ""
            if kind == "code":
                return self._style.cyan(_PAD.sub(r"\1", match[kind]))
            if kind == "bold":
                return self._style.bold(self._inline(match[kind], with_url=with_url))
            if kind == "url":
                label = self._inline(match["label"], with_url=False)
                return f"{label} {self._style.dim(match['url'])}" if with_url and match["url"] else label
            return {"escaped": match["escaped"], "entity": html.unescape(match[0])}.get(kind) or ""

        return _INLINE.sub(replaced, text)


COMMANDS = {
    "triage": Command(
        add_triage_arguments,
        run_triage,
        (
            "forgelore triage '#12'                  print what it repeats",
            "forgelore triage '#12' --post           and tell its author, in one comment",
            "forgelore triage '#12' --max-results 10 --json",
            "forgelore triage --since 30d --dry-run --html page.html    what it would have said in the last month",
            "forgelore triage report owner/repo      how the bot's comments turned out, by version",
            "forgelore triage                        inside GitHub Actions or GitLab CI: handle the event",
            "forgelore triage --dry-run              the same, and write nothing",
        ),
    ),
}
