"""search and similar as a person types them, whatever the embedder does."""

import json
import sys

import pytest

from servers.embedding import EmbeddingServer


def test_a_leading_dash_is_part_of_what_is_looked_for(demo):
    assert demo("search", "-deleted", "files", "--mode", "lexical", "--json").data["hits"]
    done = demo("search", "-DWITH_SSL", "--mode", "lexical")
    assert done.code == 0
    assert "nothing matches '-DWITH_SSL'" in done.out
    refused = demo("list", "issues", "-x")
    assert refused.code == 13
    assert "not a filter: '-x'" in refused.err


def test_the_best_of_a_bad_lot_is_told_and_every_hit_says_how_well_it_fits(demo):
    asked = "sourdough starter does not rise after feeding, open the window"
    done = demo("search", asked, "--mode", "lexical")
    assert "results (lexical)\nno close match; nearest results:\n 1. " in done.out
    data = demo("search", asked, "--mode", "lexical", "--json").data
    assert data["is_nothing_fitting"]
    assert 0 <= max(hit["relevance"] for hit in data["hits"]) < 0.4
    fitting = demo("search", "deleted files come back", "--json").data
    assert not fitting["is_nothing_fitting"]
    assert fitting["hits"][0]["relevance"] == 1
    fits = [hit["fit"] for hit in fitting["hits"]]
    assert fits[0] == "strong"
    assert fits == sorted(fits, key=["strong", "fair", "weak"].index)
    title = fitting["hits"][0]["title"]
    assert [title[start:end].lower() for start, end in fitting["hits"][0]["title_marks"]][:2] == ["deleted", "files"]
    assert "no close match" not in demo("search", "deleted files come back").out
    assert "relevance" not in demo("similar", "#41", "--json").data["hits"][0]


def test_similar_says_that_the_text_is_the_same(cli, tmp_path):
    row = {"kind": "issue", "title": "Lantern dims at night", "body": "The hall is dark as soon as the heating starts."}
    lines = [{**row, "number": at, "created_at": f"2026-01-0{at}T00:00:00Z"} for at in (1, 2)]
    path = tmp_path / "tracker.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    assert cli("import", str(path), "--project", "p").code == 0
    data = cli("similar", "#2", "--json").data
    (hit,) = data["hits"]
    assert (hit["sameness"], hit["similarity"], data["chance"]) == ("same_text", 1.0, None)
    assert "the same text" in hit["why"]
    assert "similarity" not in hit["why"]


DRAFT = b"# Deleted files come back after a sync\n\nI delete a file, and it is there again after the next sync.\n"


def test_a_draft_is_compared_before_it_is_filed(demo):
    data = demo("similar", "-", "--json", stdin=DRAFT).data
    assert (data["ref"], data["title"]) == ("", "Deleted files come back after a sync")
    assert data.keys() == demo("similar", "#41", "--json").data.keys()
    assert {hit["kind"] for hit in data["hits"]} == {"issue"}
    assert "deleted files" in data["hits"][0]["title"].lower()
    shown = demo("similar", "Deleted files come back after a sync", "--limit", "2").out
    assert shown.startswith("like the draft Deleted files come back after a sync\n")
    assert f"#{data['hits'][0]['number']} " in shown


def test_a_draft_of_a_change_is_compared_with_changes(demo):
    data = demo("similar", "-", "--type", "pr", "--json", stdin=DRAFT).data
    assert {hit["kind"] for hit in data["hits"]} == {"change"}


def test_a_word_that_may_name_an_item_is_a_ref(demo):
    assert demo("similar", "crash").code == demo("similar", "acme/web v9.9").code == 5
    assert "standard input is empty" in demo("similar", "-", stdin=b" \n").err


def test_the_answer_says_why_each_hit_is_similar(demo):
    hits = demo("similar", "#154", "--mode", "lexical", "--json").data["hits"]
    assert all(hit["why"].startswith("both say: ") for hit in hits)
    assert {"lexical_rank", "bm25", "vector_rank", "cosine", "rrf", "words"} <= set(
        demo("search", "deleted files", "--explain", "--json").data["hits"][0]["explain"]
    )


def test_an_embedder_that_cannot_even_be_made_leaves_the_words(demo, monkeypatch):
    monkeypatch.setitem(sys.modules, "forgelore_minilm", None)
    for place in (
        {"FORGELORE_EMBEDDER": "minilm"},
        {"FORGELORE_EMBEDDER": "ollama", "FORGELORE_EMBEDDER_URL": "http://192.168.1.5:11434"},
    ):
        done = demo("search", "deleted files", **place)
        assert done.code == 0
        assert "searched by words only" in done.err
        assert demo("similar", "#41", **place).code == 0
        assert demo("search", "deleted files", "--mode", "semantic", **place).code in (3, 14)


def test_a_key_that_is_refused_leaves_the_words(demo, embedding_server):
    place = {"FORGELORE_EMBEDDER": "openai", "FORGELORE_EMBEDDER_URL": embedding_server.v1}
    place |= {"FORGELORE_EMBEDDER_MODEL": "nomic-embed-text", "FORGELORE_EMBEDDER_KEY_ENV": "TEAM_KEY"}
    assert demo("embed", **place, TEAM_KEY="right-key-1").code == 0
    assert demo("search", "deleted files", **place, TEAM_KEY="right-key-1").err == ""
    done = demo("search", "deleted files", **place, TEAM_KEY="wrong-key-1")
    assert done.code == 0
    assert "searched by words only" in done.err
    assert "wrong-key-1" not in done.err + done.out
    assert demo("search", "deleted files", "--mode", "semantic", **place, TEAM_KEY="wrong-key-1").code == 4


def test_an_explanation_takes_the_strength_apart_into_facts_that_add_up_to_it(demo):
    for hit in demo("similar", "#157", "--explain", "--json").data["hits"]:
        facts = hit["facts"]
        assert sum(fact["moved"] for fact in facts["each"]) + facts["usual"] == pytest.approx(hit["strength"], abs=1e-3)
        moved = [abs(fact["moved"]) for fact in facts["each"]]
        assert moved == sorted(moved, reverse=True) and moved
    assert "facts" not in demo("similar", "#157", "--json").data["hits"][0]
    shown = demo("similar", "#157", "--explain").out
    assert "    for it: " in shown and " · against it: " in shown
    assert "for it: " not in demo("similar", "#157").out


@pytest.fixture
def embedding_server():
    with EmbeddingServer() as server:
        server.key = "right-key-1"
        yield server


def test_the_header_of_a_review_thread_names_its_file(demo):
    hits = demo("search", "cursor older than the daemon's event buffer", "--type", "thread", "--json").data["hits"]
    header = hits[0]["header"].splitlines()
    assert header[0].startswith("[[Thread]] Change ")
    assert 'Files: ["pylantern/pylantern/watch.py"]' in header
    item = demo("search", "reconnect in watch()", "--type", "change", "--json").data["hits"][0]
    assert "Files:" not in item["header"]
