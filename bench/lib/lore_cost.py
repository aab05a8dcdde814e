"""What the embedder `lore` costs, for bench/lore.py: per document, per process, and in a search; MiniLM beside it."""

import json
import pathlib
import shutil
import statistics
import sys
import tempfile
import time

import apsw

from forgelore.embedders.lore import LoreEmbedder
from forgelore.index.cleaning import build_chunks
from forgelore_minilm.model import MiniLM
from lib.common import clean_environ, forgelore, measure, table, verdict
from lib.tracker import get_store, load_items, sample_questions
from startup import script

EMBEDDERS = {"lore": LoreEmbedder, "minilm": MiniLM}
ROUNDS = 15
ITEMS = 10_000
SAMPLE = {"lore": 5_000, "minilm": 200}  # items; the transformer is slower by some sixty times
SEARCH = 30.0  # times python -c pass
HEAD = ["", "measured", "target", ""]


def speed_table(items: list[dict]) -> str:
    rates = {name: documents_per_second(made(), items, SAMPLE[name]) for name, made in EMBEDDERS.items()}
    start_ms, peak = cold_start()
    sync_s = first_sync(items)
    return table(
        HEAD,
        [
            ["documents per CPU second, cleaning included", rates["lore"], 500, more(rates["lore"], 500)],
            ["the same with MiniLM", rates["minilm"], "", ""],
            ["cold start up to the first vector, CPU ms beyond importing numpy", start_ms, 200, less(start_ms, 200)],
            ["peak memory of a process that embeds one query, MB", peak, 100, less(peak, 100)],
            ["first vectors of 10,000 items, CPU s of `forgelore embed`", sync_s, 60, less(sync_s, 60)],
            ["the same with MiniLM, computed from the line above", ITEMS / rates["minilm"], "", ""],
        ],
    )


def less(value: float, target: float) -> str:
    return verdict(value, target, at_most=True)


def more(value: float, target: float) -> str:
    return verdict(value, target, at_most=False)


def documents_per_second(embedder, items: list[dict], count: int) -> float:
    sample = items[:: len(items) // count][:count]
    embedder.embed_query("warm")
    began = time.process_time()
    chunks = [
        chunk
        for item in sample
        for chunk in build_chunks(item["title"] or "", item["body"] or "", max_chars=embedder.chunk_chars)
    ]
    for at in range(0, len(chunks), embedder.batch_size):
        embedder.embed_passages([chunk.passage for chunk in chunks[at : at + embedder.batch_size]])
    return len(sample) / (time.process_time() - began)


def cold_start() -> tuple[float, float]:
    """Return CPU ms and peak MB; medians of processes in turn."""
    imports = "import numpy"
    model = f"{imports}; from forgelore.embedders.lore import LoreEmbedder; LoreEmbedder().embed_query('crash')"
    with tempfile.TemporaryDirectory() as folder:
        environ = clean_environ(pathlib.Path(folder))
        costs = [[measure([sys.executable, "-c", code], environ) for code in (imports, model)] for _ in range(ROUNDS)]
    spent = statistics.median(whole.cpu_s - bare.cpu_s for bare, whole in costs)
    return spent * 1000, statistics.median(whole.peak_mb for _, whole in costs)


def first_sync(items: list[dict]) -> float:
    """Return the CPU seconds of the whole command that makes and saves the vectors, its start included."""
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        lines = folder / "items.jsonl"
        rows = (json.dumps({**item, "notes": []}) for item in items[:: len(items) // ITEMS][:ITEMS])
        lines.write_text("\n".join(rows), encoding="utf-8")
        environ = clean_environ(folder, FORGELORE_DB=str(folder / "lore.db"))
        forgelore("import", str(lines), "--project", "bench", "--no-embed", environ=environ)
        return forgelore("embed", environ=environ).cpu_s


def search_table() -> str:
    """A search in a new process, commands in turn, another question each round."""
    items = load_items()
    questions = sample_questions(items)
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        stores = build_stores(folder, items)
        for (name, _), path in stores.items():
            check_hybrid(name, path, folder)
        python: list[float] = []
        spent: dict[tuple[str, str], list[float]] = {key: [] for key in stores}
        for number in range(ROUNDS):
            python.append(measure([sys.executable, "-c", "pass"], clean_environ(folder)).cpu_s)
            for (name, place), path in stores.items():
                command = [*script(), "search", "--db", str(path), "--mode", "hybrid", "--", questions[number].text]
                cost = measure(command, clean_environ(folder, FORGELORE_EMBEDDER=name))
                spent[name, place].append(cost.cpu_s)
    floor = statistics.median(python)
    rows: list[list[object]] = [["python -c pass", floor * 1000, "1.0", ""]]
    for (name, place), times in spent.items():
        ratio = statistics.median(times) / floor
        told = f"<= {SEARCH:.0f}x: {less(ratio, SEARCH)}" if name == "lore" else "shown, no target"
        rows.append([f"{name}, {place}", ratio * floor * 1000, f"{ratio:.1f}", told])
    return table(["`forgelore search --mode hybrid` in a new process", "CPU ms, median", "times Python", ""], rows)


def check_hybrid(name: str, path: pathlib.Path, folder: pathlib.Path) -> None:
    """Falling back to words would look fast."""
    environ = clean_environ(folder, FORGELORE_EMBEDDER=name)
    found = forgelore("search", "--db", str(path), "--mode", "hybrid", "--json", "--", "crash", environ=environ)
    mode = json.loads(found.out)["data"]["mode"]
    if mode != "hybrid":
        raise RuntimeError(f"{path.name} was searched by {mode}")


def build_stores(folder: pathlib.Path, items: list[dict]) -> dict[tuple[str, str], pathlib.Path]:
    """The demo with vectors of each embedder, and 10,000 documents whose random vectors bear each one's name."""
    large = get_store(items, ITEMS).path
    found = {}
    for name, made in EMBEDDERS.items():
        demo, copy = folder / f"demo.{name}.db", folder / f"large.{name}.db"
        environ = clean_environ(folder, FORGELORE_EMBEDDER=name)
        forgelore("demo", "--keep", str(demo), environ=environ)
        forgelore("embed", "--db", str(demo), environ=environ)
        shutil.copyfile(large, copy)
        db = apsw.Connection(str(copy))
        db.execute("UPDATE embedders SET name = ?, fingerprint = ?", (name, made().fingerprint()))
        db.close()
        found |= {(name, "the demo"): demo, (name, f"{ITEMS:,} documents"): copy}
    return found
