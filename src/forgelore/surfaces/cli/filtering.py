"""The filters that `search`, `similar`, `list` and `count` share on the command line, and what they mean."""

import argparse
from typing import TYPE_CHECKING, cast

from forgelore.errors import UsageError
from forgelore.surfaces.present.data import ROW_FORMATS
from forgelore.surfaces.present.text import number

if TYPE_CHECKING:
    from forgelore.api import FilterWords
    from forgelore.surfaces.cli.command import Context

# What stands before and behind a word that matched.
MARKS = {"none": ("", ""), "markdown": ("**", "**"), "ansi": ("\x1b[1;33m", "\x1b[0m")}
_RULE = "All filters must match. Repeat one to match any of its values; of labels, all must match."


def filter_examples(command: str) -> tuple[str, ...]:
    """Return a command with each of the filters, and with the options that every command has."""
    return (
        f"{command} --author @ana --assignee ben --milestone 1.2 --comments '>10'",
        f"{command} --commenter ana --mentions ben --involves cleo",
        f"{command} --created 2026-01..2026-03 --updated '>2026-05' --updated-after 2w",
        f"{command} --project acme/web --path 'src/**.rs' --no assignee --after '3 months ago' --before 7d",
        f"{command} --repo acme/web --label bug --state open --db history.db --color always --no-pager --json",
    )


class Once(argparse.Action):
    """A filter with one value. Given twice it is refused: whichever was taken, the other would not be answered."""

    def __call__(
        self, _parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: object,
        option_string: str | None = None,
    ) -> None:  # fmt: skip
        if getattr(namespace, self.dest) is not None:
            raise UsageError(f"{option_string} is given twice", hint="give it once")
        setattr(namespace, self.dest, values)


def add_filters(parser: argparse.ArgumentParser, *, with_type: bool = True) -> None:
    """Add the filters. Without `with_type` the command has an argument that says what is looked for."""
    group = parser.add_argument_group("filters", _RULE)
    if with_type:
        group.add_argument(
            "--type", metavar="KIND", action="append",
            help="issue, change (pr, mr), discussion, release or thread; of a search also code, commit or all;"
            " repeat for more",
        )  # fmt: skip
    group.add_argument(
        "--state",
        "-s",
        metavar="STATE",
        action="append",
        help="open, closed, merged, or all (no filter); repeat for any of them",
    )
    group.add_argument(
        "--author", "-A", metavar="NAME", action="append", help="by this person, ana or @ana; repeat for any of them"
    )
    group.add_argument("--project", metavar="NAME", action=Once, help="in this project; default: the clone's, or all")
    add_repo(group)
    group.add_argument(
        "--label",
        "-l",
        metavar="NAME",
        action="append",
        help="with this label (a,b: one of these); repeat for all of them",
    )
    group.add_argument(
        "--path", metavar="PATH", action="append",
        help="touches this file (or is it), or with a final / anything below; repeat for any of them",
    )  # fmt: skip
    group.add_argument(
        "--after", metavar="DATE", action=Once, help="created since: 2026-03-01, 7d, 3 months ago, yesterday …"
    )
    group.add_argument("--before", metavar="DATE", action=Once, help="created before")
    group.add_argument("--updated-after", metavar="DATE", action=Once, help="updated since")
    group.add_argument(
        "--created", metavar="RANGE", action="append", help="when: '>2026-01-31', 2026-01..2026-03, 2026-03 (all of it)"
    )
    group.add_argument("--updated", metavar="RANGE", action="append", help="the same for the last update")
    group.add_argument("--comments", metavar="RANGE", action="append", help="how many: 0, '>10', 5..20")
    group.add_argument(
        "--milestone", "-m", metavar="NAME", action="append", help="of this milestone; repeat for any of them"
    )
    group.add_argument(
        "--no", metavar="WHAT", action="append", help="without any label, milestone or assignee; repeat for all of them"
    )
    _add_people(group)


def _add_people(group: "argparse._ArgumentGroup") -> None:
    group.add_argument(
        "--assignee", "-a", metavar="NAME", action="append", help="assigned to this person; repeat for any of them"
    )
    group.add_argument(
        "--commenter", metavar="NAME", action="append", help="with a comment by this person; repeat for any of them"
    )
    group.add_argument(
        "--mentions", metavar="NAME", action="append", help="where this person is mentioned; repeat for any of them"
    )
    group.add_argument(
        "--involves", metavar="NAME", action="append",
        help="where this person wrote, commented, reviewed, is assigned or is mentioned; repeat for any of them",
    )  # fmt: skip


def add_project(parser: argparse.ArgumentParser, help_text: str) -> None:
    """Add the one project that a command is about: by itself, as `sync` takes it, or as --project."""
    parser.add_argument("named", metavar="PROJECT", nargs="?", help=help_text)
    parser.add_argument("--project", metavar="NAME", action=Once, help="the same")


def project_in(arguments: argparse.Namespace) -> str | None:
    """Return the project that was named, None when none was."""
    named: str | None = arguments.named or arguments.project
    if arguments.project and named != arguments.project:
        raise UsageError(f"two projects: {named} and {arguments.project}", hint="name one")
    return named


def add_repo(parser: "argparse.ArgumentParser | argparse._ArgumentGroup") -> None:
    """Add gh's name of --project."""
    parser.add_argument("--repo", "-R", dest="project", metavar="NAME", action=Once, help="the same, as in gh")


def add_query(parser: argparse.ArgumentParser) -> None:
    """Add qualifiers, as in a search, to a command that lists or counts."""
    parser.add_argument(
        "query",
        metavar="QUALIFIER",
        nargs="*",
        default=[],
        help="label:bug, -author:ana, no:milestone … as in a search",
    )


def add_limit(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--limit", "-L", "-n", metavar="N", type=int, default=20, help="how many, 1 to 100 (default: 20)"
    )
    add_offset(parser)


def add_offset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--offset", metavar="N", default="0", help="skip the first N results; or `next` of the previous page"
    )


def read_limit(context: "Context", arguments: argparse.Namespace, most: int = 100) -> int:
    """Return the limit. One that is out of range becomes the nearest number, with a warning."""
    asked: int = arguments.limit
    limit = min(max(asked, 1), most)
    if limit != asked:
        context.warn(f"--limit {str(asked)[:20]} is out of range; using {number(limit)}")
    return limit


def add_output(parser: argparse.ArgumentParser, *, with_marks: bool = True) -> None:
    """Add how results are written."""
    parser.add_argument("--format", dest="rows", choices=tuple(ROW_FORMATS), help="print rows for other programs")
    if with_marks:
        parser.add_argument(
            "--marks",
            choices=MARKS,
            help="how matches are marked (default: colours on a terminal, otherwise not at all)",
        )


def add_mode(parser: argparse.ArgumentParser) -> None:
    """Add how matches are found: by words, by meaning, and whose."""
    parser.add_argument(
        "--mode", type=_read_mode, choices=("hybrid", "lexical", "semantic"), default="hybrid",
        help="by words and meaning (hybrid, the default), by words (or: fts), by meaning (or: vector)",
    )  # fmt: skip
    parser.add_argument("--embedder", metavar="NAME", help="use these vectors instead of the configured ones")


def _read_mode(word: str) -> str:
    return {"fts": "lexical", "vector": "semantic"}.get(word, word)


def add_modes(parser: argparse.ArgumentParser) -> None:
    """Add how matches are found, looked at again and explained."""
    add_mode(parser)
    parser.add_argument(
        "--rescore", action="store_true",
        help="rerank the first 100 candidates with minilm: a few seconds; needs the extra minilm",
    )  # fmt: skip
    parser.add_argument("--explain", action="store_true", help="show ranks, scores and the words that matched")


def check_rescore(arguments: argparse.Namespace, *, is_lexical: bool) -> None:
    """Refuse --rescore where no meaning is compared."""
    if arguments.rescore and is_lexical:
        raise UsageError("--rescore compares meaning", hint="leave out --mode lexical and --fts-mode raw")


def read_filters(context: "Context", arguments: argparse.Namespace) -> "FilterWords":
    """Return the filters as typed, within the project they apply to. `list` and `count` have no --type: their argument
    says it.
    """
    project = context.history.projects.name(arguments.project)
    return cast("FilterWords", {**typed_filters(arguments), "project": project})


def typed_filters(arguments: argparse.Namespace) -> dict[str, object]:
    """Return the filters that were typed. `--state all` filters nothing and is left out."""
    from forgelore.api import FilterWords

    typed = {name: getattr(arguments, name) for name in FilterWords.__annotations__ if name in arguments}
    if "all" in (typed.get("state") or ()):
        del typed["state"]
    return {name: value for name, value in typed.items() if value is not None}
