"""What the action installs, once for all tests that run it."""

import fcntl
import os
import pathlib
import subprocess
import sys

import pytest

from action.runner import Machine, run_action


@pytest.fixture(scope="session")
def pip_settings():
    """How pip reaches its index on this machine; a bare HOME would hide it. Read before a test empties the environment."""
    keep = ("PIP_", "SSL_CERT_")
    found = {
        name: value for name, value in os.environ.items() if name.startswith(keep) or name.lower().endswith("_proxy")
    }
    cache = subprocess.run([sys.executable, "-m", "pip", "cache", "dir"], capture_output=True, text=True, check=True)
    found["PIP_CACHE_DIR"] = cache.stdout.strip()
    for place in ("~/.config/pip/pip.conf", "~/.pip/pip.conf"):
        if os.path.exists(os.path.expanduser(place)):
            found.setdefault("PIP_CONFIG_FILE", os.path.expanduser(place))
    return found


@pytest.fixture(scope="session")
def installed(tmp_path_factory, pip_settings):
    """A machine on which the action's steps up to the installation ran, as on a cache miss: once, whatever the workers."""
    root = tmp_path_factory.getbasetemp()
    root = root.parent if "PYTEST_XDIST_WORKER" in os.environ else root
    with open(root / "action.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        folder, log = root / "action-machine", root / "action-install.txt"
        if not log.exists():
            result = run_action(Machine(folder, **pip_settings), until="install")
            assert result.steps["install"]["outputs"] == {"ready": "true"}, result.log
            log.write_text(f"{result.steps['python']['outputs']['key']}\n{result.log}")
    return Installed(folder, log)


class Installed:
    """`python`: the environment the action made; `wheels`: what it downloaded; `key`: of its cache; `log` of the steps."""

    def __init__(self, machine: pathlib.Path, log: pathlib.Path):
        self.machine = machine
        self.python, self.wheels = machine / "temp" / "forgelore-python", machine / "temp" / "forgelore-wheels"
        self.key, _, self.log = log.read_text().partition("\n")

    def put_on(self, machine: Machine) -> None:
        """Save a machine the installation: its own was done in this session, with the same steps."""
        (machine.temp / "forgelore-python").symlink_to(self.python)
