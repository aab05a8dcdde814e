"""Query plans of full text: whatever a search is limited to, the words are looked up once, not once per allowed row."""

import re

import pytest

from clones.repositories import make_repository
from forgelore.api import make_history
from forgelore.viewer import Viewer

FILES = {"src/relay.py": "def open_relay():\n    return 1\n", "docs/relay.md": "# Relay\n"}
# FTS5 writes the constraints that it was given into its plan: M is the expression, = a single row id.
LOOK_UP = re.compile(r"(?:SCAN|SEARCH) .* VIRTUAL TABLE INDEX \d+:(\S*)")


@pytest.fixture(params=[True, False], ids=["members", "everybody"])
def history(demo, tmp_path, request):
    """The demo's history with a clone beside it, opened for members or for everybody."""
    repository = make_repository(tmp_path / "clone", FILES, "Open the relay")
    environ = {"FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin"}
    with make_history(environ, cwd=str(tmp_path), db=demo.path, viewer=Viewer(request.param)) as opened:
        opened.index.code(str(repository), project=demo.value("SELECT path FROM projects"))
        yield opened


def plans(store, act):
    """Return how FTS5 was asked in each full-text query that runs meanwhile."""
    asked = []

    def keep(_cursor, sql, bindings):
        asked.append((sql, bindings))
        return True

    store.connection.exec_trace = keep
    try:
        act()
    finally:
        store.connection.exec_trace = None
    rows = [
        row[3]
        for sql, bindings in asked
        if "MATCH" in sql
        for row in store.rows(f"EXPLAIN QUERY PLAN {sql}", *bindings)
    ]
    return [found[1] for row in rows if (found := LOOK_UP.match(row))]


FILTERS = (
    {}, {"path": "src/relay.py"}, {"path": "src/"}, {"path": "src/**/*.py"}, {"path": ["src/", "docs/"]},
    {"author": "ana"}, {"label": ["bug", "relay"]}, {"state": "open"}, {"after": "2020-01-01", "before": "2030-01-01"},
    {"author": "ana", "path": ["src/"], "label": "bug", "after": "2020-01-01"},
)  # fmt: skip


@pytest.mark.parametrize("kind", ["code", "commit", None])
def test_full_text_is_never_asked_for_single_rows(history, kind):
    """`rowid IN (…)` beside MATCH makes SQLite run the whole expression once per allowed row: with 50,000 commits a
    search took 2.8 s of CPU instead of 0.01.
    """
    store = history.app.store()
    project = store.value("SELECT path FROM projects")
    for given in FILTERS:
        for text in ("open relay", '"open relay" -windows'):
            found = plans(store, lambda: history.search(text, type=kind, project=project, **given))  # noqa: B023
            assert found, (given, text)
            assert all("M" in one and "=" not in one for one in found), (given, text, found)


def test_no_search_of_ask_is_asked_for_single_rows(history):
    found = plans(history.app.store(), lambda: history.ask("why does the relay open?", without_model=True))
    assert len(found) >= 3, "items, code and commits"
    assert all("M" in one and "=" not in one for one in found), found
