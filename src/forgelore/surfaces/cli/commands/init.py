"""`forgelore init`: choose projects, write forgelore.toml, make the database."""

import argparse
from typing import TYPE_CHECKING

from forgelore.errors import UsageError

if TYPE_CHECKING:
    from forgelore.api import AddedHost
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.setup import InitData

EXAMPLES = (
    "forgelore init                             asks; inside a clone its origin is the suggestion",
    "forgelore init --project acme/web --yes",
    "forgelore init --project gitlab:group/app --project acme/api --yes",
    "forgelore init --host git.example.com --kind gitlab --token-env TEAM_TOKEN --yes",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from forgelore.api import FORGE_NAMES

    parser.add_argument("--project", metavar="NAME", action="append", help="a project to sync; repeat for more")
    parser.add_argument("--host", help="also describe a server of your own, in your config.toml")
    parser.add_argument("--kind", choices=FORGE_NAMES, help="what runs on --host")
    parser.add_argument("--token-env", metavar="NAME", help="the environment variable that holds the token for --host")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing forgelore.toml")


def run(context: "Context", arguments: argparse.Namespace) -> "InitData":
    from forgelore.surfaces.present.setup import present_init

    history = context.history
    asks = context.is_interactive and not arguments.yes
    added = _add_host(context, arguments) if arguments.host else None
    projects = arguments.project or _suggested(context, asks=asks)
    if not projects and not added:
        raise UsageError("no project named, and this is not a clone with an origin", hint="add --project owner/repo")
    answer = history.set_up(projects, overwrite=arguments.overwrite)
    done = context.style.green("✓")
    if answer.config:
        context.print(f"{done} {answer.config}: {', '.join(answer.projects)}")
    context.print(f"{done} database at {answer.db}", "", "next: forgelore doctor, then forgelore sync")
    return present_init(answer, added)


def _suggested(context: "Context", *, asks: bool) -> list[str]:
    from forgelore.api import NAMING

    suggestion = context.history.suggest_project() or ""
    if not asks:
        return [suggestion] if suggestion else []
    shown = f" [{suggestion}]" if suggestion else ""
    answer = input(f"Which project?{shown} ({NAMING} or a URL) ").strip() or suggestion
    return answer.split()


def _add_host(context: "Context", arguments: argparse.Namespace) -> "AddedHost":
    from forgelore.api import FORGE_NAMES

    if not arguments.kind:
        raise UsageError("--host needs --kind", hint="add " + " or ".join(f"--kind {name}" for name in FORGE_NAMES))
    added = context.history.add_host(arguments.host, kind=arguments.kind, token_env=arguments.token_env)
    context.print(f"{context.style.green('✓')} {added.host} added to {added.path}")
    return added
