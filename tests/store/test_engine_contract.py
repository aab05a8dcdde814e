"""The contract of an engine: transactions, snapshots, versions and dry runs. No statement of a database stands here."""

import re

import pytest
from samples import HERE, NOW, item, numbers, project, save, written_by

from forgelore.errors import StoreError
from forgelore.store.calibration import LEARNED, load_boilerplate, save_boilerplate
from forgelore.store.database import QueryCache
from forgelore.store.filters import Filters
from forgelore.store.item_lists import count_items
from forgelore.store.projects import list_projects

ALL = Filters()


class Oops(Exception):
    pass


def test_a_transaction_that_fails_leaves_nothing(store):
    with pytest.raises(Oops), store.transaction():
        save(store, project(store), item(1))
        raise Oops
    assert (list_projects(store), count_items(store)) == ([], 0)
    assert not store.is_in_transaction


def test_others_see_a_transaction_when_it_is_done_and_not_before(store, opened):
    other = opened()
    with store.transaction():
        save(store, project(store), item(1))
        assert numbers(other, ALL) == []
    assert numbers(other, ALL) == [1]


def test_a_snapshot_is_of_one_moment_whatever_others_write(store, opened):
    known, other = project(store), opened()
    with store.snapshot():
        assert numbers(store, ALL) == []
        save(other, known, item(1))
        assert numbers(store, ALL) == []
    assert numbers(store, ALL) == [1]


def test_what_is_written_in_a_snapshot_is_forgotten(store):
    with store.snapshot():
        save(store, project(store), item(1))
    assert list_projects(store) == []


def test_the_version_changes_with_what_this_one_and_others_write_and_not_by_reading(store, opened):
    known = project(store)
    versions = [store.version]
    numbers(store, ALL)
    assert store.version == versions[0]
    save(store, known, item(1))
    versions.append(store.version)
    save(opened(), known, item(2))
    versions.append(store.version)
    assert len(set(versions)) == 3


def test_the_version_changes_when_what_was_written_is_undone(store):
    known = project(store)
    with pytest.raises(Oops), store.transaction():
        save(store, known, item(1))
        inside = store.version
        raise Oops
    assert store.version != inside


def test_a_cache_forgets_its_answers_when_somebody_writes(store, opened):
    known = project(store)
    cache = QueryCache(store, 1)
    assert cache.current() == {}
    cache.keep("how many", 0)
    assert cache.current() == {"how many": 0}
    cache.keep("which", [])
    assert cache.current() == {"which": []}, "the oldest made room"
    save(opened(), known, item(1))
    assert cache.current() == {}


def test_a_dry_run_reads_what_is_there_and_writes_nothing(store):
    known = project(store)
    save(store, known, item(1))
    assert written_by(store, lambda: save(store.dry_run(), known, item(1, "Another title"), item(2))) == 0
    assert numbers(store.dry_run(), ALL) == [1]


def test_a_rehearsal_goes_like_the_real_run_and_leaves_nothing(store):
    known = project(store)
    save_boilerplate(store, known, "issue", lines={7: 2}, items=9, now_ms=NOW)
    with store.rehearse(LEARNED):
        save_boilerplate(store, known, "issue", lines={8: 2}, items=9, now_ms=NOW)
        assert load_boilerplate(store, known, "issue") == {8}
    assert load_boilerplate(store, known, "issue") == {7}


def test_who_opens_a_store_for_reading_cannot_write(store, opened):
    project(store)
    reader = opened(create=False, for_reading=True)
    with pytest.raises(StoreError):
        project(reader, "acme/api")
    assert [str(one.name) for one in list_projects(store)] == ["acme/web"]


def test_the_contract_speaks_of_no_engine():
    """Then another engine has to change no test."""
    foreign = re.compile(r"\bapsw\b|\bsqlite|\bSELECT\b|\bstore\.(?:rows|row|run|run_many|value|each|insert)\(")
    for path in sorted(HERE.glob("test_*_contract.py")):
        text = path.read_text(encoding="utf-8").replace(foreign.pattern, "")
        assert not foreign.search(text), path.name
