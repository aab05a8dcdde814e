"""How git runs: with nothing of the user's or the machine's, and the token for one host alone.

Every setting travels in the environment of the process (GIT_CONFIG_COUNT, git 2.31 or newer); the token is in no
argument, no URL and no file. Redirects are not followed, because git would go on sending our header to the new host:
http.<url>.* is chosen by the first address.

A clone brings its own configuration, and some of its settings are commands. So in somebody's clone only plumbing that
reads objects is used (rev-parse, rev-list, ls-tree, cat-file, diff-tree): no hooks, filters, pager, diff drivers or
working tree. What is missing from a partial clone is not fetched: no protocol is allowed.
"""

import base64
import contextlib
import os
import re
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from typing import IO, NamedTuple
from urllib.parse import urlsplit

from forgelore.errors import ConfigError, ForgeError, NotFound
from forgelore.text.refs import is_loopback, without_userinfo

OLDEST = (2, 31)
AUTHOR = "forgelore"
ADDRESS = "noreply@forgelore.invalid"

# What of the caller's environment git may see; above all no GIT_*, no HOME and no *_ASKPASS.
_KEPT = ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP", "TMP")
_CERTIFICATES = {
    "SSL_CERT_FILE": "GIT_SSL_CAINFO",
    "GIT_SSL_CAINFO": "GIT_SSL_CAINFO",
    "GIT_SSL_CAPATH": "GIT_SSL_CAPATH",
}
_PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")
_STATE_SETTINGS = {
    "core.hooksPath": os.devnull,
    "credential.helper": "",  # empties the list
    "http.followRedirects": "false",
    "http.sslVerify": "true",
    # The files are compressed already: git is to store, hash and stream them, and nothing else.
    "core.compression": "0",
    "pack.window": "0",
    "core.bigFileThreshold": "1m",
    "fetch.unpackLimit": "1",
    "core.fsync": "none",  # the scratch repository dies with the run
    "gc.auto": "0",
    "maintenance.auto": "false",
    "fetch.recurseSubmodules": "false",
    "push.recurseSubmodules": "no",
}
_PLAIN_URL = re.compile(r"(?P<scheme>https?|file)://[^\s\\]+\Z")


class GitResult(NamedTuple):
    code: int
    out: str
    err: str


class Address(NamedTuple):
    """Where the repository is. `root` is what the token belongs to; "" for a folder."""

    url: str
    host: str
    root: str


def parse_address(url: str) -> Address:
    """Return the address without name and password; raises ConfigError unless it is https, loopback or a folder."""
    url = without_userinfo(url.strip())
    split = urlsplit(url)
    if not _PLAIN_URL.match(url) or not url.isprintable() or "@" in split.netloc:
        raise ConfigError("the repository's address is not an https:// URL", hint="write https://HOST/OWNER/REPO.git")
    host = split.netloc.lower()
    if split.scheme == "http" and not is_loopback(host):
        raise ConfigError(f"refusing plain http:// to {host}", hint="use https://; http:// is for loopback only")
    return Address(url, host or "this machine", f"{split.scheme}://{host}/" if host else "")


class Git:
    """The git program in a bare repository of its own."""

    def __init__(
        self, address: Address, folder: str, *, credentials: str | None, environ: Mapping[str, str], timeout_s: float
    ) -> None:
        self.repository = os.path.join(folder, "state.git")
        self._folder, self._host, self._timeout_s = folder, address.host, timeout_s
        self._environ = build_environ(address, folder, credentials=credentials, environ=environ)
        self._check_version()
        done = self.run("init", "--quiet", "--bare", "--template=", self.repository)
        if done.code:
            raise ForgeError(
                "git could not create a repository for the index", hint="check that the disk is not full or read-only"
            )
        self._environ["GIT_DIR"] = self.repository

    def run(self, *words: str, feed: str = "", into: str = "") -> GitResult:
        """Run git to its end. `feed` is its input, `into` a path that takes its output instead of `out`."""
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(open(into, "wb")) if into else subprocess.PIPE
            try:
                process = subprocess.Popen(  # noqa: S603 - our own words, and addresses that were checked
                    ["git", *words],  # noqa: S607 - where git is differs from machine to machine
                    stdin=subprocess.PIPE, stdout=out, stderr=subprocess.PIPE,
                    env=self._environ, cwd=self._folder, start_new_session=True,
                )  # fmt: skip
            except FileNotFoundError as error:
                raise ConfigError("git is not on PATH", hint="install git") from error
            stack.enter_context(process)
            said, err = self._finish(process, feed.encode())
        return GitResult(process.returncode, _text(said), _text(err))

    def _finish(self, process: "subprocess.Popen[bytes]", feed: bytes) -> tuple[bytes | None, bytes]:
        try:
            return process.communicate(feed, timeout=self._timeout_s)
        except subprocess.TimeoutExpired as error:
            end_all(process)
            hint = "try again later; nothing was lost"
            raise ForgeError(f"{self._host} took longer than {self._timeout_s:g} s over git", hint=hint) from error
        except BaseException:  # Ctrl-C: the helper that talks to the forge is a child of git and would go on
            end_all(process)
            raise

    def _check_version(self) -> None:
        found = re.search(r"(\d+)\.(\d+)", self.run("--version").out)
        if found and (int(found[1]), int(found[2])) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise ConfigError(f"git {found[0]} is too old for the index branch", hint=f"install git {needed} or newer")


def build_environ(
    address: Address, folder: str, *, credentials: str | None, environ: Mapping[str, str]
) -> dict[str, str]:
    """Return all that git gets to know. `credentials` is `user:token`."""
    is_near = not address.root or is_loopback(address.host)  # a proxy has no business on the way to this machine
    names = (*_KEPT, *(() if is_near else (*_PROXIES, *map(str.lower, _PROXIES))))
    kept = {name: environ[name] for name in names if name in environ}
    kept |= {ours: os.path.abspath(environ[name]) for name, ours in _CERTIFICATES.items() if environ.get(name)}
    settings = dict(_STATE_SETTINGS)
    if credentials and address.root:
        encoded = base64.b64encode(credentials.encode()).decode()
        settings[f"http.{address.root}.extraHeader"] = f"Authorization: Basic {encoded}"
    for number, (name, value) in enumerate(settings.items()):
        kept |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return kept | {
        "GIT_CONFIG_COUNT": str(len(settings)),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "",
        "GIT_ALLOW_PROTOCOL": urlsplit(address.url).scheme,
        "GIT_AUTHOR_NAME": AUTHOR,
        "GIT_AUTHOR_EMAIL": ADDRESS,
        "GIT_COMMITTER_NAME": AUTHOR,
        "GIT_COMMITTER_EMAIL": ADDRESS,
        "HOME": folder,
        "XDG_CONFIG_HOME": folder,
        "LC_ALL": "C",  # its words are read
    }


def end_all(process: "subprocess.Popen[bytes]") -> None:
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()


def _text(output: bytes | None) -> str:
    return (output or b"").decode("utf-8", "replace")


TIMEOUT_S = 300.0  # of one call: each reads a bounded part
MAX_OUTPUT = 256 << 20  # bytes of one answer: a tree with a million files has 100 MB
MAX_COMPLAINT = 4_000
_NOWHERE = Address("none://", "this machine", "")
_READ_SETTINGS = {
    "safe.directory": "*",  # whose clone it is does not matter where nothing in it runs
    "core.fsmonitor": "false",
    "core.commitGraph": "false",  # a file that a clone may lie in
    "diff.renames": "false",
    "core.quotePath": "false",
}


def read_environ(folder: str, environ: Mapping[str, str]) -> dict[str, str]:
    """Return all that git gets to know when it reads a clone."""
    found = build_environ(_NOWHERE, folder, credentials=None, environ=environ)
    count = int(found["GIT_CONFIG_COUNT"])
    for number, (name, value) in enumerate(_READ_SETTINGS.items(), count):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found | {
        "GIT_CONFIG_COUNT": str(count + len(_READ_SETTINGS)),
        "GIT_ALLOW_PROTOCOL": "none",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "GIT_OPTIONAL_LOCKS": "0",
    }


class GitReader:
    """The git program in a folder. Raises ForgeError for what git refuses."""

    def __init__(
        self, folder: str, environ: Mapping[str, str], *, timeout_s: float = TIMEOUT_S, max_output: int = MAX_OUTPUT
    ) -> None:
        self.folder, self._timeout_s, self._max_output = folder, timeout_s, max_output
        self._environ = dict(environ)

    def ask(self, *words: str, feed: bytes = b"", most: int | None = None) -> bytes:
        """Return what git says, of a long answer the first `most` bytes. Raises ForgeError with its own words when it
        fails.
        """
        code, out, err = self.run(*words, feed=feed, most=most)
        if code and not (most is not None and len(out) >= most):  # it was ended
            said = err.decode("utf-8", "replace").strip().splitlines()
            hint = "is the clone whole? run: git fsck"
            raise ForgeError(f"git {words[0]} failed in {self.folder}: {said[-1] if said else code}", hint=hint)
        return out

    def run(self, *words: str, feed: bytes = b"", most: int | None = None) -> tuple[int, bytes, bytes]:
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as complaints:
            given.write(feed)
            given.seek(0)
            with self._start(words, given, complaints) as process:
                timer = threading.Timer(self._timeout_s, end_all, [process])
                timer.start()
                try:
                    out = self._read(process, most)
                except BaseException:  # Ctrl-C
                    end_all(process)
                    raise
                finally:
                    is_late = not timer.is_alive()
                    timer.cancel()
            if is_late:
                raise ForgeError(f"git took longer than {self._timeout_s:g} s in {self.folder}")
            complaints.seek(0)
            return process.returncode, out, complaints.read(MAX_COMPLAINT)

    def _start(self, words: tuple[str, ...], given: IO[bytes], complaints: IO[bytes]) -> "subprocess.Popen[bytes]":
        try:
            return subprocess.Popen(  # noqa: S603 - our own words, and ids that git itself gave
                ["git", *words],  # noqa: S607 - where git is differs from machine to machine
                stdin=given, stdout=subprocess.PIPE, stderr=complaints,
                env=self._environ, cwd=self.folder, start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError as error:
            if not os.path.isdir(self.folder):
                raise NotFound(f"folder not found: {self.folder}", hint="give the path of a clone") from error
            raise ConfigError("git is not on PATH", hint="install git") from error
        except NotADirectoryError as error:
            raise NotFound(f"{self.folder} is not a folder", hint="give the path of a clone") from error

    def _read(self, process: "subprocess.Popen[bytes]", most: int | None) -> bytes:
        """Return the output. A tree of a few objects can name itself a billion times: reading ends somewhere."""
        assert process.stdout is not None
        parts, size = [], 0
        while part := process.stdout.read(1 << 20):
            parts.append(part)
            size += len(part)
            if most is not None and size >= most:
                end_all(process)
                break
            if size > self._max_output:
                end_all(process)
                hint = "the repository may be crafted to exhaust memory"
                raise ForgeError(f"git's output for {self.folder} exceeds {self._max_output >> 20} MB", hint=hint)
        process.wait()
        return b"".join(parts)[:most]

    def check_version(self) -> None:
        found = re.search(rb"(\d+)\.(\d+)", self.ask("--version"))
        if found and (int(found[1]), int(found[2])) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise ConfigError(f"git {found[0].decode()} is too old", hint=f"install git {needed} or newer")
