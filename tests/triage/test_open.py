"""`forgelore open`: what the bot built is searched on any machine, and what is not ours is refused."""

import contextlib
import functools
import gzip
import http.server
import json
import os
import pathlib
import shutil
import subprocess
import threading

import apsw
import pytest
from test_bot import AGAIN, CRASH, EXPORT, THEME

from agents.talking import over_stdio
from forgelore.store.packing import pack
from forgelore.surfaces.cli.main import main

CHARS_A_TOKEN = 4


@pytest.fixture
def built(bot):
    """A project whose bot has an index."""
    for issue in (CRASH, THEME, EXPORT):
        bot.opened(*issue)
    return bot


@pytest.fixture
def run(capsys):
    def run(*words):
        capsys.readouterr()
        code = main([*words, "--json"])
        answer = json.loads(capsys.readouterr().out)
        return code, answer.get("data"), answer.get("error")

    return run


@pytest.fixture
def plain(built, tmp_path):
    """The database itself, as a file."""
    path = tmp_path / "plain.db"
    shutil.copyfile(built._unpacked(), path)
    return path


@contextlib.contextmanager
def served(folder):
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def is_found(run, path):
    code, data, _ = run("search", "network drive", "--db", path)
    return code == 0 and [hit["number"] for hit in data["hits"]][:1] == [1]


def test_the_index_of_a_bot_is_searched_from_its_branch(built, run, tmp_path):
    code, data, _ = run("open", "acme/web@triage-index", "--to", str(tmp_path / "web.db"))
    assert (code, data["items"], data["path"]) == (0, 3, str(tmp_path / "web.db"))
    assert is_found(run, data["path"])


def test_without_a_name_it_lies_in_the_folder_of_the_users_data(built, run, home):
    _, data, _ = run("open", "acme/web@triage-index")
    assert data["path"].endswith("/opened/acme-web-triage-index.db")
    assert is_found(run, data["path"])


@pytest.mark.parametrize("form", ["plain", "packed", "gzipped"])
def test_a_file_in_any_form_is_opened(plain, run, tmp_path, form):
    file = tmp_path / f"given-{form}"
    if form == "plain":
        shutil.copyfile(plain, file)
    elif form == "packed":
        pack(str(plain), str(file))
    else:
        file.write_bytes(gzip.compress(plain.read_bytes()))
    code, data, _ = run("open", str(file), "--to", str(tmp_path / "out.db"))
    assert code == 0
    assert is_found(run, data["path"])


@pytest.mark.parametrize("is_old", [False, True])
def test_a_checkout_of_the_branch_is_opened(built, run, tmp_path, is_old):
    if is_old:
        built.pack_as_one_file()
    folder = tmp_path / "checkout"
    repository = str(built.git.root / "acme/web.git")
    subprocess.run(["git", "clone", "-q", "-b", "triage-index", repository, str(folder)], check=True)
    code, data, _ = run("open", str(folder), "--to", str(tmp_path / "out.db"))
    assert code == 0
    assert is_found(run, data["path"])


def test_an_address_is_fetched_without_any_token(plain, run, tmp_path):
    asset = tmp_path / "release"
    asset.mkdir()
    (asset / "history.db.gz").write_bytes(gzip.compress(plain.read_bytes()))
    with served(asset) as url:
        code, data, _ = run("open", f"{url}/history.db.gz", "--to", str(tmp_path / "out.db"))
        missing, _, error = run("open", f"{url}/other", "--to", str(tmp_path / "other.db"))
    assert code == 0
    assert is_found(run, data["path"])
    assert missing != 0
    assert "HTTP 404" in error["message"]


def test_plain_http_is_for_this_machine_alone(run, tmp_path):
    code, _, error = run("open", "http://example.org/history.db", "--to", str(tmp_path / "out.db"))
    assert code != 0
    assert "not an https:// address" in error["message"]


def test_opening_again_takes_what_is_there_now(built, run, tmp_path):
    path = str(tmp_path / "web.db")
    run("open", "acme/web@triage-index", "--to", path)
    built.opened("The tray icon is missing", "It is not there after an update.")
    _, data, _ = run("open", "acme/web@triage-index", "--to", path)
    assert data["items"] == 4
    assert not os.stat(path).st_mode & 0o222


def test_a_file_that_open_did_not_make_is_not_replaced(built, run, tmp_path):
    (tmp_path / "mine.db").write_text("years of work")
    code, _, error = run("open", "acme/web@triage-index", "--to", str(tmp_path / "mine.db"))
    assert code != 0
    assert "did not make it" in error["message"]
    assert (tmp_path / "mine.db").read_text() == "years of work"


@pytest.mark.parametrize(
    "sql",
    [
        "CREATE TRIGGER evil AFTER INSERT ON items BEGIN DELETE FROM items; END",
        "CREATE VIEW evil AS SELECT 1",
        "DROP TABLE notes",
    ],
)
def test_a_database_that_acts_or_lacks_tables_is_refused(plain, run, tmp_path, sql):
    with contextlib.closing(apsw.Connection(str(plain))) as connection:
        connection.execute(sql)
    code, _, error = run("open", str(plain), "--to", str(tmp_path / "out.db"))
    assert code != 0
    assert "is not a database of forgelore" in error["message"]
    assert not (tmp_path / "out.db").exists()


@pytest.mark.parametrize("content", [b"", b"hello", b"\x1f\x8bnot really", b"SQLite format 3\0" + bytes(5_000)])
def test_what_is_no_database_is_refused_and_leaves_nothing(run, tmp_path, content):
    (tmp_path / "given").write_bytes(content)
    code, _, error = run("open", str(tmp_path / "given"), "--to", str(tmp_path / "sub" / "out.db"))
    assert code != 0
    assert error["hint"]
    assert list((tmp_path / "sub").iterdir()) == []


def test_a_branch_that_is_not_there_is_told(built, run, tmp_path):
    code, _, error = run("open", "acme/web@other", "--to", str(tmp_path / "out.db"))
    assert code != 0
    assert "has no branch other" in error["message"]


def test_something_that_is_nowhere_is_told(run, tmp_path):
    code, _, error = run("open", "nowhere", "--to", str(pathlib.Path(tmp_path) / "out.db"))
    assert code != 0
    assert "OWNER/REPO@triage-index" in error["hint"]


def test_an_agent_gets_twenty_candidates_with_evidence_in_less_than_3000_tokens(bot, run, tmp_path):
    """From the branch alone, read-only, with no model of ours: docs/mcp.md, "In an agentic workflow"."""
    for at in range(30):
        words = f"{CRASH[1]} It is share {at}, with a path like /mnt/share/{at}/sync, since {at} days. " * 5
        bot.project.add_issue(f"{CRASH[0]}, share {at} of our office in the other building", words)
    bot.opened(*THEME)
    _, opened, _ = run("open", "acme/web@triage-index", "--to", str(tmp_path / "web.db"))
    draft = f"{AGAIN[0]}\n\n{AGAIN[1]}"
    with over_stdio(opened["path"], tmp_path, FORGELORE_EMBEDDER="lore") as agent:
        done = agent.call("similar", text=draft, limit=20)
        read = agent.text("read", ref=done.structured_content["hits"][0]["ref"], chars=1_000)
    hits = done.structured_content["hits"]
    assert len(hits) == 20
    assert all(hit["why"] for hit in hits), "each with what speaks for it"
    for answer in (done.content[0].text, done.structured_content):  # a client hands its model one of the two
        assert len(json.dumps(answer, ensure_ascii=False)) / CHARS_A_TOKEN < 3_000
    assert "network drive" in read
