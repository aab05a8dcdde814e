"""What a user would pick instead, each behind the same four questions: `engines.py NAME FOLDER OUT.json`.

One process per engine: none inherits another's threads or memory. FOLDER holds documents.jsonl (id, title, text,
author, labels), vectors.npy (a row per document), base.db (the items alone, for forgelore) and questions.json.
An engine that cannot answer a kind of question says None. Ids count from 1.
"""

import json
import pathlib
import sys
import time

import numpy as np

K = 10


class Forgelore:
    """This program: full text with its fallback, exact vectors, filters resolved before anything is scored."""

    def build(self, folder: pathlib.Path, rows: list[dict], vectors: np.ndarray) -> None:
        from forgelore.index.update import reindex_items
        from forgelore.records import Chunk
        from forgelore.search.retriever import Retriever
        from forgelore.store.documents import add_embedder, save_dimension
        from forgelore.store.sqlite.schema import open_store
        from forgelore.store.sqlite.vectors import save_chunks
        from forgelore.text.values import pack_vector
        from forgelore.words import Passage
        from lib.tracker import Dice

        self.store = store = open_store(str(folder.parent / "base.db"), create=False)
        reindex_items(store, [1])
        dice = Dice()
        hashes = dict(store.rows("SELECT id, content_hash FROM documents"))
        with store.transaction():
            stored = add_embedder(store, dice.name, dice.model, dice.fingerprint(), 1)
            save_dimension(store, stored.id, vectors.shape[1])
            for row, vector in zip(rows, vectors, strict=True):
                whole = Chunk(0, len(row["text"]), Passage(row["title"], ""))
                save_chunks(store, stored.id, row["id"], hashes[row["id"]], [(whole, pack_vector(vector))])
            store.run("DELETE FROM jobs WHERE kind = 'embed'")
        self.retriever = Retriever(store, dice)

    def size(self, _: pathlib.Path) -> int:
        """Return the index with its texts; the items, which the others do not have, lie in the same file."""
        return self.store.value(
            "SELECT sum(pgsize) FROM dbstat WHERE aggregate = TRUE AND (name LIKE '%document%' OR name LIKE '%chunks%')"
        )

    def words(self, text: str, label: str | None) -> list[int]:
        from forgelore.search.ftsquery import parse_words

        found = self.retriever.by_words(parse_words(text), 100, K, self._scope(label).allowed)
        return [one.document_id for one in found[:K]]

    def every_word(self, text: str) -> list[int]:
        from forgelore.search.ftsquery import build_and, parse_words
        from forgelore.store.sqlite.fulltext import search_words

        expression = build_and(parse_words(text))
        return [one.document_id for one in search_words(self.store, expression, K)] if expression else []

    def vector(self, vector: np.ndarray, label: str | None) -> list[int]:
        return [near.document_id for near in self.retriever.by_vector(vector, K, self._scope(label))]

    def _scope(self, label: str | None):
        from forgelore.store.filters import Filters

        return self.retriever.scope(Filters(labels=(label,) if label else ()), with_vectors=True)


SPEC_SCHEMA = """
CREATE TABLE documents (
  id INTEGER PRIMARY KEY, author_username TEXT, label_names TEXT, title TEXT, content_text TEXT NOT NULL
);
CREATE INDEX idx_documents_author ON documents (author_username);
CREATE TABLE document_labels (
  document_id INTEGER NOT NULL REFERENCES documents (id) ON DELETE CASCADE, label_name TEXT NOT NULL,
  PRIMARY KEY (document_id, label_name)
) WITHOUT ROWID;
CREATE INDEX idx_document_labels_label ON document_labels (label_name);
CREATE VIRTUAL TABLE documents_fts USING fts5 (
  title, content_text, content = 'documents', content_rowid = 'id', tokenize = 'porter unicode61', prefix = '2 3 4'
);
CREATE TRIGGER documents_ai AFTER INSERT ON documents BEGIN
  INSERT INTO documents_fts (rowid, title, content_text) VALUES (new.id, new.title, new.content_text);
END;
CREATE VIRTUAL TABLE embeddings USING vec0 (embedding float[384]);
"""


class PlainSqlite:
    """FTS5 and vec0 as a common plan has them: triggers, prefix indexes, AND of quoted tokens, filters at the end."""

    def build(self, folder: pathlib.Path, rows: list[dict], vectors: np.ndarray) -> None:
        import apsw
        import sqlite_vec

        self.db = apsw.Connection(str(folder / "plain.db"))
        self.db.enable_load_extension(True)
        self.db.load_extension(sqlite_vec.loadable_path())
        self.db.execute("PRAGMA journal_mode = WAL")
        self.db.execute("PRAGMA synchronous = NORMAL")
        self.db.execute(SPEC_SCHEMA)
        for start in range(0, len(rows), 2000):
            with self.db:
                self._add(rows[start : start + 2000], vectors)
        self.db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def _add(self, rows: list[dict], vectors: np.ndarray) -> None:
        self.db.executemany(
            "INSERT INTO documents (id, author_username, label_names, title, content_text) VALUES (?, ?, ?, ?, ?)",
            [(row["id"], row["author"], json.dumps(row["labels"]), row["title"], row["text"]) for row in rows],
        )
        self.db.executemany(
            "INSERT INTO document_labels VALUES (?, ?)",
            [(row["id"], label) for row in rows for label in set(row["labels"])],
        )
        self.db.executemany(
            "INSERT INTO embeddings (rowid, embedding) VALUES (?, ?)",
            [(row["id"], vectors[row["id"] - 1].tobytes()) for row in rows],
        )

    def words(self, text: str, label: str | None) -> list[int]:
        quoted = " ".join('"' + token.replace('"', '""') + '"' for token in text.split())
        rows = self.db.execute(
            "SELECT rowid, bm25(documents_fts), snippet(documents_fts, 1, '<mark>', '</mark>', '...', 64)"
            " FROM documents_fts WHERE documents_fts MATCH ? ORDER BY bm25(documents_fts) LIMIT ?",
            (quoted, 500 if label else 100),
        )
        return self._filtered([row[0] for row in rows], label)

    every_word = None  # `words` is just that

    def vector(self, vector: np.ndarray, label: str | None) -> list[int]:
        rows = self.db.execute(
            "SELECT rowid, distance FROM embeddings WHERE embedding MATCH ? AND k = ? ORDER BY distance",
            (vector.tobytes(), 500 if label else 100),
        )
        return self._filtered([row[0] for row in rows], label)

    def _filtered(self, ids: list[int], label: str | None) -> list[int]:
        has = " AND EXISTS (SELECT 1 FROM document_labels l WHERE l.document_id = d.id AND l.label_name = ?)"
        rows = self.db.execute(
            "SELECT d.id FROM json_each(?) j JOIN documents d ON d.id = j.value WHERE 1 = 1"
            f"{has if label else ''} ORDER BY j.key LIMIT ?", (json.dumps(ids), *([label] if label else []), K),
        )  # fmt: skip
        return [row[0] for row in rows]


class Tantivy:
    """A search library like Lucene; no vectors. English stems, title worth three times the text, as ours."""

    vector = None

    def build(self, folder: pathlib.Path, rows: list[dict], _: np.ndarray) -> None:
        import tantivy

        schema = tantivy.SchemaBuilder()
        schema.add_unsigned_field("id", stored=True)
        schema.add_text_field("title", tokenizer_name="en_stem")
        schema.add_text_field("text", tokenizer_name="en_stem", stored=True)
        schema.add_text_field("label", tokenizer_name="raw")
        self.index = tantivy.Index(schema.build(), path=str(folder))
        writer = self.index.writer()
        for row in rows:
            document = tantivy.Document(id=row["id"], title=row["title"], text=row["text"])
            for label in row["labels"]:
                document.add_text("label", label)
            writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        self.index.reload()
        self.searcher = self.index.searcher()

    def words(self, text: str, label: str | None) -> list[int]:
        return self._search(text, label, is_every=False)

    def every_word(self, text: str) -> list[int]:
        return self._search(text, None, is_every=True)

    def _search(self, text: str, label: str | None, *, is_every: bool) -> list[int]:
        import tantivy

        query, _ = self.index.parse_query_lenient(
            text, ["title", "text"], field_boosts={"title": 3.0}, conjunction_by_default=is_every
        )
        if label:
            within = tantivy.Query.term_query(self.index.schema, "label", label)
            query = tantivy.Query.boolean_query([(tantivy.Occur.Must, query), (tantivy.Occur.Must, within)])
        return [self.searcher.doc(address)["id"][0] for _, address in self.searcher.search(query, K).hits]


class Lance:
    """LanceDB: a column file; exact vectors without an index of their own (its advice below 100,000 rows)."""

    def build(self, folder: pathlib.Path, rows: list[dict], vectors: np.ndarray) -> None:
        import lancedb
        import pyarrow as pa

        columns = {
            "id": pa.array([row["id"] for row in rows]),
            "whole": pa.array([f"{row['title']}\n{row['text']}" for row in rows]),
            "labels": pa.array([row["labels"] for row in rows], pa.list_(pa.string())),
            "vector": pa.FixedSizeListArray.from_arrays(pa.array(vectors.ravel()), vectors.shape[1]),
        }
        self.table = lancedb.connect(str(folder)).create_table("documents", pa.table(columns))
        self.table.create_fts_index("whole", with_position=True)

    def words(self, text: str, label: str | None) -> list[int]:
        return self._words(text, label, is_every=False)

    def every_word(self, text: str) -> list[int]:
        return self._words(text, None, is_every=True)

    def _words(self, text: str, label: str | None, *, is_every: bool) -> list[int]:
        from lancedb.query import FullTextOperator, MatchQuery

        operator = FullTextOperator.AND if is_every else FullTextOperator.OR
        return self._ids(self.table.search(MatchQuery(text, "whole", operator=operator), query_type="fts"), label)

    def vector(self, vector: np.ndarray, label: str | None) -> list[int]:
        return self._ids(self.table.search(vector).distance_type("cosine"), label)

    def _ids(self, query, label: str | None) -> list[int]:
        if label:
            query = query.where(f"array_has(labels, '{label}')", prefilter=True)
        return query.select(["id"]).limit(K).to_arrow()["id"].to_pylist()


class Qdrant:
    """qdrant-client without a server: everything in memory, a file beside it. No ranked full text in this mode."""

    words = every_word = None

    def build(self, folder: pathlib.Path, rows: list[dict], vectors: np.ndarray) -> None:
        from qdrant_client import QdrantClient, models

        self.client = QdrantClient(path=str(folder / "qdrant"))
        size = models.VectorParams(size=vectors.shape[1], distance=models.Distance.COSINE)
        self.client.create_collection("documents", vectors_config=size)
        payload = [{"labels": row["labels"], "title": row["title"], "text": row["text"]} for row in rows]
        ids = [row["id"] for row in rows]
        self.client.upload_collection("documents", vectors=vectors, payload=payload, ids=ids, batch_size=512)

    def vector(self, vector: np.ndarray, label: str | None) -> list[int]:
        from qdrant_client import models

        within = None
        if label:
            has = models.FieldCondition(key="labels", match=models.MatchValue(value=label))
            within = models.Filter(must=[has])
        found = self.client.query_points("documents", query=vector, query_filter=within, limit=K, with_payload=False)
        return [point.id for point in found.points]


class Chroma:
    """chromadb on disk: HNSW with its default settings. Words only as a substring filter, not ranked."""

    words = every_word = None

    def build(self, folder: pathlib.Path, rows: list[dict], vectors: np.ndarray) -> None:
        import chromadb

        client = chromadb.PersistentClient(str(folder), chromadb.Settings(anonymized_telemetry=False))
        settings = {"hnsw:space": "cosine"}
        self.documents = client.create_collection("documents", metadata=settings, embedding_function=None)
        step = min(client.get_max_batch_size(), 2000)
        for start in range(0, len(rows), step):
            batch = rows[start : start + step]
            self.documents.add(
                ids=[str(row["id"]) for row in batch], embeddings=vectors[start : start + step],
                documents=[f"{row['title']}\n{row['text']}" for row in batch],
                metadatas=[{"title": row["title"], **dict.fromkeys(row["labels"], True)} for row in batch],
            )  # fmt: skip

    def vector(self, vector: np.ndarray, label: str | None) -> list[int]:
        within = {label: True} if label else None
        found = self.documents.query(query_embeddings=[vector], n_results=K, where=within, include=[])
        return [int(one) for one in found["ids"][0]]


ENGINES = {
    "forgelore": Forgelore, "FTS5 + vec0": PlainSqlite, "tantivy": Tantivy, "lancedb": Lance,
    "qdrant-client, local": Qdrant, "chromadb": Chroma,
}  # fmt: skip


def main() -> None:
    name, place, out = sys.argv[1:]
    data = pathlib.Path(place)
    with open(data / "documents.jsonl", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    vectors = np.load(data / "vectors.npy")
    asked = json.loads((data / "questions.json").read_text(encoding="utf-8"))
    folder = data / "".join(filter(str.isalnum, name))
    folder.mkdir()
    engine = ENGINES[name]()
    began, worked = time.perf_counter(), time.process_time()
    engine.build(folder, rows, vectors)
    found = {"build_cpu_s": time.process_time() - worked, "build_wall_s": time.perf_counter() - began}
    own_size = getattr(engine, "size", folder_size)
    found |= {"bytes": own_size(folder), "answers": ask_all(engine, asked, np.load(data / "asked.npy"))}
    pathlib.Path(out).write_text(json.dumps(found), encoding="utf-8")


def folder_size(folder: pathlib.Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def ask_all(engine, asked: dict, vectors: np.ndarray) -> dict[str, list]:
    """Return kind -> [ids, milliseconds] per question; kinds that the engine cannot answer are missing."""
    tenth, thousandth = asked["labels"]
    kinds = {
        "words": (engine.words, asked["titles"], (None,)),
        "words, 10 %": (engine.words, asked["titles"], (tenth,)),
        "new": (engine.words, asked["new_titles"], (None,)),
        "new, all words": (getattr(engine, "every_word", None), asked["new_titles"], ()),
        "vector": (engine.vector, vectors, (None,)),
        "vector, 10 %": (engine.vector, vectors, (tenth,)),
        "vector, 0.1 %": (engine.vector, vectors, (thousandth,)),
    }
    return {name: ask(call, list(those), rest) for name, (call, those, rest) in kinds.items() if call}


def ask(call, those: list, rest: tuple) -> list:
    for one in those[:20]:
        call(one, *rest)
    answers = []
    for one in those:
        began = time.perf_counter()
        ids = call(one, *rest)
        answers.append([ids, (time.perf_counter() - began) * 1000])
    return answers


if __name__ == "__main__":
    main()
