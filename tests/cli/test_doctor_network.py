"""`forgelore doctor` where a forge does not answer: one try, and it says so while it waits."""

import os
import socket
import subprocess
import sys
import threading

import pytest

from cli.terminals import run_in_terminal
from forgelore.api import checkup

LINE = '{"kind": "issue", "number": 1, "title": "Relay is slow"}\n'
COUNTED = """
import socket, sys
look_up, asked = socket.getaddrinfo, []
def counted(host, *rest, **more):
    asked.append(host)
    return look_up(host, *rest, **more)
socket.getaddrinfo = counted
from forgelore.surfaces.cli.main import main
code = main(["doctor"])
print("looked up:", asked.count("forge.invalid"))
sys.exit(code)
"""


@pytest.fixture
def blackhole():
    """A server that accepts connections and never says a word. Yields its address and the connections."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        held = []

        def accept():
            while True:
                try:
                    held.append(listening.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", held
        listening.shutdown(socket.SHUT_RDWR)
    for connection in held:
        connection.close()


@pytest.mark.parametrize("token", ["", "ghp_some-token"])
def test_a_silent_forge_is_tried_once_and_not_asked_again(cli, blackhole, monkeypatch, token):
    """Project and bot were each tried six times: silence for 36 seconds, twice."""
    monkeypatch.setattr(checkup, "PATIENCE_S", 0.5)
    address, held = blackhole
    done = cli(
        "doctor", GITHUB_API_URL=address, FORGELORE_PROJECTS="acme/web,acme/api", GITHUB_TOKEN=token,
        FORGELORE_REQUESTS_PER_SECOND="100",
    )  # fmt: skip
    assert done.code == 6
    assert len(held) == 1
    assert done.out.count("✗") == 1
    assert "cannot be reached: ReadTimeout" in done.out
    assert f"acme/api was not checked: {address.removeprefix('http://')} cannot be reached" in done.out


def test_a_host_without_an_address_is_looked_up_once(tmp_path, home):
    environ = {**os.environ, "GITHUB_API_URL": "https://forge.invalid", "FORGELORE_PROJECTS": "acme/web"}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 6, done.stderr
    assert "cannot be reached" in done.stdout
    assert "looked up: 1\n" in done.stdout
    assert "Traceback" not in done.stderr


def test_the_forge_of_an_imported_project_is_not_asked(cli, blackhole, tmp_path):
    address, held = blackhole
    (tmp_path / "items.jsonl").write_text(LINE, encoding="utf-8")
    assert cli("import", "items.jsonl", "--project", "acme/web", GITHUB_API_URL=address).code == 0
    done = cli("doctor")
    assert done.code == 0, done.out
    assert "acme/web was imported and never synced; its forge was not contacted" in done.out
    assert not held


def test_a_synced_project_is_asked_though_no_setting_names_it(cli, github, github_env):
    assert cli("sync", "acme/web", **github_env).code == 0
    assert "acme/web can be read" in cli("doctor").out


def test_a_terminal_shows_whom_doctor_waits_for(blackhole, tmp_path):
    address, _ = blackhole
    environ = {
        "GITHUB_API_URL": address, "FORGELORE_PROJECTS": "acme/web", "FORGELORE_DB": str(tmp_path / "lore.db"),
    }  # fmt: skip
    screen = run_in_terminal("doctor", environ=environ)
    assert f"asking {address.removeprefix('http://')} …" in screen.text
    assert "cannot be reached" in screen.text


def test_the_line_about_waiting_is_gone_before_the_last_word(github, github_env, tmp_path):
    """The bot is asked about last, and a project without one has no line about it."""
    environ = {**github_env, "FORGELORE_PROJECTS": "acme/web", "FORGELORE_DB": str(tmp_path / "lore.db")}
    screen = run_in_terminal("doctor", environ=environ)
    assert "acme/web can be read" in screen.text
    hidden, shown = "\x1b[?25l", "\x1b[?25h"  # the cursor, while the line moves
    assert screen.raw.count(hidden) == screen.raw.count(shown) > 0
    assert screen.raw.rindex(shown) < screen.raw.index("not created yet", screen.raw.index("can be read"))
