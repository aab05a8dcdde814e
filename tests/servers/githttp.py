"""Repositories over HTTP: `git http-backend` behind the standard library's server, with a token and with trouble on demand.

python tests/servers/githttp.py FOLDER [TOKEN]      prints its address, serves until its standard input closes

A test makes repositories with `create`, looks into them with `git`, and changes the server's mood with its attributes:
what it answers, whom it redirects to, and what happens around the pushes. Bodies are streamed, pushes run side by side.
"""

import base64
import contextlib
import http.server
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import threading
import urllib.parse

BLOCK = 1 << 16
OWN = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull}  # a server knows nothing of its client's settings
# As on a forge, the pack that came is kept. Exploding and recompressing it would be measured as ours.
CONFIG = (
    "[core]\n\trepositoryformatversion = 0\n\tbare = true\n[http]\n\treceivepack = true\n[receive]\n\tunpackLimit = 1\n"
)


def has_backend() -> bool:
    """True when this machine's git can serve."""
    if not shutil.which("git"):
        return False
    folder = subprocess.run(["git", "--exec-path"], capture_output=True, text=True, check=True).stdout.strip()
    return os.path.exists(os.path.join(folder, "git-http-backend"))


def create_repository(path: pathlib.Path) -> None:
    """Make an empty bare repository, as `git init` would in a tenth of the time."""
    for folder in ("objects", "refs/heads", "hooks"):
        (path / folder).mkdir(parents=True)
    (path / "HEAD").write_text("ref: refs/heads/main\n")
    (path / "config").write_text(CONFIG)


class GitServer:
    """Serves the bare repositories below a folder on 127.0.0.1; use as a context manager."""

    def __init__(self, root, *, token: str | None = None):
        self.root = pathlib.Path(root)
        self.token = token
        self.heard: list[tuple[str, dict[str, str]]] = []  # "GET /path", headers with lower-case names
        self.status: int | None = None  # answer everything with this …
        self.bad_answers = 1 << 60  # … so many times …
        self.words = ""  # … with this text, which git shows as the remote's
        self.redirect_to: str | None = None  # the address of another server
        self.race_at = 0  # the number of the push before which a rival moves the branches
        self.meeting: threading.Barrier | None = None  # pushes wait for each other inside the server
        self.hang_up_after_push = False  # the push happens, the answer is lost
        self.stall: threading.Event | None = None  # requests wait for it
        self.pushes = 0
        self.received = 0  # bytes of pushes
        self.lock = threading.Lock()
        self._httpd: http.server.ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        host, port = self._httpd.server_address[:2]
        return f"http://{host}:{port}"

    def __enter__(self):
        self._httpd = _Server(("127.0.0.1", 0), _handler_for(self))
        threading.Thread(target=self._httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def __exit__(self, *exc):
        if self.stall:
            self.stall.set()
        self._httpd.shutdown()
        self._httpd.server_close()

    def create(self, name: str) -> str:
        """Make an empty repository that takes pushes, and return its address."""
        create_repository(self.root / name)
        return f"{self.url}/{name}"

    def set(self, name: str, key: str, value: str) -> None:
        self.git(name, "config", key, value)

    def git(self, name: str, *words: str, feed: str = "") -> str:
        """Run git in a repository, as its owner would on the server, and return what it printed."""
        identity = ["-c", "user.name=rival", "-c", "user.email=rival@example.org"]
        command = ["git", "-C", str(self.root / name), *identity, *words]
        done = subprocess.run(
            command, input=feed, capture_output=True, text=True, check=True, env={**os.environ, **OWN}
        )
        return done.stdout.strip()

    def refuse_pushes(self, name: str, text: str) -> None:
        """A pre-receive hook that says `text` and declines, as rulesets and push rules do."""
        hook = self.root / name / "hooks" / "pre-receive"
        hook.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\nexit 1\n", encoding="utf-8")
        hook.chmod(hook.stat().st_mode | stat.S_IXUSR)

    def move(self, name: str) -> None:
        """A rival's commit on every branch."""
        for ref in self.git(name, "for-each-ref", "--format=%(refname)", "refs/heads").split():
            commit = self.git(name, "commit-tree", f"{ref}^{{tree}}", "-p", ref, "-m", "rival")
            self.git(name, "update-ref", ref, commit)

    def is_welcome(self, authorization: str) -> bool:
        if not self.token:
            return True
        kind, _, value = authorization.partition(" ")
        with contextlib.suppress(ValueError):
            return kind.lower() == "basic" and base64.b64decode(value).decode().partition(":")[2] == self.token
        return False

    def take_bad_answer(self) -> bool:
        with self.lock:
            self.bad_answers -= 1
            return self.bad_answers >= 0

    def before_push(self, path: str) -> None:
        with self.lock:
            self.pushes += 1
            is_raced = self.pushes == self.race_at
        if is_raced:
            self.move(path.strip("/").rpartition("/")[0])
        if self.meeting:
            self.meeting.wait(timeout=30)


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        """A client that was killed is what some tests are about; stay quiet."""


def _handler_for(server: GitServer):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self):
            server.heard.append((f"{self.command} {self.path}", {k.lower(): v for k, v in self.headers.items()}))
            if server.stall:
                server.stall.wait(timeout=30)
            if server.redirect_to:
                self.say(302, headers={"Location": server.redirect_to + self.path})
            elif server.status and server.take_bad_answer():
                self.say(server.status, server.words)
            elif not server.is_welcome(self.headers.get("authorization", "")):
                self.say(401, headers={"WWW-Authenticate": 'Basic realm="git"'})
            else:
                self.serve()

        def say(self, status, text="", headers=()):
            for _ in self.blocks():
                pass
            self.send_response(status)
            for name, value in {"Content-Type": "text/plain", **dict(headers)}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(text.encode())))
            self.end_headers()
            self.wfile.write(text.encode())

        def serve(self):
            path = urllib.parse.unquote(urllib.parse.urlsplit(self.path).path)
            is_probe = self.headers.get("content-length") == "4"  # git asks with "0000" before a large push
            is_push = self.command == "POST" and path.endswith("/git-receive-pack") and not is_probe
            if is_push:
                server.before_push(path)
            with subprocess.Popen(
                ["git", "http-backend"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                env=self.environ(path),
            ) as backend:
                for block in self.blocks():
                    server.received += len(block) * is_push
                    with contextlib.suppress(BrokenPipeError):
                        backend.stdin.write(block)
                with contextlib.suppress(BrokenPipeError):
                    backend.stdin.close()
                if is_push and server.hang_up_after_push:
                    backend.stdout.read()
                    self.close_connection = True
                    return
                self.pass_on(backend.stdout)

        def environ(self, path):
            return {
                **os.environ,
                **OWN,
                "GIT_PROJECT_ROOT": str(server.root.resolve()),
                "GIT_HTTP_EXPORT_ALL": "1",
                "PATH_INFO": path,
                "QUERY_STRING": urllib.parse.urlsplit(self.path).query,
                "REQUEST_METHOD": self.command,
                "CONTENT_TYPE": self.headers.get("content-type", ""),
                "CONTENT_LENGTH": self.headers.get("content-length", ""),
                "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
                "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
                "REMOTE_USER": "somebody",
                "REMOTE_ADDR": "127.0.0.1",
            }

        def blocks(self):
            """Yield the body of the request, chunked or not."""
            if "chunked" not in self.headers.get("transfer-encoding", ""):
                yield from self.read(int(self.headers.get("content-length") or 0))
                return
            while size := int(self.rfile.readline().split(b";")[0], 16):
                yield from self.read(size)
                self.rfile.readline()
            self.rfile.readline()

        def read(self, size):
            while size and (block := self.rfile.read(min(size, BLOCK))):
                size -= len(block)
                yield block

        def pass_on(self, out):
            """A CGI answer becomes an HTTP answer."""
            headers = []
            while line := out.readline().strip().decode():
                headers.append(line.split(": ", 1))
            status = next((int(value.split()[0]) for name, value in headers if name.lower() == "status"), 200)
            self.send_response(status)
            for name, value in headers:
                if name.lower() != "status":
                    self.send_header(name, value)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            while block := out.read1(BLOCK):
                self.wfile.write(b"%x\r\n%s\r\n" % (len(block), block))
            self.wfile.write(b"0\r\n\r\n")

        def log_message(self, *args):
            pass

        do_GET = do_POST = respond

    return Handler


if __name__ == "__main__":
    with GitServer(sys.argv[1], token=(sys.argv[2:] or [None])[0]) as served:
        print(served.url, flush=True)
        sys.stdin.read()
