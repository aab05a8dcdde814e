"""Beside what a user would pick instead, on the same texts and vectors: index time, size, latency, recall.

None of these is a dependency of the project. The bench runs where all of them can be imported:

    python -m venv rivals && rivals/bin/pip install -e . sqlite-vec==0.1.9 tantivy==0.27.0 lancedb==0.40.0 \
        qdrant-client==1.20.0 chromadb==1.5.9
    rivals/bin/python bench/run.py rivals [DOCUMENTS]
"""

import collections
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import statistics
import sys
import tempfile
import zlib

from lib.common import LIB, ROOT, Skipped, clean_environ, measure, report, table
from lib.tracker import SEED, TENTH, THOUSANDTH, load_items, make_items, sample_questions

DOCUMENTS = 20_000
DIMENSION = 384
BUCKETS = 1 << 15  # of words: fewer than there are, enough to tell texts apart
PACKAGES = {
    "sqlite_vec": "sqlite-vec", "tantivy": "tantivy", "lancedb": "lancedb", "qdrant_client": "qdrant-client",
    "chromadb": "chromadb",
}  # fmt: skip
NOTE = """Texts: a sample of three real trackers with bitcoin's issue threads. Vectors: one per document, bags of words
weighted by rarity and projected to 384 dimensions, so that near texts are near and an approximate index is not asked to
order noise; the same for all. Each engine in a process of its own. Index CPU is from the texts in memory to the last
byte on disk, for forgelore from the items in its store. Size includes the texts. Latency is that of the ten best
documents, warm: words are 2 to 6 neighbouring words of titles in the store, vectors those of the same words. Exact:
shared with the ten nearest by brute force. Rows of 10: what came back at a filter that allows that share of the
documents (as tenths of what had to). Found again: the document whose title was asked for is among the ten. New
titles: whole titles of issues that are not in the store, as a newcomer would ask."""


def main(arguments: list[str]) -> None:
    missing = [name for module, name in PACKAGES.items() if importlib.util.find_spec(module) is None]
    if missing:
        raise Skipped(f"{', '.join(missing)} not installed here; see the top of bench/rivals.py")
    from lib.engines import ENGINES

    size = int(arguments[0]) if arguments else DOCUMENTS
    with tempfile.TemporaryDirectory() as text:
        folder = pathlib.Path(text)
        wanted = prepare(folder, size)
        found = {name: run_engine(name, folder) for name in ENGINES}
    parts = [cost_part(found), latency_part(found), recall_part(found, wanted), NOTE.replace("\n", " "), versions()]
    report("rivals", f"Beside other engines, {size:,} documents", parts, " ".join(arguments))


def versions() -> str:
    return "Versions: " + ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES.values()) + "."


def prepare(folder: pathlib.Path, size: int) -> dict:
    """Write what every engine reads; returns what the right answers are."""
    import numpy as np

    items = load_items()
    made = list(make_items(items, size))
    rows = write_documents(folder, made)
    space = Space([f"{row['title']} {row['text']}" for row in rows])
    vectors = np.stack([space.vector(f"{row['title']} {row['text']}") for row in rows])
    asked = sample_questions(items[: len(made)], identifiers=0)
    queries = np.stack([space.vector(question.text) for question in asked])
    new = [row["title"] for row in items[len(made) :] if row["kind"] == "issue" and len(row["title"].split()) > 1][:200]
    np.save(folder / "vectors.npy", vectors)
    np.save(folder / "asked.npy", queries)
    questions = {"titles": [one.text for one in asked], "new_titles": new, "labels": [TENTH, THOUSANDTH]}
    (folder / "questions.json").write_text(json.dumps(questions), encoding="utf-8")
    return right_answers(rows, vectors, queries, questions)


def write_documents(folder: pathlib.Path, made: list[dict]) -> list[dict]:
    """Let the product make the documents, once; its own engine gets a store that has the items alone."""
    from forgelore.index.update import reindex_items
    from forgelore.store.sqlite.schema import open_store
    from forgelore.sync.archive import import_lines
    from forgelore.words import ProjectName

    for name in ("base.db", "documents.db"):
        store = open_store(str(folder / name))
        with tempfile.TemporaryFile() as lines:
            lines.writelines(json.dumps(row).encode() + b"\n" for row in made)
            lines.seek(0)
            import_lines(store, ProjectName("local", "local", "bench/tracker"), lines, 1)
        if name == "documents.db":
            reindex_items(store, [1])
            rows = read_documents(store)
        store.close()
    with open(folder / "documents.jsonl", "w", encoding="utf-8") as out:
        out.writelines(json.dumps(row) + "\n" for row in rows)
    return rows


def read_documents(store) -> list[dict]:
    labels = collections.defaultdict(list)
    for document_id, name in store.each("SELECT document_id, name FROM document_labels"):
        labels[document_id].append(name)
    found = store.rows(
        "SELECT d.id, t.title, t.text, d.author FROM documents d JOIN document_texts t ON t.id = d.id ORDER BY d.id"
    )
    assert [row[0] for row in found] == list(range(1, len(found) + 1))
    names = ("id", "title", "text", "author")
    return [{**dict(zip(names, row, strict=True)), "labels": labels[row[0]]} for row in found]


class Space:
    """Vectors of texts: each word a random direction, weighted by how rare it is."""

    def __init__(self, texts: list[str]) -> None:
        import numpy as np

        self._directions = np.random.default_rng(SEED).standard_normal((BUCKETS, DIMENSION), dtype=np.float32)
        counts = collections.Counter(bucket for text in texts for bucket in buckets(text))
        seen = np.asarray([counts[bucket] for bucket in range(BUCKETS)])
        self._weights = np.log((len(texts) + 1) / (seen + 0.5)).astype(np.float32)

    def vector(self, text: str):
        import numpy as np

        words = sorted(buckets(text)) or [0]
        vector = self._weights[words] @ self._directions[words]
        return vector / np.linalg.norm(vector)


def buckets(text: str) -> set[int]:
    return {zlib.crc32(word.encode()) % BUCKETS for word in re.findall(r"\w+", text.lower())}


def right_answers(rows: list[dict], vectors, queries, questions: dict) -> dict:
    """Return by brute force the ten nearest documents under each filter, and which documents have a title asked for."""
    import numpy as np

    cosines = queries @ vectors.T
    found = {}
    for name, label in (("vector", None), ("vector, 10 %", TENTH), ("vector, 0.1 %", THOUSANDTH)):
        allowed = np.asarray([row["id"] - 1 for row in rows if label is None or label in row["labels"]])
        order = np.argsort(-cosines[:, allowed], axis=1, kind="stable")[:, :10]
        found[name] = [(allowed[row] + 1).tolist() for row in order]
    titles = [" ".join(row["title"].split()) for row in rows]
    found["sources"] = [
        [row["id"] for row, title in zip(rows, titles, strict=True) if text in title] for text in questions["titles"]
    ]
    return found


def run_engine(name: str, folder: pathlib.Path) -> dict:
    out = folder / "found.json"
    environ = clean_environ(folder, PYTHONPATH=str(ROOT / "src"))
    cost = measure([sys.executable, str(LIB / "engines.py"), name, str(folder), str(out)], environ)
    return {**json.loads(out.read_text(encoding="utf-8")), "peak_mb": cost.peak_mb}


def cost_part(found: dict) -> str:
    head = ["engine", "index CPU s", "index wall s", "size MB", "peak MB, indexing and asking"]
    rows = [
        [name, one["build_cpu_s"], one["build_wall_s"], one["bytes"] / 1e6, one["peak_mb"]]
        for name, one in found.items()
    ]
    return "## Index\n\n" + table(head, rows)


def latency_part(found: dict) -> str:
    kinds = ("words", "words, 10 %", "vector", "vector, 10 %", "vector, 0.1 %")
    rows = [[name, *(times_of(one["answers"].get(kind)) for kind in kinds)] for name, one in found.items()]
    return "## Latency, milliseconds, p50 / p99\n\n" + table(["engine", *kinds], rows)


def times_of(answers: list | None) -> str:
    if not answers:
        return "-"
    cuts = statistics.quantiles([taken for _, taken in answers], n=100, method="inclusive")
    return f"{cuts[49]:.2f} / {cuts[98]:.2f}"


def recall_part(found: dict, wanted: dict) -> str:
    head = ["engine", "exact", "exact, 10 %", "exact, 0.1 %", "rows of 10, 10 %", "rows of 10, 0.1 %", "found again"]
    head += ["new titles: all words find anything", "new titles: answered"]
    rows = []
    for name, one in found.items():
        answers = one["answers"]
        kinds = ("vector", "vector, 10 %", "vector, 0.1 %")
        every = answers.get("new, all words") or answers.get("new")
        rows.append([
            name, *(overlap(answers.get(kind), wanted[kind]) for kind in kinds),
            *(rows_of(answers.get(kind), wanted[kind]) for kind in kinds[1:]),
            found_again(answers.get("words"), wanted["sources"]), answered(every), answered(answers.get("new")),
        ])  # fmt: skip
    return "## Recall\n\n" + table(head, rows)


def overlap(answers: list | None, right: list[list[int]]) -> str:
    if not answers:
        return "-"
    shares = [len({*ids} & {*true}) / len(true) for (ids, _), true in zip(answers, right, strict=True)]
    return f"{statistics.mean(shares):.1%}"


def rows_of(answers: list | None, right: list[list[int]]) -> str:
    """Return how many rows came back, in tens of what had to."""
    if not answers:
        return "-"
    return f"{10 * statistics.mean(len(ids) / len(true) for (ids, _), true in zip(answers, right, strict=True)):.1f}"


def found_again(answers: list | None, sources: list[list[int]]) -> str:
    if not answers:
        return "-"
    hits = [bool({*ids} & {*true}) for (ids, _), true in zip(answers, sources, strict=True)]
    return f"{statistics.mean(hits):.1%}"


def answered(answers: list | None) -> str:
    return f"{statistics.mean(bool(ids) for ids, _ in answers):.1%}" if answers else "-"
