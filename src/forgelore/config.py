"""Settings: defaults < the user's file < `forgelore.toml` of a clone < environment < flags.

A file that arrives with a clone was written by strangers. It may name projects and limits; it may never name a
database file, a forge, an embedder or a model (and with it the host a token or text goes to), a certificate or a
command. Such lines are ignored with a warning. `SETTINGS` is the one list of what exists: the documentation and the
checks are made from it.

Tokens, and which belongs to which host. One is handed out for its own host and for no other.

[[forges]] token_env     the host of that table
GITHUB_TOKEN, GH_TOKEN   the GitHub that GITHUB_SERVER_URL, GITHUB_API_URL or GH_HOST names; else github.com
GITLAB_TOKEN             the GitLab that CI_SERVER_URL, CI_API_V4_URL or GITLAB_HOST names; else gitlab.com
FORGEJO_TOKEN, GITEA_TOKEN  the server that FORGEJO_SERVER_URL, FORGEJO_API_URL or FORGEJO_HOST names; else codeberg.org
gh, glab                 whatever these programs know of the host
FORGELORE_APP_ID         an app with its private key, on the host of GITHUB_TOKEN; it comes before any other
"""

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from forgelore.errors import ConfigError
from forgelore.profiles import PROFILES, ForgeProfile
from forgelore.text.markdown import CLOSED, KEEP_OPEN_LABELS
from forgelore.text.refs import Hosts, is_loopback, web_root

if TYPE_CHECKING:
    from forgelore.llm_settings import LlmProfile

CLONE_FILE = "forgelore.toml"


class Setting(NamedTuple):
    """A line of a settings file: of the whole, or below `[llm]`."""

    name: str
    default: object
    low: float
    high: float
    is_safe: bool  # may come from a clone
    doc: str


SETTINGS = (
    Setting(
        "db",
        "",
        0,
        0,
        False,
        "the database file, or a PostgreSQL address (docs/postgres.md); empty: `forgelore.db` in your data folder",
    ),
    Setting(
        "me", "", 0, 0, False, "your login, for `forgelore me`; empty: the token's owner, or what git knows of you"
    ),
    Setting("projects", (), 0, 0, True, "what `forgelore sync` without names brings up to date"),
    Setting("requests_per_second", 10.0, 0.1, 100, True, "how fast a forge is asked, at most, over all threads"),
    Setting("workers", 4, 1, 16, True, "how many requests are under way at once"),
    Setting(
        "sync_window_days", 14, 1, 365, False, "how many days back a sync looks once a day, for edits without a date"
    ),
    Setting("code_max_kb", 1000, 1, 100_000, True, "the largest file, in kB, that `index-code` makes searchable"),
    Setting(
        "max_wait_s",
        900.0,
        0,
        7200,
        True,
        "the longest rate limit to sit out; a longer one ends the command, which can be repeated",
    ),
    Setting("ca_file", "", 0, 0, False, "a certificate file for servers with their own authority (or SSL_CERT_FILE)"),
    Setting(
        "forges",
        (),
        0,
        0,
        False,
        "servers other than the public ones, as `[[forges]]` tables: host, kind, api_url, graphql_url, token_env",
    ),
    Setting(
        "embedder",
        "lore",
        0,
        0,
        False,
        "what turns text into vectors: `lore` (built in), `minilm` (the extra `minilm`), `ollama`, `openai`, `none`",
    ),
    Setting(
        "second_embedder",
        "minilm",
        0,
        0,
        False,
        "a second embedder whose vectors are stored and compared too, if the extra `minilm` is installed;"
        " `none`: no second one, and its stored vectors are dropped",
    ),
    Setting(
        "embedder_url",
        "",
        0,
        0,
        False,
        "the embedder's server, https:// or on this machine; empty: `http://127.0.0.1:11434` (ollama),"
        " `https://api.openai.com/v1` (openai: any compatible address)",
    ),
    Setting("embedder_model", "", 0, 0, False, "empty: `nomic-embed-text` (ollama), `text-embedding-3-small` (openai)"),
    Setting(
        "embedder_key_env",
        "",
        0,
        0,
        False,
        "the variable that holds the key for `embedder_url`, sent there and nowhere else; empty: `OPENAI_API_KEY`, for"
        " api.openai.com alone",
    ),
    Setting(
        "embedder_concurrency", 1, 1, 16, False, "requests under way at once at a served embedder (ollama, openai)"
    ),
    Setting(
        "close_message",
        CLOSED,
        0,
        0,
        False,
        "what `dedupe apply` writes below an item that it closes; `{target}` is the other item",
    ),
    Setting(
        "maintainers",
        (),
        0,
        0,
        False,
        "people whose items `dedupe` never closes, for forges that do not list their maintainers; taken as complete",
    ),
    Setting(
        "keep_open_labels",
        KEEP_OPEN_LABELS,
        0,
        0,
        False,
        "labels that keep an item from being closed as a duplicate, in any case and scope (`status: Confirmed`)",
    ),
    Setting(
        "dedupe_language",
        "en",
        0,
        0,
        True,
        "`en`: of several open duplicates one in English is kept rather than another; `any`: no preference",
    ),
    Setting("llm", (), 0, 0, False, "language models, as `[llm]`, `[llm.cheap]` and `[llm.strong]` tables: see below"),
)
TABLES = ("forges", "llm")  # no variable holds a table
OWN_EMBEDDERS = ("lore", "minilm")  # they ask no server, so `embedder_url` and `embedder_model` are never theirs
EMBEDDERS = (*OWN_EMBEDDERS, "ollama", "openai", "none")
CHOICES = {"embedder": EMBEDDERS, "second_embedder": ("minilm", "none"), "dedupe_language": ("en", "any")}
FORGE_KEYS = ("host", "kind", "api_url", "graphql_url", "token_env")


class ForgeSetting(NamedTuple):
    host: str
    kind: str
    api_url: str = ""
    graphql_url: str = ""
    token_env: str = ""


class Config(NamedTuple):
    db: str
    me: str = ""
    projects: tuple[str, ...] = ()
    requests_per_second: float = 10.0
    workers: int = 4
    sync_window_days: int = 14
    code_max_kb: int = 1000
    max_wait_s: float = 900.0
    ca_file: str = ""
    forges: tuple[ForgeSetting, ...] = ()
    embedder: str = "lore"
    second_embedder: str = "minilm"
    embedder_url: str = ""
    embedder_model: str = ""
    embedder_key_env: str = ""
    embedder_concurrency: int = 1
    close_message: str = CLOSED
    maintainers: tuple[str, ...] = ()
    keep_open_labels: tuple[str, ...] = KEEP_OPEN_LABELS
    dedupe_language: str = "en"
    llm: "tuple[LlmProfile, ...]" = ()
    warnings: tuple[str, ...] = ()

    @property
    def is_served(self) -> bool:
        """Whether the history is in the database of a server, and not in a file."""
        return is_server(self.db)


def load_config(environ: Mapping[str, str], *, cwd: str, db: str | None = None) -> Config:
    """Return the settings that hold here. Raises ConfigError for a file that cannot be understood."""
    values: dict[str, Any] = {}
    warnings: list[str] = []
    own = user_file(environ)
    if environ.get("FORGELORE_CONFIG") and not os.path.isfile(own):
        raise ConfigError(f"FORGELORE_CONFIG names {own}, which does not exist", hint="unset it or create the file")
    if os.path.isfile(own):
        _take(values, own, warnings, is_trusted=True)
    clone = _clone_file(cwd)
    if clone:
        _take(values, clone, warnings, is_trusted=False)
    for setting in SETTINGS:
        text = environ.get(f"FORGELORE_{setting.name.upper()}")
        if text and text.strip() and setting.name not in TABLES:
            values[setting.name] = _checked(setting, _from_text(setting, text), f"FORGELORE_{setting.name.upper()}")
    if "llm" in values or any(name.startswith("FORGELORE_LLM_") for name in environ):
        from forgelore.llm_settings import make_llm_profiles

        values["llm"] = make_llm_profiles(values.get("llm", {}), environ)
    if db:
        values["db"] = db
    if not is_server(values.get("db") or ""):
        values["db"] = os.path.expanduser(values.get("db") or os.path.join(data_folder(environ), "forgelore.db"))
    return Config(**values, warnings=tuple(warnings))


def is_server(db: str) -> bool:
    """Whether a database is named by the address of a PostgreSQL server, and not by a path."""
    return db.startswith(("postgresql://", "postgres://"))


def user_file(environ: Mapping[str, str]) -> str:
    """Return the user's own settings file, which may name everything."""
    return environ.get("FORGELORE_CONFIG") or os.path.join(config_folder(environ), "config.toml")


def _take(values: dict[str, Any], path: str, warnings: list[str], *, is_trusted: bool) -> None:
    """Add the settings of a file. One that came with a clone may not name what is unsafe, and may only lower limits."""
    for name, value in _read(path).items():
        setting = next((one for one in SETTINGS if one.name == name), None)
        if setting is None:
            warnings.append(f"{path}: unknown setting {name!r} ignored")
            continue
        checked = _checked(setting, value, path) if is_trusted or setting.is_safe else None
        if checked is None:
            warnings.append(f"{path}: {name!r} ignored: a file that comes with a clone may not set it")
        elif not is_trusted and setting.high and checked > values.get(name, setting.default):
            warnings.append(f"{path}: {name!r} ignored: a file that comes with a clone may only lower it")
        else:
            values[name] = checked


def hosts_of(config: Config, environ: Mapping[str, str]) -> Hosts:
    """Return which servers `owner/repo` and `gitlab:…` mean: CI's own variables win over the public ones."""
    kinds = {forge.host: forge.kind for forge in config.forges}
    return Hosts({name: _ci_host(profile, environ) for name, profile in PROFILES.items()}, kinds)


def api_urls(config: Config, environ: Mapping[str, str], forge: str, host: str) -> tuple[str, str]:
    """Return the REST and GraphQL addresses of a host: its `[[forges]]` table, CI's variables, or the usual places."""
    profile = PROFILES[forge]
    setting = next((one for one in config.forges if one.host == host), None)
    if setting and setting.api_url:
        rest = check_api_url(setting.api_url)
        return rest, setting.graphql_url or _graphql_beside(rest)
    is_of_ci = host == hosts_of(config, environ).of(forge)
    if is_of_ci and environ.get(profile.ci_api):
        rest = check_api_url(environ[profile.ci_api])
        return rest, check_api_url(environ.get(profile.ci_graphql) or _graphql_beside(rest))
    if host == profile.host and profile.api_url:
        return profile.api_url, profile.graphql_url
    server = environ.get(profile.ci_server) if is_of_ci else None
    rest = (check_api_url(server) if server else web_root(host)) + profile.api_path
    return rest, _graphql_beside(rest)


def _graphql_beside(rest: str) -> str:
    return rest.removesuffix("/v3").removesuffix("/v4") + "/graphql"


def host_of(url: str) -> str:
    from urllib.parse import urlsplit

    return urlsplit(url).netloc.rpartition("@")[2].lower() if url else ""


def _ci_host(profile: ForgeProfile, environ: Mapping[str, str]) -> str:
    """Return the server that CI's variables name, "" where there are none: its own, else the one of its API."""
    api = host_of(environ.get(profile.ci_api) or "")
    is_public = bool(api) and api == host_of(profile.api_url)
    return host_of(environ.get(profile.ci_server) or "") or (profile.host if is_public else api)


def check_api_url(url: str) -> str:
    """Return the URL of a server's API; plain HTTP is for loopback alone."""
    if url.startswith("https://") or (url.startswith("http://") and is_loopback(host_of(url))):
        return url.rstrip("/")
    raise ConfigError(
        f"not a valid forge address: {url!r}", hint="it must begin with https:// (http:// is for loopback only)"
    )


def data_folder(environ: Mapping[str, str]) -> str:
    return _user_folder(environ, "XDG_DATA_HOME", os.path.join(".local", "share"))


def config_folder(environ: Mapping[str, str]) -> str:
    return _user_folder(environ, "XDG_CONFIG_HOME", ".config")


def _user_folder(environ: Mapping[str, str], variable: str, below_home: str) -> str:
    if os.name == "nt":
        return os.path.join(environ.get("LOCALAPPDATA") or os.path.expanduser("~"), "forgelore")
    return os.path.join(environ.get(variable) or os.path.join(os.path.expanduser("~"), below_home), "forgelore")


def _clone_file(cwd: str) -> str | None:
    """Return `forgelore.toml` of this folder or of the clone it is in; never one from above the clone."""
    folder = os.path.abspath(cwd)
    while True:
        candidate = os.path.join(folder, CLONE_FILE)
        if os.path.isfile(candidate):
            return candidate
        parent = os.path.dirname(folder)
        if os.path.exists(os.path.join(folder, ".git")) or parent == folder:
            return None
        folder = parent


def _read(path: str) -> dict[str, Any]:
    import tomllib

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}", hint="fix or remove the file") from error
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}", hint="check its permissions") from error


def _from_text(setting: Setting, text: str) -> Any:
    if isinstance(setting.default, tuple):
        return [part.strip() for part in text.split(",") if part.strip()]
    if isinstance(setting.default, (int, float)):
        try:
            return float(text) if isinstance(setting.default, float) else int(text)
        except ValueError:
            return text
    return text


def _checked(setting: Setting, value: Any, where: str) -> Any:
    if setting.name == "forges":
        return _forges(value, where)
    if setting.name == "llm":
        from forgelore.llm_settings import read_llm_table

        return read_llm_table(value, where)
    if setting.name in ("projects", "maintainers", "keep_open_labels"):
        if not isinstance(value, list) or not all(isinstance(entry, str) and entry for entry in value):
            example = {"projects": "owner/repo", "maintainers": "login", "keep_open_labels": "confirmed"}[setting.name]
            raise ConfigError(
                f"{where}: {setting.name} must be a list of names", hint=f'for example: {setting.name} = ["{example}"]'
            )
        return tuple(value)
    if isinstance(setting.default, str):
        if not isinstance(value, str):
            raise ConfigError(f"{where}: {setting.name} must be text, not {value!r}")
        choices = CHOICES.get(setting.name, ())
        if choices and value not in choices:
            known = f"one of {', '.join(choices)}" if len(choices) > 2 else " or ".join(choices)
            raise ConfigError(f"{where}: {setting.name} must be {known}, not {value!r}")
        return value
    is_integer = isinstance(setting.default, int)
    is_number = isinstance(value, int if is_integer else (int, float)) and not isinstance(value, bool)
    if not is_number or not setting.low <= value <= setting.high:
        kind = "a whole number " if is_integer else ""
        raise ConfigError(
            f"{where}: {setting.name} must be {kind}between {setting.low:g} and {setting.high:g}, not {value!r}",
            hint=f"for example: {setting.name} = {setting.default}",
        )
    return int(value) if is_integer else float(value)


def _forges(value: Any, where: str) -> tuple[ForgeSetting, ...]:
    found = []
    for entry in value if isinstance(value, list) else [None]:
        if not isinstance(entry, dict) or set(entry) - set(FORGE_KEYS) or not entry.get("host"):
            raise ConfigError(f"{where}: each [[forges]] needs host and kind; allowed keys: {', '.join(FORGE_KEYS)}")
        if entry.get("kind") not in PROFILES:
            known = " or ".join(PROFILES)
            raise ConfigError(f"{where}: kind of {entry['host']} must be {known}, not {entry.get('kind')!r}")
        for name in ("api_url", "graphql_url"):
            if entry.get(name):
                check_api_url(entry[name])
        found.append(ForgeSetting(**entry))
    return tuple(found)


def find_token(config: Config, environ: Mapping[str, str], forge: str, host: str) -> tuple[str, str]:
    """Return (token, where it came from), or two empty texts."""
    for setting in config.forges:
        if setting.host == host and setting.token_env and environ.get(setting.token_env):
            return environ[setting.token_env].strip(), setting.token_env
    if host == _variables_host(config, environ, forge):
        for name in PROFILES[forge].token_variables:
            if environ.get(name, "").strip():
                return environ[name].strip(), name
    return _ask_program(forge, host)


class AppIdentity(NamedTuple):
    """An app that a forge knows, with its private key (PEM)."""

    id: str
    key: str


def find_app(config: Config, environ: Mapping[str, str], forge: str, host: str) -> AppIdentity | None:
    """Return the app that the environment names for a host. Raises ConfigError for one without its key."""
    names = PROFILES[forge].app_variables
    if not names or not environ.get(names[0], "").strip() or host != _variables_host(config, environ, forge):
        return None
    ident, key, path = (environ.get(name, "").strip() for name in names)
    if not key and not path:
        raise ConfigError(f"{names[0]} is set without the app's key", hint=f"set {names[2]} to its .pem file")
    if not key:
        try:
            with open(path, encoding="utf-8") as file:
                key = file.read(100_000)
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read {path}, which {names[2]} names", hint="check the path") from error
    return AppIdentity(ident, key.replace("\\n", "\n"))  # on one line, as some CI systems keep secrets


class SignIn(NamedTuple):
    """As whom a host is asked: an app, or whoever has the token ("": nobody), and what to do where it is refused."""

    app: AppIdentity | None
    token: str
    advice: str


def find_sign_in(config: Config, environ: Mapping[str, str], forge: str, host: str) -> SignIn:
    app = find_app(config, environ, forge, host)
    if app:
        return SignIn(app, "", "check that the app is installed there, with its permissions")
    token, source = find_token(config, environ, forge, host)
    return SignIn(None, token, token_advice(config, environ, forge, host, source))


def token_advice(config: Config, environ: Mapping[str, str], forge: str, host: str, source: str) -> str:
    """Return what to do about the token of a host: the refused one, which came from `source`, or a missing one ("")."""
    profile = PROFILES[forge]
    if source in profile.program[:1]:
        return f"the sign-in of {source} may have expired; run: {profile.sign_in} {host}"
    if source:
        return f"the token in {source} may be wrong or expired; set {source} to a new one"
    or_sign_in = f", or run: {profile.sign_in} {host}" if profile.sign_in else ""
    named = next((one.token_env for one in config.forges if one.host == host and one.token_env), "")
    if named:
        return f"set {named}, which [[forges]] names for {host}"
    if host == _variables_host(config, environ, forge):
        return f"set {profile.token_variables[0]}{or_sign_in}"
    other = next((name for name in profile.token_variables if environ.get(name)), "")
    belongs = f"{other} is set, but belongs to another host; " if other else ""
    add_host = f"forgelore init --host {host} --kind {forge} --token-env NAME"
    return f"{belongs}name a variable for {host} under [[forges]] ({add_host}){or_sign_in}"


def _variables_host(config: Config, environ: Mapping[str, str], forge: str) -> str:
    named = environ.get(PROFILES[forge].host_variable) or ""
    if named:
        return host_of(named) if "://" in named else named.lower()
    return hosts_of(config, environ).of(forge)


def _ask_program(forge: str, host: str) -> tuple[str, str]:
    import shutil  # no command that only reads loads these two
    import subprocess

    program = PROFILES[forge].program
    found = shutil.which(program[0]) if program and not is_loopback(host) else None
    if not found:
        return "", ""
    try:
        done = subprocess.run([found, *program[1:], host], capture_output=True, text=True, timeout=5, check=False)  # noqa: S603 - fixed words, full path
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    token = done.stdout.strip()
    return (token, program[0]) if done.returncode == 0 and token else ("", "")
