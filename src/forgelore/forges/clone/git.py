"""How git runs in somebody's clone: read-only, and without running anything that the clone names.

A clone brings its own configuration, and some of its settings are commands. Only plumbing that reads objects is used
(rev-parse, rev-list, ls-tree, cat-file, diff-tree): no hooks, no filters, no pager, no diff drivers, no working tree.
What is missing from a partial clone is not fetched, because that would run what its remote names: no protocol is
allowed. Settings of the user and the machine are left out, as in `forges/branch/git`.
"""

import os
import re
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from typing import IO

from forgelore.errors import ConfigError, ForgeError, NotFound
from forgelore.forges.branch.git import OLDEST, Address, build_environ, end_all

TIMEOUT_S = 300.0  # of one call: each reads a bounded part
MAX_OUTPUT = 256 << 20  # bytes of one answer: a tree with a million files has 100 MB
MAX_COMPLAINT = 4_000
_NOWHERE = Address("none://", "this machine", "")
_SETTINGS = {
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
    for number, (name, value) in enumerate(_SETTINGS.items(), count):
        found |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return found | {
        "GIT_CONFIG_COUNT": str(count + len(_SETTINGS)),
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
                raise NotFound(f"there is no folder {self.folder}", hint="give the path of a clone") from error
            raise ConfigError("the program git is not on PATH", hint="install git") from error
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
                hint = "it may have been made to fill memory"
                raise ForgeError(f"{self.folder} holds more than {self._max_output >> 20} MB in one answer", hint=hint)
        process.wait()
        return b"".join(parts)[:most]

    def check_version(self) -> None:
        found = re.search(rb"(\d+)\.(\d+)", self.ask("--version"))
        if found and (int(found[1]), int(found[2])) < OLDEST:
            needed = ".".join(map(str, OLDEST))
            raise ConfigError(f"git {found[0].decode()} is too old", hint=f"install git {needed} or newer")
