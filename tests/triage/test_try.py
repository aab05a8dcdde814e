"""The walk through the documentation: `make try-triage`."""

import pathlib
import subprocess
import sys

SCRIPT = pathlib.Path(__file__).parents[2] / "scripts" / "try_triage.py"


def test_a_newcomer_gets_from_nothing_to_a_commented_issue():
    done = subprocess.run([sys.executable, str(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "<!-- forgelore:triage:v1 -->" in done.stdout
    assert "QUIC to the relay stalls behind PPPoE" in done.stdout
    assert "All 103 issues and changes" in done.stdout
