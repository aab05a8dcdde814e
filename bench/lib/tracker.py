"""Trackers of any size, for the benches of search: the real texts of ../shared/corpora, and stores made from them.

Past the first 39,793 documents the texts come again under other numbers. In a copy one plain word of eight is replaced
by one drawn from all plain words, which leaves document frequencies and the marks of logs and templates as they are and
makes copies differ; and each copy gets a token of its own, since a real tracker's vocabulary grows for ever (hashes,
versions, addresses).
"""

import gzip
import hashlib
import itertools
import json
import os
import pathlib
import random
import re
import tempfile
import time
import typing

from lib.common import ROOT, SHARED, Skipped

NAMES = ("bitcoin", "hadoop", "seamonkey")
SEED = 5
TENTH, THOUSANDTH = "bench: one of ten", "bench: one of a thousand"
DIMENSION = 384
RULES = "2"  # of what this file writes: a new number makes cached stores stale
MADE_BY = (
    "store/migrations", "store/documents.py", "text/documents.py", "text/terms.py",
    "index/cleaning.py", "index/cleaning.py", "text/values.py",
)  # fmt: skip
_IDENTIFIER = re.compile(r"\b(?:[A-Za-z]+_[A-Za-z_]+|[A-Z]?[a-z]+[A-Z][A-Za-z]+|[a-z]+(?:/[a-z_]+)+\.\w+)\b")
_PLAIN = re.compile(r"(?<![\w<])[a-z]{3,12}(?![\w>])")
_COPY = 100_000_000  # added to an item's number per copy
_CHUNKS = 2_000


class Built(typing.NamedTuple):
    """A store, and what each part of making it cost in CPU seconds."""

    path: pathlib.Path
    documents: int
    items: int
    chunks: int
    import_s: float
    index_s: float
    vectors_s: float


class Question(typing.NamedTuple):
    text: str
    is_identifier: bool


def load_items() -> list[dict]:
    """Return every item of the corpora in one fixed random order: any beginning of it is a fair sample."""
    folder = SHARED / "corpora"
    if not all((folder / f"{name}.jsonl.gz").exists() for name in NAMES):
        raise Skipped("the corpora (../shared/corpora) are not on this machine")
    found = []
    for name in NAMES:
        with gzip.open(folder / f"{name}.jsonl.gz", "rb") as lines:
            found += [json.loads(line) for line in lines]
    random.Random(SEED).shuffle(found)
    return found


def sample_questions(items: list[dict], titles: int = 200, identifiers: int = 40) -> list[Question]:
    """Return 2 to 6 neighbouring words of real issue titles, and identifiers that stand in titles, in random order."""
    rng = random.Random(SEED)
    issues = [words for row in items if row["kind"] == "issue" and len(words := row["title"].split()) > 1]
    found = []
    for words in rng.sample(issues, titles):
        size = min(rng.randint(2, 6), len(words))
        start = rng.randint(0, len(words) - size)
        found.append(Question(" ".join(words[start : start + size]), is_identifier=False))
    names = sorted({name for row in items for name in _IDENTIFIER.findall(row["title"])})
    found += [Question(name, is_identifier=True) for name in rng.sample(names, identifiers)]
    rng.shuffle(found)
    return found


def make_items(items: list[dict], documents: int) -> typing.Iterator[dict]:
    """Yield items that make exactly so many documents: one each, and one more where people wrote notes."""
    rng = random.Random(SEED)
    pool = [word for row in items[:5_000] for word in _PLAIN.findall(f"{row['title']} {row['body'] or ''}")]
    made = 0
    turns = ((copy, row) for copy in itertools.count() for row in items)
    for position, (copy, row) in enumerate(turns):
        one = vary(row, copy, pool, rng) if copy else dict(row)
        if made + 2 > documents:
            one.pop("notes", None)
        one["labels"] = [*(one.get("labels") or ()), *marks(position)]
        made += 1 + any(note["body"] for note in one.get("notes") or ())
        yield one
        if made == documents:
            return


def marks(position: int) -> list[str]:
    return [TENTH] * (position % 10 == 3) + [THOUSANDTH] * (position % 1000 == 7)


def vary(row: dict, copy: int, pool: list[str], rng: random.Random) -> dict:
    own = f"x{copy:x}{rng.getrandbits(40):x}"
    notes = [{**note, "body": vary_text(note["body"] or "", pool, rng)} for note in row.get("notes") or ()]
    body = f"{vary_text(row['body'] or '', pool, rng)}\n{own}"
    title = vary_text(row["title"], pool, rng)
    return {**row, "number": row["number"] + copy * _COPY, "title": title, "body": body, "notes": notes}


def vary_text(text: str, pool: list[str], rng: random.Random) -> str:
    draw = rng.random
    return _PLAIN.sub(lambda word: pool[int(draw() * len(pool))] if draw() < 0.125 else word[0], text)


LARGEST = 100_000  # documents written by the product itself; larger stores are copies of such a one


def cache_folder() -> pathlib.Path:
    given = os.environ.get("FORGELORE_BENCH_CACHE")
    folder = pathlib.Path(given) if given else pathlib.Path(tempfile.gettempdir()) / "forgelore-bench"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def get_store(items: list[dict], documents: int, *, is_fresh: bool = False) -> Built:
    """Return a store of that size, from the cache when it was made by the same rules."""
    path = cache_folder() / f"search-{documents}-{rules()}.db"
    about = path.with_suffix(".json")
    if about.exists() and path.exists() and not is_fresh:
        settle_vectors(path)
        return Built(path, *json.loads(about.read_text(encoding="utf-8")))
    for old in cache_folder().glob(f"search-{documents}-*"):
        old.unlink()
    if documents > LARGEST:
        built = multiply(get_store(items, LARGEST), documents // LARGEST, path)
    else:
        built = build_store(items, documents, path)
    about.write_text(json.dumps(built[1:]), encoding="utf-8")
    settle_vectors(path)
    return built


def multiply(small: Built, times: int, path: pathlib.Path) -> Built:
    from lib.multiply import multiply_store

    multiply_store(small.path, path, times)
    counts = (small.documents * times, small.items * times, small.chunks * times)
    return Built(path, *counts, small.import_s * times, small.index_s * times, small.vectors_s * times)


def settle_vectors(path: pathlib.Path) -> None:
    """Let the vectors, which mean nothing, be those of the built-in embedder as it is today, in a file beside the store
    as well, as they are once an embedder is done.
    """
    from forgelore.store.documents import list_embedders
    from forgelore.store.sqlite.schema import open_store
    from forgelore.store.sqlite.vector_memory import refresh_file

    store = open_store(str(path), create=False)
    store.run("UPDATE embedders SET fingerprint = ?", Dice().fingerprint())
    for embedder in list_embedders(store):
        refresh_file(store, embedder)
    store.close()


def rules() -> str:
    """Return a short name of everything that shapes a store: a change of the schema makes another file."""
    from forgelore.embedders.lore import LoreEmbedder

    digest = hashlib.sha256(f"{RULES} {LoreEmbedder.chunk_chars}".encode())
    for name in MADE_BY:
        place = ROOT / "src" / "forgelore" / name
        for file in sorted(place.glob("*.sql")) if place.is_dir() else [place]:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:10]


def build_store(items: list[dict], documents: int, path: pathlib.Path) -> Built:
    """Make a store as the product does: `import`, `generate-docs --full`; then vectors that mean nothing."""
    from forgelore.index.update import reindex_items
    from forgelore.store.sqlite.schema import open_store
    from forgelore.sync.archive import import_lines
    from forgelore.words import ProjectName

    store = open_store(str(path))
    with tempfile.TemporaryFile(dir=path.parent) as lines:
        for one in make_items(items, documents):
            lines.write(json.dumps(one, ensure_ascii=False).encode() + b"\n")
        lines.seek(0)
        times = [time.process_time()]
        read = import_lines(store, ProjectName("local", "local", "bench/tracker"), lines, 1)
    times.append(time.process_time())
    reindex_items(store, [1])
    times.append(time.process_time())
    chunks = save_vectors(store)
    times.append(time.process_time())
    made = store.value("SELECT count(*) FROM documents")
    assert made == documents, (made, documents)
    store.run("PRAGMA optimize")
    store.close()
    return Built(path, made, read.read, chunks, *(after - before for before, after in itertools.pairwise(times)))


def save_vectors(store) -> int:
    """Give every chunk that the product would embed a random vector, under the built-in embedder's name."""
    from forgelore.store.documents import add_embedder, save_dimension
    from forgelore.store.sqlite.vectors import save_chunks

    dice = Dice()
    with store.transaction():
        stored = add_embedder(store, dice.name, dice.model, dice.fingerprint(), 1)
        save_dimension(store, stored.id, DIMENSION)
    total = last = 0
    while rows := store.rows(
        "SELECT d.id, d.content_hash, t.title, t.text FROM documents d JOIN document_texts t ON t.id = d.id"
        " WHERE d.id > ? ORDER BY d.id LIMIT ?", last, _CHUNKS,
    ):  # fmt: skip
        last = rows[-1][0]
        with store.transaction():
            for document_id, digest, title, text in rows:
                packed = dice.chunks(title, text)
                total += len(packed)
                save_chunks(store, stored.id, document_id, digest, packed)
    store.run("DELETE FROM jobs WHERE kind = 'embed'")
    return total


class Dice:
    """The built-in embedder by name and fingerprint; its vectors are thrown, and as long as any (1)."""

    floor = -1.0  # among thrown vectors none is near

    def __init__(self) -> None:
        import numpy as np

        from forgelore.embedders.lore import LoreEmbedder

        self._real = LoreEmbedder()
        self._rng = np.random.default_rng(SEED)
        self._thrown: dict[str, typing.Any] = {}

    def __getattr__(self, name: str):
        return getattr(self._real, name)  # whatever else the product asks for, its price included

    def chunks(self, title: str, text: str) -> list[tuple]:
        from forgelore.index.cleaning import build_chunks
        from forgelore.text.values import pack_vector

        return [(one, pack_vector(self.throw())) for one in build_chunks(title, text, max_chars=self.chunk_chars)]

    def throw(self):
        import numpy as np

        vector = self._rng.standard_normal(DIMENSION, dtype=np.float32)
        return vector / np.linalg.norm(vector)

    def embed_query(self, text: str):
        """Return a vector made before: what embedding costs is measured elsewhere."""
        if text not in self._thrown:
            self._thrown[text] = self.throw()
        return self._thrown[text]
