"""What does an answer of `ask` cost in tokens, beside pasting the ten best documents into one prompt?

`python bench/run.py tokens`. The four example queries of the specification of `ask`, each asked of a project that is at
hand: the standard library's source, this repository with its commits, and the built-in tracker. The transcripts
(ask_transcripts.jsonl) are written by hand: no strong model is at hand. They are played through the real loop, over
HTTP, on a real store, so they measure tokens and prove that citations are looked up. They do not measure answers.
"""

import json
import os
import pathlib
import tempfile
import typing

import forgelore as product
from code_index import make_library
from lib.common import HERE, ROOT, clean_environ, forgelore, report, table

TRANSCRIPTS = HERE / "ask_transcripts.jsonl"
PASTED = 10
CHARS_A_TOKEN = 4


class AnswerCosts(typing.NamedTuple):
    """Tokens of a run: what its tools showed, its last prompt and reply, all prompts and replies; and of the paste.
    `inside`: of the items that are cited, those that the paste holds.
    """

    steps: int
    shown: int
    once: int
    spent: int
    pasted: int
    inside: str
    held: str


def main(arguments: list[str]) -> None:
    transcripts = [json.loads(line) for line in TRANSCRIPTS.read_text(encoding="utf-8").splitlines()]
    with tempfile.TemporaryDirectory() as folder:
        history, server = open_store(pathlib.Path(folder))
        costs = [measure(history, server, transcript) for transcript in transcripts]
        history.close()
        server.stop()
    parts = [answers_table(transcripts, costs), NOTE, "## The queries", queries_table(transcripts)]
    report("tokens", "Tokens per answer", parts, " ".join(arguments))


NOTE = (
    "Transcripts are written by hand: this measures tokens, not answers. A token is four characters. *Spent* is what a"
    " budget counts: every prompt of the run, each with all that was said before it and with the tools, and every"
    " reply. A server that keeps the beginning of a prompt (most do) works on *once* alone: the last prompt, in which"
    " everything stands once, and its reply. *Paste* is one prompt with the whole text of the ten best hits of one"
    " search for the question, and no answer yet. *Cited in it*: how many of the items that the answer cites are among"
    " those ten. *Held*: citations whose quote stands on its lines, looked up in the store."
)


def open_store(folder: pathlib.Path):
    """Return a history with three projects in it, and the server of its model."""
    from servers.chat import ChatServer

    db = folder / "lore.db"
    environ = clean_environ(folder, FORGELORE_DB=str(db))
    forgelore("demo", "--keep", str(db), environ=environ)
    cache = pathlib.Path(os.environ.get("FORGELORE_BENCH_CACHE") or tempfile.gettempdir()) / "forgelore-code"
    cache.mkdir(parents=True, exist_ok=True)
    forgelore("index-code", str(make_library(cache / "library")), "--project", "python/cpython", environ=environ)
    forgelore("index-code", str(ROOT), "--project", "forgelore/forgelore", environ=environ)
    server = ChatServer()
    server.usage = None  # forgelore counts: a quarter of the characters
    server.start()
    model = {"FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}
    return product.open(db, environ=environ | model), server


def measure(history, server, transcript: dict) -> AnswerCosts:
    from ask.written import WrittenTranscript

    server.replies = written = WrittenTranscript(transcript["turns"])
    found = history.ask(transcript["question"], project=transcript["project"])
    assert found.ended_by == "answer", found.problem
    assert not written.problems, written.problems
    hits = history.search(transcript["question"], project=transcript["project"], type="all", limit=PASTED).hits
    pasted = [history.read_text(hit.key) for hit in hits]
    cited = {one.title for one in found.citations}
    last = found.steps[-1]
    return AnswerCosts(
        len(found.steps), sum(len(one.result) for step in found.steps for one in step.calls) // CHARS_A_TOKEN,
        last.tokens_in + last.tokens_out, found.tokens_in + found.tokens_out,
        sum(len(text.text) for text in pasted) // CHARS_A_TOKEN,
        f"{len(cited & {text.title for text in pasted})} of {len(cited)}",
        f"{sum(one.is_good for one in found.citations)} of {len(found.citations)}",
    )  # fmt: skip


def answers_table(transcripts: list[dict], costs: list[AnswerCosts]) -> str:
    head = ["question", "steps", "text shown", "once", "spent", f"paste of {PASTED}", "cited in it", "held"]
    rows = [[one["question"], *cost] for one, cost in zip(transcripts, costs, strict=True)]
    totals = [sum(cost[at] for cost in costs) for at in range(5)]
    return table(head, [*rows, ["all four", *totals, "", ""]])


def queries_table(transcripts: list[dict]) -> str:
    return table(
        ["in the specification", "asked here", "of"],
        [[one["spec"], one["question"], one["project"]] for one in transcripts],
    )
