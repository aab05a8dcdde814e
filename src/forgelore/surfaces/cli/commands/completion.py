"""`forgelore completion SHELL`: a script that completes commands, options and kinds.

The script is generated from the same tables that the parsers are made of, and holds everything: completing starts no
Python.
"""

import argparse
from typing import Any

from forgelore.surfaces.cli.main import COMMANDS

EXAMPLES = (
    'eval "$(forgelore completion bash)"        for this shell; add it to ~/.bashrc to keep it',
    "forgelore completion zsh > ~/.zfunc/_forgelore",
    "forgelore completion fish > ~/.config/fish/completions/forgelore.fish",
)
_KINDS = {
    "list": "issues changes discussions releases",
    "count": "issues changes discussions releases items threads notes",
    "completion": "bash zsh fish",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def run(context: Any, arguments: argparse.Namespace) -> dict[str, Any]:
    script = {"bash": _bash, "zsh": _zsh, "fish": _fish}[arguments.shell]()
    context.print(script)
    return {"shell": arguments.shell, "script": script}


def _options() -> dict[str, list[str]]:
    from forgelore.surfaces.cli.command import build_parser

    return {name: build_parser(name)[0].flags() for name in COMMANDS}


def _bash() -> str:
    cases = "\n".join(
        f"    {name}) words='{' '.join([_KINDS.get(name, ''), *flags]).strip()}' ;;"
        for name, flags in _options().items()
    )
    return f"""_forgelore() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" command="" words="" word
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    case "$word" in -*) ;; *) command="$word"; break ;; esac
  done
  case "$command" in
    "") words='{" ".join(COMMANDS)} --db --json --help --version' ;;
{cases}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  [[ ${{#COMPREPLY[@]}} -gt 0 ]] || mapfile -t COMPREPLY < <(compgen -f -- "$current")
}}
complete -F _forgelore forgelore lore"""


def _zsh() -> str:
    summaries = "\n".join(f"    '{name}:{summary}'" for name, (_, summary) in COMMANDS.items())
    cases = "\n".join(
        f"    {name}) compadd -- {' '.join([_KINDS.get(name, ''), *flags]).strip()}; _files ;;"
        for name, flags in _options().items()
    )
    return f"""#compdef forgelore lore
_forgelore() {{
  local -a commands
  commands=(
{summaries}
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  case "${{words[2]}}" in
{cases}
  esac
}}
compdef _forgelore forgelore lore"""


def _fish() -> str:
    lines = []
    for name, (_, summary) in COMMANDS.items():
        lines += [
            f"complete -c {program} -n __fish_use_subcommand -f -a {name} -d '{summary}'"
            for program in ("forgelore", "lore")
        ]
    for name, flags in _options().items():
        seen = f"-n '__fish_seen_subcommand_from {name}'"
        lines += [f"complete -c forgelore {seen} -l {flag.removeprefix('--')}" for flag in flags]
        if name in _KINDS:
            lines.append(f"complete -c forgelore {seen} -f -a '{_KINDS[name]}'")
    return "\n".join(lines)
