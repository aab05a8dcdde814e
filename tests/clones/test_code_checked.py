"""`stats --check` and its repair, for files and commits."""

import pytest

import engine_tables


@pytest.fixture
def indexed(lore, repository):
    lore.index.code(str(repository), project="acme/web")
    return lore


def names(checked):
    return {finding.name for finding in checked.findings}


def test_a_sound_index_is_sound_and_counted(indexed):
    assert names(indexed.index.check()) == set()
    stats = indexed.index.stats().code
    assert (stats.files, stats.commits) == (3, 1)
    assert stats.by_language == {"Go": 1, "Markdown": 1, "Python": 1}


@pytest.mark.parametrize("damage", engine_tables.CODE_DAMAGES)
def test_damage_is_found_and_a_new_run_heals_it(indexed, repository, damage):
    store = indexed.app.store()
    store.run("PRAGMA foreign_keys=OFF")
    store.run(damage)
    store.run("PRAGMA foreign_keys=ON")
    assert names(indexed.index.check())
    repaired = indexed.index.repair()
    assert names(repaired.checked) == set()
    indexed.index.code(str(repository), project="acme/web")
    assert names(indexed.index.check()) == set()
    assert indexed.search("open_socket", type="code").hits[0].line == 6
    assert indexed.search("begin", type="commit").hits
