"""`forgelore completion SHELL`: a script that completes commands, options and their values, for both names.

The script is generated from the parsers (`candidates`) and holds everything but the names of your projects: only for
these does a Tab start Python, with `completion projects` and the words typed so far, of which it needs `--db`.
"""

import argparse
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from forgelore.surfaces.cli.command import Context
    from forgelore.surfaces.present.setup import KnownProjectsData, ScriptData

EXAMPLES = (
    'eval "$(forgelore completion bash)"        for this shell; add it to ~/.bashrc to keep it',
    'eval "$(forgelore completion zsh)"         the same in ~/.zshrc, or once, into a folder of your $fpath:',
    "forgelore completion zsh > ~/.zfunc/_forgelore",
    "forgelore completion fish > ~/.config/fish/conf.d/forgelore.fish",
)
_PLAIN = re.compile(r"[\w.:/@+-]+")  # what no shell reads as anything but text


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", "projects"), help="which shell; projects: the names that Tab offers"
    )
    parser.add_argument("typed", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run(context: "Context", arguments: argparse.Namespace) -> "ScriptData | KnownProjectsData":
    from forgelore.surfaces.present.setup import KnownProjectsData, ScriptData

    if arguments.shell == "projects":
        names = _known_projects(context, arguments.typed)
        context.print(*names)
        return KnownProjectsData(names)
    from forgelore.surfaces.cli.shells import write_bash, write_fish, write_zsh

    script = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}[arguments.shell]()
    context.print(*script.splitlines())
    return ScriptData(arguments.shell, script)


def _known_projects(context: "Context", typed: list[str]) -> list[str]:
    """Return the projects of the database that the typed words name; without one, of the usual one."""
    if "--db" in typed[:-1]:
        context.choose_db(typed[typed.index("--db") + 1].strip("'\""))
    return [name for name in context.history.list_projects() if _PLAIN.fullmatch(name)]
