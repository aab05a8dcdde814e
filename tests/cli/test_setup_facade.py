"""Setting up from Python: what init, doctor and auth-test ask of `History`."""

import types
from urllib.parse import urlsplit

import pytest

from forgelore.api import AddedHost, SetupAnswer, TokenOwner, make_history
from forgelore.errors import AuthError, ConfigError, InvalidValue


@pytest.fixture
def history(tmp_path, home):
    environ = {"XDG_CONFIG_HOME": str(tmp_path / "own"), "FORGELORE_EMBEDDER": "none"}
    with make_history(environ, cwd=str(tmp_path), db=str(tmp_path / "new.db")) as found:
        yield found


def test_projects_are_written_by_their_full_names_and_never_over_a_file(history, tmp_path):
    answer = history.setup.write(["https://user:secret@github.com/acme/web", "gitlab:group/*"])
    path = str(tmp_path / "forgelore.toml")
    assert answer == SetupAnswer(("acme/web", "gitlab:group/*"), path, None, str(tmp_path / "new.db"))
    text = (tmp_path / "forgelore.toml").read_text()
    assert '"acme/web"' in text
    assert "secret" not in text
    assert (tmp_path / "new.db").exists()
    with pytest.raises(ConfigError, match="exists already"):
        history.setup.write(["acme/api"])
    assert history.setup.write(["acme/api"], overwrite=True).projects == ("acme/api",)


def test_a_server_is_added_behind_what_a_person_wrote(history, tmp_path):
    path = tmp_path / "own" / "forgelore" / "config.toml"
    path.parent.mkdir(parents=True)
    path.write_text("workers = 2")
    added = history.setup.add_host("https://Git.Example.com/", kind="gitlab", token_env="TEAM_TOKEN")
    assert added == AddedHost("git.example.com", str(path))
    assert path.read_text() == (
        'workers = 2\n\n[[forges]]\nhost = "git.example.com"\nkind = "gitlab"\ntoken_env = "TEAM_TOKEN"\n'
    )


@pytest.mark.parametrize(("host", "variable"), [('a"b', None), ("", None), ("a/b", None), ("a.example", "X Y")])
def test_what_would_break_the_file_is_refused(history, tmp_path, host, variable):
    with pytest.raises(InvalidValue):
        history.setup.add_host(host, kind="gitlab", token_env=variable)
    assert not (tmp_path / "own").exists()


def test_checks_come_one_by_one(history):
    checks = history.setup.check(offline=True)
    assert isinstance(checks, types.GeneratorType)
    assert next(checks).name == "forgelore"
    found = {check.name: check for check in checks}
    assert found["database"].status == "warning"
    assert found["embedder"].hint == 'set embedder = "lore"'


def test_outside_a_clone_nothing_is_suggested(history, clone):
    assert history.setup.suggest_project() is None
    with make_history({}, cwd=str(clone)) as inside:
        assert inside.setup.suggest_project() == "acme/web"


def test_whose_token_it_is(github, tmp_path, home):
    environ = {"GITHUB_API_URL": github.server.api_url, "GITHUB_TOKEN": github.good_token}
    with make_history(environ, cwd=str(tmp_path), db=str(tmp_path / "no.db")) as history:
        owner = history.setup.find_token_owner("acme/web")
    assert isinstance(owner, TokenOwner)
    assert (owner.host, owner.source) == (urlsplit(github.server.api_url).netloc, "GITHUB_TOKEN")
    assert owner.login
    with (
        make_history({"GITHUB_API_URL": github.server.api_url, "PATH": ""}, cwd=str(tmp_path)) as other,
        pytest.raises(AuthError, match="no token for"),
    ):
        other.setup.find_token_owner("acme/web")
