"""How fast is code indexed, and is the right file found?

`python bench/run.py code_index [fresh]`. The source tree of Python's standard library and this repository are indexed,
and 10,000 small files once more with nothing changed. Questions are those of code_questions.jsonl, written with their
true file and line by somebody who had not run a search on them. Beside ours, in the same table: what counting keywords
(as with ripgrep) and plain FTS5 over whole files find. Repositories and stores are kept in FORGELORE_BENCH_CACHE (or
the temporary folder) and made anew with `fresh`.
"""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import sysconfig
import tempfile
import typing

import forgelore as product
from lib.common import HERE, ROOT, clean_environ, forgelore, report, table, verdict

QUESTIONS = HERE / "code_questions.jsonl"
MIN_RATE, MAX_AGAIN_S, MIN_FOUND = 2_000, 2.0, 0.80
SMALL_FILES = 10_000
FIRST, NEAR = 5, 10  # hits that count, and lines that a hit may be away from the true one
STOPS = frozenset((
    "a", "an", "and", "are", "as", "at", "be", "by", "can", "do", "does", "for", "from", "how", "if", "in",
    "into", "is", "it", "its", "of", "on", "or", "that", "the", "this", "to", "what", "when", "where", "which",
    "who", "why", "with", "without", "not",
))  # fmt: skip
KINDS = {"identifier": "by identifier", "words": "in plain words"}


class Question(typing.NamedTuple):
    text: str
    kind: str
    files: frozenset[str]
    line: int


class Place(typing.NamedTuple):
    file: str
    line: int | None = None


def main(arguments: list[str]) -> None:
    folder = pathlib.Path(os.environ.get("FORGELORE_BENCH_CACHE") or tempfile.gettempdir()) / "forgelore-code"
    if "fresh" in arguments:
        shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True, exist_ok=True)
    library, small = make_library(folder / "library"), make_small(folder / "small")
    trees = {"standard library": library, "this repository": ROOT, f"{SMALL_FILES:,} small files": small}
    rows = [measure_index(folder, name, place) for name, place in trees.items()]
    found = measure_answers(folder, library) if QUESTIONS.exists() else []
    report("code", "Code: how fast it is indexed, and what is found", [
        *targets(rows, found),
        "## Indexing, without vectors", table(list(rows[0]), [list(row.values()) for row in rows]), INDEX_NOTE,
        *(["## Finding", found_table(found), FOUND_NOTE] if found else []),
    ], bench="code_index")  # fmt: skip


INDEX_NOTE = (
    "Indexing is one process: on an idle machine its seconds are those of its CPU. An again-run finds the same commit;"
    " after an empty commit the trees are compared, blob by blob."
)
FOUND_NOTE = (
    "First 5: the true file is among the first five hits of one search. Its line: such a hit names a line at most 10"
    " away from the true one. Keywords: files by how many different words of the question they hold, then by how often"
    " (ripgrep's counts). Plain FTS5: whole files, an OR of the words, BM25."
)


def targets(rows: list[dict[str, object]], found: list[list[object]]) -> list[str]:
    slowest = min(float(row["files per minute of a core"]) for row in rows)
    again = float(rows[-1]["again, s"])
    lines: list[list[object]] = [
        [f"indexing >= {MIN_RATE:,} files per minute", f"{slowest:,.0f}", verdict(slowest, MIN_RATE, at_most=False)],
        [
            f"again, {SMALL_FILES:,} files, <= {MAX_AGAIN_S:g} s",
            f"{again:.2f} s",
            verdict(again, MAX_AGAIN_S, at_most=True),
        ],
    ]
    if found:
        share = float(found[0][2])
        lines.append(
            [f"right file in the first 5 >= {MIN_FOUND:.0%}", f"{share:.0%}", verdict(share, MIN_FOUND, at_most=False)]
        )
    return ["## Targets", table(["target", "measured", "verdict"], lines)]


def make_library(folder: pathlib.Path) -> pathlib.Path:
    """Return a repository with the standard library's sources, as this Python has them."""
    if not folder.exists():
        source = pathlib.Path(sysconfig.get_paths()["stdlib"])
        ignored = shutil.ignore_patterns("site-packages", "__pycache__", "*.pyc", "*.so", "config-*")
        shutil.copytree(source, folder, ignore=ignored)
        commit(folder)
    return folder


def make_small(folder: pathlib.Path) -> pathlib.Path:
    if not folder.exists():
        for number in range(SMALL_FILES):
            place = folder / f"package{number // 100:03}" / f"module{number:05}.py"
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(
                "".join(f"def step_{number}_{part}(value):\n    return value + {part}\n\n\n" for part in range(5))
            )
        commit(folder)
    return folder


def commit(folder: pathlib.Path, *more: str) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=bench", "-c", "user.email=bench@example.org", "-c", "commit.gpgSign=false"]
        subprocess.run(["git", "-C", str(folder), *identity, *words], check=True, capture_output=True)

    if not (folder / ".git").exists():
        git("init", "--quiet", "--template=")
    git("add", "--all", "--force")
    git("commit", "--quiet", "--message", "State", *more)


def measure_index(folder: pathlib.Path, name: str, place: pathlib.Path) -> dict[str, object]:
    """Return what indexing a repository costs, then again, then after a commit that changes nothing."""
    db = folder / f"{place.name}.db"
    for ending in ("", "-wal", "-shm"):
        pathlib.Path(f"{db}{ending}").unlink(missing_ok=True)
    environ = clean_environ(folder, FORGELORE_DB=str(db), FORGELORE_EMBEDDER="none")
    words = ("index-code", str(place), "--project", f"bench/{place.name}", "--json", "--no-commits")
    first = forgelore(*words, environ=environ)
    files = json.loads(first.out)["data"]["files"]
    again = forgelore(*words, environ=environ)
    if place != ROOT:
        commit(place, "--allow-empty")
    moved = forgelore(*words, environ=environ) if place != ROOT else None
    assert json.loads(again.out)["data"]["files"]["unchanged"] == files["total"]
    size = os.path.getsize(db) / 1e6
    return {
        "tree": name, "files": files["total"], "left out": sum(files["left_out"].values()), "seconds": first.wall_s,
        "CPU s": first.cpu_s, "files per minute of a core": files["total"] / first.cpu_s * 60,
        "memory, MB": first.peak_mb, "again, s": again.wall_s,
        "after an empty commit, s": moved.wall_s if moved else "", "database, MB": size,
    }  # fmt: skip


def measure_answers(folder: pathlib.Path, library: pathlib.Path) -> list[list[object]]:
    """Return, for each way of finding, how often the right file is among the first: of all, and by kind."""
    questions = load_questions()
    environ = {**clean_environ(folder), "FORGELORE_EMBEDDER": "none"}
    files = read_files(library)
    with product.open(folder / "library.db", environ=environ) as history:
        ways = {
            "forgelore": lambda text: [
                Place(hit.ref, hit.line) for hit in history.search(text, type="code", limit=FIRST).hits
            ],
            "keywords counted": KeywordCount(files),
            "plain FTS5": PlainFullText(files),
        }
        answers = {name: [answer(question.text) for question in questions] for name, answer in ways.items()}
    for question, hits in zip(questions, answers["forgelore"], strict=True):
        if not is_found(question, hits):
            print(
                f"missed: {question.text!r} ({', '.join(sorted(question.files))}): {[hit.file for hit in hits]}",
                file=sys.stderr,
            )
    return [score(name, questions, hits) for name, hits in answers.items()]


def score(name: str, questions: list[Question], answers: list[list[Place]]) -> list[object]:
    pairs = list(zip(questions, answers, strict=True))

    def share(test: typing.Callable[[Question, list[Place]], bool], kind: str = "") -> float:
        chosen = [pair for pair in pairs if kind in ("", pair[0].kind)]
        return sum(test(*pair) for pair in chosen) / max(len(chosen), 1)

    return [
        name, share(lambda question, hits: is_found(question, hits[:1])), share(is_found),
        *(share(is_found, kind) for kind in KINDS), share(is_near),
    ]  # fmt: skip


def found_table(found: list[list[object]]) -> str:
    head = ["", "first", f"first {FIRST}", *(f"first {FIRST}, {said}" for said in KINDS.values()), "its line"]
    return table(head, [[row[0], *(f"{cell:.0%}" for cell in row[1:])] for row in found])


def is_found(question: Question, hits: list[Place]) -> bool:
    return any(hit.file in question.files for hit in hits)


def is_near(question: Question, hits: list[Place]) -> bool:
    return any(
        hit.file in question.files and hit.line is not None and abs(hit.line - question.line) <= NEAR for hit in hits
    )


def load_questions() -> list[Question]:
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    return [
        Question(row["question"], row["kind"], frozenset([row["file"], *row.get("also", [])]), row["line"])
        for row in rows
    ]


def read_files(folder: pathlib.Path) -> dict[str, str]:
    return {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.rglob("*.py"))
    }


def keywords(text: str) -> list[str]:
    return [word for word in dict.fromkeys(re.findall(r"\w+", text.lower())) if word not in STOPS and len(word) > 1]


class KeywordCount:
    """Files by how many of the words they hold, then by how often: what one does with ripgrep's counts."""

    def __init__(self, files: dict[str, str]) -> None:
        self._files = {name: text.lower() for name, text in files.items()}

    def __call__(self, text: str) -> list[Place]:
        words = keywords(text)
        counted = []
        for name, content in self._files.items():
            counts = [content.count(word) for word in words]
            if any(counts):
                counted.append((-sum(map(bool, counts)), -sum(counts), name))
        return [Place(name) for _, _, name in sorted(counted)[:FIRST]]


class PlainFullText:
    """FTS5 as it comes: whole files, its default tokenizer, an OR of the words, BM25."""

    def __init__(self, files: dict[str, str]) -> None:
        self._db = sqlite3.connect(":memory:")
        self._db.execute("CREATE VIRTUAL TABLE files USING fts5 (name, text)")
        self._db.executemany("INSERT INTO files VALUES (?, ?)", files.items())

    def __call__(self, text: str) -> list[Place]:
        expression = " OR ".join(f'"{word}"' for word in keywords(text))
        if not expression:
            return []
        sql = "SELECT name FROM files WHERE files MATCH ? ORDER BY bm25(files) LIMIT ?"
        return [Place(name) for (name,) in self._db.execute(sql, (expression, FIRST))]


if __name__ == "__main__":
    main(sys.argv[1:])
