"""An empty value is what an unset variable leaves behind. It is an error for every command, never "nothing was said"."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from forgelore.surfaces.cli.command import build_parser
from forgelore.surfaces.cli.main import COMMANDS


def value_options():
    for name in COMMANDS:
        for action in build_parser(name)[0]._actions:
            if action.option_strings and action.nargs != 0:
                yield pytest.param(name, action.option_strings[0], id=f"{name} {action.option_strings[0]}")


@pytest.mark.parametrize(("command", "option"), list(value_options()))
def test_an_empty_value_is_an_error_that_names_the_option(cli, command, option):
    """`--project "$UNSET"` must never mean "no project was named"."""
    for words in ([option, ""], [f"{option}="], [option, "  "]):
        done = cli(*command.split(), *words)
        assert done.code == 13, done
        assert f"{option} is empty" in done.err
    assert cli(*command.split(), option, "", "--json").error["code"] == "invalid_value"


def test_there_are_options_to_be_empty():
    assert len(list(value_options())) > 80


@pytest.mark.parametrize(
    "words", [["search", ""], ["show", ""], ["list", ""], ["sync", ""], ["similar", " "], ["triage", ""]]
)
def test_an_empty_argument_is_an_error_too(demo, words):
    done = demo(*words)
    assert done.code == 13
    assert "is empty" in done.err


def test_an_empty_database_option_before_the_command_is_an_error(demo):
    done = demo("--db", "", "list", "issues")
    assert done.code == 13
    assert "--db is empty" in done.err


def test_an_unset_variable_in_a_real_shell_is_an_error(demo, tmp_path):
    environ = {**os.environ, "FORGELORE_DB": str(tmp_path / "lore.db")}
    program = f"{shlex.quote(sys.executable)} -m forgelore.surfaces.cli.main"
    for line, code in (('list issues --after "$UNSET" --json', 13), ("list issues --after $UNSET --json", 2)):
        done = subprocess.run(["bash", "-c", f"{program} {line}"], env=environ, capture_output=True, text=True)
        assert done.returncode == code
        assert "--after" in json.loads(done.stdout)["error"]["message"]


@pytest.mark.parametrize(
    "name", ["FORGELORE_DB", "FORGELORE_EMBEDDER", "FORGELORE_PROJECTS", "FORGELORE_CONFIG", "FORGELORE_WORKERS"]
)
def test_an_empty_variable_counts_as_unset(demo, tmp_path, home, name):
    """As everywhere: FORGELORE_DB= is how a script takes it back. The option --db is how to name a file."""
    for value in ("", " "):
        if name != "FORGELORE_CONFIG" or not value:
            done = demo("count", "issues", "--db", str(tmp_path / "lore.db"), **{name: value})
            assert done.code == 0, done.err
    if name == "FORGELORE_DB":
        assert str(home) in demo("count", "issues").err
