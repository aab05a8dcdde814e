"""The index between two runs: files on a branch that has one commit and no history.

Every push replaces the branch with a new parentless commit, on the condition that the branch is still the one that was
pulled; who comes second gets StateMoved and starts again from what the first one wrote. So the repository grows by one
version at most, and no version is lost. Git plumbing in a scratch repository: nothing is checked out, no code of the
project is ever on the disk, and no hook or filter runs.

A branch that holds folders, links or many files was not made here, nor was one that somebody else committed to and that
lacks the file it is known by. Such a branch is never replaced, whatever the settings say.
"""

import base64
import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Mapping
from typing import NamedTuple

from forgelore.core.triage.branch_names import is_branch_name
from forgelore.errors import ConfigError, InvalidValue, LoreError, StateRefused
from forgelore.forges.branch.git import ADDRESS, AUTHOR, Git, GitResult, parse_address
from forgelore.forges.branch.refusals import TOO_LARGE, Scene, explain, is_missing_branch, is_passing
from forgelore.profiles import DEFAULT, ForgeProfile

MAX_FILE = (
    100 << 20
)  # GitHub refuses larger ones: https://docs.github.com/repositories/working-with-files/managing-large-files
MAX_FILES = 16
SKIP_CI = "[skip ci]"
PAUSES_S = (0.5, 2.0)  # between tries

_NAME = re.compile(r"[A-Za-z0-9_][\w.\-]{0,99}\Z", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_PULLED = "refs/pulled/state"


class Pulled(NamedTuple):
    commit: str
    files: dict[str, str]  # name on the branch -> path in the folder


class StateBranch:
    """One branch of one repository.

    `mark` is a file that only such a branch has; `profile` says which user the forge wants before the token.
    """

    def __init__(
        self, url: str, branch: str, *, token: str | None, folder: str, environ: Mapping[str, str],
        mark: str | None = None, timeout_s: float = 120, profile: ForgeProfile = DEFAULT, token_advice: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._mark = mark
        self._address = parse_address(url)
        if token and not (token.isascii() and token.isprintable()):  # a line break would be another header
            raise ConfigError(
                f"the token for {self._address.host} holds characters that no token has", hint="copy it again"
            )
        self.name = checked_branch(branch)
        self._credentials = f"{profile.git_user}:{token}" if token else None
        self._secrets = _spellings(token, self._credentials) if token and self._credentials else ()
        self._scene = Scene(self._address, branch, bool(token), profile, token_advice=token_advice)
        self._folder, self._environ = os.path.abspath(folder), environ
        self._timeout_s, self._sleep = timeout_s, sleep
        self._opened: Git | None = None

    def pull(self) -> Pulled | None:
        """Fetch the branch and return its files; None when there is no such branch."""
        done = self._fetch(f"+refs/heads/{self.name}:{_PULLED}")
        if is_missing_branch(done):
            return None
        self._check(done)
        commit = self._ask("rev-parse", "--verify", _PULLED).strip()
        blobs = self._list_blobs(commit)
        self._check_owner(commit, blobs)
        place = os.path.join(self._folder, commit)
        os.makedirs(place, exist_ok=True)
        files = {name: os.path.join(place, name) for name in blobs}
        for name, blob in blobs.items():
            self._ask("cat-file", "blob", blob, into=files[name])
        return Pulled(commit, files)

    def push(self, files: Mapping[str, str], *, expected: str | None, message: str) -> str:
        """Replace the branch with one commit of these files and return it.

        `expected` is the commit that was pulled, None when there was no branch; StateMoved when it is another by now.
        """
        check_files(files)
        old = checked_commit(expected) if expected else ""
        ref = f"refs/heads/{self.name}"
        commit = self._commit(files, message)
        self._check(self._send(f"{commit}:{ref}", f"--force-with-lease={ref}:{old}"))
        return commit

    def drop_copies(self) -> list[str]:
        """Delete branches NAME-damaged-COMMIT, under which older versions kept an index; returns their names.

        The commit in the name is the branch's own: nobody else has made such a name.
        """
        done = self._talk("ls-remote", "--heads", self._address.url, f"refs/heads/{self.name}-damaged-*")
        self._check(done)
        dropped = []
        for commit, _, ref in (line.partition("\t") for line in done.out.splitlines()):
            name = ref.removeprefix("refs/heads/")
            if name == f"{self.name}-damaged-{commit[:8]}":
                sent = self._send(f":{ref}", f"--force-with-lease={ref}:{commit}")
                self._check(sent, scene=self._scene._replace(branch=name))
                dropped.append(name)
        return dropped

    def _git(self) -> Git:
        """Return git in a repository that nobody prepared: a found one could bring settings that run programs."""
        if self._opened is None:
            os.makedirs(self._folder, exist_ok=True)
            scratch = tempfile.mkdtemp(prefix="git-", dir=self._folder)
            self._opened = Git(
                self._address, scratch, credentials=self._credentials, environ=self._environ, timeout_s=self._timeout_s
            )
        return self._opened

    def _fetch(self, refspec: str) -> GitResult:
        words = ("--quiet", "--depth=1", "--no-tags", "--no-write-fetch-head")
        return self._talk("fetch", *words, self._address.url, refspec)

    def _send(self, refspec: str, *options: str) -> GitResult:
        return self._talk("push", "--porcelain", "--no-verify", "--no-thin", *options, self._address.url, refspec)

    def _talk(self, *words: str) -> GitResult:
        """Run git, again after a failure that may pass. A push that arrived is up to date then: no answer is missed."""
        for pause_s in PAUSES_S:
            done = self._git().run(*words)
            if not is_passing(done, self._scene):
                return done
            self._sleep(pause_s)
        return self._git().run(*words)

    def _check(self, done: GitResult, *, scene: Scene | None = None) -> None:
        if done.code:
            raise explain(done, scene or self._scene, secrets=self._secrets)

    def _ask(self, *words: str, feed: str = "", into: str = "") -> str:
        """Run a command that needs no network; it fails only where the disk or the fetched objects are damaged."""
        done = self._git().run(*words, feed=feed, into=into)
        self._check(done)
        return done.out

    def _check_owner(self, commit: str, names: Collection[str]) -> None:
        """Raise StateRefused for a branch that nobody made for this: a slip in the settings must not replace it."""
        if f"\ncommitter {AUTHOR} <{ADDRESS}> " not in self._ask("cat-file", "commit", commit) and (
            self._mark is None or self._mark not in names
        ):
            raise self._not_ours()

    def _list_blobs(self, commit: str) -> dict[str, str]:
        """Return name -> blob of what was pulled; raises StateRefused for a branch that is not one of ours."""
        rows = self._ask("ls-tree", "-z", "-l", commit).split("\0")[:-1]
        blobs = {}
        for row in rows:
            about, _, name = row.partition("\t")
            mode, _, blob, size = about.split()
            if mode not in ("100644", "100755") or not _NAME.match(name) or int(size) > MAX_FILE:
                raise self._not_ours()
            blobs[name] = blob
        if len(blobs) > MAX_FILES:
            raise self._not_ours()
        return blobs

    def _not_ours(self) -> LoreError:
        return StateRefused(
            f"the branch {self.name} holds something else than an index and is left as it is",
            hint="choose another name with the input index-branch; if nobody needs this branch, delete it",
        )

    def _commit(self, files: Mapping[str, str], message: str) -> str:
        paths = [os.path.abspath(path) for path in files.values()]
        blobs = self._ask("hash-object", "-w", "--no-filters", "--", *paths).split()
        rows = [f"100644 blob {blob}\t{name}\0" for name, blob in zip(files, blobs, strict=True)]
        tree = self._ask("mktree", "-z", feed="".join(rows)).strip()
        subject = " ".join(message.replace("\0", " ").split())
        if SKIP_CI not in subject:
            subject = f"{subject} {SKIP_CI}".strip()
        return self._ask("commit-tree", tree, feed=subject + "\n").strip()


def checked_branch(name: str) -> str:
    """Return the name of a branch that is valid in git and harmless in an argument; raises InvalidValue."""
    if not is_branch_name(name):
        raise InvalidValue(f"{name!r} is not a name for the index branch", hint="write something like forgelore-index")
    return name


def checked_commit(commit: str) -> str:
    if not _COMMIT.match(commit):
        raise InvalidValue(f"{commit!r} is not a commit", hint="give the commit that was pulled")
    return commit


def check_files(files: Mapping[str, str]) -> None:
    """Raise before anything is pushed that could not be pushed or pulled again."""
    for name, path in files.items():
        if not _NAME.match(name):
            raise InvalidValue(f"{name!r} cannot be a file of the index branch", hint="use letters, digits, - _ .")
        size = os.path.getsize(path)
        if size > MAX_FILE:
            raise StateRefused(
                f"{name} has {size >> 20} MB, and a forge takes files of {MAX_FILE >> 20} MB at most",
                hint=TOO_LARGE,
            )
    if not 0 < len(files) <= MAX_FILES:
        raise InvalidValue(f"the index has {len(files)} files", hint=f"1 to {MAX_FILES} can be pushed")


def _spellings(token: str, credentials: str) -> tuple[str, ...]:
    """Return the ways in which a server could repeat the token."""
    return token, base64.b64encode(credentials.encode()).decode()
