"""`forgelore completion SHELL`: a script that completes commands, options and their values, for both names.

The script is generated from the parsers (`candidates`) and holds everything but the names of your projects: only for
these does a Tab start Python, with `completion projects` and the words typed so far, of which it needs `--db`.
"""

import argparse
import re
from typing import Any

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


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    if arguments.shell == "projects":
        names = _known_projects(context, arguments.typed)
        context.print(*names)
        return {"projects": names}
    from forgelore.surfaces.cli.shells import write_bash, write_fish, write_zsh

    script = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}[arguments.shell]()
    context.print(*script.splitlines())
    return {"shell": arguments.shell, "script": script}


def _known_projects(context: Any, typed: list[str]) -> list[str]:
    """Return the projects of the database that the typed words name; without one, of the usual one."""
    from forgelore.store.projects import list_projects

    if "--db" in typed[:-1]:
        context.choose_db(typed[typed.index("--db") + 1].strip("'\""))
    names = [str(project.name) for project in list_projects(context.app.store())]
    return [name for name in names if _PLAIN.fullmatch(name)]
