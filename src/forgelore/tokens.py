"""Tokens, and which belongs to which host. One is handed out for its own host and for no other.

[[forges]] token_env     the host of that table
GITHUB_TOKEN, GH_TOKEN   the GitHub that GITHUB_SERVER_URL, GITHUB_API_URL or GH_HOST names; else github.com
GITLAB_TOKEN             the GitLab that CI_SERVER_URL, CI_API_V4_URL or GITLAB_HOST names; else gitlab.com
FORGEJO_TOKEN, GITEA_TOKEN  the server that FORGEJO_SERVER_URL, FORGEJO_API_URL or FORGEJO_HOST names; else codeberg.org
gh, glab                 whatever these programs know of the host
"""

import shutil
import subprocess
from collections.abc import Mapping

from forgelore.config import Config, host_of, hosts_of
from forgelore.profiles import PROFILES
from forgelore.text.refs import is_loopback


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
