"""What holds for every command: help, envelope, exit codes, --db anywhere, no traceback ever."""

import json
import os
import shlex
import subprocess
import sys

import pytest

from forgelore.surfaces.cli.main import COMMANDS, FAMILIES, STEPS_OF_SYNC


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself_with_examples(cli, name):
    done = cli(*name.split(), "--help")
    assert done.code == 0
    assert "examples:" in done.out
    assert f"forgelore {name}" in done.out.split("examples:")[1] or name == "completion"


def test_help_lists_every_command(cli):
    done = cli()
    assert done.code == 0
    first_words = {name.partition(" ")[0] for name in COMMANDS}
    assert [word for word in first_words.difference(STEPS_OF_SYNC) if f"\n  {word} " not in done.out] == []
    assert f"\nsteps of sync, one by one: {', '.join(STEPS_OF_SYNC)}\n" in done.out
    assert first_words.issuperset(STEPS_OF_SYNC)
    assert cli("--help").out == done.out


@pytest.mark.parametrize("family", FAMILIES)
def test_the_help_of_a_family_lists_its_commands(cli, family):
    done = cli(family)
    ours = [name.partition(" ")[2] for name in COMMANDS if name.startswith(f"{family} ")]
    assert ours
    assert all(f"  {name} " in done.out for name in ours)
    assert cli(family, "--help").out == done.out
    for words, said in ((["nonsense"], f"'{family} nonsense'"), (["--nope"], "--nope")):
        wrong = cli(family, *words)
        assert wrong.code == 2
        assert said in wrong.err
        assert f"run: forgelore {family}" in wrong.err


def test_the_version_is_told(cli):
    assert cli("--version").out.startswith("forgelore ")


def test_an_unknown_command_gets_a_suggestion(cli):
    done = cli("lst")
    assert done.code == 2
    assert "'list'" in done.err


@pytest.mark.parametrize(
    "words", [["list"], ["list", "issues", "--nope"], ["list", "issues", "--limit", "many"], ["--nope"], ["show"]]
)
def test_wrong_usage_is_exit_2_for_people_and_programs(cli, words):
    assert cli(*words).code == 2
    done = cli(*words, "--json") if words != ["--nope"] else cli("list", "--json", "--nope")
    assert done.code == 2
    assert done.error["code"] == "usage"
    assert done.error["hint"]


def test_db_may_stand_before_or_after_the_command(demo, tmp_path):
    path = str(tmp_path / "lore.db")
    before = demo("--db", path, "count", "issues", FORGELORE_DB="/nowhere/x.db")
    after = demo("count", "issues", "--db", path)
    assert before.out == after.out
    assert before.code == 0


def test_json_is_one_envelope_on_standard_output(demo):
    done = demo("list", "issues", "--limit", "2", "--json")
    envelope = json.loads(done.out)
    assert envelope["ok"] is True
    assert len(envelope["data"]) == 2
    assert isinstance(envelope["meta"]["elapsed_ms"], int)
    assert envelope["warnings"] == []


def test_a_missing_database_says_how_to_begin(cli):
    done = cli("list", "issues")
    assert done.code == 8
    assert "forgelore sync" in done.err


def test_an_unexpected_failure_is_a_message_and_not_a_traceback(demo, monkeypatch):
    import forgelore.browse.lists

    monkeypatch.setattr(forgelore.browse.lists, "list_items", lambda *a, **k: 1 / 0)
    done = demo("list", "issues")
    assert done.code == 1
    assert "Traceback" not in done.err
    assert "bug in forgelore" in done.err


def test_a_reader_that_leaves_early_is_no_error(demo, tmp_path):
    environ = {**os.environ, "FORGELORE_DB": str(tmp_path / "lore.db")}
    command = f"{shlex.quote(sys.executable)} -m forgelore.surfaces.cli.main export | head -c 10"
    done = subprocess.run(["bash", "-c", f"set -o pipefail; {command}"], env=environ, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == '{"kind":"d'


def test_both_names_of_the_program_work():
    folder = os.path.dirname(sys.executable)
    for name in ("forgelore", "lore"):
        done = subprocess.run([os.path.join(folder, name), "--version"], capture_output=True, text=True)
        assert done.returncode == 0


def test_completion_scripts_are_valid_shell(cli, tmp_path):
    done = cli("completion", "bash")
    script = tmp_path / "completion.bash"
    script.write_text(done.out + "\nCOMP_WORDS=(forgelore sync --f); COMP_CWORD=2; _forgelore; echo ${COMPREPLY[@]}\n")
    shown = subprocess.run(["bash", str(script)], capture_output=True, text=True)
    assert shown.stdout.split() == ["--full", "--force"]
    for shell in ("zsh", "fish"):
        assert "sync" in cli("completion", shell).out


def test_the_demo_runs_every_step(cli, monkeypatch):
    monkeypatch.delenv("FORGELORE_EMBEDDER")
    done = cli("demo")
    assert done.code == 0
    assert done.err == ""
    assert "forgelore show '#41'" in done.out


def test_the_demo_can_be_kept(cli, tmp_path):
    assert cli("demo", "--keep", str(tmp_path / "kept.db")).code == 0
    assert cli("--db", str(tmp_path / "kept.db"), "count", "issues").out.startswith("Issues: ")
