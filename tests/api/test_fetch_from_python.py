"""Fetching from Python: what the commands do, with answers that have names."""

import io
import json

import pytest

import forgelore
from forgelore.api import History, Watcher
from forgelore.errors import InvalidValue, LoreError, NotFound, StoreError, UsageError
from servers.base import Response

DEAD = {"FORGELORE_EMBEDDER": "openai", "FORGELORE_EMBEDDER_URL": "http://127.0.0.1:1/v1", "OPENAI_API_KEY": "k"}


@pytest.fixture
def history(github):
    github.populate(issues=4, changes=2, discussions=1)
    with History(github.new_app(FORGELORE_EMBEDDER="none")) as found:
        yield found


def write_lines(path, *items):
    path.write_text("".join(json.dumps({"kind": "issue", **item}) + "\n" for item in items), encoding="utf-8")
    return path


def test_a_file_is_made_where_that_is_asked_for(tmp_path):
    path = tmp_path / "new" / "lore.db"
    with pytest.raises(StoreError):
        forgelore.open(path)
    with forgelore.open(path, create=True) as history:
        assert history.projects.list() == []
        assert history.sync.status() == []
        assert history.path == str(path)
    assert path.exists()


def test_a_sync_says_what_came_and_what_the_index_made_of_it(history):
    done = history.sync.run("acme/web")
    assert done.result.project.endswith("/acme/web")
    assert (done.result.written["issue"], done.result.written["change"]) == (4, 2)
    assert done.index.documents.new >= 7
    assert done.index.vectors is None
    assert done.index.warnings == ()
    assert history.sync.run("acme/web").result.written == {}
    assert history.index.count_waiting() == 0


def test_parts_of_the_index_can_wait(history):
    done = history.sync.run("acme/web", index="none")
    assert done.index.documents is None
    waiting = history.index.count_waiting("acme/web")
    assert waiting >= 7
    assert history.index.update().documents.new >= waiting
    assert history.index.count_waiting() == 0


def test_one_kind_is_fetched_and_the_run_is_called_so(history):
    done = history.sync.run("acme/web", kinds=["discussions"])
    assert done.result.written["discussion"] == 1
    assert "issue" not in done.result.written
    (status,) = history.sync.status("acme/web")
    assert (status.runs[0].command, status.runs[0].status) == ("ingest discussion", "succeeded")
    assert status.items == {"discussion": 1}
    with pytest.raises(InvalidValue, match="not a kind"):
        history.sync.run("acme/web", kinds=["nonsense"])


def test_an_estimate_fetches_nothing(history, github):
    before = history.sync.estimate("acme/web")
    assert before.is_first
    assert before.missing["issue"] == 4
    with pytest.raises(StoreError):
        history.projects.list()  # no file was made
    history.sync.run("acme/web")
    after = history.sync.estimate("acme/web")
    assert not after.is_first
    assert after.on_forge["issue"] == 4
    assert after.missing["issue"] == 0


def test_names_are_those_of_the_forge(history):
    (name,) = history.sync.names(["acme/*"])
    assert name.path == "acme/web"
    assert history.sync.run(name).result.project == str(name)
    assert history.sync.names() == [name]
    with pytest.raises(InvalidValue, match="several projects"):
        history.sync.run("acme/*")
    with pytest.raises(InvalidValue):
        history.sync.run("")
    with pytest.raises(NotFound):
        history.sync.run("acme/nowhere")


def test_what_the_index_says_of_a_sync_that_failed_is_noted_on_the_error(github):
    """What came before the failure is kept and can be found; that its vectors wait is no secret."""
    github.populate(issues=4)
    handle = github.server.handle

    def limited(request):
        is_comments = "/comments" in request.path
        return Response(429, {"message": "slow down"}, {"Retry-After": "9000"}) if is_comments else handle(request)

    github.server.handle = limited
    with History(github.new_app(**DEAD)) as history:
        done = history.sync.run("acme/web")
        assert done.result.status == "incomplete"
        assert any("vectors are pending" in warning for warning in done.index.warnings)
        assert history.index.stats().documents.total >= 4
        assert history.index.count_waiting() == 0


def test_a_watcher_hears_of_every_part(history):
    heard = []
    history.sync.run("acme/web", watcher=Watcher(heard.append))
    ended = {event.stage: event.done for event in heard if event.is_finished}
    assert {"items", "documents"} <= ended.keys() == {event.stage for event in heard}
    assert sum(ended.values()) > 7


def test_a_file_is_imported_and_exported_again(tmp_path):
    source = write_lines(tmp_path / "in.jsonl", {"number": 1, "title": "a", "strange": 1}, {"number": "x"})
    with forgelore.open(tmp_path / "lore.db", create=True) as history:
        read = []
        done = history.sync.import_file(source, project="old", on_batch=read.append)
        assert (done.result.read, done.result.items, done.result.written) == (2, 1, 1)
        assert [bad.number for bad in done.result.bad] == [2]
        assert done.result.unknown == {"strange": 1}
        assert done.index.documents.new == 1
        assert read == [2]
        (line,) = history.sync.export_lines(project="old")
        assert json.loads(line)["title"] == "a"
        stream = io.BytesIO()
        assert history.sync.export_to(stream, project="old") == ("old", 1, 0)
        assert stream.getvalue() == line
        assert history.sync.export_file(tmp_path / "out.jsonl", project="old").items == 1
        assert (tmp_path / "out.jsonl").read_bytes() == line
        assert history.projects.list(["old"]) == ["old"]


def test_what_cannot_be_imported_or_exported_is_an_error(tmp_path):
    source = write_lines(tmp_path / "in.jsonl", {"number": "x"})
    with forgelore.open(tmp_path / "lore.db", create=True) as history:
        with pytest.raises(InvalidValue, match="line 1"):
            history.sync.import_file(source, project="old", strict=True)
        with pytest.raises(UsageError):
            history.sync.import_file(source, project="acme/*")
        with pytest.raises(NotFound):
            history.sync.import_file(tmp_path / "none.jsonl", project="old")
        assert history.sync.import_file(source, project="old").index.documents is None
        assert history.projects.list() == []
        write_lines(source, {"number": 1, "title": "a"})
        history.sync.import_file(source, project="old")
        with pytest.raises(InvalidValue, match="cannot write"):
            history.sync.export_file(tmp_path / "no" / "folder.jsonl", project="old")
        for wrong in ("new", ""):
            with pytest.raises(LoreError):
                list(history.sync.export_lines(project=wrong))


def test_a_replay_mends_what_differs_from_the_stored_answers(history):
    history.sync.run("acme/web")
    store = history.app.store()
    with store.transaction():
        store.connection.execute("UPDATE items SET title = 'spoiled' WHERE kind = 'issue' AND number = 1")
    number = store.value("SELECT count(*) FROM items")
    done = history.sync.replay("acme/web")
    assert [done.project] == history.projects.list()
    assert (done.read, done.restored, done.incomplete) == (number, 1, 0)
    assert done.index.documents is not None
    assert store.value("SELECT count(*) FROM items WHERE title = 'spoiled'") == 0
    assert history.sync.replay("acme/web", kinds=["issues"]).restored == 0
