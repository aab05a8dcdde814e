"""The part that both local forges share: a real HTTP server with a clock, faults, a recorder and rate limits.

A forge subclasses `ForgeServer` and answers `handle(request) -> Response`. Everything a client can see goes
over a real socket on loopback. Tests reach the state through plain Python methods of the subclass, under
`server.lock`; a subprocess reaches it through HTTP alone.

Faults (first match wins; the vocabulary is the one of the contract proxy):
    {"method": "GET", "path": "regex on path?query", "skip": 0, "times": 1, "status": 502, "headers": {}, "body": {} or "text",
     "status_after": 502, "then": callable, "delay": 0.5, "drop": true, "drop_after": true, "truncate": 0.5, "drop_headers": ["link"], "set_headers": {},
     "json": [["/0/body", null], ["/*/user", null]]}
Without "status" the forge answers and its answer is altered; with "status_after" it acts and then says that. "then" is
called once the fault has happened: what people do while a client waits.
"""

import contextlib
import dataclasses
import datetime as dt
import hashlib
import http.server
import json
import pathlib
import re
import threading
import time
import urllib.parse

UTC = dt.UTC


class Clock:
    """The server's own time: it stands still unless a test (or `tick_s` per request) moves it."""

    def __init__(self, start: str = "2026-03-01T12:00:00Z", tick_s: float = 0.0):
        self._now = parse_time(start)
        self.tick_s = tick_s

    def now(self) -> dt.datetime:
        return self._now

    def advance(self, seconds: float) -> None:
        self._now += dt.timedelta(seconds=seconds)

    def set(self, text: str) -> None:
        self._now = parse_time(text)


def parse_time(text: str) -> dt.datetime:
    return dt.datetime.fromisoformat(text.replace("Z", "+00:00")).astimezone(UTC)


@dataclasses.dataclass
class Request:
    method: str
    path: str  # still %-encoded, without the query
    query: dict[str, list[str]]
    headers: dict[str, str]  # lower-case names
    body: bytes
    base: str  # http://127.0.0.1:port as the client spelled it

    def arg(self, name: str, default: str | None = None) -> str | None:
        return self.query.get(name, [default])[-1]

    def json(self):
        return json.loads(self.body) if self.body else None


@dataclasses.dataclass
class Response:
    status: int = 200
    body: object = None  # None, bytes, str, or anything JSON can say
    headers: dict[str, str] = dataclasses.field(default_factory=dict)

    def pieces(self, sent: bytes):
        """How the body goes over the wire: at once, or bit by bit."""
        yield sent

    def payload(self) -> bytes:
        if self.body is None:
            return b""
        if isinstance(self.body, bytes):
            return self.body
        if isinstance(self.body, str):
            return self.body.encode("utf-8", "surrogatepass")
        return json.dumps(self.body).encode()  # ASCII: lone surrogates travel as escapes


class ForgeServer:
    """A stateful forge on 127.0.0.1; use as a context manager or call `start()` and `stop()`."""

    kind = "forge"
    record_to: pathlib.Path | None = None  # set by conftest: a folder that collects traffic for the contract checks

    def __init__(self, clock: Clock | None = None):
        self.clock = clock or Clock()
        self.lock = threading.RLock()
        self.faults: list[dict] = []
        self.requests: list[dict] = []  # every exchange, in the contract tools' line format
        self._httpd: http.server.ThreadingHTTPServer | None = None

    # What a subclass answers.
    def handle(self, request: Request) -> Response:
        raise NotImplementedError

    @property
    def url(self) -> str:
        host, port = self._httpd.server_address[:2]
        return f"http://{host}:{port}"

    @property
    def netloc(self) -> str:
        return self.url.removeprefix("http://")

    def start(self, port: int = 0) -> "ForgeServer":
        self._httpd = _Server(("127.0.0.1", port), _handler_for(self))
        threading.Thread(target=self._httpd.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        return self

    def stop(self) -> None:
        if self._httpd:
            self._httpd.shutdown()
            self._httpd.server_close()
        if self.record_to and self.requests:
            name = f"{self.kind}-{id(self)}-{time.monotonic_ns()}.jsonl"
            lines = [json.dumps(r) for r in self.requests]
            (self.record_to / name).write_text("\n".join(lines) + "\n", encoding="utf-8")

    def __enter__(self):
        return self.start()

    def __exit__(self, *exc):
        self.stop()

    def paths(self, since: int = 0) -> list[str]:
        """`GET /path?query` of each exchange from number `since` on, for assertions about traffic."""
        return [f"{r['method']} {r['url']}" for r in self.requests[since:]]

    def fail(self, **rule) -> dict:
        """Add a fault rule; returns it so that a test can remove it again."""
        self.faults.append(rule)
        return rule

    def find_fault(self, method: str, target: str) -> dict:
        for rule in self.faults:
            if rule.get("method", method) == method and re.search(rule.get("path", ""), target):
                rule["_seen"] = rule.get("_seen", 0) + 1
                nth = rule["_seen"] - rule.get("skip", 0)
                if 0 < nth <= rule.get("times", 1 << 60):
                    return rule
        return {}

    def _act(self, request: Request, fault: dict) -> Response:
        if fault.get("drop"):
            return Response(0)
        status = fault.get("status", fault.get("status_after"))
        if "status" not in fault:
            with self.lock:
                response = self.handle(request)
        if status is None:
            return response
        return Response(status, fault.get("body", {"message": "fault"}), dict(fault.get("headers", {})))

    def answer(self, request: Request, target: str) -> tuple[Response, dict]:
        with self.lock:
            self.clock.advance(self.clock.tick_s)
            fault = self.find_fault(request.method, target)
        if fault.get("delay"):
            time.sleep(fault["delay"])
        response = self._act(request, fault)
        if fault.get("then"):
            with self.lock:
                fault["then"]()
        if fault.get("drop") or "status" in fault:
            return response, fault
        if fault.get("json") and response.status == 200:
            document = json.loads(response.payload())
            for pointer, value in fault["json"]:
                alter(document, pointer, value)
            response.body = document
        dropped = {h.lower() for h in fault.get("drop_headers", ())}
        response.headers = {k: v for k, v in response.headers.items() if k.lower() not in dropped}
        response.headers.update(fault.get("set_headers", {}))
        return response, fault


def conditional(request: Request, response: Response) -> Response:
    """A weak ETag over the body (and the token, as on GitHub); 304 without a body when the client has it."""
    salt = request.headers.get("authorization", "") + request.headers.get("private-token", "")
    tag = 'W/"' + hashlib.sha256(response.payload() + salt.encode()).hexdigest()[:40] + '"'
    if request.headers.get("if-none-match") == tag:
        keep = {k: v for k, v in response.headers.items() if k.lower() != "content-type"}
        return Response(304, None, {**keep, "ETag": tag})
    response.headers["ETag"] = tag
    return response


def alter(document, pointer: str, value) -> None:
    """Set a JSON pointer; `*` means every element; {"$repeat": ["x", 65536]} makes a long string."""
    if isinstance(value, dict) and "$repeat" in value:
        value = value["$repeat"][0] * value["$repeat"][1]
    head, _, rest = pointer.strip("/").partition("/")
    keys = (
        range(len(document))
        if head == "*" and isinstance(document, list)
        else list(document)
        if head == "*"
        else [head]
    )
    for key in keys:
        key = int(key) if isinstance(document, list) else key
        if isinstance(document, list) and key >= len(document):
            continue
        if rest:
            alter(document[key], rest, value)
        else:
            document[key] = value


class _Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, request, client_address):
        """A client that was killed mid-request is what several tests are about; stay quiet."""


def _handler_for(forge: ForgeServer):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True  # headers and body leave in two writes; 40 ms each otherwise

        def respond(self):
            length = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(length) if length else b""
            split = urllib.parse.urlsplit(self.path)
            headers = {k.lower(): v for k, v in self.headers.items()}
            request = Request(
                self.command,
                split.path,
                urllib.parse.parse_qs(split.query, keep_blank_values=True),
                headers,
                body,
                f"http://{headers.get('host', forge.netloc)}",
            )
            response, fault = forge.answer(request, self.path)
            data = response.payload()
            self.note(request, response, fault, data)
            if fault.get("drop") or fault.get("drop_after"):
                self.close_connection = True
                with contextlib.suppress(OSError):
                    self.connection.shutdown(2)
                return
            self.write(response, data, fault)

        def write(self, response, data, fault):
            sent = data[: int(len(data) * fault["truncate"])] if "truncate" in fault else data
            self.send_response(response.status)
            self.send_header("Date", forge.clock.now().strftime("%a, %d %b %Y %H:%M:%S GMT"))
            for name, value in response.headers.items():
                self.send_header(name, value)
            bodiless = response.status in (204, 304)
            if not bodiless:
                self.send_header("Content-Length", str(len(data)))
                if not any(k.lower() == "content-type" for k in response.headers):
                    self.send_header("Content-Type", "application/json; charset=utf-8")
            if len(sent) != len(data):
                self.close_connection = True
            self.end_headers()
            if not bodiless and self.command != "HEAD":
                with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                    for piece in response.pieces(sent):
                        self.wfile.write(piece)
                        self.wfile.flush()

        def note(self, request, response, fault, data):
            secret = ("authorization", "private-token", "job-token", "cookie")
            line = {
                "method": request.method,
                "url": self.path,
                "headers": {k: "***" if k in secret else v for k, v in request.headers.items()},
                "body": request.body.decode("utf-8", "replace") or None,
                "status": response.status,
                "fault": {k: v for k, v in fault.items() if k not in ("_seen", "then")} or None,
                "response_headers": dict(response.headers),
                "response_body": data.decode("utf-8", "replace") or None,
            }
            with forge.lock:
                forge.requests.append(line)

        # send_response writes its own Date from the machine's clock; ours comes from the forge's.
        def send_response(self, code, message=None):
            self.log_request(code)
            self.send_response_only(code, message)
            self.send_header("Server", "local-forge")

        def log_message(self, *args):
            pass

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = respond

    return Handler
