"""A project whose file has a past: on a local GitHub, and as an imported tracker beside a real clone."""

import json

import pytest

import forgelore
from forgelore.api import History

FILE = "src/net/conn.py"


@pytest.fixture
def lore(tmp_path, monkeypatch):
    """An empty history in a folder of its own; ben is a maintainer, by the settings."""
    monkeypatch.chdir(tmp_path)
    environ = {
        "FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "FORGELORE_MAINTAINERS": "ben",
    }  # fmt: skip
    with forgelore.open(tmp_path / "lore.db", create=True, environ=environ) as opened:
        yield opened


@pytest.fixture
def imported(lore, tmp_path):
    """Import items, and return the history."""

    def load(*items, project="acme/web"):
        path = tmp_path / "items.jsonl"
        path.write_text("".join(json.dumps(item) + "\n" for item in items), encoding="utf-8")
        lore.sync.import_file(str(path), project=project)
        return lore

    return load


@pytest.fixture
def synced(github):
    """Sync the local GitHub, whose collaborator is ben, and return the history."""
    github.project.add_collaborator("ben")
    opened = []

    def load():
        opened.append(History(github.new_app(FORGELORE_EMBEDDER="none")))
        opened[-1].sync.run("acme/web")
        return opened[-1]

    yield load
    for history in opened:
        history.close()


def change(number, *, state="merged", files=(FILE,), day="2026-03-01", **more):
    return {
        "kind": "change", "number": number, "title": f"Change {number}", "state": state, "author": "ana",
        "created_at": day, "merged_at": day if state == "merged" else None, "closed_at": day if state != "open" else None,
        "files": [{"new_path": path} for path in files], **more,
    }  # fmt: skip


def quoted(history, decision):
    """The lines that a decision cites, as they are read."""
    text = history.read_text(decision.key)
    assert text.hash == decision.hash
    return " ".join(line.strip() for line in text.lines[decision.first_line - 1 : decision.last_line])
