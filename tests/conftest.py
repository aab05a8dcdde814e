"""What every test stands on: an empty home, no way out of the machine, three local forges, and a recorder of their traffic.

FORGELORE_TRAFFIC names a folder that keeps every exchange as JSON lines, for the contract checks.
"""

import ipaddress
import os
import pathlib
import socket
import sys

import httpx
import pytest
from hypothesis import HealthCheck, settings

sys.path.insert(0, str(pathlib.Path(__file__).parent))

from servers.base import ForgeServer
from support import ForgejoLab, GitHubLab, GitLabLab

# Nothing here asserts on time: on a busy machine the first text that is drawn takes seconds.
settings.register_profile("untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("untimed")

OURS = (
    "FORGELORE_",
    "GITHUB_",
    "GH_",
    "GITLAB_",
    "GLAB_",
    "FORGEJO_",
    "GITEA_",
    "CI_",
    "SSL_CERT_",
    "INPUT_",
    "RUNNER_",
    "TRIGGER_",
)
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


NO_SKIPS = os.environ.get("FORGELORE_NO_SKIPS") == "1"  # our own CI has everything that any test needs


def pytest_configure(config):
    """With `make coverage-surfaces`, leave the processes that tests start unmeasured, since many are killed or may not
    write; servers for agents are handed what coverage reads (tests/agents/talking.py).
    """
    if os.environ.get("FORGELORE_MEASURED") == "surfaces" and hasattr(config, "workerinput"):
        os.environ["COVERAGE_OF_SERVERS"] = os.environ.pop("COVERAGE_PROCESS_CONFIG", "")


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session, exitstatus):
    """Where nothing may be skipped, a skipped test is a failure."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    skipped = reporter.stats.get("skipped", []) if reporter else []
    if NO_SKIPS and skipped:
        print(f"\n{len(skipped)} tests were skipped, and nothing may be skipped here: {skipped[0].nodeid}")
        session.exitstatus = 1


@pytest.fixture(scope="session")
def shared():
    """The folder with the official descriptions and sample deliveries, beside the repository."""
    folder = pathlib.Path(__file__).parents[2] / "shared"
    if not folder.is_dir():
        pytest.skip("../shared (official API descriptions and samples) is not beside this clone")
    return folder


@pytest.fixture(scope="session", autouse=True)
def traffic(tmp_path_factory):
    """Collect what the local forges heard and said."""
    named = os.environ.get("FORGELORE_TRAFFIC")
    folder = pathlib.Path(named).absolute() if named else tmp_path_factory.mktemp("traffic")
    folder.mkdir(parents=True, exist_ok=True)
    ForgeServer.record_to = folder
    yield folder
    ForgeServer.record_to = None


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home of its own: no settings, tokens or proxies of the person who runs the tests."""
    for name in list(os.environ):
        if name == "FORGELORE_TRAFFIC" or name.startswith("CI_RUNNER"):
            continue
        if name.startswith(OURS) or name.upper() in PROXIES:
            monkeypatch.delenv(name)
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    # A model takes seconds to load; a test that is about vectors names its own embedder.
    monkeypatch.setenv("FORGELORE_EMBEDDER", "none")
    monkeypatch.setenv("FORGELORE_SECOND_EMBEDDER", "none")
    monkeypatch.chdir(tmp_path)  # the repository's own origin must not answer for a test's project
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture(scope="session", autouse=True)
def certificates_once():
    """Reading the system's certificates takes 40 ms a client: once is enough, unless a test brings its own."""
    place = httpx._transports.default
    read, known = place.create_ssl_context, {}

    def read_once(verify=True, cert=None, trust_env=True):
        if verify is not True or cert or any(name.startswith("SSL_CERT_") for name in os.environ):
            return read(verify=verify, cert=cert, trust_env=trust_env)
        if "context" not in known:
            known["context"] = read(trust_env=False)
        return known["context"]

    place.create_ssl_context = read_once
    yield
    place.create_ssl_context = read


@pytest.fixture(autouse=True)
def no_way_out(monkeypatch):
    """Any connection to an address that is not this machine fails the test that makes it."""
    connect, look_up = socket.socket.connect, socket.getaddrinfo

    def guarded_connect(self, address):
        if self.family in (socket.AF_INET, socket.AF_INET6) and not is_loopback(address[0]):
            raise AssertionError(f"a test tried to reach {address}")
        return connect(self, address)

    def guarded_look_up(host, *args, **kwargs):
        name = host.decode() if isinstance(host, bytes) else host
        if name is not None and not is_loopback(name):
            raise AssertionError(f"a test tried to look up {name}")
        return look_up(host, *args, **kwargs)

    monkeypatch.setattr(socket.socket, "connect", guarded_connect)
    monkeypatch.setattr(socket, "getaddrinfo", guarded_look_up)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host in ("localhost", "")


@pytest.fixture
def github(tmp_path, home):
    """A GitHub with the project `acme/web`, and an App that reads it with a good token."""
    with GitHubLab(tmp_path) as lab:
        yield lab


@pytest.fixture
def gitlab(tmp_path, home):
    """A GitLab with the project `group/app`, and an App that reads it with a good token."""
    with GitLabLab(tmp_path) as lab:
        yield lab


@pytest.fixture
def forgejo(tmp_path, home):
    """A Forgejo with the project `acme/web`, and an App that reads it with a good token."""
    with ForgejoLab(tmp_path) as lab:
        yield lab
