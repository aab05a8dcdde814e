"""A `forgelore` that kills itself with SIGKILL at a chosen step. Reads orders on standard input and answers each with its result:

    {"point": "none", "log": "n.json", "arguments": ["sync", "acme/web", "--db", "x.db"], …}      runs to the end and counts steps
    {"point": "write:37", …}      dies in the middle of the 37th write to a file

Each order is run by a process of its own, forked from this one, which has done nothing yet but import modules: starting Python two
hundred times would take longer than all the syncs.

The product is not changed: steps are counted outside it, in SQLite's file layer, in the trace of its statements and in the HTTP
library. A `statement` dies before it runs (BEGIN and COMMIT among them), a `write` after half of its bytes (the write-ahead log,
the database file during a checkpoint), a `sync` before it, a `request` before it is sent, an `answer` before anybody has seen it.
"""

import json
import os
import pathlib
import resource
import signal
import sys
import threading
from collections import Counter

import apsw
import httpx

KINDS = ("statement", "write", "sync", "request", "answer")


class Steps:
    """Counts what happens and ends the process at the wanted moment."""

    def __init__(self, log: pathlib.Path, wanted: str):
        self.log = log
        self.kind, _, number = wanted.partition(":")
        self.number = int(number or 0)
        self.counts: Counter[str] = Counter()
        self.guard = threading.Lock()

    def reached(self, kind: str) -> bool:
        with self.guard:
            self.counts[kind] += 1
            return kind == self.kind and self.counts[kind] == self.number

    def take(self, kind: str, about: str = "") -> None:
        if self.reached(kind):
            self.die(kind, about)

    def die(self, kind: str, about: str) -> None:
        where = {"kind": kind, "thread": threading.current_thread().name, "about": about[:60]}
        self.log.write_text(json.dumps(where), encoding="utf-8")
        os.kill(os.getpid(), signal.SIGKILL)
        threading.Event().wait()  # never a step further, in this thread


def watch_files(steps: Steps) -> None:
    """Put ourselves between SQLite and its files."""

    class File(apsw.VFSFile):
        def __init__(self, name, flags):
            super().__init__("unix", name, flags)
            self.shown = os.path.basename(name.filename() if isinstance(name, apsw.URIFilename) else name or "")

        def xWrite(self, data, offset):
            if steps.reached("write"):
                super().xWrite(bytes(data[: len(data) // 2]), offset)
                steps.die("write", self.shown)
            super().xWrite(data, offset)

        def xSync(self, flags):
            steps.take("sync", self.shown)
            super().xSync(flags)

    class Files(apsw.VFS):
        def __init__(self):
            super().__init__("watched", "unix", makedefault=True)

        def xOpen(self, name, flags):
            return File(name, flags)

    watch_files.kept = Files()  # SQLite holds no reference of its own


def watch_statements(steps: Steps) -> None:
    def trace(_cursor, sql, _bindings):
        steps.take("statement", sql)
        return True

    def hook(connection):
        connection.exec_trace = trace

    apsw.connection_hooks.append(hook)


def watch_requests(steps: Steps) -> None:
    send = httpx.Client.send

    def sent(self, request, **how):
        steps.take("request", str(request.url))
        answer = send(self, request, **how)
        steps.take("answer", str(request.url))
        return answer

    httpx.Client.send = sent


def run(order: dict) -> int:
    """The whole life of a victim, from its own standard output to its exit code."""
    for number, path in ((0, os.devnull), (1, order["out"]), (2, order["err"])):
        os.dup2(os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), number)
    os.chdir(order.get("cwd", "."))
    os.environ.clear()
    os.environ.update(order["environ"])
    limit_space(order.get("pages", 0), order.get("largest_file", 0))
    if order.get("no_waits"):
        never_sleep()
    if not order["point"]:
        return forgelore(order["arguments"])
    steps = Steps(pathlib.Path(order["log"]), order["point"])
    watch_files(steps)
    watch_statements(steps)
    watch_requests(steps)
    code = forgelore(order["arguments"])
    steps.log.write_text(json.dumps(steps.counts), encoding="utf-8")
    return code


def limit_space(pages: int, largest_file: int) -> None:
    """Let SQLite run out of pages, or the kernel refuse a write past a size (as `ulimit -f` does, with the signal ignored)."""
    if pages:
        apsw.connection_hooks.append(lambda connection: connection.execute(f"PRAGMA max_page_count={pages}"))
    if largest_file:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))


def never_sleep() -> None:
    """Retries and paces at once: half a minute of patience with a broken forge is tested elsewhere."""
    from forgelore.app import App

    App._sleep = lambda _self, _seconds: None


def forgelore(arguments: list[str]) -> int:
    from forgelore.surfaces.cli.main import main

    return main(arguments)


def main() -> None:
    import_everything()
    for line in sys.stdin:
        order = json.loads(line)
        child = os.fork()
        if child == 0:
            code = 70
            try:
                code = run(order)
            finally:
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(code)
        _, status = os.waitpid(
            child, 0
        )  # nobody is left behind as a zombie: a lock would still count its process as living
        print(os.waitstatus_to_exitcode(status), flush=True)


def import_everything() -> None:
    """All of the product, imported once; no module of it opens a connection, a thread or a file by being imported."""
    import importlib
    import pkgutil

    import forgelore

    for module in pkgutil.walk_packages(forgelore.__path__, "forgelore."):
        importlib.import_module(module.name)


if __name__ == "__main__":
    main()
