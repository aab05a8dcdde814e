"""Make the training data: cleaned, cut into word pieces, free of repetitions, in a form that numpy reads as it is.

    python training/prepare.py ../shared/corpora --weights model.safetensors --output .training

Reads the trackers (NAME.jsonl.gz, NAME.queries.jsonl, NAME.exclude.json) and texts.jsonl.gz. Cleaning and word pieces
are those of the product, so that a text looks the same to the model in training and at work. Writes

    texts.npz     tokens (uint16, one text after the other: title, then body), title_len, body_len, source, partner
                  (the first comment of an item, -1: none)
    eval.json     per tracker: its items in `texts`, the queries with gold, and a BM25 list for each
    teacher_*.npz the teacher's weights in half precision, in two files
    data.json     what went in: SHA-256 of every input, of the cleaning rules and of the outputs, and counts
"""

import argparse
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

import bm25
from forgelore.embedders import lore
from forgelore.index import cleaning
from weights import read_safetensors

TRACKERS = ("bitcoin", "hadoop", "seamonkey")
COMMENTS = "bitcoin/bitcoin comments"
VOCABULARY = Path(lore.__file__).parent / "lore_data" / "vocab.txt"
MAX_TITLE = 128  # tokens
MAX_BODY = 600  # of an item: what the model reads at work
MAX_OTHER = 300  # of a commit message or a comment: there are many, and their beginnings say most
MIN_TOKENS = 5  # "LGTM" and "Concept ACK" teach nothing
_CHARS = 6_000
# A commit message's last lines name people, not things.
_TRAILER = re.compile(r"(?im)^\s*(?:[\w-]+-by|cc|change-id|cherry picked from|git-svn-id|closes|fixes|bug|refs?) ?:.*$")


class Text(NamedTuple):
    source: str
    title: str
    body: str
    is_item: bool = False
    comment: str = ""


def main() -> None:
    options = _options()
    corpora, output = Path(options.corpora), Path(options.output)
    output.mkdir(parents=True, exist_ok=True)
    corpus = Corpus(lore.WordPieces(VOCABULARY.read_text(encoding="utf-8")))
    evaluation = {name: load_tracker(corpora, name, corpus) for name in TRACKERS}
    for text in load_texts(corpora / "texts.jsonl.gz"):
        corpus.add(text)
    corpus.save(output / "texts.npz")
    (output / "eval.json").write_text(json.dumps(evaluation, separators=(",", ":")))
    save_weights(Path(options.weights), output)
    facts = {
        "inputs": {path.name: sha256(path) for path in sorted(corpora.glob("*.gz"))}
        | {"teacher": sha256(Path(options.weights))},
        "cleaning.py": sha256(Path(cleaning.__file__)),
        "vocab.txt": sha256(VOCABULARY),
        "outputs": {name: sha256(output / name) for name in ("texts.npz", "eval.json")},
        **corpus.counts(),
    }
    (output / "data.json").write_text(json.dumps(facts, indent=1))
    print(json.dumps(facts, indent=1))


class Corpus:
    """Texts as word pieces, each once."""

    def __init__(self, pieces: lore.WordPieces) -> None:
        self._pieces = pieces
        self._rows: dict[bytes, int] = {}
        self._tokens: list[np.ndarray] = []
        self._lengths: list[tuple[int, int, int, int]] = []  # title, body, source, partner
        self.sources: dict[str, int] = {}

    def add(self, text: Text) -> int:
        """Return the row of a text; -1 when it says too little to learn from."""
        limit = MAX_BODY if text.is_item else MAX_OTHER
        title = self._pieces.ids(text.title[:_CHARS], limit=MAX_TITLE)
        body = self._pieces.ids(cleaning.clean(text.body[: 4 * _CHARS])[:_CHARS], limit=limit)
        if len(title) + len(body) < MIN_TOKENS and not text.is_item:
            return -1
        tokens = np.array(title + body, dtype=np.uint16)
        key = hashlib.sha256(tokens.tobytes() + len(title).to_bytes(2)).digest()
        if key in self._rows:
            return self._rows[key]
        partner = self.add(Text(text.source, "", text.comment)) if text.comment else -1
        row = self._rows[key] = len(self._lengths)
        self._tokens.append(tokens)
        source = self.sources.setdefault(text.source, len(self.sources))
        self._lengths.append((len(title), len(body), source, partner))
        return row

    def save(self, path: Path) -> None:
        title, body, source, partner = np.array(self._lengths, dtype=np.int32).T
        np.savez_compressed(
            path, tokens=np.concatenate(self._tokens), title_len=title.astype(np.uint16),
            body_len=body.astype(np.uint16), source=source.astype(np.uint8), partner=partner,
            sources=np.array(list(self.sources)),
        )  # fmt: skip

    def counts(self) -> dict[str, object]:
        rows = np.array(self._lengths)
        return {
            "texts": len(rows),
            "tokens": int(rows[:, :2].sum()),
            "sources": {name: int((rows[:, 2] == at).sum()) for name, at in self.sources.items()},
        }


def load_tracker(corpora: Path, name: str, corpus: Corpus) -> dict[str, object]:
    """Return what evaluation needs of a tracker, and add its items and comments to the corpus."""
    excluded = set(json.loads((corpora / f"{name}.exclude.json").read_text()))
    items = list(_lines(corpora / f"{name}.jsonl.gz"))
    items.sort(key=lambda item: item["created_at"])
    rows = []
    for item in items:
        notes = [note["body"] or "" for note in item.get("notes") or [] if not note.get("is_system")]
        rows.append(corpus.add(Text(name, item["title"] or "", item["body"] or "", True, notes[0] if notes else "")))
        for note in notes[1:]:
            corpus.add(Text(name, "", note))
    queries = [json.loads(line) for line in (corpora / f"{name}.queries.jsonl").read_text().splitlines()]
    places = {(item["kind"], item["number"]): at for at, item in enumerate(items)}
    index = bm25.Index(items, excluded)
    return {
        "rows": rows,
        "kinds": [item["kind"] for item in items],
        "created": [item["created_at"] for item in items],
        "is_candidate": [int(item["number"] not in excluded) for item in items],
        "queries": [
            {
                "kind": query["kind"],
                "item": places[query["kind"], query["query"]],
                "gold": [places[query["kind"], gold] for gold in query["gold"] if (query["kind"], gold) in places],
                "bm25": index.search(places[query["kind"], query["query"]], limit=200),
            }
            for query in queries
            if query["gold"]
        ],
    }


def load_texts(path: Path) -> Iterator[Text]:
    for line in _lines(path):
        source = TRACKERS[0] if line["source"] == COMMENTS else line["source"]
        if "text" in line:
            yield Text(source, "", line["text"] or "")
        else:
            yield Text(source, line["title"] or "", _TRAILER.sub("", line["body"] or ""))


def save_weights(source: Path, output: Path) -> None:
    """Two files, because what travels to a GPU may be limited in size."""
    weights = {
        name: array.astype(np.float16) for name, array in read_safetensors(source).items() if "position_ids" not in name
    }
    table = "embeddings.word_embeddings.weight"
    np.savez(output / "teacher_1.npz", **{table: weights.pop(table)})
    np.savez(output / "teacher_2.npz", **{name: array for name, array in weights.items() if "pooler" not in name})


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _lines(path: Path) -> Iterator[dict[str, object]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        yield from map(json.loads, file)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("corpora", help="folder of the trackers and texts.jsonl.gz")
    parser.add_argument("--weights", required=True, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("--output", default=".training")
    return parser.parse_args()


if __name__ == "__main__":
    main()
