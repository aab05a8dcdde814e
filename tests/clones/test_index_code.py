"""Code and commits into the store: incrementally, whatever the clone holds, and whole again after a crash."""

import contextlib
import os

import pytest

import forgelore
import forgelore.index.code as files_flow
from clones.conftest import FILES
from clones.repositories import commit_entries, commit_files, git, make_repository, write_blob
from forgelore.errors import AuthError, ConfigError, InvalidValue, NotFound, Stopped
from servers.githttp import GitServer, has_backend


def paths(lore):
    return {row[0] for row in lore.app.store().rows("SELECT path FROM code_files")}


def dump(lore):
    """Everything that indexing writes, ids and times aside."""
    store = lore.app.store()
    chunks = """
        SELECT f.path, f.blob, f.language, f.size, f.text, c.position, c.start_line, c.end_line, c.symbol, c.names
        FROM code_files f
        LEFT JOIN code_chunks c ON c.file_id = f.id
        ORDER BY f.path, c.position
    """
    commits = "SELECT sha, author, login, authored_at, message, is_merge FROM commits ORDER BY sha"
    touched = "SELECT c.sha, p.path FROM commit_paths p JOIN commits c ON c.id = p.commit_id ORDER BY 1, 2"
    left_out = "SELECT path, blob, reason FROM code_left_out ORDER BY path"
    trees = "SELECT tree_commit, history_commit, rules FROM code_trees"
    return [store.rows(sql) for sql in (chunks, commits, touched, left_out, trees)]


def fresh(lore, tmp_path, repository):
    """What a new database holds after one run."""
    with forgelore.open(tmp_path / "fresh.db", create=True, environ=dict(lore.app.environ)) as other:
        other.index.code(str(repository), project="acme/web")
        return dump(other)


def test_files_and_commits_of_a_clone_are_indexed(lore, repository):
    done = lore.index.code(str(repository), project="acme/web")
    assert paths(lore) == {"src/net/conn.py", "src/util.go", "README.md"}
    assert (done.files.total, done.files.new, done.commits.new) == (3, 3, 1)
    assert done.files.left_out == {"binary": 1, "generated": 1, "vendored": 1}
    assert done.files.commit == git(repository, "rev-parse", "HEAD")


def test_a_run_with_nothing_new_writes_nothing(lore, repository):
    lore.index.code(str(repository), project="acme/web")
    before = lore.app.store().value("PRAGMA data_version"), dump(lore)
    changes = lore.app.store().total_changes
    done = lore.index.code(str(repository), project="acme/web")
    assert (done.files.unchanged, done.files.new, done.files.changed, done.commits.new) == (3, 0, 0, 0)
    assert (lore.app.store().value("PRAGMA data_version"), dump(lore)) == before
    assert lore.app.store().total_changes == changes


def test_only_what_changed_is_read_again(lore, repository, tmp_path, monkeypatch):
    lore.index.code(str(repository), project="acme/web")
    commit_files(repository, {"src/util.go": "package util\n", "new.py": "x = 1\n"}, gone=["README.md"])
    read = []
    real = files_flow._make_file
    monkeypatch.setattr(files_flow, "_make_file", lambda *given: read.append(given[0].path) or real(*given))
    done = lore.index.code(str(repository), project="acme/web")
    assert sorted(read) == ["new.py", "src/util.go"]
    counts = done.files
    assert (counts.new, counts.changed, counts.removed, counts.unchanged, counts.total) == (1, 1, 1, 1, 3)
    assert dump(lore) == fresh(lore, tmp_path, repository)


def test_a_file_that_moved_keeps_its_rows_and_is_found_at_its_new_place(lore, repository, tmp_path, monkeypatch):
    lore.index.code(str(repository), project="acme/web")
    ids = lore.app.store().rows("SELECT id FROM code_chunks ORDER BY id")
    git(repository, "mv", "src/net", "src/wire")
    git(repository, "mv", "README.md", "READ.md")
    commit_files(repository, {}, "Move")
    monkeypatch.setattr(files_flow, "_make_file", lambda *_: pytest.fail("nothing is read"))
    done = lore.index.code(str(repository), project="acme/web")
    assert (done.files.moved, done.files.new, done.files.removed) == (2, 0, 0)
    assert lore.app.store().rows("SELECT id FROM code_chunks ORDER BY id") == ids
    monkeypatch.undo()
    assert dump(lore) == fresh(lore, tmp_path, repository)


@pytest.mark.parametrize("stop_after", range(5))
def test_a_run_that_is_cut_off_goes_on(lore, repository, tmp_path, monkeypatch, stop_after):
    commit_files(repository, {f"f{number}.py": f"x{number} = 1\n" for number in range(4)})
    lore.index.code(str(repository), project="acme/web")
    commit_files(repository, {f"f{number}.py": f"y{number} = 2\n" for number in range(4)}, gone=["README.md"])
    monkeypatch.setattr(files_flow, "_BATCH_FILES", 1)
    asked = iter(range(stop_after + 1))
    monkeypatch.setattr(lore.app.stop, "is_set", lambda: next(asked, None) is None)
    with contextlib.suppress(Stopped):
        lore.index.code(str(repository), project="acme/web")
    monkeypatch.undo()
    lore.index.code(str(repository), project="acme/web")
    assert dump(lore) == fresh(lore, tmp_path, repository)


def test_other_attributes_and_another_limit_are_other_rules(lore, repository, tmp_path):
    lore.index.code(str(repository), project="acme/web")
    commit_files(repository, {".gitattributes": "src/*.go linguist-generated\nvendor/** -linguist-vendored\n"})
    lore.index.code(str(repository), project="acme/web")
    assert paths(lore) == {"src/net/conn.py", "README.md", "vendor/dep/x.go", ".gitattributes"}
    assert dump(lore) == fresh(lore, tmp_path, repository)
    lore.app.config = lore.app.config._replace(code_max_kb=1)
    commit_files(repository, {"long.py": "x = 1\n" * 300})
    done = lore.index.code(str(repository), project="acme/web")
    assert done.files.left_out["too_large"] == 1
    lore.app.config = lore.app.config._replace(code_max_kb=2)
    assert "too_large" not in lore.index.code(str(repository), project="acme/web").files.left_out


def test_odd_entries_are_counted_and_nothing_outside_is_read(lore, repository):
    (repository.parent / "secret.py").write_text("password = 1\n")
    blob, link = write_blob(repository, b"x = 1\n"), write_blob(repository, b"../secret.py")
    commit_entries(repository, [
        ("120000", "blob", link, "link.py"), ("160000", "commit", "1" * 40, "module"), ("100644", "blob", blob, b"\xff.py"),
        ("100644", "blob", blob, "a\x1b[2J.py"), ("100644", "blob", "2" * 40, "absent.py"), ("100644", "blob", blob, "good.py"),
    ])  # fmt: skip
    done = lore.index.code(str(repository), project="acme/web")
    assert paths(lore) == {"good.py"}
    assert done.files.left_out == {"missing": 1, "odd_path": 2, "submodule": 1, "symlink": 1}
    assert any("partial" in warning for warning in done.warnings)
    assert dump(lore)[3]
    assert lore.index.code(str(repository), project="acme/web").files.unchanged == 1


def write_tree(repository, *entries):
    """Commit a tree whose names no git would take from anybody: raw bytes of the object."""
    raw = b"".join(b"%b %b\0%b" % (mode, name, bytes.fromhex(id_)) for mode, name, id_ in entries)
    return git(repository, "hash-object", "-t", "tree", "-w", "--stdin", "--literally", feed=raw)


def test_paths_that_lead_out_of_the_tree_are_left_out(lore, repository):
    """`../secret.py`, `.git/config` and an absolute path, as a hostile server could send them in a pack."""
    (repository.parent / "secret.py").write_text("password = 1\n")
    blob = write_blob(repository, b"x = 1\n")
    inner = write_tree(repository, (b"100644", b"secret.py", blob))
    tree = write_tree(
        repository,
        (b"40000", b"..", inner), (b"40000", b".GIT", inner), (b"100644", b"/etc", blob), (b"100644", b"good.py", blob),
    )  # fmt: skip
    commit = git(repository, "commit-tree", tree, "-m", "Odd")
    git(repository, "update-ref", "refs/heads/main", commit)
    done = lore.index.code(str(repository), project="acme/web")
    assert paths(lore) == {"good.py"}
    assert done.files.left_out == {"odd_path": 3}
    assert "password" not in str(dump(lore))


def test_bare_and_shallow_clones_are_indexed_like_the_whole_one(lore, repository, tmp_path):
    commit_files(repository, {"src/late.py": "x = 2\n"}, "Late")
    git(tmp_path, "clone", "--quiet", "--bare", str(repository), "bare.git")
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{repository}", "shallow")
    wanted = fresh(lore, tmp_path, repository)
    lore.index.code(str(tmp_path / "bare.git"), project="acme/web")
    assert dump(lore) == wanted
    done = lore.index.code(str(tmp_path / "shallow"), project="acme/other")
    assert (done.is_shallow, done.commits.total) == (True, 1)
    assert any("shallow" in warning for warning in done.warnings)
    assert done.files.total == len({path for path, *_ in wanted[0]})


def test_a_large_file_is_never_read(lore, repository, monkeypatch):
    commit_files(repository, {"big.sql": b"-- x\n" * 30_000_000})
    read = []
    monkeypatch.setattr(files_flow, "decode_text", lambda data: read.append(len(data)) or data.decode("latin-1"))
    assert lore.index.code(str(repository), project="acme/web").files.left_out["too_large"] == 1
    assert max(read) < 1000


def test_texts_of_every_kind_are_stored_by_lines(lore, repository):
    commit_files(
        repository, {"crlf.txt": b"one\r\ntwo\r\n", "latin.txt": b"caf\xe9\n", "empty.py": b"", "nul.txt": b"a\0b"}
    )
    lore.index.code(str(repository), project="acme/web")
    store = lore.app.store()
    texts = dict(store.rows("SELECT path, text FROM code_files WHERE path NOT LIKE '%/%'"))
    assert texts == {"crlf.txt": "one\ntwo\n", "latin.txt": "café\n", "empty.py": "", "README.md": FILES["README.md"]}


def test_a_history_that_was_rewritten_loses_what_is_gone(lore, repository, tmp_path):
    commit_files(repository, {"a.py": "1\n"}, "Wrong")
    lore.index.code(str(repository), project="acme/web")
    git(repository, "reset", "--quiet", "--hard", "HEAD~1")
    commit_files(repository, {"a.py": "2\n"}, "Right")
    done = lore.index.code(str(repository), project="acme/web")
    assert (done.commits.new, done.commits.removed, done.commits.total) == (1, 1, 2)
    assert dump(lore) == fresh(lore, tmp_path, repository)


def test_a_repository_without_commits_is_told(lore, tmp_path):
    done = lore.index.code(str(make_repository(tmp_path / "empty")), project="acme/web")
    assert "no commits" in done.warnings[0]
    assert done.files.total == 0


def test_the_origin_says_whose_code_it_is(lore, repository, monkeypatch):
    git(repository, "remote", "add", "origin", "https://user:secret@github.com/Acme/Web.git")
    done = lore.index.code(str(repository))
    assert done.project == "Acme/Web"
    lore.app.cwd = str(repository / "src")
    assert lore.index.code().project == "Acme/Web"


def test_what_is_missing_is_told(lore, repository, tmp_path):
    with pytest.raises(ConfigError, match="cannot tell which project"):
        lore.index.code(str(repository))
    with pytest.raises(ConfigError, match="not inside a clone"):
        lore.index.code()
    with pytest.raises(ConfigError, match="not on a forge"):
        lore.index.code(project="archive")
    with pytest.raises(NotFound):
        lore.index.code(str(tmp_path / "nothing"), project="acme/web")
    with pytest.raises(InvalidValue):
        lore.index.code(project="acme/web", depth=0)


@pytest.mark.skipif(not has_backend(), reason="git http-backend is not installed")
def test_a_project_without_a_clone_is_fetched_with_its_token(lore, repository, tmp_path, monkeypatch):
    for number in range(4):
        commit_files(repository, {f"f{number}.py": f"x = {number}\n"}, f"Change {number}")
    with GitServer(tmp_path / "served", token="sesame") as server:
        git(tmp_path, "clone", "--quiet", "--bare", str(repository), "served/acme/web.git")
        host = server.url.removeprefix("http://")
        forge = f'[[forges]]\nhost = "{host}"\nkind = "forgejo"\ntoken_env = "OURS"\n'
        folder = tmp_path / "home/.config/forgelore"
        folder.mkdir(parents=True)
        (folder / "config.toml").write_text(forge)
        with forgelore_at(tmp_path, OURS="sesame") as fetched:
            done = fetched.index.code(project=f"{server.url}/acme/web", depth=3)
            assert (done.files.total, done.commits.total, done.is_shallow) == (7, 3, True)
            assert any("shallow" in warning for warning in done.warnings)
            git(tmp_path / "served/acme/web.git", "fetch", "--quiet", str(repository), "+main:main")
            assert fetched.index.code(project=f"{server.url}/acme/web", depth=3).files.unchanged == 7
        with forgelore_at(tmp_path, OURS="barley") as refused, pytest.raises(AuthError) as error:
            refused.index.code(project=f"{server.url}/acme/web")
        assert "barley" not in f"{error.value.message} {error.value.hint}"


def forgelore_at(tmp_path, **environ):
    home = str(tmp_path / "home")
    given = {"HOME": home, "PATH": os.environ["PATH"], "FORGELORE_EMBEDDER": "none", **environ}
    return forgelore.open(tmp_path / "fetched.db", create=True, environ=given)
