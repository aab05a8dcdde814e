"""Which token belongs to which host. A token is handed out for its own host and for no other.

[[forges]] token_env     the host of that table
GITHUB_TOKEN, GH_TOKEN   the GitHub that GITHUB_SERVER_URL, GITHUB_API_URL or GH_HOST names; else github.com
GITLAB_TOKEN             the GitLab that CI_SERVER_URL, CI_API_V4_URL or GITLAB_HOST names; else gitlab.com
gh, glab                 whatever these programs know of the host
"""

import shutil
import subprocess
from collections.abc import Mapping

from forgelore.config import Config, host_of, hosts_of
from forgelore.core.names import is_loopback
from forgelore.words import ForgeName

_VARIABLES = {"github": ("GITHUB_TOKEN", "GH_TOKEN"), "gitlab": ("GITLAB_TOKEN",)}
_HOST_VARIABLE = {"github": "GH_HOST", "gitlab": "GITLAB_HOST"}
_PROGRAMS = {"github": ("gh", "auth", "token", "--hostname"), "gitlab": ("glab", "config", "get", "token", "--host")}


def find_token(config: Config, environ: Mapping[str, str], forge: ForgeName, host: str) -> tuple[str, str]:
    """Return (token, where it came from), or two empty texts."""
    for setting in config.forges:
        if setting.host == host and setting.token_env and environ.get(setting.token_env):
            return environ[setting.token_env].strip(), setting.token_env
    if host == _variables_host(config, environ, forge):
        for name in _VARIABLES[forge]:
            if environ.get(name, "").strip():
                return environ[name].strip(), name
    return _ask_program(forge, host)


def token_advice(config: Config, environ: Mapping[str, str], forge: ForgeName, host: str, source: str) -> str:
    """Return what to do about the token of a host: the refused one, which came from `source`, or a missing one ("")."""
    sign_in = f"{_PROGRAMS[forge][0]} auth login --hostname {host}"
    if source == _PROGRAMS[forge][0]:
        return f"the sign-in of {source} may have expired; run: {sign_in}"
    if source:
        return f"the token in {source} may be wrong or expired; set {source} to a new one"
    named = next((one.token_env for one in config.forges if one.host == host and one.token_env), "")
    if named:
        return f"set {named}, which [[forges]] names for {host}"
    if host == _variables_host(config, environ, forge):
        return f"set {_VARIABLES[forge][0]}, or run: {sign_in}"
    other = next((name for name in _VARIABLES[forge] if environ.get(name)), "")
    belongs = f"{other} is set, but belongs to another host; " if other else ""
    add_host = f"forgelore init --host {host} --kind {forge} --token-env NAME"
    return f"{belongs}name a variable for {host} under [[forges]] ({add_host}), or run: {sign_in}"


def _variables_host(config: Config, environ: Mapping[str, str], forge: ForgeName) -> str:
    named = environ.get(_HOST_VARIABLE[forge]) or ""
    if named:
        return host_of(named) if "://" in named else named.lower()
    hosts = hosts_of(config, environ)
    return hosts.github if forge == "github" else hosts.gitlab


def _ask_program(forge: ForgeName, host: str) -> tuple[str, str]:
    program = _PROGRAMS[forge]
    found = None if is_loopback(host) else shutil.which(program[0])
    if not found:
        return "", ""
    try:
        done = subprocess.run([found, *program[1:], host], capture_output=True, text=True, timeout=5, check=False)  # noqa: S603 - fixed words, full path
    except (OSError, subprocess.TimeoutExpired):
        return "", ""
    token = done.stdout.strip()
    return (token, program[0]) if done.returncode == 0 and token else ("", "")
