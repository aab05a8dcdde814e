"""`forgelore mcp --install`: what stands in a client's settings afterwards, and what stays."""

import json
import os
import pathlib
import re
import stat
import tomllib

import pytest

from forgelore.errors import ConfigError
from forgelore.surfaces.cli.main import main
from forgelore.surfaces.mcp.clients import CLIENTS, add_server, find_file, write_lines

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/mcp.md"
COMMAND = ["forgelore", "mcp", "--db", "/home/you/history.db"]
JSON_CLIENTS = [client for client in CLIENTS.values() if not client.is_toml]


@pytest.fixture
def install(home, tmp_path, monkeypatch, capsys):
    def run(client, *words):
        monkeypatch.setenv("FORGELORE_DB", str(tmp_path / "lore.db"))
        code = main(["mcp", "--install", client, *words])
        return code, capsys.readouterr()

    return run


def place_of(name, home, tmp_path):
    return pathlib.Path(find_file(CLIENTS[name], {"HOME": str(home)}, cwd=str(tmp_path), platform="linux"))


def parse(client, text):
    return tomllib.loads(text) if client.is_toml else json.loads(text)


@pytest.mark.parametrize("name", CLIENTS)
def test_a_client_gets_an_entry_that_starts_this_program(install, home, tmp_path, name):
    file = place_of(name, home, tmp_path)
    code, said = install(name, "--yes", "--include-internal")
    assert code == 0
    assert str(file) in said.out
    entry = parse(CLIENTS[name], file.read_text())[CLIENTS[name].key]["forgelore"]
    assert os.path.isabs(entry["command"])
    assert entry["args"][-4:] == ["mcp", "--db", str(tmp_path / "lore.db"), "--include-internal"]
    assert install(name, "--yes", "--include-internal")[1].out.count("already there") == 1


@pytest.mark.parametrize(
    ("program", "said"),
    [("echo 'No module named sync_engine' >&2; exit 1", "No module named sync_engine"), ("read line; echo nonsense", "did not list its tools"), (None, "No such file")],
)  # fmt: skip
def test_a_server_that_does_not_run_is_not_installed(install, home, tmp_path, monkeypatch, program, said):
    interpreter = tmp_path / "python"
    if program:
        interpreter.write_text(f"#!/bin/sh\n{program}\n")
        interpreter.chmod(0o700)
    monkeypatch.setattr("sys.executable", str(interpreter))
    code, printed = install("cursor", "--yes")
    assert code == 3
    assert said in printed.err
    assert "✓" not in printed.out
    assert not place_of("cursor", home, tmp_path).exists()


def test_a_server_that_has_no_database_yet_is_installed_with_a_warning(install, tmp_path):
    code, printed = install("cursor", "--yes")
    assert code == 0
    assert "✓ written" in printed.out
    assert f"no database at {tmp_path / 'lore.db'}" in printed.err


@pytest.mark.parametrize("name", CLIENTS)
def test_nothing_is_written_by_a_program_that_nobody_asked(install, home, tmp_path, name):
    code, said = install(name)
    assert code == 0
    assert "nothing was written" in said.out
    assert '"mcp"' in said.out
    assert not place_of(name, home, tmp_path).exists()


@pytest.mark.parametrize(("typed", "is_written"), [("y", True), ("yes", True), ("n", False), ("", False)])
def test_a_person_is_asked(install, home, tmp_path, monkeypatch, typed, is_written):
    monkeypatch.setattr("forgelore.surfaces.cli.command.Context.is_interactive", True)
    monkeypatch.setattr("builtins.input", lambda _: typed)
    install("cursor")
    assert place_of("cursor", home, tmp_path).exists() == is_written


def test_what_is_there_stays_and_a_copy_is_kept(install, home, tmp_path):
    file = place_of("cursor", home, tmp_path)
    file.parent.mkdir()
    before = {
        "theme": "dark",
        "mcpServers": {"other": {"command": "x", "env": {"KEY": "s"}}, "forgelore": {"url": "u"}},
    }
    file.write_text(json.dumps(before))
    file.chmod(0o640)
    install("cursor", "--yes")
    after = json.loads(file.read_text())
    assert list(after) == ["theme", "mcpServers"]
    assert after["mcpServers"]["other"] == before["mcpServers"]["other"]
    assert after["mcpServers"]["forgelore"]["args"][-3:-1] == ["mcp", "--db"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    copy = pathlib.Path(f"{file}.bak")
    assert json.loads(copy.read_text()) == before
    install("cursor", "--yes", "--allow-write")
    assert json.loads(copy.read_text()) == before
    assert json.loads(pathlib.Path(f"{file}.bak1").read_text()) == after
    assert sorted(path.name for path in file.parent.iterdir()) == ["mcp.json", "mcp.json.bak", "mcp.json.bak1"]


def test_a_new_file_is_its_owners_alone(install, home, tmp_path):
    install("codex", "--yes")
    assert stat.S_IMODE(place_of("codex", home, tmp_path).stat().st_mode) == 0o600


def test_a_link_to_a_file_that_is_kept_elsewhere_stays_a_link(install, home, tmp_path):
    kept = tmp_path / "dotfiles.json"
    kept.write_text("{}")
    file = place_of("gemini", home, tmp_path)
    file.parent.mkdir()
    file.symlink_to(kept)
    install("gemini", "--yes")
    assert file.is_symlink()
    assert "forgelore" in json.loads(kept.read_text())["mcpServers"]


@pytest.mark.parametrize(
    "text", ['{"mcpServers": {}, // mine\n}', "nonsense", "[]", '{"mcpServers": []}', '"text"', "1"]
)
def test_a_file_that_is_not_understood_is_left_alone(install, home, tmp_path, text):
    file = place_of("cursor", home, tmp_path)
    file.parent.mkdir()
    file.write_text(text)
    code, said = install("cursor", "--yes")
    assert code == 3
    assert '"mcpServers"' in said.out, "the lines are there to be copied"
    assert file.read_text() == text
    assert len(list(file.parent.iterdir())) == 1


def test_a_file_that_cannot_be_written_is_told(install, home, tmp_path):
    (home / ".cursor").write_text("a file where a folder should be")
    code, said = install("cursor", "--yes")
    assert code == 3
    assert "cannot" in said.err


def test_toml_is_completed_and_never_rewritten():
    codex = CLIENTS["codex"]
    before = '# mine\nmodel = "x"\n\n[mcp_servers.other]\ncommand = "y"'
    after = add_server(codex, before, COMMAND)
    assert after.startswith(before + "\n\n[mcp_servers.forgelore]\n")
    assert tomllib.loads(after)["mcp_servers"]["other"] == {"command": "y"}
    assert add_server(codex, after, COMMAND) == after
    with pytest.raises(ConfigError, match="already"):
        add_server(codex, after, ["elsewhere"])


@pytest.mark.parametrize("before", ["mcp_servers = {}", 'mcp_servers = "text"', "= nonsense"])
def test_toml_in_which_there_is_no_room_is_left_alone(before):
    with pytest.raises(ConfigError):
        add_server(CLIENTS["codex"], before, COMMAND)


def test_a_path_with_odd_characters_is_read_back(tmp_path):
    odd = ["/opt/ü 'x' \"y\"/forgelore", "mcp", "--db", "C:\\Users\\you\\😀.db"]
    for client in CLIENTS.values():
        entry = parse(client, add_server(client, "", odd))[client.key]["forgelore"]
        assert [entry["command"], *entry["args"]] == odd


@pytest.mark.parametrize(
    ("platform", "environ", "folder"),
    [
        ("darwin", {"HOME": "/Users/you"}, "/Users/you/Library/Application Support/Claude"),
        ("linux", {"HOME": "/home/you"}, "/home/you/.config/Claude"),
        ("linux", {"HOME": "/home/you", "XDG_CONFIG_HOME": "/x"}, "/x/Claude"),
        ("win32", {"USERPROFILE": "/u", "APPDATA": "/u/r"}, "/u/r/Claude"),
    ],
)
def test_the_settings_are_where_the_platform_keeps_them(platform, environ, folder):
    found = find_file(CLIENTS["claude-desktop"], environ, cwd="/here", platform=platform)
    assert found == f"{folder}/claude_desktop_config.json"
    assert (
        find_file(CLIENTS["codex"], {**environ, "CODEX_HOME": "/c"}, cwd="/here", platform=platform) == "/c/config.toml"
    )


@pytest.mark.parametrize("name", CLIENTS)
def test_the_documentation_has_the_lines_of_every_client(name):
    client = CLIENTS[name]
    part = PAGE.read_text().partition(f"### {client.title}: `--install {name}`")[2].partition("\n### ")[0]
    shown = re.search(r"```(json|toml)\n(.+?)\n```", part, re.DOTALL)
    assert shown[2] == write_lines(client, COMMAND)
    assert client.parts[-1] in part
