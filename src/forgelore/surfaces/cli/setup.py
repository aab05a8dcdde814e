"""Setting up: `init`, `doctor`, `auth-test`, `completion` and `demo`."""

import argparse
import os
import re
import tempfile
import time
from typing import TYPE_CHECKING, Literal, NamedTuple

from forgelore.errors import UsageError
from forgelore.surfaces.cli.command import Command, Context, build_parser
from forgelore.surfaces.present.text import clean

if TYPE_CHECKING:
    from forgelore.api import AddedHost, DoctorCheck, SetupAnswer, TokenOwner


DEMO_PROJECT = "lanternsync/lantern"
_SHELL_TEXT = re.compile(r"[\w.:/@+-]+")  # what no shell reads as anything but text


class DoctorData(NamedTuple):
    success: bool
    checks: "list[DoctorCheck]"


class ScriptData(NamedTuple):
    """A completion script."""

    shell: Literal["bash", "zsh", "fish"]
    script: str


class KnownProjectsData(NamedTuple):
    """The projects that Tab offers."""

    projects: list[str]


class DemoData(NamedTuple):
    """The walk through the example; `db` is null where it was not kept."""

    project: str
    steps: int
    db: str | None


def add_init_arguments(parser: argparse.ArgumentParser) -> None:
    from forgelore.api import FORGE_NAMES

    parser.add_argument("--project", metavar="NAME", action="append", help="a project to sync; repeat for more")
    parser.add_argument("--host", help="also add a server of your own to your config.toml")
    parser.add_argument("--kind", choices=FORGE_NAMES, help="which forge runs on --host")
    parser.add_argument("--token-env", metavar="NAME", help="the environment variable that holds the token for --host")
    parser.add_argument("--yes", action="store_true", help="ask nothing")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing forgelore.toml")


def run_init(context: Context, arguments: argparse.Namespace) -> "SetupAnswer":
    history = context.history
    asks = context.is_interactive and not arguments.yes
    added = _add_host(context, arguments) if arguments.host else None
    projects = arguments.project or _suggest_projects(context, asks=asks)
    if not projects and not added:
        raise UsageError("no project named, and this is not a clone with an origin", hint="add --project owner/repo")
    answer = history.setup.write(projects, overwrite=arguments.overwrite)
    done = context.style.green("✓")
    if answer.config:
        context.print(f"{done} {answer.config}: {', '.join(answer.projects)}")
    context.print(f"{done} database at {answer.db}", "", "next: forgelore doctor, then forgelore sync")
    return answer._replace(user_config=added.path) if added else answer


def _suggest_projects(context: Context, *, asks: bool) -> list[str]:
    from forgelore.api import NAMING

    suggestion = context.history.setup.suggest_project() or ""
    if not asks:
        return [suggestion] if suggestion else []
    shown = f" [{suggestion}]" if suggestion else ""
    answer = input(f"Which project?{shown} ({NAMING} or a URL) ").strip() or suggestion
    return answer.split()


def _add_host(context: Context, arguments: argparse.Namespace) -> "AddedHost":
    from forgelore.api import FORGE_NAMES

    if not arguments.kind:
        raise UsageError("--host needs --kind", hint="add " + " or ".join(f"--kind {name}" for name in FORGE_NAMES))
    added = context.history.setup.add_host(arguments.host, kind=arguments.kind, token_env=arguments.token_env)
    context.print(f"{context.style.green('✓')} {added.host} added to {added.path}")
    return added


def add_doctor_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not ask any forge")


def run_doctor(context: Context, arguments: argparse.Namespace) -> DoctorData:
    from forgelore.api import Watcher
    from forgelore.surfaces.cli.progress import Spinner

    marks = {"ok": context.style.green("✓"), "warning": context.style.yellow("!"), "error": context.style.red("✗")}
    checks = []
    with Spinner(is_shown=not context.is_data) as spinner:
        for check in context.history.setup.check(offline=arguments.offline, watcher=Watcher(spinner.show)):
            spinner.hide()
            checks.append(check)
            context.print(f"{marks[check.status]} {check.name:<12} {check.message}")
            if check.hint:
                context.print(f"  {'':<12} {context.style.dim('→')} {check.hint}")
    faults = [check for check in checks if check.status == "error"]
    if faults:  # the first one decides the exit code: what comes after often follows from it
        names = ", ".join(check.name for check in faults)
        context.fail(faults[0].fault(f"not in order: {names}", hint="each line above says what to do"))
    else:
        unsearched = [check for check in checks if check.name in ("database", "search") and check.status != "ok"]
        context.print("", unsearched[-1].message if unsearched else "everything needed is in place")
    return DoctorData(not faults, checks)


def add_auth_test_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "project", metavar="PROJECT", nargs="?", help="the forge of this project; default: the one you would sync"
    )


def run_auth_test(context: Context, arguments: argparse.Namespace) -> "TokenOwner":
    owner = context.history.setup.find_token_owner(arguments.project)
    shown = f" ({clean(owner.name)})" if owner.name else ""
    context.print(
        f"{context.style.green('✓')} Authenticated as @{clean(owner.login)}{shown} on {owner.host}, token from"
        f" {owner.source}"
    )
    if owner.scopes:
        context.print(f"  scopes: {', '.join(owner.scopes)}")
    if owner.expires_at:
        context.print(f"  expires: {owner.expires_at}")
    return owner


def add_completion_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish", "projects"), help="which shell; projects: the names that Tab offers"
    )
    parser.add_argument("typed", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)


def run_completion(context: Context, arguments: argparse.Namespace) -> ScriptData | KnownProjectsData:
    if arguments.shell == "projects":
        names = _known_projects(context, arguments.typed)
        context.print(*names)
        return KnownProjectsData(names)
    from forgelore.surfaces.cli.completion import write_bash, write_fish, write_zsh

    script = {"bash": write_bash, "zsh": write_zsh, "fish": write_fish}[arguments.shell]()
    context.print(*script.splitlines())
    return ScriptData(arguments.shell, script)


def _known_projects(context: Context, typed: list[str]) -> list[str]:
    """Return the projects of the database that the typed words name; without one, of the usual one."""
    if "--db" in typed[:-1]:
        context.choose_db(typed[typed.index("--db") + 1].strip("'\""))
    return [name for name in context.history.projects.list() if _SHELL_TEXT.fullmatch(name)]


def add_demo_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--keep", metavar="FILE", help="load into this file and keep it")


def run_demo(context: Context, arguments: argparse.Namespace) -> DemoData:
    """Every step prints the command a person would type and then runs it, in this process."""
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="forgelore-demo-") as folder:
        path = arguments.keep or os.path.join(folder, "demo.db")
        steps = _demo_steps(demo_file(), folder)
        for said, words in steps:
            _run_demo_step(context, said, words, path, folder)
    seconds = time.monotonic() - started
    context.print(
        "",
        f"That took {seconds:.1f} s, offline. Next: {context.style.bold('forgelore sync OWNER/REPO')} on a project"
        f" of yours.",
    )
    if arguments.keep:
        context.print(f"The example stays in {arguments.keep}: try  forgelore --db {arguments.keep} list issues")
    return DemoData(DEMO_PROJECT, len(steps), arguments.keep)


def demo_file() -> str:
    import forgelore

    return os.path.join(os.path.dirname(os.path.abspath(forgelore.__file__)), "data", "demo.jsonl")


def _demo_steps(source: str, folder: str) -> list[tuple[str, list[str]]]:
    return [
        (
            "A fictional project's tracker, in the import format, becomes one SQLite file.",
            ["import", source, "--project", DEMO_PROJECT],
        ),
        ("How much is there?", ["count", "issues"]),
        (
            "What is open and labelled as a bug?",
            ["list", "issues", "--state", "open", "--label", "bug", "--limit", "6"],
        ),
        ("Which changes were merged last?", ["list", "changes", "--state", "merged", "--limit", "5"]),
        ("One report, with what was said about it and what it is connected to.", ["show", "#41"]),
        (
            "Search by words and by meaning: the report that says it best need not use your words.",
            ["search", "why do removed files return", "--type", "issue", "--limit", "2"],
        ),
        (
            "Identifiers are found by their parts, within any filter.",
            ["search", "chunk cache", "--state", "open", "--limit", "2"],
        ),
        ("Has somebody reported this before?", ["similar", "#157", "--earlier", "--limit", "1"]),
        ("Where does the project stand?", ["stats"]),
        (
            "Everything can leave again: equal stores give equal bytes.",
            ["export", "--project", DEMO_PROJECT, "--output", os.path.join(folder, "lantern.jsonl")],
        ),
    ]


def _run_demo_step(context: Context, said: str, words: list[str], path: str, folder: str) -> None:
    style = context.style
    shown = " ".join(_shell_word(word) for word in words)
    context.print("", style.dim(f"# {said}"), f"{style.green('$')} {style.bold('forgelore ' + shown)}")
    parser, command = build_parser(words[0])
    inner = Context(db=path, started=time.monotonic(), cwd=folder)
    inner.out, inner.style = context.out, style
    try:
        command.run(inner, parser.read(words[1:]))
    finally:
        inner.close()


def _shell_word(word: str) -> str:
    word = os.path.basename(word) if os.path.isabs(word) else word
    return f"'{word}'" if word.startswith("#") or " " in word else word


COMMANDS = {
    "init": Command(
        add_init_arguments,
        run_init,
        (
            "forgelore init                             asks; inside a clone its origin is the suggestion",
            "forgelore init --project acme/web --yes",
            "forgelore init --project gitlab:group/app --project acme/api --yes",
            "forgelore init --host git.example.com --kind gitlab --token-env TEAM_TOKEN --yes",
        ),
    ),
    "doctor": Command(
        add_doctor_arguments,
        run_doctor,
        ("forgelore doctor", "forgelore doctor --offline", "forgelore doctor --json"),
    ),
    "auth-test": Command(
        add_auth_test_arguments,
        run_auth_test,
        (
            "forgelore auth-test",
            "forgelore auth-test acme/web",
            "forgelore auth-test https://gitlab.example.com/team/app --json",
        ),
    ),
    "completion": Command(
        add_completion_arguments,
        run_completion,
        (
            'eval "$(forgelore completion bash)"        for this shell; add it to ~/.bashrc to keep it',
            'eval "$(forgelore completion zsh)"         the same in ~/.zshrc, or once, into a folder of your $fpath:',
            "forgelore completion zsh > ~/.zfunc/_forgelore",
            "forgelore completion fish > ~/.config/fish/conf.d/forgelore.fish",
        ),
    ),
    "demo": Command(
        add_demo_arguments,
        run_demo,
        ("forgelore demo", "forgelore demo --keep demo.db     keep the database to play with"),
    ),
}
