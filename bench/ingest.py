"""How fast does history become rows? Items per second of CPU, end to end, of `import` and `sync`, beside the floor.

The floor is one pass over the same bytes that does nothing with them: unpack, split into lines, decode each.
"""

import gzip
import json
import pathlib
import sys
import tempfile

from lib.common import SHARED, Skipped, clean_environ, forge, forgelore, measure, report, table, verdict

ITEMS = 100_000
ROWS_ONLY = ("--no-docs", "--no-embed")
CORPUS = SHARED / "corpora" / "bitcoin.jsonl.gz"
FLOORS = {
    "unpack only": "for line in lines: pass",
    "unpack + msgspec decode": "import msgspec; read = msgspec.json.Decoder().decode\nfor line in lines: read(line)",
    "unpack + json decode": "import json; read = json.loads\nfor line in lines: read(line)",
}
NOTE = """The tracker is bitcoin/bitcoin (29,134 items, notes of its issues), repeated under other numbers, gzipped.
CPU is user and system time of the child, from the start of Python to its end. `sync` reads from a local forge in
another process, over HTTP, keeps every payload, and asks for conversations and files as it does on a real forge.
Search documents and vectors are left for later (`--no-docs --no-embed`)."""
HEAD = ["what", "items", "notes", "CPU s", "items / CPU s", "rows / CPU s", "peak MB", "database MB", "bytes / item"]


def main(arguments: list[str]) -> None:
    items = int(arguments[0]) if arguments else ITEMS
    if not CORPUS.exists():
        raise Skipped("the corpus (../shared/corpora/bitcoin.jsonl.gz) is not on this machine")
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        source = folder / "tracker.jsonl.gz"
        notes = replicate(source, items)
        imported = import_row(folder, source, items, notes)
        again = import_row(folder, source, items, notes, name="import again, nothing new")
        floors = [floor_row(folder, name, code, source, items) for name, code in FLOORS.items()]
        syncs = [sync_row(folder, kind) for kind in ("github", "gitlab")]
    parts = [table(HEAD, [imported, again, *floors, *syncs]), reached(imported[4], imported[6]), NOTE]
    report("ingest", "How fast history becomes rows", parts, " ".join(arguments))


def reached(speed: float, peak: float) -> str:
    fast, small = verdict(speed, 10_000, at_most=False), verdict(peak, 200, at_most=True)
    first = f"Import: {speed:,.0f} items per CPU second (target 10,000: {fast})"
    return f"{first}, {peak:,.0f} MB at most (target below 200: {small})."


def replicate(target: pathlib.Path, items: int) -> int:
    """Write the corpus again and again under other numbers; returns how many notes there are."""
    written = notes = copy = 0
    with gzip.open(CORPUS, "rt", encoding="utf-8") as lines:
        corpus = lines.readlines()
    with gzip.open(target, "wt", compresslevel=1, encoding="utf-8") as out:
        while written < items:
            for line in corpus:
                row = json.loads(line)
                row["number"] += copy * 1_000_000
                notes += len(row.get("notes") or ())
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
                written += 1
                if written == items:
                    break
            copy += 1
    return notes


def import_row(
    folder: pathlib.Path, source: pathlib.Path, items: int, notes: int, name: str = "import"
) -> list[object]:
    db = folder / "imported.db"
    command = ["import", str(source), "--project", "bitcoin/all", "--db", str(db), *ROWS_ONLY]
    cost = forgelore(*command, environ=clean_environ(folder))
    size = db.stat().st_size
    return [
        name,
        items,
        notes,
        cost.cpu_s,
        items / cost.cpu_s,
        (items + notes) / cost.cpu_s,
        cost.peak_mb,
        size / 1e6,
        size / items,
    ]


def floor_row(folder: pathlib.Path, name: str, code: str, source: pathlib.Path, items: int) -> list[object]:
    script = f"import gzip\nlines = gzip.open({str(source)!r}, 'rb')\n{code}"
    cost = measure([sys.executable, "-c", script], clean_environ(folder))
    return [f"floor: {name}", items, "", cost.cpu_s, items / cost.cpu_s, "", cost.peak_mb, "", ""]


def sync_row(folder: pathlib.Path, kind: str) -> list[object]:
    db = folder / f"{kind}.db"
    with forge(kind, issues=1500, changes=1000, discussions=100, comments_per_item=5) as there:
        cost = forgelore("sync", there.project, "--db", str(db), *ROWS_ONLY, environ=there.environ(folder))
        items, notes = there.about["items"], there.about["notes"]
    size = db.stat().st_size
    rows = (items + notes) / cost.cpu_s
    return [f"sync, {kind}", items, notes, cost.cpu_s, items / cost.cpu_s, rows, cost.peak_mb, size / 1e6, size / items]
