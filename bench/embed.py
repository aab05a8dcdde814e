"""What do vectors of the built-in embedder cost? Documents per second of CPU, the cold start, the memory.

Run by run.py it measures; run by itself (`embed.py FILE`) it is the process that is measured.
"""

import gzip
import json
import os
import pathlib
import statistics
import sys
import tempfile

from forgelore.index.cleaning import build_chunks
from forgelore.words import Passage
from forgelore_minilm.model import MiniLM
from lib.common import SHARED, Skipped, clean_environ, measure, report, table, verdict

DOCUMENTS = 2_000
ROUNDS = 15
CORPUS = SHARED / "corpora" / "bitcoin.jsonl.gz"
IMPORTS = "import numpy, tokenizers; from forgelore_minilm.model import MiniLM, load_onnxruntime; load_onnxruntime()"
STEPS = {
    "Python": "pass",
    "libraries": IMPORTS,
    "model": f"{IMPORTS}; MiniLM().embed_query('crash')",
}
HEAD = ["threads", "documents", "vectors", "CPU s", "documents / CPU s", "vectors / CPU s", "peak MB"]


def main(arguments: list[str]) -> None:
    documents = int(arguments[0]) if arguments else DOCUMENTS
    if not CORPUS.exists():
        raise Skipped("the corpus (../shared/corpora/bitcoin.jsonl.gz) is not on this machine")
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        environ = clean_environ(folder)
        passages = load_passages(documents)
        (folder / "passages.json").write_text(json.dumps(passages), encoding="utf-8")
        (folder / "none.json").write_text("[]", encoding="utf-8")
        times = take_times(environ)
        threads = sorted({1, min(2, os.cpu_count() or 1)})
        rows = [throughput_row(folder, environ, count, documents, len(passages)) for count in threads]
    parts = [table(HEAD, rows), start_table(times), reached(rows, times), note(passages, documents)]
    report("embed", "What vectors of the built-in embedder cost", parts, " ".join(arguments))


def load_passages(count: int) -> list[Passage]:
    """Titles and bodies of items spread over the life of the tracker, as `embed` hands them to the embedder."""
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    rows = rows[:: max(1, len(rows) // count)][:count]
    whole = [build_chunks(row["title"], row["body"] or "", max_chars=MiniLM.chunk_chars) for row in rows]
    return [chunk.passage for chunks in whole for chunk in chunks]


def throughput_row(folder, environ, threads: int, documents: int, vectors: int) -> list[object]:
    """CPU over a run that embeds nothing but loads everything."""
    command = [sys.executable, __file__, str(threads)]
    start = measure([*command, str(folder / "none.json")], environ)
    run = measure([*command, str(folder / "passages.json")], environ)
    cpu = run.cpu_s - start.cpu_s
    return [threads, documents, vectors, cpu, documents / cpu, vectors / cpu, run.peak_mb]


def take_times(environ) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in STEPS}
    for _ in range(ROUNDS):
        for name, code in STEPS.items():
            times[name].append(measure([sys.executable, "-c", code], environ).cpu_s * 1000)
    return times


def start_table(times: dict[str, list[float]]) -> str:
    rows, before = [], 0.0
    labels = {
        "Python": "Python itself",
        "libraries": "importing numpy, onnxruntime, tokenizers",
        "model": "the model, up to the first vector",
    }
    for name, values in times.items():
        rows.append([labels[name], statistics.median(values) - before])
        before = statistics.median(values)
    return table(["cold start", "CPU ms, median"], rows)


def reached(rows: list[list[object]], times: dict[str, list[float]]) -> str:
    speed = min(float(row[4]) for row in rows)
    cold = statistics.median(times["model"]) - statistics.median(times["libraries"])
    fast, quick = verdict(speed, 20, at_most=False), verdict(cold, 400, at_most=True)
    return (
        f"{speed:,.0f} documents per CPU second (target 20: {fast}); cold start without the imports"
        f" {cold:,.0f} CPU ms (target 400: {quick})."
    )


def note(passages: list[Passage], documents: int) -> str:
    return (
        f"{documents:,} items of bitcoin/bitcoin, title and cleaned body, in {len(passages):,} passages of at most"
        f" {MiniLM.chunk_chars} characters.\nA passage is two texts for the network: its title, and the title with the"
        " text. CPU is over a process that\nloads the same and embeds nothing; the start is the median of"
        f" {ROUNDS} processes each, in turn. Peak is the whole process."
    )


def embed(threads: int, path: str) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:threads])
    passages = [Passage(*row) for row in json.loads(pathlib.Path(path).read_text(encoding="utf-8"))]
    embedder = MiniLM()
    embedder.embed_query("crash")
    for at in range(0, len(passages), embedder.batch_size):
        embedder.embed_passages(passages[at : at + embedder.batch_size])


if __name__ == "__main__":
    embed(int(sys.argv[1]), sys.argv[2])
