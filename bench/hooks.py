"""Webhooks in bursts: `python bench/run.py hooks [SECONDS]`.

`forgelore serve` takes deliveries of a local GitHub at 200 a second, sent when their time has come whether or not
earlier ones were answered (open loop), each 12 KB, signed, with an id of its own; one in ten is sent twice. While they
come, the project is synced from that GitHub. Measured are the answers, and how long after the last one nothing waits.
"""

import concurrent.futures
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from lib.common import clean_environ, report, table, verdict

RATE, SECONDS, SENDERS, REPEATED = 200, 30, 32, 10
SECRET = "a-secret-of-the-server"
PATIENCE_S = 120
NOTE = """Sender, GitHub and server share the two cores. Load average before: {load:.1f}."""


def main(arguments: list[str]) -> None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
    from support import GitHubLab

    seconds = int(arguments[0]) if arguments else SECONDS
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as home, GitHubLab(pathlib.Path(home)) as lab:
        lab.project.add_issue("First", "It was there", author="zoe")
        lab.sync()
        command = [sys.executable, "-m", "forgelore", "serve", "--port", "0", "--sync-every", "0"]
        own = {"FORGELORE_WEBHOOK_SECRET": SECRET, "FORGELORE_REQUESTS_PER_SECOND": "100"}
        env = clean_environ(pathlib.Path(home), **lab.environ(lab.good_token), **own)
        db = lab.app.config.db
        with subprocess.Popen([*command, "--db", db], env=env, stderr=subprocess.PIPE, text=True) as server:
            try:
                port = int(re.search(r":(\d+)", server.stderr.readline().partition("//")[2])[1])
                address = ask_address(port)
                answers = send(port, address, seconds)
                late = lab.project.add_issue("Last", "It came with the last delivery", author="zoe")
                answers += send(port, address, 1)
                settled_s = wait_until_settled(pathlib.Path(f"{db}-deliveries"))
                seen = get(port, f"/item/%23{late}")
            finally:
                server.terminate()
    times = [one for one, _ in answers]
    accepted = sum(status == 202 for _, status in answers)
    cuts = statistics.quantiles(times, n=1000)
    p50, p99 = cuts[499], cuts[989]
    rows = [
        ["deliveries sent", len(answers), "", ""],
        ["of these accepted", accepted, len(answers), verdict(accepted, len(answers), at_most=False)],
        ["an answer, p50, ms", p50, "", ""],
        ["an answer, p99, ms", p99, 1000, verdict(p99, 1000, at_most=True)],
        ["the slowest answer, ms", max(times), 1000, verdict(max(times), 1000, at_most=True)],
        ["from the last answer until nothing waits, s", settled_s, "", ""],
        ["the last change can be seen", int(seen == 200), 1, verdict(int(seen == 200), 1, at_most=False)],
    ]
    text = table(["what", "measured", "target", ""], rows)
    report("hooks", "Webhooks in bursts", [f"{RATE} a second for {seconds} s", text, NOTE.format(load=load)],
           " ".join(arguments))  # fmt: skip


def get(port: int, path: str) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", path)
    return connection.getresponse().status


def ask_address(port: int) -> str:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request("GET", "/api/v1/projects")
    return json.loads(connection.getresponse().read())["data"][0]["project"]


def send(port: int, address: str, seconds: int) -> list[tuple[float, int]]:
    """Return milliseconds from when each delivery was due to its answer, and the answer's status."""
    body = json.dumps({"action": "opened", "repository": {"html_url": address}, "text": "x" * 12_000}).encode()
    signature = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    run, mine = os.urandom(4).hex(), threading.local()
    began = time.monotonic() + 0.2

    def deliver(at: int) -> tuple[float, int]:
        due = began + at / RATE
        time.sleep(max(0.0, due - time.monotonic()))
        if not hasattr(mine, "connection"):
            mine.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        ident = f"{run}-{at - at % REPEATED if at % REPEATED == 1 else at}"
        headers = {"x-hub-signature-256": signature, "x-github-delivery": ident, "content-type": "application/json"}
        mine.connection.request("POST", "/hooks", body, headers)
        answer = mine.connection.getresponse()
        answer.read()
        return (time.monotonic() - due) * 1000, answer.status

    with concurrent.futures.ThreadPoolExecutor(SENDERS) as threads:
        return list(threads.map(deliver, range(RATE * seconds)))


def wait_until_settled(path: pathlib.Path) -> float:
    """Wait until the last line that says what a sync has read names the last delivery."""
    began = time.monotonic()
    while time.monotonic() < began + PATIENCE_S:
        lines = path.read_text(encoding="utf-8").splitlines()
        last = max(at for at, line in enumerate(lines, 1) if line.startswith("+"))
        if any(line.startswith("- ") and int(line.split()[1]) >= last for line in lines):
            return time.monotonic() - began
        time.sleep(0.1)
    raise AssertionError("deliveries still wait")
