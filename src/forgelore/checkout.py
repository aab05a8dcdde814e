"""The git clone that a command runs in: where it is, where it came from, and who commits there.

The configuration file is read directly: starting git costs a listing command more than its own work. A layout that is
not plain (a worktree, an include) is left to git.
"""

import os
import re
from typing import NamedTuple

_ORIGIN = ("--get", "remote.origin.url")
_SECTION = re.compile(r"\s*\[(?P<name>[^\]]*)\]")
_URL = re.compile(r"\s*url\s*=\s*(?P<url>\S.*?)\s*\Z")


def origin_of(folder: str) -> str | None:
    """Return the URL of `origin`, None outside a clone or without one."""
    git = _git_folder(os.path.abspath(folder))
    if git is None:
        return None
    config = os.path.join(git, "config")
    if not os.path.isfile(config):
        return _ask_git(folder, *_ORIGIN)
    with open(config, encoding="utf-8", errors="replace") as file:
        text = file.read()
    return _ask_git(folder, *_ORIGIN) if "[include" in text.lower() else _origin_in(text)


def clone_root(folder: str) -> str | None:
    """Return the folder of the clone that one is in; None outside of any."""
    git = _git_folder(os.path.abspath(folder))
    return os.path.dirname(git) if git else None


def _git_folder(folder: str) -> str | None:
    while True:
        found = os.path.join(folder, ".git")
        if os.path.exists(found):
            return found
        parent = os.path.dirname(folder)
        if parent == folder:
            return None
        folder = parent


def _origin_in(text: str) -> str | None:
    section = ""
    for line in text.splitlines():
        head = _SECTION.match(line)
        section = head["name"] if head else section
        url = _URL.match(line)
        if url and section == 'remote "origin"':
            return url["url"]
    return None


def person_of(folder: str) -> "GitPerson":
    """Return who commits in a folder, by git's settings; empty words where git knows nothing."""
    said = _ask_git(folder, "--null", "--get-regexp", r"^(user\.(name|email)|[a-z]+\.user)$") or ""
    found = dict(entry.partition("\n")[::2] for entry in said.split("\0") if entry)
    accounts = {key.removesuffix(".user"): login for key, login in found.items() if key.endswith(".user")}
    return GitPerson(found.get("user.name", ""), found.get("user.email", ""), accounts)


class GitPerson(NamedTuple):
    """A name, an address, and accounts by forge, as git's settings have them."""

    name: str
    email: str
    accounts: dict[str, str]


def _ask_git(folder: str, *words: str) -> str | None:
    import subprocess

    command = ["git", "-C", folder, "config", *words]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=5, check=False)  # noqa: S603 - fixed words
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
