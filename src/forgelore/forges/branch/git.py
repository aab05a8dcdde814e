"""How git runs for the state branch: with nothing of the user's or the machine's, and the token for one host alone.

Every setting travels in the environment of the process (GIT_CONFIG_COUNT, git 2.31 or newer): nothing is read from a
configuration file, and the token is in no argument, no URL and no file. Redirects are not followed, because git would
go on sending our header to the new host once it has been redirected: http.<url>.* is chosen by the first address.
"""

import base64
import contextlib
import os
import re
import signal
import subprocess
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlsplit

from forgelore.core.names import is_loopback, without_userinfo
from forgelore.errors import ConfigError, ForgeError

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
_SETTINGS = {
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
            raise ForgeError("git cannot make a repository for the index", hint="is the disk full or read-only?")
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
                raise ConfigError("the program git is not on PATH", hint="install git") from error
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
    settings = dict(_SETTINGS)
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
