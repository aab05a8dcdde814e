"""How long does an agent wait for the MCP server, and how much does it have to read?

A client starts the server, says hello and asks: by lines on its standard input, as clients do. Wall time is what people
wait for; CPU says how much of it is work, on a machine that does other things as well.
"""

import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence

from lib.common import clean_environ, forgelore, report, table, verdict
from startup import script

ROUNDS = 15
MAX_START_S = 1.5
MAX_TOKENS = 3_000
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}
CALLS = {
    "search, 20 results": ("search", {"query": "files come back after a sync", "limit": 20}),
    "read": ("read", {"ref": "#41"}),
    "show": ("show", {"ref": "#41"}),
    "similar": ("similar", {"ref": "#41", "limit": 20}),
    "sync_status": ("sync_status", {}),
}


def main(arguments: list[str]) -> None:
    rounds = int(arguments[0]) if arguments else ROUNDS
    with tempfile.TemporaryDirectory() as folder:
        db = pathlib.Path(folder) / "demo.db"
        environ = clean_environ(pathlib.Path(folder), FORGELORE_DB=str(db))
        forgelore("demo", "--keep", str(db), environ=environ)
        starts = [take_start(environ) for _ in range(rounds)]
        answers = take_answers(environ)
    report("agents", "What an agent waits for and reads", [starting(starts), *answering(answers)], " ".join(arguments))


class Server:
    """A server that is talked to by lines."""

    def __init__(self, environ: dict[str, str], program: Sequence[str] = (), words: Sequence[str] = ()) -> None:
        command = [*(program or script()), "mcp", *words]
        self._process = subprocess.Popen(
            command, env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        self._last = 0

    def ask(self, method: str, params: dict) -> dict:
        self._last += 1
        self._send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})
        answer = json.loads(self._process.stdout.readline())
        assert answer["id"] == self._last, answer
        return answer["result"]

    def greet(self) -> None:
        self.ask("initialize", HELLO)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})

    def cpu_s(self) -> float:
        """What it has cost until now, by Linux's own count."""
        fields = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def close(self) -> None:
        self._process.communicate(timeout=30)
        assert self._process.returncode == 0

    def _send(self, message: dict) -> None:
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()


def take_start(environ: dict[str, str]) -> tuple[float, float]:
    """Wall seconds until the server has said hello, CPU seconds of its whole life."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    started = time.monotonic()
    server = Server(environ)
    server.greet()
    waited = time.monotonic() - started
    server.close()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return waited, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def take_answers(environ: dict[str, str]) -> dict[str, tuple[float, float, int, int]]:
    """First and further wall seconds, characters of text and of text with data (`--structured`), of each call."""
    server, programs = Server(environ), Server(environ, words=["--structured"])
    server.greet()
    programs.greet()
    found = {}
    for name, (tool, given) in CALLS.items():
        times = []
        for _ in range(21):
            started = time.monotonic()
            answer = server.ask("tools/call", {"name": tool, "arguments": given})
            times.append(time.monotonic() - started)
        text = answer["content"][0]["text"]
        data = programs.ask("tools/call", {"name": tool, "arguments": given})["structuredContent"]
        both = len(text) + len(json.dumps(data, ensure_ascii=False))
        found[name] = (times[0], statistics.median(times[1:]), len(text), both)
    tools = [len(json.dumps(one.ask("tools/list", {}), ensure_ascii=False)) for one in (server, programs)]
    found["the list of tools"] = (0, 0, tools[0], tools[1])
    server.close()
    programs.close()
    return found


def starting(starts: list[tuple[float, float]]) -> str:
    rows = []
    for name, place in (("until hello, wall", 0), ("whole life, CPU", 1)):
        values = sorted(start[place] for start in starts)
        median, high = statistics.median(values), statistics.quantiles(values, n=20)[-1]
        target = f"< {MAX_START_S}: {verdict(median, MAX_START_S, at_most=True)}"
        rows.append([name, f"{median:.2f}", f"{values[0]:.2f}", f"{high:.2f}", target])
    return table([f"starting, {len(starts)} times", "seconds, median", "least", "95 %", "target"], rows)


def answering(answers: dict[str, tuple[float, float, int, int]]) -> list[str]:
    rows = []
    for name, (first, further, text, both) in answers.items():
        target = f"< {MAX_TOKENS}: {verdict(text / 4, MAX_TOKENS, at_most=True)}" if name.startswith("search") else ""
        rows.append([name, f"{first * 1000:.0f}", f"{further * 1000:.1f}", round(text / 4), round(both / 4), target])
    head = ["answer", "first, ms", "further, ms", "tokens", "with --structured", "target"]
    note = (
        "On the database of `forgelore demo`, with the built-in embedder. A token is four characters. The load was"
        f" {os.getloadavg()[0]:.0f} on {os.cpu_count()} cores; where it is higher than that, wall time is mostly"
        " waiting for one."
    )
    return [table(head, rows), note]
