"""The demo tracker, indexed once, with vectors of a small embedder that counts words."""

import os
import shutil

import pytest
from hashed import HashedEmbedder

from forgelore.app import App
from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.search.retriever import Retriever
from forgelore.surfaces.cli.setup import DEMO_PROJECT, demo_file
from forgelore.sync.archive import import_lines, open_source
from forgelore.viewer import EVERYTHING


@pytest.fixture(scope="session")
def demo_path(tmp_path_factory):
    path = tmp_path_factory.mktemp("demo") / "demo.db"
    app = App({}, cwd=str(path.parent), db=str(path), viewer=EVERYTHING)
    with open_source(demo_file()) as source:
        import_lines(app.store(create=True), app.parse_project(DEMO_PROJECT), source, 0)
    index_items(app.store(), [1])
    embed_documents(app.store(), HashedEmbedder(), [1])
    app.close()
    return path


@pytest.fixture
def demo(demo_path, tmp_path):
    """A copy of its own, open."""
    path = tmp_path / "demo.db"
    shutil.copy(demo_path, path)
    app = App({"HOME": os.fspath(tmp_path)}, cwd=str(tmp_path), db=str(path), viewer=EVERYTHING)
    yield app.store()
    app.close()


@pytest.fixture
def retriever(demo):
    return Retriever(demo, HashedEmbedder())
