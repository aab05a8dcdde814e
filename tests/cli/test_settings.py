"""Settings: where they come from, and what a clone may not set."""

import pytest

from forgelore.app import App
from forgelore.config import SETTINGS, api_urls, find_token, host_of, hosts_of, load_config
from forgelore.errors import ConfigError, InvalidValue
from forgelore.words import ProjectName


def load(tmp_path, text="", *, user="", db=None, **environ):
    clone = tmp_path / "clone"
    clone.mkdir(exist_ok=True)
    (clone / ".git").mkdir(exist_ok=True)
    if text:
        (clone / "forgelore.toml").write_text(text)
    config = tmp_path / "config" / "forgelore"
    config.mkdir(parents=True, exist_ok=True)
    if user:
        (config / "config.toml").write_text(user)
    return load_config(
        {"HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path / "config"), **environ}, cwd=str(clone), db=db
    )


def test_later_sources_win(tmp_path):
    assert load(tmp_path, user="workers = 2").workers == 2
    assert load(tmp_path, "workers = 1", user="workers = 2").workers == 1
    assert load(tmp_path, "workers = 1", FORGELORE_WORKERS="5").workers == 5
    assert load(tmp_path, FORGELORE_DB="/x.db", db="/y.db").db == "/y.db"


@pytest.mark.parametrize(
    "line",
    [
        'db = "/etc/x.db"',
        'ca_file = "/tmp/ca.pem"',
        '[[forges]]\nhost = "evil.example"\nkind = "github"\ntoken_env = "GITHUB_TOKEN"',
    ],
)
def test_a_clone_may_not_name_files_hosts_or_certificates(tmp_path, line):
    config = load(tmp_path, line)
    assert "may not set it" in config.warnings[0]
    assert config.forges == ()
    assert "etc" not in config.db
    assert config.ca_file == ""


def test_a_file_above_the_clone_is_not_read(tmp_path):
    (tmp_path / "forgelore.toml").write_text("workers = 9")
    assert load(tmp_path).workers == 4


@pytest.mark.parametrize(
    "text",
    [
        "workers = 0",
        "workers = 'many'",
        "projects = 'acme/web'",
        "projects = [1]",
        "not toml at all",
        "workers = true",
        "max_wait_s = 1e9",
    ],
)
def test_a_bad_value_is_an_error_that_names_the_file(tmp_path, text):
    with pytest.raises(ConfigError, match=r"forgelore\.toml"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    "user",
    [
        '[[forges]]\nkind = "github"',
        '[[forges]]\nhost = "h"\nkind = "svn"',
        '[[forges]]\nhost = "h"\nkind = "github"\napi_url = "http://h/api"',
        "forges = 3",
    ],
)
def test_a_bad_forge_is_an_error(tmp_path, user):
    with pytest.raises(ConfigError):
        load(tmp_path, user=user)


def test_a_clone_may_only_lower_a_limit(tmp_path):
    config = load(tmp_path, "requests_per_second = 100\nworkers = 2")
    assert (config.requests_per_second, config.workers) == (10.0, 2)
    assert "only lower" in config.warnings[0]


def test_an_unknown_setting_is_a_warning(tmp_path):
    assert "unknown setting 'wrokers'" in load(tmp_path, "wrokers = 3").warnings[0]


def test_a_bad_variable_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match="FORGELORE_WORKERS"):
        load(tmp_path, FORGELORE_WORKERS="lots")
    with pytest.raises(ConfigError, match="does not exist"):
        load(tmp_path, FORGELORE_CONFIG="/no/such.toml")


def test_every_setting_has_a_default_a_range_and_a_line_of_text():
    for setting in SETTINGS:
        assert setting.doc
        assert not isinstance(setting.default, (int, float)) or setting.low <= setting.default <= setting.high


def test_ci_variables_name_the_servers(tmp_path):
    config = load(tmp_path)
    assert hosts_of(config, {}).of("github") == "github.com"
    assert hosts_of(config, {"GITHUB_API_URL": "https://api.github.com"}).of("github") == "github.com"
    assert hosts_of(config, {"GITHUB_SERVER_URL": "https://ghe.example"}).of("github") == "ghe.example"
    assert hosts_of(config, {"CI_SERVER_URL": "https://git.example:8443"}).of("gitlab") == "git.example:8443"
    assert host_of("https://u:p@Host.example/x") == "host.example"


@pytest.mark.parametrize(
    ("forge", "host", "environ", "rest", "graphql"),
    [
        ("github", "github.com", {}, "https://api.github.com", "https://api.github.com/graphql"),
        ("github", "github.com", {"GITHUB_SERVER_URL": "https://github.com"}, "https://api.github.com", None),
        ("github", "ghe.example", {}, "https://ghe.example/api/v3", "https://ghe.example/api/graphql"),
        ("github", "ghe.example", {"GITHUB_API_URL": "https://ghe.example/x/v3/"}, "https://ghe.example/x/v3", None),
        ("github", "other.example", {"GITHUB_API_URL": "https://ghe.example/x"}, "https://other.example/api/v3", None),
        ("gitlab", "gitlab.com", {}, "https://gitlab.com/api/v4", None),
        ("gitlab", "git.example", {"CI_SERVER_URL": "https://git.example/lab"}, "https://git.example/lab/api/v4", None),
        ("gitlab", "git.example", {"CI_API_V4_URL": "https://git.example/v4"}, "https://git.example/v4", None),
        ("gitlab", "127.0.0.1:80", {}, "http://127.0.0.1:80/api/v4", None),
    ],
)
def test_every_forge_has_its_usual_address(tmp_path, forge, host, environ, rest, graphql):
    found = api_urls(load(tmp_path), environ, forge, host)
    assert found[0] == rest
    assert graphql in (None, found[1])


def test_a_forge_of_a_later_version_is_refused_in_words(tmp_path):
    app = App({"FORGELORE_DB": str(tmp_path / "a.db")}, cwd=str(tmp_path))
    with pytest.raises(InvalidValue, match="unsupported forge: 'tomorrow'"):
        app.forge(ProjectName("tomorrow", "git.example", "a/b"))
    assert app.payload_reader(ProjectName("tomorrow", "git.example", "a/b")) is None


def test_a_token_belongs_to_one_host(tmp_path):
    config = load(tmp_path, user='[[forges]]\nhost = "git.example"\nkind = "gitlab"\ntoken_env = "TEAM"')
    environ = {"GITHUB_TOKEN": "gh", "GITLAB_TOKEN": "gl", "TEAM": "team", "PATH": ""}
    assert find_token(config, environ, "github", "github.com") == ("gh", "GITHUB_TOKEN")
    assert find_token(config, environ, "github", "ghe.example") == ("", "")
    assert find_token(config, environ, "gitlab", "gitlab.com") == ("gl", "GITLAB_TOKEN")
    assert find_token(config, environ, "gitlab", "git.example") == ("team", "TEAM")
    assert find_token(config, environ, "gitlab", "other.example") == ("", "")
    in_ci = {**environ, "GITHUB_SERVER_URL": "https://ghe.example"}
    assert find_token(config, in_ci, "github", "ghe.example") == ("gh", "GITHUB_TOKEN")
    assert find_token(config, in_ci, "github", "github.com") == ("", "")
