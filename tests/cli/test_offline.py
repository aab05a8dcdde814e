"""Commands that need no forge reach nobody and leave nothing in HOME, whatever the libraries below them would like to send.

strace sees what no monkeypatch does: threads of native libraries, look-ups by the C library. The environment is that of a person: on
build machines some libraries keep quiet by themselves.
"""

import ipaddress
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import forgelore

FORGELORE = [sys.executable, "-m", "forgelore.surfaces.cli.main"]
DEMO = str(pathlib.Path(forgelore.__file__).parent / "data" / "demo.jsonl")
SENT = re.compile(r"\b(?:connect|sendto|sendmsg|sendmmsg)\(")
ADDRESS = re.compile(r'sin6?_port=htons\((\d+)\).*?(?:inet_addr\(|inet_pton\(AF_INET6, )"([^"]+)"')
RESOLVER = re.compile(r'sun_path="([^"]*resolve[^"]*)"')
STRACE = shutil.which("strace")
# onnxruntime 1.31 first looks its maker up nine seconds after it was imported.
EMBED_AND_STAY = "import time; from forgelore_minilm.model import MiniLM; MiniLM().embed_query('crash'); time.sleep(12)"


def reached(trace):
    """Return every address off this machine that a trace shows, and every question to a resolver, on this machine too."""
    found = []
    for line in filter(SENT.search, trace.splitlines()):
        found += RESOLVER.findall(line)
        for port, address in ADDRESS.findall(line):
            if port == "53" or not ipaddress.ip_address(address).is_loopback:
                found.append(f"{address} port {port}")
    return found


@pytest.fixture
def run(tmp_path):
    """Run a program under strace as a person would; return whom it reached and what it left in HOME."""
    if not STRACE or subprocess.run([STRACE, "-o", "/dev/null", "true"], capture_output=True).returncode:
        pytest.skip("strace is not installed or not allowed (`make tools` installs it, as root on Debian)")
    place = tmp_path / "home of a person"
    place.mkdir()
    env = {"PATH": os.environ["PATH"], "HOME": str(place), "NO_COLOR": "1"}

    def run_traced(*command):
        trace = tmp_path / "trace"
        traced = [STRACE, "-f", "-qq", "-e", "trace=%network", "-o", str(trace), *command]
        done = subprocess.run(traced, env=env, cwd=tmp_path, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return reached(trace.read_text(errors="replace")), sorted(str(path) for path in place.rglob("*"))

    return run_traced


def test_demo_import_and_embed_reach_nobody_and_leave_home_clean(run, tmp_path):
    db = str(tmp_path / "own.db")
    for words in (
        ["demo"],
        ["import", DEMO, "--project", "lanternsync/lantern", "--db", db],
        ["embed", "--embedder", "minilm", "--full", "--db", db],
        ["search", "removed files", "--rescore", "--limit", "2", "--db", db],
        ["doctor", "--offline", "--db", db],
        ["mcp", "--db", db],
    ):
        assert run(*FORGELORE, *words) == ([], []), words


def test_an_embedder_that_stays_reaches_nobody(run):
    assert run(sys.executable, "-c", EMBED_AND_STAY) == ([], [])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).connect(('192.0.2.7', 9))", ["192.0.2.7 port 9"]),
        ("socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(('::1', 53))", ["::1 port 53"]),
        ("socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', 9))", []),
    ],
)
def test_the_trace_shows_who_would_have_been_reached(run, code, expected):
    """The other tests here prove nothing unless this one passes."""
    program = f"import contextlib, socket\nwith contextlib.suppress(OSError): {code}"
    assert run(sys.executable, "-c", program)[0] == expected
