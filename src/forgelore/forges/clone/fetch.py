"""A shallow copy of a project's repository on this machine, fetched by git with the token of its host.

The copy is bare, ours, and kept between runs, so that the next fetch brings only what is new.
"""

import os
from collections.abc import Mapping

from forgelore.forges.branch.git import Git, parse_address
from forgelore.forges.branch.refusals import Scene, explain
from forgelore.profiles import ForgeProfile

REF = "refs/heads/fetched"
TIMEOUT_S = 1_800.0


def fetch_copy(
    url: str, folder: str, *, depth: int, token: str | None, profile: ForgeProfile, environ: Mapping[str, str],
    token_advice: str = "", timeout_s: float = TIMEOUT_S,
) -> str:  # fmt: skip
    """Fetch the newest commits of the default branch into a folder, and return the repository in it. Raises LoreError
    with what the forge or git had against it.
    """
    address = parse_address(url)
    os.makedirs(folder, exist_ok=True)
    credentials = f"{profile.git_user}:{token}" if token else None
    git = Git(address, os.path.abspath(folder), credentials=credentials, environ=environ, timeout_s=timeout_s)
    words = ("--quiet", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", f"--depth={depth}")
    done = git.run("fetch", *words, address.url, f"+HEAD:{REF}")
    if done.code and "couldn't find remote ref HEAD" not in done.err:  # a repository without commits has none
        secrets = [one for one in (token, credentials) if one]
        raise explain(done, Scene(address, "HEAD", bool(token), profile, token_advice=token_advice), secrets=secrets)
    return git.repository
