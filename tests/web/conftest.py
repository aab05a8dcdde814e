"""The example project and one full of traps, as web pages."""

import shutil

import pytest
from sites import Site, serving

from agents.talking import make_store
from journeys import run
from meta.test_journeys import environ, imported


@pytest.fixture(scope="session")
def example(tmp_path_factory):
    """The example project with lists of candidates; made once."""
    folder = tmp_path_factory.mktemp("web")
    shutil.copy(imported(), folder / "lore.db")
    run(folder, "dedupe", "candidates", env=environ(folder))
    return folder / "lore.db"


@pytest.fixture(scope="module")
def site(example, tmp_path_factory):
    """The example project, served to somebody who may review; each file of tests has its own copy."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(example, folder / "lore.db")
    with serving(folder / "lore.db", folder, FORGELORE_EMBEDDER="lore", FORGELORE_ME="ana") as url:
        yield Site(url)


@pytest.fixture(scope="module")
def trapped(tmp_path_factory):
    """A project with hidden items and planted instructions, served to everybody."""
    folder = tmp_path_factory.mktemp("trapped")
    with serving(make_store(folder), folder, "--role", "apply", FORGELORE_EMBEDDER="none") as url:
        yield Site(url)
