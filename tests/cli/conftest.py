"""Commands as a person runs them: argv in; exit code, standard output and standard error out."""

import json
import pathlib
import sys
from typing import NamedTuple

import pytest

from envelopes import check_envelope
from forgelore.surfaces.cli.main import main


class Done(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def data(self):
        return json.loads(self.out)["data"]

    @property
    def error(self):
        return json.loads(self.out)["error"]


@pytest.fixture
def cli(tmp_path, home, monkeypatch, capsys):
    """Run a command in this process, in a folder and with a database of its own."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FORGELORE_DB", str(tmp_path / "lore.db"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "120")
    for name in ("GITHUB_TOKEN", "GH_TOKEN", "GITLAB_TOKEN"):
        monkeypatch.delenv(name, raising=False)

    opened = []

    def run(*words: str, stdin: bytes | None = None, **environ: str) -> Done:
        for name, value in environ.items():
            monkeypatch.setenv(name, value)
        if stdin is not None:
            path = tmp_path / "stdin"
            path.write_bytes(stdin)
            opened.append(path.open(encoding="utf-8"))
            monkeypatch.setattr(sys, "stdin", opened[-1])
        capsys.readouterr()
        try:
            code = main(list(words))
        except SystemExit as ended:  # argparse's --help
            code = ended.code or 0
        out, err = capsys.readouterr()
        check_envelope(words, out)
        return Done(code, out, err)

    yield run
    for file in opened:
        file.close()


@pytest.fixture
def demo_file():
    import forgelore

    return str(pathlib.Path(forgelore.__file__).parent / "data" / "demo.jsonl")


@pytest.fixture
def demo(cli, demo_file):
    """A database that holds the example project."""
    assert cli("import", demo_file, "--project", "lanternsync/lantern").code == 0
    return cli


@pytest.fixture
def github_env(github):
    return {
        "GITHUB_API_URL": github.server.api_url,
        "GITHUB_TOKEN": github.good_token,
        "FORGELORE_REQUESTS_PER_SECOND": "100",
    }


@pytest.fixture
def gitlab_env(gitlab):
    return {
        "CI_API_V4_URL": gitlab.server.api_url,
        "GITLAB_TOKEN": gitlab.good_token,
        "FORGELORE_REQUESTS_PER_SECOND": "100",
    }


@pytest.fixture
def clone(tmp_path, monkeypatch):
    """A git clone whose origin is acme/web on GitHub."""
    import subprocess

    folder = tmp_path / "clone"
    folder.mkdir()
    subprocess.run(["git", "init", "-q", str(folder)], check=True)
    subprocess.run(["git", "-C", str(folder), "remote", "add", "origin", "git@github.com:acme/web.git"], check=True)
    monkeypatch.chdir(folder)
    return folder
