"""How fast is the web page at 100,000 documents: `python bench/run.py web [ITEMS]`.

A process of `forgelore serve` is asked over HTTP by a client in another process, on the same two cores. First 20
searches a second, sent when their time has come whether or not earlier ones were answered (open loop); then as many as
it takes, by eight clients one after the other. Stores are kept in FORGELORE_BENCH_CACHE (or the temporary folder).
"""

import concurrent.futures
import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator

from ingest import CORPUS, replicate
from lib.common import Skipped, clean_environ, forgelore, report, table, verdict

ITEMS = 80_000  # with their threads 100,000 documents
RATE, OPEN_S = 20, 30
CLIENTS, CLOSED_S = 8, 15
WARM = 60
HZ = os.sysconf("SC_CLK_TCK")
NOTE = """The tracker is bitcoin/bitcoin, repeated under other numbers, with documents and vectors of the built-in
embedder; queries are two to five neighbouring words of its titles. The page is the whole page of results, 20 hits with
snippets. CPU is of the server, from /proc; PSS counts mapped vectors once. The client shares the two cores. Load
average before: {load:.1f}."""


def main(arguments: list[str]) -> None:
    items = int(arguments[0]) if arguments else ITEMS
    if not CORPUS.exists():
        raise Skipped("the corpus (../shared/corpora/bitcoin.jsonl.gz) is not on this machine")
    load = os.getloadavg()[0]
    db, titles = get_store(items)
    queries, documents = make_queries(titles), count_documents(db)
    # A copy: what the import beside it writes would be known to the next run, which would have nothing to write.
    with tempfile.TemporaryDirectory() as home, served_copy(db, pathlib.Path(home)) as (server, db):
        first_kb = sum(len(server.get(path)) for path in ("/", *server.files())) / 1e3
        one_mb = server.pss_mb()
        for query in queries[:WARM]:
            server.search(query)
        opened = open_loop(server, queries)
        closed = closed_loop(server, queries)
        threads_mb = server.pss_mb()
        beside = beside_sync(server, queries, db)
    p50, p99 = (cut(opened, share) for share in (0.5, 0.99))
    rows = [
        ["search page, 20 a second, p50, ms", p50, 40, verdict(p50, 40, at_most=True)],
        ["the same, p99, ms", p99, 200, verdict(p99, 200, at_most=True)],
        ["searches a second, eight clients", closed["rate"], "", ""],
        ["searches per CPU second", closed["per_cpu"], 75, verdict(closed["per_cpu"], 75, at_most=False)],
        ["start to first answer, s", server.start_s, 2, verdict(server.start_s, 2, at_most=True)],
        ["first page with its files, KB", first_kb, 100, verdict(first_kb, 100, at_most=True)],
        ["memory after the first page, one reader, MB", one_mb, 120, verdict(one_mb, 120, at_most=True)],
        ["memory after all of this, MB", threads_mb, "", ""],
        ["CPU per search beside an import, times", beside, 1.25, verdict(beside, 1.25, at_most=True)],
    ]
    title = f"{documents:,} documents, {len(queries)} queries"
    report(
        "web",
        "What the web page takes",
        [title, table(["what", "measured", "target", ""], rows), NOTE.format(load=load)],
        " ".join(arguments),
    )


def get_store(items: int) -> tuple[pathlib.Path, list[str]]:
    """Return the database, and titles to ask for; made once."""
    folder = pathlib.Path(os.environ.get("FORGELORE_BENCH_CACHE", tempfile.gettempdir())) / f"forgelore-web-{items}"
    folder.mkdir(exist_ok=True)
    db, source, known = folder / "lore.db", folder / "items.jsonl.gz", folder / "titles.json"
    if not known.exists():
        import gzip

        replicate(source, items)
        forgelore("import", str(source), "--project", "bitcoin/all", "--db", str(db), environ=environ(folder))
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            titles = [json.loads(line)["title"] for line in lines]
        known.write_text(json.dumps(titles), encoding="utf-8")
    return db, json.loads(known.read_text(encoding="utf-8"))


@contextlib.contextmanager
def served_copy(db: pathlib.Path, home: pathlib.Path) -> Iterator[tuple["Server", pathlib.Path]]:
    copy = pathlib.Path(shutil.copytree(db.parent, home / "copy")) / db.name
    with serving(copy, home) as server:
        yield server, copy


def count_documents(db: pathlib.Path) -> int:
    import apsw

    connection = apsw.Connection(str(db), flags=apsw.SQLITE_OPEN_READONLY)
    with contextlib.closing(connection):
        return next(connection.execute("SELECT count(*) FROM documents"))[0]


def environ(home: pathlib.Path) -> dict[str, str]:
    return clean_environ(home, FORGELORE_EMBEDDER="lore", FORGELORE_SECOND_EMBEDDER="none")


def make_queries(titles: list[str]) -> list[str]:
    chance = random.Random(7)
    found = []
    while len(found) < RATE * OPEN_S:
        words = re.findall(r"[A-Za-z]{3,}", chance.choice(titles))
        if len(words) >= 5:
            length = chance.randint(2, 5)
            start = chance.randint(0, len(words) - length)
            found.append(" ".join(words[start : start + length]))
    return found


class Server:
    """A running page, and what it has cost."""

    def __init__(self, process: subprocess.Popen, url: str, start_s: float):
        self._process, self._url, self.start_s = process, url, start_s

    def get(self, path: str) -> bytes:
        with urllib.request.urlopen(self._url + path, timeout=120) as answer:
            return answer.read()

    def files(self) -> list[str]:
        return [path.decode() for path in re.findall(rb'(?:href|src)="(/static/[^"]+)"', self.get("/"))]

    def search(self, query: str) -> None:
        assert b'class="hit"' in self.get(f"/search?q={urllib.parse.quote(query)}") or query

    def cpu_s(self) -> float:
        fields = pathlib.Path(f"/proc/{self._process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / HZ

    def pss_mb(self) -> float:
        text = pathlib.Path(f"/proc/{self._process.pid}/smaps_rollup").read_text(encoding="ascii")
        return int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1]) / 1024


@contextlib.contextmanager
def serving(db: pathlib.Path, home: pathlib.Path):
    began = time.monotonic()
    command = [sys.executable, "-m", "forgelore", "serve", "--db", str(db), "--port", "0"]
    with subprocess.Popen(command, env=environ(home), stderr=subprocess.PIPE, text=True) as process:
        try:
            url = re.search(r"http://[\d.:]+", process.stderr.readline())[0]
            with urllib.request.urlopen(url + "/search?q=wallet", timeout=120) as answer:
                answer.read()
            yield Server(process, url, time.monotonic() - began)
        finally:
            process.terminate()


def open_loop(server: Server, queries: list[str]) -> list[float]:
    """Return milliseconds from when each search was due to its last byte."""
    began = time.monotonic()

    def ask(at: int) -> float:
        due = began + at / RATE
        time.sleep(max(0.0, due - time.monotonic()))
        server.search(queries[at])
        return (time.monotonic() - due) * 1000

    with concurrent.futures.ThreadPoolExecutor(64) as threads:
        return list(threads.map(ask, range(len(queries))))


def closed_loop(server: Server, queries: list[str], seconds: float = CLOSED_S) -> dict[str, float]:
    ends, before, began = time.monotonic() + seconds, server.cpu_s(), time.monotonic()

    def ask(client: int) -> int:
        count = 0
        while time.monotonic() < ends:
            server.search(queries[(client * 71 + count) % len(queries)])
            count += 1
        return count

    with concurrent.futures.ThreadPoolExecutor(CLIENTS) as threads:
        total = sum(threads.map(ask, range(CLIENTS)))
    return {"rate": total / (time.monotonic() - began), "per_cpu": total / (server.cpu_s() - before)}


def beside_sync(server: Server, queries: list[str], db: pathlib.Path) -> float:
    """Return how many times the CPU a search takes while an import writes the same file."""
    alone = 1 / closed_loop(server, queries, 8)["per_cpu"]
    command = [sys.executable, "-m", "forgelore", "import", str(CORPUS), "--project", "bitcoin/again", "--db", str(db)]
    with (
        tempfile.TemporaryDirectory() as home,
        subprocess.Popen(
            command, env=environ(pathlib.Path(home)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        ) as process,
    ):
        time.sleep(2)
        beside = 1 / closed_loop(server, queries, 8)["per_cpu"]
        process.terminate()
    return beside / alone


def cut(values: list[float], share: float) -> float:
    return statistics.quantiles(values, n=100)[round(share * 100) - 1]
