"""Completion scripts for bash, zsh and fish, written from the parsers of the commands.

    bash    functions that look a place up in `case`; works in 3.2, which macOS has, and without bash-completion
    zsh     `_arguments`, which knows more of zsh than we do
    fish    one `complete` per option; `lore` wraps `forgelore`

bash and fish have to find the command and its arguments among the typed words themselves, so both know which options
take a value. Words from the database never reach an evaluation: `compgen -W` would run `$(…)` in them.

A new option or choice is completed as soon as a parser has it. What a parser does not know (a state in `search` is
checked later, by the flow) stands in `_WORDS`; a test gives each of these words to the program.
"""

import argparse
from collections.abc import Iterator
from typing import Literal, NamedTuple

from forgelore.api import COUNTABLE, EMBEDDERS, KINDS
from forgelore.surfaces.cli.command import build_parser
from forgelore.surfaces.cli.main import COLORS, COMMANDS, FAMILIES, FORMATS, family_commands, first_words

WordSource = Literal["words", "files", "projects", "text"]

_PLURAL_KINDS = tuple(f"{kind}s" for kind in KINDS)
# "command argument", or "argument" for every command that has it.
_WORDS: dict[str, tuple[str, ...]] = {
    "list kind": (*_PLURAL_KINDS, "items"),
    "count kind": COUNTABLE,
    "ingest --type": _PLURAL_KINDS,
    "search --type": (*KINDS, "thread", "code", "commit", "all"),
    "--type": (*KINDS, "thread"),
    "--state": ("open", "closed", "merged", "all"),
    "--embedder": tuple(name for name in EMBEDDERS if name != "none"),
}
_FILES = ("FILE", "PATH")


class WordPlace(NamedTuple):
    """An option, or a positional argument (`flags` is empty), and what may stand there."""

    name: str
    flags: tuple[str, ...]
    help: str
    takes_value: bool = True
    source: WordSource = "text"
    words: tuple[str, ...] = ()
    is_repeated: bool = False

    @property
    def long_flags(self) -> list[str]:
        return [flag for flag in self.flags if flag.startswith("--")]


# What may stand before the command.
BEFORE_COMMAND = (
    WordPlace("PATH", ("--db",), "the database file (or FORGELORE_DB)", source="files"),
    *(WordPlace(option[2:], (option,), what, takes_value=False) for option, (what, _) in FORMATS.items()),
    WordPlace("WHEN", ("--color",), "colours: auto, always or never", source="words", words=COLORS),
    WordPlace("no-pager", ("--no-pager",), "do not use a pager", takes_value=False),
    WordPlace("help", ("-h", "--help"), "help, with examples", takes_value=False),
    WordPlace("version", ("--version",), "the version", takes_value=False),
)


def load_places(command: str) -> list[WordPlace]:
    """Return the options and arguments of a command, in the order of its parser."""
    parser = build_parser(command)[0]
    return [
        _place(command, action, is_repeated=parser.may_repeat(action))
        for action in parser.actions()
        if action.help != argparse.SUPPRESS
    ]


def _place(command: str, action: argparse.Action, *, is_repeated: bool) -> WordPlace:
    flags = tuple(action.option_strings)
    name = next((flag for flag in flags if flag.startswith("--")), action.dest)
    shown = str(action.metavar or action.dest)
    if action.nargs == 0:
        return WordPlace(shown, flags, action.help or "", takes_value=False)
    words = tuple(map(str, action.choices or ())) or _WORDS.get(f"{command} {name}") or _WORDS.get(name) or ()
    source: WordSource = "words" if words else _find_source(action, name)
    return WordPlace(shown, flags, action.help or "", True, source, words, is_repeated)


def _find_source(action: argparse.Action, name: str) -> WordSource:
    if name == "--project" or action.metavar == "PROJECT":
        return "projects"
    return "files" if action.metavar in _FILES else "text"


_BASH = """\
_forgelore_value() {  # what may follow option $2 of command $1; fails when nothing does
  case "$1 $2" in
%(values)s
    *) return 1 ;;
  esac
}
_forgelore_argument() {  # what may be argument $2 of command $1
  case "$1 $2" in
%(arguments)s
    *) return 1 ;;
  esac
}
_forgelore_flags() {
  case "$1" in
%(flags)s
  esac
}
_forgelore() {
  local -a typed
  local at word current option='' command='' place=1 words='' from='' glued=''
  typed=()
  for ((at = 1; at <= COMP_CWORD; at++)); do  # bash cuts words at = and : too
    word="${COMP_WORDS[at]}"
    if [[ ${#typed[@]} -gt 0 && ( $glued || $word == [=:]* ) ]]; then
      typed[${#typed[@]}-1]+="$word"
    else
      typed+=("$word")
    fi
    case "$word" in *[=:]) glued=yes ;; *) glued='' ;; esac
  done
  current="${typed[${#typed[@]}-1]}"
  unset "typed[${#typed[@]}-1]"
  for word in ${typed[@]+"${typed[@]}"}; do
    if [[ $option ]]; then option=''; continue; fi
    case "$word" in
      --*=*) ;;
      -*) if _forgelore_value "$command" "$word"; then option="$word"; fi ;;
      *)
        case "$command" in
          '') command="$word" ;;
          %(families)s) command="$command $word" ;;
          *) place=$((place + 1)) ;;
        esac ;;
    esac
  done
  words='' from=''
  if [[ ! $option && $current == --*=* ]]; then
    option="${current%%%%=*}"
    current="${current#*=}"
  fi
  if [[ $option ]]; then
    _forgelore_value "$command" "$option"
  elif [[ $current == -* ]] || ! _forgelore_argument "$command" "$place"; then
    _forgelore_flags "$command"
  fi
  COMPREPLY=()
  if [[ $from == files ]]; then
    compopt -o default 2> /dev/null || { local IFS=$'\\n'; COMPREPLY=($(compgen -f -- "$current")); }
    return
  fi
  if [[ $from == projects ]]; then
    words="$(command forgelore completion projects "${COMP_WORDS[@]}" 2> /dev/null)"
  fi
  at=''
  if [[ $current == *:* && $COMP_WORDBREAKS == *:* ]]; then at="${current%%"${current##*:}"}"; fi
  for word in $words; do
    if [[ $word == "$current"* ]]; then COMPREPLY+=("${word#"$at"}"); fi
  done
}
complete -F _forgelore forgelore lore
"""

_ZSH = """\
#compdef forgelore lore
_forgelore_projects() {
  local -a names
  names=(${(f)"$(command forgelore completion projects $typed 2> /dev/null)"})
  compadd -a names
}
_forgelore() {
  local curcontext="$curcontext" state
  local -a commands line typed
  local -A opt_args
  typed=("${words[@]}")
  commands=(
%(commands)s
  )
  _arguments -C \\
%(before)s \\
    '1: :->command' '*:: :->argument' && return
  case "$state" in
    command) _describe command commands ;;
    argument)
      case "${words[1]}" in
        %(families)s)
          if (( CURRENT > 2 )); then
            words[2]="${words[1]} ${words[2]}"
            shift words
            (( CURRENT-- ))
          fi ;;
      esac
      case "${words[1]}" in
%(cases)s
      esac ;;
  esac
}
if [ "$funcstack[1]" = _forgelore ]; then
  _forgelore "$@"  # a file of $fpath: reading it is already the first Tab
else
  (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }
  compdef _forgelore forgelore lore
fi
"""

_FISH = """\
function __forgelore_takes
    contains -- "$argv" %(takes)s
end
function __forgelore_at --description 'COMMAND [PLACE]: is this being typed?'
    set -l name ''
    set -l place 1
    set -l option ''
    for word in (commandline -opc)[2..-1]
        if test -n "$option"
            set option ''
        else if string match -q -- '-*' $word
            __forgelore_takes "$name" $word; and set option $word
        else if test -z "$name"
            set name $word
        else if contains -- "$name" %(families)s
            set name "$name $word"
        else
            set place (math $place + 1)
        end
    end
    test "$name" = "$argv[1]"; and test -z "$argv[2]" -o "$place" = "$argv[2]"
end
function __forgelore_projects
    command forgelore completion projects (commandline -opc) 2>/dev/null
end
complete -c forgelore -f
%(lines)s
complete -c lore -w forgelore
"""


def write_bash() -> str:
    values, arguments, flags = [], [f"    ' 1') words='{' '.join(first_words())}' ;;"], []
    arguments += [f"    '{family} 1') words='{' '.join(family_commands(family))}' ;;" for family in FAMILIES]
    for name, places in [("", list(BEFORE_COMMAND)), *_places_by_command()]:
        for place in _taking(places):
            heads = "|".join(f"'{name} {flag}'" for flag in place.flags)
            values.append(f"    {heads}) {_bash_source(place)} ;;")
        for at, place in _numbered(places):
            if place.source != "text":
                arguments.append(f"    '{name} '{at}) {_bash_source(place)} ;;")
        shown = " ".join(flag for place in places for flag in place.long_flags)
        flags.append(f"    {name if name and ' ' not in name else repr(name)}) words='{shown}' ;;")
    parts = {"values": values, "arguments": arguments, "flags": flags, "families": ["|".join(FAMILIES)]}
    return _BASH % {name: "\n".join(lines) for name, lines in parts.items()}


def _bash_source(place: WordPlace) -> str:
    return f"words='{' '.join(place.words)}'" if place.words else f"from={place.source}"


def write_zsh() -> str:
    commands = "\n".join(f"    {_quoted(f'{name}:{summary}')}" for name, (_, summary) in first_words().items())
    before = " \\\n".join(f"    {spec}" for place in BEFORE_COMMAND for spec in _zsh_specs(place))
    cases = [_zsh_family(family) for family in FAMILIES]
    for name, places in _places_by_command():
        specs = [spec for place in places if place.flags for spec in _zsh_specs(place)]
        specs += [_quoted(f"{at}:{place.name}:{_zsh_action(place)}") for at, place in _numbered(places)]
        shown = name if " " not in name else _quoted(name)
        cases.append(f"        {shown}) _arguments \\\n          " + " \\\n          ".join(specs) + " ;;")
    filled = {"commands": commands, "before": before, "cases": "\n".join(cases), "families": "|".join(FAMILIES)}
    return _ZSH % filled


def _zsh_family(family: str) -> str:
    """The second word of a command: by `_describe`, as the first one."""
    names = " ".join(_quoted(f"{name}:{summary}") for name, summary in family_commands(family).items())
    return f"        {family}) commands=({names}); _describe command commands ;;"


def _zsh_specs(place: WordPlace) -> Iterator[str]:
    """Yield `'--state=[its help]:STATE:(open closed)'` for each way to write the option."""
    for flag in place.flags:
        repeated = "*" if place.is_repeated else ""
        help_text = place.help.replace("[", r"\[").replace("]", r"\]").replace(":", r"\:")
        if place.takes_value:
            sign = "=" if flag.startswith("--") else ""  # -L 3 is an option, -L=3 is text
            yield _quoted(f"{repeated}{flag}{sign}[{help_text}]:{place.name}:{_zsh_action(place)}")
        else:
            yield _quoted(f"{repeated}{flag}[{help_text}]")


def _zsh_action(place: WordPlace) -> str:
    if place.words:
        return f"({' '.join(place.words)})"
    return {"files": "_files", "projects": "_forgelore_projects"}.get(
        place.source, "()"
    )  # zsh's " " would hide the options


def write_fish() -> str:
    takes = ["' --db'"]
    lines = [_fish_option("''", place) for place in BEFORE_COMMAND]
    for name, (_, summary) in first_words().items():
        lines.append(f"complete -c forgelore -n \"__forgelore_at ''\" -a {name} -d {_quoted_fish(summary)}")
    for family in FAMILIES:
        for name, summary in family_commands(family).items():
            where = f'-n "__forgelore_at {family}"'
            lines.append(f"complete -c forgelore {where} -a {name} -d {_quoted_fish(summary)}")
    for name, places in _places_by_command():
        for place in _taking(places):
            takes += [f"'{name} {flag}'" for flag in place.flags]
        lines += [_fish_option(name, place) for place in places if place.flags]
        lines += [_fish_argument(name, at, place) for at, place in _numbered(places) if place.source != "text"]
    return _FISH % {
        "takes": " \\\n        ".join(takes), "lines": "\n".join(lines), "families": " ".join(FAMILIES)
    }  # fmt: skip


def _fish_option(command: str, place: WordPlace) -> str:
    flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in place.flags)
    value = f" {_fish_source(place)}" if place.takes_value else ""
    at = command if " " not in command else _quoted(command)
    return f'complete -c forgelore -n "__forgelore_at {at}" {flags}{value} -d {_quoted_fish(place.help)}'


def _fish_argument(command: str, at: str, place: WordPlace) -> str:
    command = command if " " not in command else _quoted(command)
    where = f"{command} {at}" if at != "*" else command
    source = "-F" if place.source == "files" else _fish_source(place).replace("-x ", "")
    return f'complete -c forgelore -n "__forgelore_at {where}" {source}'


def _fish_source(place: WordPlace) -> str:
    if place.words:
        return f"-x -a {_quoted(' '.join(place.words))}"
    return {"files": "-r -F", "projects": "-x -a '(__forgelore_projects)'"}.get(place.source, "-x")


def _places_by_command() -> list[tuple[str, list[WordPlace]]]:
    return [(name, load_places(name)) for name in COMMANDS]


def _taking(places: list[WordPlace] | tuple[WordPlace, ...]) -> Iterator[WordPlace]:
    return (place for place in places if place.flags and place.takes_value)


def _numbered(places: list[WordPlace]) -> Iterator[tuple[str, WordPlace]]:
    """Yield positional arguments with their place: "1", "2", or "*" for one that may be repeated."""
    positional = [place for place in places if not place.flags]
    for at, place in enumerate(positional, 1):
        yield ("*" if place.is_repeated else str(at)), place


def _quoted(text: str) -> str:
    """Return the text in single quotes, for bash and zsh, where a quote inside ends them and begins them anew."""
    return "'" + text.replace("'", "'\\''") + "'"


def _quoted_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
