"""The one HTTP client: who gets the token, which certificate and which proxy are used, how waits are told and kept."""

import contextlib
import http.server
import random
import socket
import ssl
import threading
import urllib.request

import pytest
import trustme

from forgelore.errors import ConfigError, ForgeError, RateLimited
from forgelore.net.client import Client
from servers.base import ForgeServer, Response
from support import Elsewhere, FakeTime, raised

SECRET = "s3cret-t0ken"


class Echo(ForgeServer):
    """Answers with the headers it was sent."""

    kind = "echo"
    record_to = None  # no forge: its traffic keeps no contract

    def handle(self, request) -> Response:
        return Response(200, {"headers": request.headers, "path": request.path, "query": request.query})


@pytest.fixture
def echo():
    with Echo() as server:
        yield server


@contextlib.contextmanager
def connected(url, **options):
    time = FakeTime()
    clocks = {"sleep": time.sleep, "clock": time.clock, "wall_clock": time.wall_clock}
    settings = {"rate": 100, "jitter": lambda: 0.0, **clocks, **options}
    client = Client(url, {}, secret_headers={"Authorization": f"Bearer {SECRET}"}, **settings)
    client.time = time
    try:
        yield client
    finally:
        client.close()


def test_the_token_is_sent_to_its_own_origin(echo):
    with connected(echo.url) as client:
        assert b'"authorization": "Bearer ***"' in client.get("/x").body


@pytest.mark.parametrize(
    "form", ["{other}/x", "http://localhost:{port}/x", "https://{netloc}/x", "http://{netloc}@{other_netloc}/x"]
)
def test_no_other_origin_is_asked_at_all(echo, form):
    """Another port, another name of the same machine, another scheme, a name in the place of a password."""
    with Elsewhere() as other, connected(echo.url) as client:
        port = echo.netloc.rpartition(":")[2]
        url = form.format(other=other.url, port=port, netloc=echo.netloc, other_netloc=other.netloc)
        with raised(ForgeError, says="no token leaves"):
            client.get(url)
        echo.fail(path="/moved", status=302, headers={"Location": url}, body={})
        with raised(ForgeError, says="no token leaves"):
            client.get("/moved")
        assert other.requests == []
        assert len(echo.requests) == 1


def test_a_post_keeps_its_method_and_body_through_a_redirect(echo):
    echo.fail(path="/old", status=307, headers={"Location": "/new"}, body={})
    with connected(echo.url) as client:
        client.post_json(f"{echo.url}/old", {"query": "x"})
    assert [(r["method"], r["url"], r["body"]) for r in echo.requests] == [
        ("POST", "/old", '{"query":"x"}'),
        ("POST", "/new", '{"query":"x"}'),
    ]


def test_a_redirect_keeps_the_question_unless_it_brings_its_own(echo):
    echo.fail(path=r"/old\?", status=301, headers={"Location": "/new"}, body={})
    echo.fail(path="/older", status=301, headers={"Location": "/new?c=3"}, body={})
    with connected(echo.url) as client:
        client.get("/old", {"a": "1", "b": "2"})
        client.get("/older", {"a": "1"})
    assert [r["url"] for r in echo.requests if "/new" in r["url"]] == ["/new?a=1&b=2", "/new?c=3"]


@pytest.mark.parametrize("url", ["http://example.org", "http://10.0.0.1:80", "http://127.0.0.1.example.org"])
def test_plain_http_is_for_loopback_only(url):
    with raised(ConfigError, hint="https"), connected(url):
        pass


@pytest.mark.parametrize("token", ["line\nbreak", "nul\x00", "ümlaut", "tab\t"])
def test_a_token_that_no_header_can_hold_is_refused_without_being_shown(echo, token):
    """The library would quote it in its error."""
    with raised(ConfigError, says="token", hint="copy it again") as caught:
        Client(echo.url, {}, secret_headers={"Authorization": f"Bearer {token}"})
    assert token not in f"{caught[0].message}{caught[0].hint}"


def test_a_token_that_is_said_back_is_blotted_out(echo):
    """In whatever answer: it would reach a message or a stored payload."""
    with connected(echo.url) as client:
        assert SECRET.encode() not in client.get("/x").body
        echo.fail(path="/y", status=403, body={"message": f"you sent {SECRET}"})
        assert b"you sent ***" in client.get("/y").body


def test_waits_are_told_before_they_begin(echo):
    told = []
    echo.fail(path="/x", status=429, headers={"Retry-After": "30"}, times=1)
    with connected(echo.url, on_wait=lambda seconds, reason: told.append((seconds, reason))) as client:
        client.get("/x")
        assert told == [(30, "asked to wait")]
        assert sum(client.time.waits) >= 30


def test_retries_are_a_little_later_by_chance_and_never_earlier(echo):
    """Those that a broken server turned away together do not come back together."""
    fixed = [1, 2, 4, 8]

    def waits(seed):
        echo.fail(path="/x", status=502, times=len(fixed))
        with connected(echo.url, jitter=random.Random(seed).random) as client:
            assert client.get("/x").status == 200
            return client.time.waits

    first, again, other = waits(1), waits(1), waits(2)
    assert first == again != other
    for waited in (first, other):
        assert all(least < seconds <= least * 1.25 for least, seconds in zip(fixed, waited, strict=True))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
@pytest.mark.parametrize(("asked", "most"), [(1, 1.25), (30, 37.5), (600, 610)])
def test_what_a_server_asks_for_is_never_undercut(echo, share, asked, most):
    told = []
    echo.fail(path="/x", status=429, headers={"Retry-After": str(asked)}, times=1)
    with connected(echo.url, jitter=lambda: share, on_wait=lambda seconds, _: told.append(seconds)) as client:
        client.get("/x")
        waited = sum(client.time.waits)
    assert asked <= waited <= most
    assert told == [waited], "people are told how long it really is"


def test_a_limit_that_may_just_be_sat_out_still_is(echo):
    """The longest wait that is allowed is compared with what was asked, without the chance on top."""
    echo.fail(path="/x", status=429, headers={"Retry-After": "600"}, times=1)
    with connected(echo.url, max_wait_s=600, jitter=lambda: 1.0) as client:
        assert client.get("/x").status == 200


def test_a_limit_pauses_everybody(echo):
    """The next request, of whatever thread, starts after the pause."""
    with connected(echo.url) as client:
        client._pace.pause(25)
        client.get("/x")
        assert client.time.clock() >= 25


def test_the_pace_is_kept(echo):
    with connected(echo.url, rate=4) as client:
        for _ in range(9):
            client.get("/x")
        assert client.time.clock() == pytest.approx(2.0)


def test_endless_limits_end(echo):
    echo.fail(path="/x", status=429, headers={"Retry-After": "1"})
    with connected(echo.url) as client, raised(RateLimited, says="keeps limiting", hint="nothing was lost"):
        client.get("/x")


def test_a_longer_wait_than_allowed_is_an_error_that_says_how_long(echo):
    echo.fail(path="/x", status=403, headers={"Retry-After": "1800"}, body={})
    with connected(echo.url, max_wait_s=600) as client:
        with raised(RateLimited, says="30 min to go", hint="30 min") as caught:
            client.get("/x")
        assert (caught[0].wait_s, client.time.waits) == (1800, [])


def test_the_forges_clock_is_known_after_the_first_answer(echo):
    with connected(echo.url) as client:
        assert client.server_ms is None
        client.get("/x")
        assert abs(client.server_ms - echo.clock.now().timestamp() * 1000) < 1000


# certificates


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def https(authority):
    """An HTTPS server on loopback whose certificate comes from our own authority."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Length", "2")
            self.end_headers()
            self.wfile.write(b"{}")

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.handle_error = lambda *args: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def ca_file(authority, tmp_path):
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(str(path))
    return str(path)


def test_an_unknown_authority_is_refused(https):
    with connected(https) as client, raised(ForgeError, says="CERTIFICATE_VERIFY_FAILED", hint="certificate"):
        client.get("/x")


def test_ssl_cert_file_names_a_private_authority(https, ca_file, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", ca_file)
    with connected(https) as client:
        assert client.get("/x").status == 200


def test_the_ca_file_setting_does_too(https, ca_file):
    with connected(https, ca_file=ca_file) as client:
        assert client.get("/x").status == 200


def test_a_ca_file_that_cannot_be_read_is_named(https, tmp_path):
    for content in (None, "not a certificate"):
        path = tmp_path / "bad.pem"
        if content:
            path.write_text(content)
        with raised(ConfigError, says=str(path), hint="ca_file"), connected(https, ca_file=str(path)):
            pass


def test_a_bad_ssl_cert_file_is_a_configuration_error(https, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", "/nowhere/ca.pem")
    with raised(ConfigError, says="SSL_CERT_FILE"), connected(https):
        pass


# proxies


class Proxy:
    """A tiny proxy: forwards plain HTTP, tunnels CONNECT, and remembers what it was asked for."""

    def __init__(self):
        seen = self.seen = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append((self.command, self.path, self.headers.get("authorization")))
                request = urllib.request.Request(
                    self.path, headers={"authorization": self.headers.get("authorization", "")}
                )
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                with opener.open(request) as answer:
                    body = answer.read()
                self.send_response(200)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_CONNECT(self):
                seen.append((self.command, self.path, self.headers.get("authorization")))
                host, _, port = self.path.partition(":")
                with socket.create_connection((host, int(port))) as upstream:
                    self.send_response(200)
                    self.end_headers()
                    back = threading.Thread(target=pump, args=(upstream, self.connection), daemon=True)
                    back.start()
                    pump(self.connection, upstream)
                    back.join()

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *args: None
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def pump(source, target):
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


@pytest.fixture
def proxy():
    running = Proxy()
    yield running
    running.close()


def test_http_proxy_is_honoured(echo, proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    with connected(echo.url) as client:
        assert client.get("/x").status == 200
    assert [entry[:2] for entry in proxy.seen] == [("GET", f"{echo.url}/x")]


def test_https_goes_through_a_tunnel_that_sees_no_token(https, ca_file, proxy, monkeypatch):
    monkeypatch.setenv("HTTPS_PROXY", proxy.url)
    with connected(https, ca_file=ca_file) as client:
        assert client.get("/x").status == 200
    assert proxy.seen == [("CONNECT", https.removeprefix("https://"), None)]


def test_no_proxy_is_honoured(echo, proxy, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1,example.org")
    with connected(echo.url) as client:
        assert client.get("/x").status == 200
    assert proxy.seen == []


@pytest.mark.parametrize("value", ["foo://127.0.0.1:1", "http://127.0.0.1:bad"])
def test_a_proxy_setting_that_makes_no_sense_is_a_configuration_error(echo, value, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", value)
    with raised(ConfigError, says="proxy"), connected(echo.url):
        pass


def test_a_whole_sync_goes_through_a_proxy(github, proxy, monkeypatch):
    """Redirects and GraphQL are not among what this little proxy can do: releases and labels are."""
    monkeypatch.setenv("HTTP_PROXY", proxy.url)
    github.project.add_release("v1")
    app = github.new_app("")
    github.sync(app, kinds=("release",))
    assert any("/releases" in path for _, path, _ in proxy.seen)
    assert {entry["kind"] for entry in github.stored(app)} == {"release"}
