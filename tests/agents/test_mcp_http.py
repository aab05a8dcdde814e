"""Who may ask the HTTP server: programs on this machine, by its own address, with the token where one is wanted."""

import contextlib
import http.client
import json
import socket
from urllib.parse import urlsplit

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from talking import connected, http_server

TOKEN = "correct-horse-battery"
HELLO = {
    "jsonrpc": "2.0", "id": 1, "method": "initialize",
    "params": {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}},
}  # fmt: skip


@pytest.fixture(scope="module")
def address(store, place):
    with http_server(store, place) as (_, url):
        yield url


@pytest.fixture(scope="module")
def locked(store, place):
    with http_server(store, place, FORGELORE_MCP_TOKEN=TOKEN) as (_, url):
        yield url


def post(url, *headers, method="POST"):
    """Send a request with exactly these headers, and return status and body."""
    parts = urlsplit(url)
    body = json.dumps(HELLO).encode()
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=10)
    connection.putrequest(method, parts.path, skip_host=True, skip_accept_encoding=True)
    given = [("Host", parts.netloc)] if not any(name == "Host" for name, _ in headers) else []
    plain = [("Content-Type", "application/json"), ("Accept", "application/json, text/event-stream")]
    for name, value in (*given, *plain, *headers, ("Content-Length", str(len(body)))):
        connection.putheader(name, value)
    connection.endheaders(body)
    answer = connection.getresponse()
    found = answer.status, answer.read().decode()
    connection.close()
    return found


def test_programs_on_this_machine_may_ask(address):
    status, body = post(address)
    assert status == 200
    assert '"forgelore"' in body
    assert post(address, ("Origin", address.removesuffix("/mcp")))[0] == 200


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "127.0.0.1.evil.example:{port}", "localhost:{port}@evil.example", ""]
)  # fmt: skip
def test_another_host_is_refused(address, host, method):
    status, body = post(address, ("Host", host.format(port=urlsplit(address).port)), method=method)
    assert status == 403
    assert "forgelore" not in body


def test_two_hosts_are_refused(address):
    good = urlsplit(address).netloc
    assert post(address, ("Host", good), ("Host", "evil.example"))[0] in (400, 403)


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "http://localhost.evil.example:{port}", "null", "http://127.0.0.1", "https://127.0.0.1:{port}", "file://"]
)  # fmt: skip
def test_another_origin_is_refused(address, origin):
    assert post(address, ("Origin", origin.format(port=urlsplit(address).port)))[0] == 403


def test_it_listens_on_the_loopback_address_alone(address):
    with socket.socket() as other:
        other.bind(("127.0.0.2", urlsplit(address).port))  # free, so nobody listens on every address


@pytest.mark.parametrize(
    "header", [None, "", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}x", TOKEN, "Bearer \xff"]
)
def test_without_the_token_nothing_is_answered(locked, header):
    status, body = post(locked, *([("Authorization", header)] if header is not None else []))
    assert status == 401
    assert TOKEN not in body


@contextlib.asynccontextmanager
async def with_token(url):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {TOKEN}"}) as client:
        async with streamable_http_client(url, http_client=client) as streams:
            yield streams


def test_with_the_token_everything_is(locked):
    assert post(locked, ("Authorization", f"Bearer {TOKEN}"))[0] == 200
    with connected(with_token(locked)) as agent:
        assert "#1 " in agent.text("search", query="forgets files")


def test_a_token_may_stand_in_a_file(store, place):
    file = place / "token"
    file.write_text(f"{TOKEN}\n")
    with http_server(store, place, "--token-file", str(file)) as (_, url):
        assert post(url)[0] == 401
        assert post(url, ("Authorization", f"bearer {TOKEN}"))[0] == 200


def test_a_body_without_end_is_refused(address):
    parts = urlsplit(address)
    answer = httpx2.post(address, content=b"x" * 5_000_000, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert parts.hostname == "127.0.0.1"
