"""The demo tracker as `evaluate` sees it, and the command line of the other tests."""

import pytest

from cli.conftest import cli  # noqa: F401 - a fixture
from forgelore.app import App
from forgelore.index.update import index_items
from forgelore.surfaces.cli.setup import DEMO_PROJECT, demo_file
from forgelore.sync.archive import import_lines, open_source
from forgelore.viewer import EVERYTHING


@pytest.fixture
def demo(tmp_path):
    """An App on the demo tracker with documents and no vectors."""
    app = App({}, cwd=str(tmp_path), db=str(tmp_path / "demo.db"), viewer=EVERYTHING)
    with open_source(demo_file()) as source:
        import_lines(app.store(create=True), app.parse_project(DEMO_PROJECT), source, 0)
    index_items(app.store(), [1])
    yield app
    app.close()
