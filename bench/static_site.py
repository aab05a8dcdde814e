"""What a reader of static pages waits for: `python bench/run.py static_site [ITEMS]`.

`forgelore site` writes a tracker, a plain file server shows it, and a real browser opens its search. Measured are the
files, the time until the first search is possible, and searches one after the other. Nothing is slowed down to play a
network: the compressed size says what one would add.
"""

import contextlib
import functools
import gzip
import http.server
import os
import pathlib
import statistics
import sys
import tempfile
import threading
import time

from lib.common import Skipped, forgelore, report, table
from web import environ, get_store, make_queries

ITEMS, QUERIES = 20_000, 100
READY = "document.querySelector('main').dataset.ready !== undefined"
# A search as the page runs it, without the pause in which it waits for the next key.
ASK = """(async () => {{
  const field = document.getElementById("query");
  field.value = {query!r};
  const hits = document.getElementById("hits");
  const begun = performance.now();
  const changed = new Promise((done) => new MutationObserver(done).observe(hits, {{ childList: true }}));
  field.dispatchEvent(new Event("input"));
  await Promise.race([changed, new Promise((done) => setTimeout(done, 3000))]);
  return performance.now() - begun - 120;
}})()"""
NOTE = """The tracker is bitcoin/bitcoin. The browser is Chromium without a window, on the machine that serves the
files. Load average before: {load:.1f}."""


def main(arguments: list[str]) -> None:
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests"))
    from browser import Browser, find_browser

    if find_browser() is None:
        raise Skipped("there is no browser here")
    items = int(arguments[0]) if arguments else ITEMS
    load = os.getloadavg()[0]
    db, titles = get_store(items)
    with tempfile.TemporaryDirectory() as home:
        folder = pathlib.Path(home)
        began = time.monotonic()
        forgelore("site", str(folder / "out"), "--db", str(db), environ=environ(folder))
        write_s = time.monotonic() - began
        data = (folder / "out" / "items.json").read_bytes()
        with files_of(folder / "out") as url, Browser(folder) as browser:
            began = time.monotonic()
            browser.open(f"{url}index.html")
            browser.wait(READY)
            ready_s = time.monotonic() - began
            times = [browser.evaluate(ASK.format(query=query)) for query in make_queries(titles)[:QUERIES]]
            heap_mb = browser.evaluate("performance.memory.usedJSHeapSize") / 1e6
    p95 = statistics.quantiles(times, n=20)[18]
    rows = [
        ["writing it, s", write_s],
        ["items.json, MB", len(data) / 1e6],
        ["the same, compressed, MB", len(gzip.compress(data)) / 1e6],
        ["from opening the page to the first search, s", ready_s],
        ["a search, median, ms", statistics.median(times)],
        ["a search, p95, ms", p95],
        ["memory of the page's scripts, MB", heap_mb],
    ]
    title = f"{items:,} items, {len(times)} queries of two to five words"
    text = table(["what", "measured"], rows)
    report("static_site", "What static pages take", [title, text, NOTE.format(load=load)], " ".join(arguments))


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        return


@contextlib.contextmanager
def files_of(folder: pathlib.Path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()
