"""The filters that `search` and `similar` share on the command line, and what they mean."""

import argparse
from typing import Any

from forgelore.errors import UsageError


def add_filters(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--type",
        metavar="KIND",
        action="append",
        help="issue, change (pr, mr), discussion, release or thread; repeat for more",
    )
    parser.add_argument("--state", metavar="STATE", action="append", help="open, closed or merged; repeat for more")
    parser.add_argument("--author", metavar="NAME", help="written by this person")
    parser.add_argument("--project", metavar="NAME", help="one project; default: the clone's, or all")
    parser.add_argument(
        "--label", metavar="NAME", action="append", help="with this label; repeat for more, all must be there"
    )
    parser.add_argument(
        "--path",
        metavar="PATH",
        action="append",
        help="touches this file, or with a final / anything below; repeat for any of them",
    )
    parser.add_argument("--after", metavar="DATE", help="created since: 2026-03-01, 7d, 3 months ago, yesterday …")
    parser.add_argument("--before", metavar="DATE", help="created before")
    parser.add_argument("--updated-after", metavar="DATE", help="updated since")
    parser.add_argument("--limit", metavar="N", type=int, default=20, help="how many, 1 to 100 (default: 20)")


def add_modes(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--mode", choices=("hybrid", "lexical", "semantic"), default="hybrid",
        help="by words and meaning (hybrid, the default), by words, or by meaning",
    )  # fmt: skip
    parser.add_argument("--embedder", metavar="NAME", help="use these vectors instead of the configured ones")
    parser.add_argument(
        "--rescore", action="store_true",
        help="let minilm look again at the first 100 candidates: a few seconds, needs forgelore[minilm]",
    )  # fmt: skip
    parser.add_argument("--explain", action="store_true", help="show ranks, scores and the words that matched")


def find_rescorer(lore: Any, arguments: argparse.Namespace, *, mode: str) -> Any:
    """Return the embedder that --rescore asks for, None without it. Raises EmbedderUnreachable where it is missing."""
    if not arguments.rescore:
        return None
    if mode == "lexical":
        raise UsageError("--rescore compares meaning", hint="leave --mode lexical and --fts-mode raw out")
    return lore.rescorer(arguments.embedder)


def build_filters(context: Any, arguments: argparse.Namespace) -> Any:
    """Return the store's filters for these arguments. Raises InvalidValue for what cannot be meant."""
    from forgelore.flows.filtering import only_projects, parse_filters

    project = context.app.find_project(arguments.project)
    return parse_filters(
        types=arguments.type or (), states=arguments.state or (), author=arguments.author,
        labels=arguments.label or (), paths=arguments.path or (), after=arguments.after, before=arguments.before,
        updated_after=arguments.updated_after, project_ids=only_projects(context.app.store(), project),
    )  # fmt: skip
