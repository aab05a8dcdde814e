"""The database holds what its owner's token can read, private projects too: nobody else on the machine may open it."""

import os
import stat

import pytest

from forgelore.app import App
from forgelore.store.sqlite.connection import SqliteStore
from forgelore.viewer import EVERYTHING

pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights: a profile's folder is its owner's")


@pytest.fixture(autouse=True)
def usual_mask():
    """What most systems have: everybody may read a new file."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def rights(path):
    return stat.S_IMODE(path.stat().st_mode)


def write(store):
    with store.transaction():
        store.run("CREATE TABLE IF NOT EXISTS t (x)")


def test_a_new_database_its_log_and_its_folder_are_the_owner_s_alone(tmp_path):
    folder = tmp_path / "share" / "forgelore"
    app = App({}, cwd=str(tmp_path), db=str(folder / "lore.db"), viewer=EVERYTHING)
    store = app.store(create=True)
    write(store)
    assert rights(folder) == 0o700
    found = {path.name: rights(path) for path in folder.iterdir()}
    assert found == {"lore.db": 0o600, "lore.db-wal": 0o600, "lore.db-shm": 0o600}
    store.close()


def test_a_folder_and_a_database_that_exist_keep_their_rights(tmp_path):
    """A team may share a file on purpose."""
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    (folder / "lore.db").touch(mode=0o644)
    store = App({}, cwd=str(tmp_path), db=str(folder / "lore.db"), viewer=EVERYTHING).store(create=True)
    write(store)
    assert (rights(folder), rights(folder / "lore.db")) == (0o755, 0o644)
    store.close()


def test_a_link_to_a_file_that_is_not_there_yet_becomes_a_private_file(tmp_path):
    (tmp_path / "lore.db").symlink_to(tmp_path / "elsewhere.db")
    store = SqliteStore(str(tmp_path / "lore.db"))
    write(store)
    assert rights(tmp_path / "elsewhere.db") == 0o600
    store.close()
