"""Search over the demo tracker finds what people look for. Floors lie below what was measured, by a few queries.

One test has the vectors: the built-in model needs seconds for the demo's documents, and each worker would pay again.
"""

import io
import json
import pathlib

import duplicates

from forgelore.compare.evaluate import EvaluationSetup, evaluate, read_suite
from forgelore.index.vectors import embed_documents
from forgelore.search.retriever import Retriever

HERE = pathlib.Path(__file__).parent
GOLDEN = read_suite(io.BytesIO((HERE / "golden.jsonl").read_bytes()))
DUPLICATES = read_suite(io.BytesIO("\n".join(map(json.dumps, duplicates.lines())).encode()))


def measure(app, suite, mode, embedder=None):
    result = evaluate(
        Retriever(app.store(), embedder), suite, EvaluationSetup(app.find_project(None), app.hosts, app.now_ms(), mode)
    )
    assert (result.mode, result.warnings, result.left_out) == (mode, [], [])
    return result


def assert_floors(result, group, **floors):
    values = result.score(group).values
    missed = [(one.query, one.expected, one.rank) for one in result.outcomes if one.rank != 1]
    for name, floor in floors.items():
        metric = name.replace("_", "@")
        assert values[metric] >= floor, f"{result.mode} {metric} is {values[metric]:.3f}, not {floor}: {missed}"


def test_the_suite_has_every_sort_of_query():
    texts = [query.text for _, query in GOLDEN.queries]
    assert len(texts) == len(set(texts)) >= 35
    assert not GOLDEN.bad
    for sort in ("warum", "carpetas", "LNT-6001", "ChunkCache::insert", "resolver.rs:218", "merge_base"):
        assert any(sort in text for text in texts)


def test_words_alone_find_what_people_look_for(demo):
    assert_floors(measure(demo, GOLDEN, "lexical"), "golden", recall_1=0.85, recall_10=0.92, mrr=0.88)


def test_words_alone_find_duplicates(demo):
    result = measure(demo, DUPLICATES, "lexical")
    assert_floors(result, "issue", recall_10=0.84, mrr=0.55)
    assert_floors(result, "change", recall_1=1.0)


def test_words_and_meaning_together_find_what_people_look_for_and_duplicates(demo):
    embedder = demo.embedder("lore")
    embed_documents(demo.store(), embedder, [1])
    golden = measure(demo, GOLDEN, "hybrid", embedder)
    assert_floors(golden, "golden", recall_1=0.8, recall_10=0.92, mrr=0.86)
    assert_floors(measure(demo, GOLDEN, "semantic", embedder), "golden", recall_10=0.92, mrr=0.8)
    repeated = measure(demo, DUPLICATES, "hybrid", embedder)
    assert_floors(repeated, "issue", recall_10=0.84, mrr=0.6)
    assert_floors(repeated, "change", recall_1=1.0)
