"""Hints name what exists: every input, variable, permission, settings page and command in the bot's words is looked up."""

import ast
import pathlib
import re

import pytest
import yaml

from forgelore.surfaces.cli.command import build_parser
from forgelore.surfaces.cli.main import COMMANDS, FAMILIES

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "forgelore"
MODULES = [
    SOURCE / "forges" / "branch.py", SOURCE / "forges" / "git.py", *sorted((SOURCE / "triage").glob("*.py")),
    SOURCE / "surfaces" / "cli" / "ci.py",
    *(SOURCE / "forges" / f"{name}.py" for name in ("github/writing", "gitlab/writing", "forgejo/writing")),
    *sorted((SOURCE / "forges").glob("*/rest.py")),
    SOURCE / "api" / "bot.py", SOURCE / "api" / "checkup.py",
    SOURCE / "surfaces" / "present" / "triage.py", SOURCE / "store" / "packing.py", SOURCE / "profiles.py",
]  # fmt: skip
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
RECIPE = (ROOT / "docs" / "triage" / "gitlab-ci.yml").read_text(encoding="utf-8")
WORKFLOW = (ROOT / "docs" / "triage" / "triage.yml").read_text(encoding="utf-8")
README = " ".join((ROOT / "docs" / "triage" / "README.md").read_text(encoding="utf-8").replace("*", "").split())
SETTINGS = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")


def texts(path):
    """Whole sentences of a module: texts and f-texts (a hole is "…"), without docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)}
    docs = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inner | docs:
            yield node.value


SAID = [(path.stem, text) for path in MODULES for text in texts(path) if " " in text and not text.startswith("SELECT")]


def found(pattern):
    return sorted({(where, match) for where, text in SAID for match in re.findall(pattern, text)})


def test_something_is_read_at_all():
    assert len(SAID) > 100
    assert len(found(r"Settings > [\w >/]+")) >= 5


@pytest.mark.parametrize(("where", "name"), found(r"\binputs? ([a-z]+(?:-[a-z]+)*)"))
def test_an_input_that_is_named_exists(where, name):
    assert name in ACTION["inputs"]


@pytest.mark.parametrize(("where", "name"), found(r"\b[A-Z]{2,}(?:_[A-Z0-9]+)+\b"))
def test_a_variable_that_is_named_is_read_by_the_program(where, name):
    readers = [SOURCE / name for name in ("profiles.py", "config.py", "surfaces/cli/ci.py")]
    assert any(f'"{name}"' in path.read_text(encoding="utf-8") for path in readers) or name in SETTINGS


@pytest.mark.parametrize(("where", "path"), found(r"Settings > [^:,;…)\n]+"))
def test_a_settings_page_that_is_named_is_in_the_documentation(where, path):
    assert path.strip().replace(" > ", " → ") in README


@pytest.mark.parametrize(("where", "name"), found(r"permissions: ([a-z-]+: [a-z]+)"))
def test_a_permission_that_is_named_is_in_the_workflow_to_copy(where, name):
    assert name in WORKFLOW
    assert f"permissions: {name}" in README


@pytest.mark.parametrize(("where", "scope"), found(r"\bscope (\w+(?::\w+)?)"))
def test_a_scope_that_is_named_is_in_the_documentation(where, scope):
    assert f"`{scope}`" in README or scope == "read_api"


@pytest.mark.parametrize(("where", "command"), found(r"run: forgelore ((?:dedupe )?[a-z-]+)"))
def test_a_command_that_is_named_exists(where, command):
    assert command in COMMANDS or command in FAMILIES


def flags_of(command: str) -> set[str]:
    return {flag for action in build_parser(command)[0].actions() for flag in action.option_strings}


@pytest.mark.parametrize(("where", "option"), found(r"(?<!\w)--[a-z]+(?:-[a-z]+)*"))
def test_an_option_that_is_named_is_one_of_ours_or_of_git(where, option):
    ours = {flag for name in COMMANDS for flag in flags_of(name)}
    assert option in ours | {"--delete", "--hostname"}  # of git; of gh and glab


def test_no_hint_asks_for_what_no_setting_does():
    """There is none that keeps less in the index, and none that reads CI_JOB_TOKEN."""
    told = " ".join(text for _, text in SAID)
    assert "keep less" not in told
    assert "CI_JOB_TOKEN" not in told


def test_options_of_the_recipe_and_the_action_exist():
    flags = flags_of("triage")
    scripts = " ".join(step["run"] for step in ACTION["runs"]["steps"] if step.get("id") == "triage") + RECIPE
    used = set(re.findall(r"(?<=[( ])--(?:emit|apply|keep)\b", scripts))
    assert used == {"--emit", "--apply", "--keep"}
    assert used <= flags
