"""A bad network or a wrong address is told within ten seconds, in words that say what it is."""

import http.server
import os
import ssl
import subprocess
import sys
import threading

import pytest
import trustme

from forgelore.api import make_history
from forgelore.api.fetch import names_to_sync
from forgelore.errors import AuthError, ForgeError, LostPage
from forgelore.viewer import EVERYTHING
from net.test_client import Echo, connected
from support import raised

PORTAL = {"status": 200, "body": "<html>Welcome! Please sign in.</html>", "headers": {"Content-Type": "text/html"}}
SOON_S = 10.0
COUNTED = """
import socket, sys
look_up, asked = socket.getaddrinfo, []
def counted(host, *rest, **more):
    asked.append(host)
    return look_up(host, *rest, **more)
socket.getaddrinfo = counted
from forgelore.surfaces.cli.main import main
code = main(["sync", "acme/web"])
print("looked up:", asked.count("forge.invalid"))
sys.exit(code)
"""


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def lab(request):
    return request.getfixturevalue(request.param)


@pytest.fixture
def echo():
    with Echo() as server:
        yield server


def test_a_captive_portal_is_told_soon(echo):
    echo.fail(**PORTAL)
    with connected(echo.url) as client:
        with raised(LostPage, says="not JSON", hint="sign in to the network"):
            client.get("/repos/acme/web")
        assert client.time.clock() < SOON_S


def test_a_forge_that_has_answered_gets_its_old_patience(echo):
    with connected(echo.url) as client:
        client.get("/x")
        rule = echo.fail(path="/y", **PORTAL)
        with raised(LostPage):
            client.get("/y")
        assert rule["_seen"] > 3


def test_a_name_that_nobody_knows_is_given_up_after_three_tries(tmp_path):
    """A process of its own: nothing here may look up a name."""
    environ = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "GITHUB_API_URL": "https://forge.invalid"}
    done = subprocess.run(
        [sys.executable, "-c", COUNTED], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 6, done.stderr
    assert "cannot be reached" in done.stderr
    assert "looked up: 3\n" in done.stdout


def test_a_server_that_is_not_there_is_told_soon(echo):
    url = echo.url
    echo.stop()
    with connected(url) as client:
        with raised(ForgeError, says="cannot be reached"):
            client.get("/x")
        assert client.time.clock() < SOON_S
    echo.start()


class TlsServer:
    """HTTPS on loopback with a certificate of an authority of its own; says what it was asked."""

    def __init__(self):
        self.authority, self.paths = trustme.CA(), []
        paths = self.paths

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                paths.append(self.path)
                self.send_response(404)
                body = b'{"message": "404 Project Not Found"}'
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.handle_error = lambda *args: None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.authority.issue_cert("127.0.0.1").configure_cert(context)
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        self.thread.start()
        self.url = f"https://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def tls():
    running = TlsServer()
    yield running
    running.server.shutdown()
    running.server.server_close()
    running.thread.join()


def test_a_certificate_that_nobody_trusts_is_not_tried_again(tls):
    with connected(tls.url) as client:
        with raised(ForgeError, says="CERTIFICATE_VERIFY_FAILED", hint="certificate"):
            client.get("/x")
        assert client.time.waits == []


def test_a_server_that_speaks_no_tls_is_not_tried_again(echo):
    with connected(echo.url.replace("http://", "https://")) as client:
        with raised(ForgeError, says="cannot be reached"):
            client.get("/x")
        assert client.time.waits == []


def test_https_to_this_machine_stays_https(tls, tmp_path):
    pem = tmp_path / "ca.pem"
    tls.authority.cert_pem.write_to_path(str(pem))
    environ = {"SSL_CERT_FILE": str(pem), "FORGELORE_CA_FILE": str(pem), "HOME": str(tmp_path)}
    with make_history(environ, cwd=str(tmp_path), db=str(tmp_path / "x.db"), viewer=EVERYTHING) as history:
        with raised(Exception, says="127.0.0.1"):
            history.sync.run(f"{tls.url}/group/app")
    assert tls.paths, "it was spoken to, in TLS"


def test_a_silent_server_is_told_while_it_is_waited_for(echo, monkeypatch):
    import httpx

    from forgelore.net import client as net

    monkeypatch.setattr(net, "FIRST_SILENCE", httpx.Timeout(0.2))
    echo.fail(path="/x", delay=0.5, times=1)
    told = []
    with connected(echo.url, on_wait=lambda seconds, reason: told.append((seconds, reason))) as client:
        assert client.get("/x").status == 200
    assert "has not answered yet" in told[0][1]
    assert told[0][0] >= 5, "long enough for a line in a log"


def test_what_is_blocked_for_legal_reasons_says_so(lab):
    lab.populate()
    body = {
        "message": "Repository access blocked",
        "block": {"reason": "dmca", "html_url": "https://git.example/notice"},
    }
    lab.server.fail(status=451, body=body)
    with raised(AuthError, says="for legal reasons (HTTP 451: dmca)", hint="https://git.example/notice"):
        lab.sync()


@pytest.mark.parametrize("body", [{"status": "ok", "version": 3}, {"id": "a", "full_name": 7}, []])
def test_an_address_that_answers_other_json_is_a_wrong_address(lab, body):
    lab.server.fail(status=200, body=body)
    with raised(LostPage, says="does not answer like the API", hint="check the address") as caught:
        lab.sync()
    assert "report" not in caught[0].hint


def test_a_pattern_says_that_it_waits_for_the_forge(github):
    github.server.fail(path="/orgs/", status=502, body="", times=2)
    told = []
    names = list(names_to_sync(github.app, ["acme/*"], lambda seconds, reason: told.append(reason)))
    assert [name.path for name in names] == ["acme/web"]
    assert told == ["HTTP 502", "HTTP 502"]
