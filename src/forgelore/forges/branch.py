"""The index between two runs: files on a branch that has one commit and no history.

Every push replaces the branch with a new parentless commit, on the condition that the branch is still the one that was
pulled; who comes second gets StateMoved and starts again from what the first one wrote. Git plumbing in a scratch
repository: nothing is checked out, and no hook or filter runs. A branch that holds other folders, links or many files,
or that somebody else committed to and that lacks the file it is known by, is never replaced.

What is too large for one file lies in many small ones, `parts/00/00` to `parts/ff/ff`. The server has most of them
already: git sends what the pulled commit lacks, and a push of a changed part among 16,000 is that part and a list.

git has one exit status for everything, so its words are read: its own (in English, LC_ALL=C) and those of the forge
(`remote:` lines). Both are untrusted: control characters and secrets are taken out before any of it is shown.
"""

import base64
import os
import re
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from forgelore.errors import (
    AuthError,
    ConfigError,
    ForgeError,
    InvalidValue,
    LoreError,
    NotFound,
    RateLimited,
    StateMoved,
    StateRefused,
)
from forgelore.forges.git import ADDRESS, AUTHOR, Address, Git, GitResult, parse_address
from forgelore.profiles import DEFAULT, ForgeProfile
from forgelore.text.fence import printable
from forgelore.text.values import is_branch_name

# There is no setting that makes it smaller: 2 GB unpacked are some 300,000 items.
TOO_LARGE = "the project is too large for an index on a branch: leave the input also empty, or remove the workflow"
MAX_SHOWN = 300  # characters of somebody's words in a message
_MAX_READ = 20_000


class Scene(NamedTuple):
    """Where it happened, and what was said there."""

    address: Address
    branch: str
    has_token: bool
    profile: ForgeProfile
    said: str = ""
    token_advice: str = ""


def explain(done: GitResult, scene: Scene, *, secrets: Iterable[str] = ()) -> LoreError:
    """Return the error that a failed fetch or push stands for."""
    text = _read(done)
    build = _find_rule(text, scene)
    for secret in secrets:
        text = text.replace(secret, "***")
    scene = scene._replace(said=_shown(text))
    if build:
        return build(scene)
    hint = "check the network, proxy and certificate settings, and try again"
    return ForgeError(f"git failed while talking to {scene.address.host}: {scene.said or 'git failed'}", hint=hint)


def is_passing(done: GitResult, scene: Scene) -> bool:
    """True when it was the network or a server's bad moment: the same may work a second later."""
    text = _read(done)
    return bool(done.code and re.search(_PASSING, text)) and _find_rule(text, scene) is None


def is_missing_branch(done: GitResult) -> bool:
    return "couldn't find remote ref" in done.err


def _too_large(scene: Scene) -> LoreError:
    return StateRefused(f"{scene.address.host} finds the index too large: {scene.said}", hint=TOO_LARGE)


def _archived(scene: Scene) -> LoreError:
    return StateRefused(f"{scene.address.url} is archived and takes no index", hint="switch this workflow off")


def _forbidden_by_rule(scene: Scene) -> LoreError:
    hint = scene.profile.push_hints.rule.format(branch=scene.branch)
    return StateRefused(f"a rule of the repository forbids the push to {scene.branch}: {scene.said}", hint=hint)


def _moved(scene: Scene) -> LoreError:
    hint = "pull the index, apply the change and push again"
    return StateMoved(f"{scene.branch} was updated by another push", hint=hint)


def _unknown_token(scene: Scene) -> LoreError:
    if scene.has_token:
        hint = scene.token_advice or "the token is wrong, has expired or belongs to another host"
        return AuthError(f"{scene.address.host} does not accept the token", hint=hint, is_rejected=True)
    hint = scene.token_advice or scene.profile.push_hints.token
    return AuthError(f"{scene.address.host} requires a token for the index branch", hint=hint)


def _not_allowed(scene: Scene) -> LoreError:
    hint = scene.profile.push_hints.rights
    return AuthError(f"the token may not use the branch {scene.branch}: {scene.said}", hint=hint)


def _declined(scene: Scene) -> LoreError:
    hint = "the server gave this reason; ask its administrator"
    return StateRefused(f"{scene.address.host} declined the push to {scene.branch}: {scene.said}", hint=hint)


def _no_repository(scene: Scene) -> LoreError:
    hint = "check the spelling, or the token's access: without `contents` a private repository looks missing"
    return NotFound(f"repository {scene.address.url} not found, or not visible to this token", hint=hint)


def _redirected(scene: Scene) -> LoreError:
    hint = "use the repository's present name: a token is never sent after a redirect"
    return ForgeError(f"{scene.address.url} has moved to another address", hint=hint)


def _limited(scene: Scene) -> LoreError:
    return RateLimited(f"{scene.address.host} limits git requests", hint="try again in some minutes", wait_s=60)


_RULES: tuple[tuple[str, Callable[[Scene], LoreError]], ...] = (
    (r"\bGH001\b|file size limit|exceeds (?:the )?maximum (?:allowed )?size|HTTP 413\b", _too_large),
    (r"archived so it is read-only|repository is archived", _archived),
    (r"not allowed to (?:push|upload|download) code (?:to|for|from) this project", _not_allowed),
    (r"\bGH006\b|\bGH013\b|protected branch|rule violations|hook declined|force-push|force push", _forbidden_by_rule),
    # A server's setting against all forced pushes: trying again would never help.
    (r"denying non-fast-forward|shallow update not allowed", _forbidden_by_rule),
    (r"non-fast-forward|stale info|fetch first|remote ref updated since checkout|incorrect old value", _moved),
    (r"cannot lock ref|failed to (?:update|lock) ref|reference already exists", _moved),
    (r"(?:error:|HTTP) 401\b|Authentication failed|could not read (?:Username|Password)", _unknown_token),
    (r"(?:error:|HTTP) 403\b|Permission to \S+ denied|Write access to repository not granted", _not_allowed),
    (r"(?:error:|HTTP) 404\b|repository '[^'\n]*' not found|does not appear to be a git repository", _no_repository),
    (r"(?:error:|HTTP) 30[1278]\b", _redirected),
    (r"(?:error:|HTTP) 429\b", _limited),
    (r"\[remote rejected\]", _declined),
)


_PASSING = (
    r"(?:error:|HTTP) 5\d\d\b|hung up|disconnect|early EOF|Connection (?:reset|timed out)|Empty reply"
    r"|Could not resolve host|(?:Failed to|Couldn't) connect|RPC failed; curl \d"
)


def _find_rule(text: str, scene: Scene) -> Callable[[Scene], LoreError] | None:
    # A repository or branch may be called anything, also what a refusal is called.
    words = text.replace(scene.address.url, "URL").replace(f"refs/heads/{scene.branch}", "REF")
    return next((build for pattern, build in _RULES if re.search(pattern, words, re.IGNORECASE)), None)


def _read(done: GitResult) -> str:
    return f"{done.out[:_MAX_READ]}\n{done.err[:_MAX_READ]}"


def _shown(text: str) -> str:
    """Return the forge's words on one line, git's own where the forge said nothing."""
    lines = [printable(line).strip() for line in text.splitlines()]
    remote = [line.removeprefix("remote:").strip() for line in lines if line.startswith("remote:")]
    own = [line for line in lines if line.startswith(("fatal:", "error:", "!"))]
    message = " ".join(" ".join(filter(None, remote) if any(remote) else own).split())
    return message if len(message) <= MAX_SHOWN else message[:MAX_SHOWN] + "…"


MAX_FILE = (
    100 << 20
)  # GitHub refuses larger ones: https://docs.github.com/repositories/working-with-files/managing-large-files
MAX_FILES = 16  # beside the parts
MAX_PART, MAX_PARTS = 1 << 17, 1 << 16
SKIP_CI = "[skip ci]"
PAUSES_S = (0.5, 2.0)  # between tries

_PART = re.compile(r"parts/([0-9a-f]{2})/([0-9a-f]{2})\Z")
_NAME = re.compile(r"[A-Za-z0-9_][\w.\-]{0,99}\Z", re.ASCII)
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?\Z")
_PULLED = "refs/pulled/state"


class Pulled(NamedTuple):
    """What lies on the branch. `parts` are read one after the other from one file."""

    commit: str
    files: dict[str, str]  # name on the branch -> path in the folder
    parts: tuple[int, ...] = ()  # the size of each
    parts_path: str = ""

    def each_part(self) -> Iterator[bytes]:
        if not self.parts:
            return
        with open(self.parts_path, "rb") as file:
            for size in self.parts:
                file.readline()
                yield file.read(size)
                file.read(1)


class StateBranch:
    """One branch of one repository.

    `marks` are files that only such a branch has; `profile` says which user the forge wants before the token.
    """

    def __init__(
        self, url: str, branch: str, *, token: str | None, folder: str, environ: Mapping[str, str],
        marks: Collection[str] = (), timeout_s: float = 300, profile: ForgeProfile = DEFAULT, token_advice: str = "",
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:  # fmt: skip
        self._marks = frozenset(marks)
        self._parts: list[str] = []  # blobs of what was pulled last
        self._address = parse_address(url)
        if token and not (token.isascii() and token.isprintable()):  # a line break would be another header
            raise ConfigError(f"the token for {self._address.host} contains invalid characters", hint="copy it again")
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
        blobs, parts = self._list_blobs(commit)
        self._check_owner(commit, blobs)
        place = os.path.join(self._folder, commit)
        os.makedirs(place, exist_ok=True)
        files = {name: os.path.join(place, name) for name in blobs}
        for name, blob in blobs.items():
            self._ask("cat-file", "blob", blob, into=files[name])
        self._parts = [blob for blob, _ in parts]
        path = os.path.join(place, "all-parts")
        if parts:
            feed = "".join(f"{blob}\n" for blob in self._parts)
            self._ask("cat-file", "--batch=%(objectsize)", "--buffer", feed=feed, into=path)
        return Pulled(commit, files, tuple(size for _, size in parts), path)

    def push(
        self, files: Mapping[str, str], *, expected: str | None, message: str, parts: Sequence[str | None] = ()
    ) -> str:
        """Replace the branch with one commit of these files and return it. `parts`: a path for each that is new, None
        for one that is as it was pulled.

        `expected` is the commit that was pulled, None when there was no branch; StateMoved when it is another by now.
        """
        check_files(files, len(parts))
        old = checked_commit(expected) if expected else ""
        ref = f"refs/heads/{self.name}"
        commit = self._commit(files, parts, message)
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
        # --thin: what the server has is not sent again, though this commit has no parent.
        return self._talk("push", "--porcelain", "--no-verify", "--thin", *options, self._address.url, refspec)

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
            self._marks.isdisjoint(names)
        ):
            raise self._not_ours()

    def _list_blobs(self, commit: str) -> tuple[dict[str, str], list[tuple[str, int]]]:
        """Return name -> blob of what was pulled, and its parts; raises StateRefused for a branch that is not ours."""
        rows = self._ask("ls-tree", "-r", "-z", "-l", commit).split("\0")[:-1]
        blobs: dict[str, str] = {}
        parts: list[tuple[str, int]] = []
        for row in rows:
            about, _, name = row.partition("\t")
            mode, _, blob, size = about.split()
            is_part = _PART.match(name)
            if (
                mode not in ("100644", "100755")
                or not (is_part or _NAME.match(name))
                or int(size) > (MAX_PART if is_part else MAX_FILE)
            ):
                raise self._not_ours()
            if is_part:
                parts.append((blob, int(size)))
            else:
                blobs[name] = blob
        if len(blobs) > MAX_FILES:
            raise self._not_ours()
        return blobs, parts

    def _not_ours(self) -> LoreError:
        return StateRefused(
            f"the branch {self.name} contains something other than an index and was left untouched",
            hint="choose another name with the input index-branch; if nobody needs this branch, delete it",
        )

    def _commit(self, files: Mapping[str, str], parts: Sequence[str | None], message: str) -> str:
        paths = [os.path.abspath(path) for path in (*files.values(), *filter(None, parts))]
        feed = "".join(f"{path}\n" for path in paths)
        blobs = iter(self._ask("hash-object", "-w", "--no-filters", "--stdin-paths", feed=feed).split())
        entries = {name: next(blobs) for name in files}
        for at, path in enumerate(parts):
            entries[f"parts/{at >> 8:02x}/{at & 255:02x}"] = next(blobs) if path else self._parts[at]
        self._ask("read-tree", "--empty")
        rows = [f"100644 blob {blob}\t{name}\0" for name, blob in entries.items()]
        self._ask("update-index", "-z", "--index-info", feed="".join(rows))
        tree = self._ask("write-tree").strip()
        subject = " ".join(message.replace("\0", " ").split())
        if SKIP_CI not in subject:
            subject = f"{subject} {SKIP_CI}".strip()
        return self._ask("commit-tree", tree, feed=subject + "\n").strip()


def checked_branch(name: str) -> str:
    """Return the name of a branch that is valid in git and harmless in an argument; raises InvalidValue."""
    if not is_branch_name(name):
        raise InvalidValue(
            f"not a valid name for the index branch: {name!r}", hint="write something like forgelore-index"
        )
    return name


def checked_commit(commit: str) -> str:
    if not _COMMIT.match(commit):
        raise InvalidValue(f"{commit!r} is not a commit", hint="give the commit that was pulled")
    return commit


def check_files(files: Mapping[str, str], parts: int = 0) -> None:
    """Raise before anything is pushed that could not be pushed or pulled again."""
    for name, path in files.items():
        if not _NAME.match(name):
            raise InvalidValue(f"{name!r} cannot be a file of the index branch", hint="use letters, digits, - _ .")
        size = os.path.getsize(path)
        if size > MAX_FILE:
            raise StateRefused(
                f"{name} has {size >> 20} MB; forges accept files of up to {MAX_FILE >> 20} MB",
                hint=TOO_LARGE,
            )
    if parts > MAX_PARTS:
        raise StateRefused(f"the index has {parts:,} parts; at most {MAX_PARTS:,} are pushed", hint=TOO_LARGE)
    if not 0 < len(files) <= MAX_FILES:
        raise InvalidValue(f"the index has {len(files)} files", hint=f"at most {MAX_FILES} can be pushed")


def _spellings(token: str, credentials: str) -> tuple[str, ...]:
    """Return the ways in which a server could repeat the token."""
    return token, base64.b64encode(credentials.encode()).decode()
