"""A server that stays open while its database is deleted, replaced or written over."""

import os
import shutil

import apsw
import pytest
from talking import ISSUE, make_store, over_stdio

OTHER = [{**ISSUE, "number": 7, "title": "Another tracker about a fountain", "body": "A fountain."}]


@pytest.fixture
def places(tmp_path):
    """A database that is served, and another one."""
    for name in ("served", "other"):
        (tmp_path / name).mkdir()
    return make_store(tmp_path / "served"), make_store(tmp_path / "other", OTHER)


def test_a_deleted_database_is_gone_and_a_new_one_is_found(places, tmp_path):
    served, other = places
    with over_stdio(served, tmp_path) as agent:
        assert agent.data("search", query="cache")["total"] > 0
        for end in ("", "-wal", "-shm"):
            if os.path.exists(served + end):
                os.unlink(served + end)
        said = agent.refusal("search", query="cache")
        assert f"no database at {served}" in said
        shutil.copy(other, served)
        assert [hit["ref"] for hit in agent.data("search", query="fountain")["hits"]] == ["#7"]


def replace_by_name(other, served):
    os.replace(other, served)


def write_over(other, served):
    """The same file, as far as the disk is concerned, with other contents."""
    with open(other, "rb") as source, open(served, "r+b") as target:
        target.truncate()
        target.write(source.read())


@pytest.mark.parametrize("replace", [replace_by_name, write_over])
def test_another_database_in_its_place_is_served_at_once(places, tmp_path, replace):
    served, other = places
    with over_stdio(served, tmp_path) as agent:
        assert agent.data("search", query="cache")["total"] > 0
        agent.data("read", ref="#1")
        replace(other, served)
        assert agent.data("search", query="cache")["hits"] == []
        assert [hit["ref"] for hit in agent.data("search", query="fountain")["hits"]] == ["#7"]
        assert "#1" in agent.refusal("read", ref="#1")


def test_a_database_of_an_earlier_version_in_its_place_is_refused_in_words(places, tmp_path):
    served, other = places
    connection = apsw.Connection(other)
    connection.execute("DELETE FROM schema_version WHERE version = (SELECT max(version) FROM schema_version)")
    connection.close()
    with over_stdio(served, tmp_path) as agent:
        agent.data("search", query="cache")
        replace_by_name(other, served)
        assert "earlier forgelore" in agent.refusal("search", query="cache")
