"""A repository of code, a database, and the command line on both."""

import pytest

import forgelore
from clones.repositories import make_repository
from forgelore.viewer import EVERYTHING

FILES = {
    "src/net/conn.py": '"""Connections."""\n\nRETRIES = 3\n\n\ndef open_socket(host):\n    """Open a socket, and retry on timeout."""\n    return host\n',
    "src/util.go": "package util\n\nfunc ParseDuration(text string) int {\n\treturn 0\n}\n",
    "README.md": "# Lantern\n\nKeeps folders in step.\n",
    "vendor/dep/x.go": "package dep\n",
    "logo.png": b"\x89PNG\r\n\x1a\n\x00\x00",
    "package-lock.json": "{}\n",
}  # fmt: skip


@pytest.fixture
def repository(tmp_path):
    return make_repository(tmp_path / "web", FILES)


@pytest.fixture
def lore(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with forgelore.open(
        tmp_path / "lore.db",
        create=True,
        viewer=EVERYTHING,
        environ={"FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin"},
    ) as opened:
        yield opened
