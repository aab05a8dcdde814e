"""Does `ask` without a model show the passage that answers?

`python bench/run.py passages [fresh]`. One store holds the items of a real tracker (bitcoin) and the code and commits
of this repository as they were at one commit. The questions of passages_questions.jsonl were written, with the words
that answer them, before any of them was asked: 20 for tuning, 20 held out. A question is answered when one of the five
passages is of the right item, file or commit and shows these words. The store is kept in FORGELORE_BENCH_CACHE (or the
temporary folder) and made anew with `fresh`.
"""

import collections
import json
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import typing

import forgelore as product
from lib.common import HERE, ROOT, SHARED, Skipped, clean_environ, forgelore, report, table, verdict

QUESTIONS = HERE / "passages_questions.jsonl"
TRACKER = SHARED / "corpora" / "bitcoin.jsonl.gz"
COMMIT = "d71b0be"  # of this repository: whatever is written later holds the questions
MIN_RIGHT = 16  # of the 20 that were tuned on
KINDS = ("item", "code", "commit")


class Asked(typing.NamedTuple):
    row: dict
    passages: list
    cpu_s: float

    @property
    def place(self) -> int | None:
        """Where the right passage stands among those that are shown, from 1."""
        places = [at for at, one in enumerate(self.passages, 1) if is_right(self.row, one)]
        return places[0] if places else None


def main(arguments: list[str]) -> None:
    if not TRACKER.exists():
        raise Skipped(f"{TRACKER.name} is not here")
    folder = pathlib.Path(os.environ.get("FORGELORE_BENCH_CACHE") or tempfile.gettempdir()) / "forgelore-passages"
    if "fresh" in arguments:
        shutil.rmtree(folder, ignore_errors=True)
    environ = clean_environ(folder, FORGELORE_DB=str(folder / "lore.db"))
    make_store(folder, environ)
    rows = [json.loads(line) for line in QUESTIONS.read_text(encoding="utf-8").splitlines()]
    with product.open(folder / "lore.db", environ=environ) as history:
        asked = [ask(history, row) for row in rows]
    for one in asked:
        if one.row["set"] != "tuning":
            continue  # the held-out ones stay unseen
        shown = " ".join(f"{passage.type}:{passage.id}" for passage in one.passages)
        print(f"{one.place or '-'} {one.row['ref']} {one.row['question']} | {shown}", file=sys.stderr)
    right = sum(one.place is not None for one in asked if one.row["set"] == "tuning")
    report("passages", "Passages without a model: is the one shown that answers?", [
        "## Target",
        table(["target", "measured", "verdict"], [
            [f"right passage shown, of 20 >= {MIN_RIGHT}", right, verdict(right, MIN_RIGHT, at_most=False)],
        ]),
        "## Right passages among the five that are shown",
        table(["questions", "all", *KINDS, "in the first place", "header lines shown", "CPU s, each"],
              [score(name, asked) for name in ("tuning", "held out")]),
        "## Which kinds are shown, in their order", kinds_table(asked), NOTE,
    ])  # fmt: skip


NOTE = (
    "Of 20 questions 8 are answered by an item, 6 by code, 6 by a commit. Held out: nobody looked at their answers"
    " while passages were tuned."
)


def make_store(folder: pathlib.Path, environ: dict[str, str]) -> None:
    if (folder / "lore.db").exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    clone = folder / "clone"
    subprocess.run(["git", "clone", "--quiet", "--no-local", str(ROOT), str(clone)], check=True)
    subprocess.run(["git", "-C", str(clone), "checkout", "--quiet", "-B", "bench", COMMIT], check=True)
    forgelore("index-code", str(clone), "--project", "bench/forgelore", environ=environ)
    forgelore("import", str(TRACKER), "--project", "bench/bitcoin", environ=environ)


def ask(history, row: dict) -> Asked:
    before = resource.getrusage(resource.RUSAGE_SELF)
    answer = history.ask(row["question"], without_model=True)
    after = resource.getrusage(resource.RUSAGE_SELF)
    return Asked(row, list(answer.passages), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def is_right(row: dict, passage) -> bool:
    wanted = [(row["ref"], row["answer"]), *((one["ref"], one["answer"]) for one in row.get("also", ()))]
    named = f"{passage.id}\n{passage.title}\n{passage.url}"
    shown = " ".join(passage.text.split())
    return any(_is_of(ref, passage, named) and " ".join(answer.split()) in shown for ref, answer in wanted)


def _is_of(ref: str, passage, named: str) -> bool:
    if ref.startswith("#"):
        return passage.id.endswith(ref)
    return f"/commit/{ref}" in named or passage.id.startswith(ref) or passage.title == ref


def score(name: str, asked: list[Asked]) -> list[object]:
    chosen = [one for one in asked if one.row["set"] == name]
    found = collections.Counter(one.row["kind"] for one in chosen if one.place)
    headers = sum("--- Message ---" in p.text or "\nURL: " in p.text for one in chosen for p in one.passages)
    cpu = sum(one.cpu_s for one in chosen) / len(chosen)
    first = sum(one.place == 1 for one in chosen)
    return [name, found.total(), *(found[kind] for kind in KINDS), first, headers, f"{cpu:.3f}"]


def kinds_table(asked: list[Asked]) -> str:
    counts = collections.Counter(", ".join(one.type for one in each.passages) for each in asked)
    return table(["kinds", "questions"], [[kinds, count] for kinds, count in counts.most_common(8)])


if __name__ == "__main__":
    main(sys.argv[1:])
