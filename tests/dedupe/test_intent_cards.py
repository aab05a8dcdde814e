"""Intent cards: what rules take from a text, that only what changed is made again, and that cards change no search in
what people wrote.
"""

import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import engine_tables
from dedupe.tracker import id_of, item, job, number_of, ordinary, write
from forgelore.compare.rank import CompareRequest, find_similar
from forgelore.dedupe.candidates import CandidateSetting, make_candidates, rank_source
from forgelore.dedupe.cards import IntentCard, card_text, decode_card, encode_card, extract_card, hash_source
from forgelore.dedupe.intent import RuleCards, make_cards
from forgelore.errors import InvalidValue
from forgelore.index.check import CheckRequest, check_store
from forgelore.index.repair import repair_store
from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.model import ItemKey
from forgelore.records import JudgedItem
from forgelore.search.filters import SortOrder
from forgelore.search.query import Query
from forgelore.search.retriever import Retriever
from forgelore.search.run import search
from forgelore.store.candidates import each_latest_set
from forgelore.store.decisions import list_runs
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.store.items import bury
from forgelore.store.jobs import queue_documents
from forgelore.store.sqlite.schema import open_store
from forgelore.triage.intake import remove_private
from index.embedder import Hashed

TRACE = """\
### Steps to reproduce
After the update of `ChunkCache::insert` the folder list is empty.

```
ERROR: no folder left to sync (12 MB left)
  at org.acme.Cache.put(Cache.java:218)
```
Seen with v2.1.0-rc1, in src/net/cache.cpp:218
"""
COPIES = (101, 102, 103)


@pytest.fixture
def store(tmp_path):
    store = open_store(str(tmp_path / "lore.db"))
    yield store
    store.close()


@pytest.fixture
def tracker(store):
    copies = [item(number, "sync: Folders vanish from the settings", TRACE) for number in COPIES]
    hidden = item(121, "Folders vanish from the settings", TRACE, is_confidential=True)
    change = item(122, "Keep the folders of the settings", "Fixes it.", kind="change")
    write(store, [*map(ordinary, range(1, 60)), *copies, hidden, change])
    embed_documents(store, Hashed(), [1])
    return store


def cards(store, now_ms=7, **how):
    made = make_cards(job(store, now_ms), how.pop("kind", "issue"), RuleCards(), **how)
    index_items(store, [1])
    embed_documents(store, Hashed(), [1])
    return made


def card_of(store, number):
    kept = store.value("SELECT card FROM intent_cards WHERE item_id = ?", id_of(store, number))
    return decode_card(kept) if kept else None


def test_rules_take_the_fields_from_the_words_of_an_item():
    card = extract_card(JudgedItem(1, 1, "issue", "wallet, rpc: crash in sendtoaddress()", TRACE, "open"))
    assert card == IntentCard(
        type="bug", component="wallet, rpc", symptom="crash in sendtoaddress()",
        context="After the update of ChunkCache::insert the folder list is empty. ERROR: no folder left to sync (12 MB left)"
        " Seen with v2.1.0-rc1, in src/net/cache.cpp:218",
        errors=("ERROR: no folder left to sync (12 MB left)",), frames=("at org.acme.Cache.put",),
        identifiers=card.identifiers, paths=("Cache.java", "src/net/cache.cpp"), versions=("v2.1.0-rc1",),
    )  # fmt: skip
    assert {"ChunkCache::insert", "sendtoaddress"} <= set(card.identifiers)
    assert card_text(card).splitlines()[:2] == ["wallet, rpc", "crash in sendtoaddress()"]
    assert decode_card(encode_card(card)) == card


@pytest.mark.parametrize(
    ("title", "component", "symptom"),
    [
        ("wallet: it crashes", "wallet", "it crashes"),
        ("fix(net): it crashes", "net", "it crashes"),
        ("[gui] it crashes", "gui", "it crashes"),
        ("fix: it crashes", "", "it crashes"),
        ("[Bug] it crashes", "", "it crashes"),
        ("it crashes: why?", "", "it crashes: why?"),
        ("std::move crashes", "", "std::move crashes"),
        ("", "", ""),
    ],
)
def test_the_component_is_what_a_title_names_before_it_says_anything(title, component, symptom):
    card = extract_card(JudgedItem(1, 1, "issue", title, "", "open"))
    assert (card.component, card.symptom) == (component, symptom)


def test_the_files_of_a_change_tell_its_component_and_its_paths():
    paths = ("src/wallet/a.cpp", "src/wallet/b.cpp", "doc/x.md")
    card = extract_card(JudgedItem(1, 1, "change", "Tidy up", "", "open", files=paths))
    assert (card.component, card.paths) == ("src/wallet", paths)


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.text(), st.text(), st.lists(st.text(max_size=40), max_size=5))
def test_any_text_makes_a_card_that_can_be_kept_printed_and_read_again(title, body, paths):
    card = extract_card(JudgedItem(1, 1, "change", title, body, "open", files=tuple(paths)))
    text = card_text(card)
    assert decode_card(encode_card(card)) == card
    assert len(text) < 20_000
    assert not set(text) & set(map(chr, [*range(10), *range(11, 32), 0x7F, 0x9B, 0x202E]))
    text.encode()


def test_hostile_text_stays_data_and_short():
    body = "\x1b[2J\u202e<img src=x> @ana /close ```\n" + "A_b" * 100_000 + "\nERROR: " + "boom " * 10_000
    card = extract_card(
        JudgedItem(1, 1, "issue", "[" * 5_000 + "x]: y\n\x1b]0;title\x07", body, "open", files=("../" * 999,))
    )
    assert "\x1b" not in card_text(card)
    assert len(card_text(card)) < 8_000


def test_every_live_public_item_of_a_kind_gets_one(tracker):
    made = cards(tracker)
    assert (made.kind, made.model, made.items, made.made, made.unchanged) == ("issue", "builtin", 62, 62, 0)
    assert card_of(tracker, 101).component == "sync"
    assert card_of(tracker, 121) is None, "what is confidential has none"
    assert card_of(tracker, 122) is None, "nor what is of another kind"
    row = tracker.row("SELECT schema_version, prompt_version, model, status, error, made_at FROM intent_cards LIMIT 1")
    assert row == (1, "", "builtin", "ok", "", 7)
    (run,) = list_runs(tracker, 1, step="intent")
    assert (run.status, run.counters) == ("done", {"made": 62, "fallbacks": 0})


def test_only_what_changed_is_made_again(tracker):
    cards(tracker)
    again = cards(tracker)
    assert (again.run_id, again.made, again.unchanged) == (None, 0, 62)
    write(tracker, [item(101, "sync: Folders vanish at night", TRACE), item(102, "sync: Folders vanish from the settings", TRACE, state="closed", labels=["bug"])])  # fmt: skip
    changed = cards(tracker)
    assert (changed.made, changed.unchanged) == (1, 61), "a new state or label is no new card"
    assert card_of(tracker, 101).symptom == "Folders vanish at night"
    assert cards(tracker, full=True).made == 62


def test_a_card_of_another_schema_text_or_outcome_is_made_again(tracker):
    cards(tracker)
    for change in ("schema_version = 0", "source_hash = ''", "status = 'fallback'"):
        tracker.run(f"UPDATE intent_cards SET {change} WHERE item_id = ?", id_of(tracker, 101))
        assert cards(tracker).made == 1


def test_a_run_that_is_stopped_keeps_what_it_has_and_goes_on(tracker):
    class Few(RuleCards):
        batch = 10

    stops = iter([False, False, True, True])
    first = make_cards(job(tracker, 7, lambda: next(stops)), "issue", Few())
    assert (first.made, first.is_stopped) == (30, True)
    rest = make_cards(job(tracker, 8), "issue", Few())
    assert (rest.made, rest.unchanged, rest.is_stopped) == (32, 30, False)


def test_the_same_source_has_the_same_hash_and_another_one_another():
    one = JudgedItem(1, 1, "change", "T", "B", "open", files=("a", "b"))
    assert hash_source(one) == hash_source(one._replace(files=("b", "a")))
    others = [one._replace(kind="issue"), one._replace(title="TB"), one._replace(body=""), one._replace(files=("a",))]
    assert len({hash_source(each) for each in [one, *others]}) == 5


def answers(store):
    """What ordinary commands say: hits with every number, similar items, and candidates."""
    retriever = Retriever(store, Hashed())
    requests = [
        Query("folders vanish settings"), Query("no folder left", "lexical"),
        Query("folders", "semantic", Filters(types=("issue",))), Query("wallet slow", filters=Filters(states=("open",))),
        Query("folder OR cache", is_raw=True, mode="lexical"),
    ]  # fmt: skip
    found = [search(retriever, request) for request in requests]
    subject = load_subject(store, id_of(store, 101))
    filters = Filters(types=("issue",), not_items=(subject.item_id,))
    return [
        *found, find_similar(retriever, CompareRequest(subject, filters)),
        rank_source(retriever, subject.item_id, CandidateSetting()),
    ]  # fmt: skip


def test_cards_change_nothing_of_what_is_found_in_the_words_of_people(tracker):
    before = answers(tracker)
    cards(tracker)
    cards(tracker, kind="change")
    assert tracker.value("SELECT count(*) FROM documents WHERE representation = 'intent'") == 63
    assert answers(tracker) == before


def test_an_order_other_than_relevance_lists_no_cards(tracker):
    request = Query("", "lexical", sort=SortOrder("created"), limit=100)
    before = search(Retriever(tracker), request)
    cards(tracker)
    assert search(Retriever(tracker), request) == before


def test_a_card_is_a_document_with_the_columns_of_its_item(tracker):
    cards(tracker)
    write(tracker, [item(101, "sync: Folders vanish from the settings", TRACE, state="closed", labels=["bug"])])
    embed_documents(tracker, Hashed(), [1])
    sql = "SELECT state, is_confidential, kind FROM documents WHERE item_id = ? AND representation = 'intent'"
    assert tracker.row(sql, id_of(tracker, 101)) == ("closed", 0, "issue")
    assert check_store(tracker, CheckRequest(embedder=Hashed())).findings == []


def test_a_deleted_item_leaves_no_card_behind(tracker):
    cards(tracker)
    gone = id_of(tracker, 101)
    with tracker.transaction():
        bury(tracker, 1, ItemKey("issue", 101), 9)
    index_items(tracker, [1])
    assert tracker.value("SELECT count(*) FROM intent_cards WHERE item_id = ?", gone) == 0
    assert tracker.value("SELECT count(*) FROM documents WHERE item_id = ?", gone) == 0
    assert check_store(tracker, CheckRequest(embedder=Hashed())).findings == []


CARD = "(SELECT id FROM documents WHERE representation = 'intent' ORDER BY id LIMIT 1)"


@pytest.mark.parametrize(
    ("finding", "damage"),
    [
        ("card_differs", "UPDATE intent_cards SET text = 'other words' WHERE item_id = 1"),
        ("card_differs", "UPDATE intent_cards SET card = '{' WHERE item_id = 1"),
        ("card_differs", "UPDATE intent_cards SET card = '[]' WHERE item_id = 1"),
        ("document_outdated", "DELETE FROM intent_cards WHERE item_id = 1"),
        ("document_outdated", f"UPDATE documents SET state = 'closed' WHERE id = {CARD}"),
        ("row_misplaced", "UPDATE intent_cards SET project_id = 9 WHERE item_id = 1"),
        ("broken_references", "UPDATE intent_cards SET item_id = 9999 WHERE item_id = 1"),
        ("text_differs", f"UPDATE documents SET content_hash = zeroblob(32) WHERE id = {CARD}"),
        *engine_tables.card_damages(CARD),
    ],
)
def test_a_check_finds_what_is_wrong_with_cards_and_a_repair_mends_it(tracker, finding, damage):
    cards(tracker)
    cards(tracker, kind="change")
    request = CheckRequest(embedder=Hashed(), now_ms=lambda: 9)
    before = answers(tracker)
    tracker.run("PRAGMA foreign_keys=OFF")
    for statement in damage.split(";"):
        tracker.run(statement)
    tracker.run("PRAGMA foreign_keys=ON")
    assert finding in {one.name for one in check_store(tracker, request).findings}
    repair_store(tracker, request)
    assert check_store(tracker, request).findings == []
    assert answers(tracker) == before
    cards(tracker)
    assert tracker.value("SELECT count(*) FROM documents WHERE representation = 'intent'") == 63


@pytest.mark.parametrize("mode", ["lexical", "semantic", "hybrid"])
def test_cards_are_searched_where_that_is_asked_for_and_nothing_else_is(tracker, mode):
    cards(tracker)
    cards(tracker, kind="change")
    retriever = Retriever(tracker, Hashed())
    for filters in (Filters(), Filters(types=("issue",)), Filters(states=("open",), types=("issue",))):
        found = search(retriever, Query("folders sync settings", mode, filters, source="intent", limit=50))
        assert {hit.row.representation for hit in found.hits} == {"intent"}
        assert {101, 102, 103} <= {hit.number for hit in found.hits}
        assert len({hit.number for hit in found.hits}) == len(found.hits)
    closed = Query("folders sync", mode, Filters(states=("closed",)), source="intent")
    assert search(retriever, closed).hits == []


def test_a_search_in_cards_knows_no_other_order_and_no_fields(tracker):
    cards(tracker)
    for request in (
        Query("folders", sort=SortOrder("created"), source="intent"),
        Query("folders", fields=("title",), source="intent"),
    ):
        with pytest.raises(InvalidValue):
            search(Retriever(tracker), request)
    phrase = Query("folders", "lexical", required=(('"folder left to sync"',),), source="intent")
    assert {hit.number for hit in search(Retriever(tracker), phrase).hits} == {*COPIES}


def make(store, **setting):
    wanted = CandidateSetting(representation="intent", **setting)
    return make_candidates(job(store, 9), Retriever(store, Hashed()), "issue", wanted)


def test_candidates_by_cards_are_those_with_a_near_card_and_have_the_numbers_of_their_texts(tracker):
    cards(tracker)
    made = make(tracker)
    assert (made.raw_fallbacks, made.made) == (0, 62)
    found = {number_of(tracker, one.item_id): one for one in each_latest_set(tracker, 1, "issue")}
    assert {one.representation for one in found.values()} == {"intent"}
    by_cards = {number_of(tracker, one.item_id): one for one in found[101].members}
    assert {102, 103} <= set(by_cards)
    raw = rank_source(Retriever(tracker, Hashed()), id_of(tracker, 101), CandidateSetting())
    by_texts = {number_of(tracker, one.item_id): one for one in raw.members}
    for number in (102, 103):
        one, other = by_cards[number], by_texts[number]
        assert (one.sameness, one.similarity, one.marks) == (other.sameness, other.similarity, other.marks)


def test_a_source_without_a_current_card_is_compared_by_its_text_which_is_counted(tracker):
    cards(tracker)
    write(tracker, [item(101, "sync: Folders vanish at night", TRACE)])
    made = make(tracker)
    assert made.raw_fallbacks == 1
    kept = {number_of(tracker, one.item_id): one.representation for one in each_latest_set(tracker, 1, "issue")}
    assert kept[101] == "intent_raw"
    assert kept[102] == "intent"
    again = make(tracker)
    assert (again.made, again.raw_fallbacks) == (1, 1), "it is tried again"
    cards(tracker)
    assert (make(tracker).made, make(tracker).made) == (1, 0)


def test_candidates_that_cards_chose_are_chosen_again_when_the_cards_are_new(tracker):
    cards(tracker)
    assert (make(tracker).made, make(tracker).made) == (62, 0)
    cards(tracker, now_ms=11, full=True)
    assert make(tracker).made == 62


def test_the_index_of_the_bot_holds_no_cards(tracker):
    cards(tracker)
    remove_private(tracker, 1, ("issue", "change"))
    assert tracker.value("SELECT count(*) FROM intent_cards") == 0
    assert tracker.value("SELECT count(*) FROM documents WHERE representation = 'intent'") == 0
    assert check_store(tracker, CheckRequest(embedder=Hashed())).findings == []


def test_an_item_whose_card_is_far_is_no_candidate_however_near_its_text(tracker):
    """Cards choose: with cards that say something else, not even the same text is compared."""
    others = (131, 132)
    write(tracker, [item(number, "Unicorn zebra", TRACE) for number in others])
    cards(tracker)
    odd = IntentCard(symptom="zebra unicorn")
    for number in others:
        kept = (encode_card(odd), card_text(odd), id_of(tracker, number))
        tracker.run("UPDATE intent_cards SET card = ?, text = ? WHERE item_id = ?", *kept)
    with tracker.transaction():
        queue_documents(tracker, 1, [id_of(tracker, number) for number in others])
    index_items(tracker, [1])
    few = Retriever(tracker)  # words alone: a list by meaning has no end in so small a tracker
    ranked = rank_source(few, id_of(tracker, 101), CandidateSetting(representation="intent", min_score=0, k=8))
    assert {number_of(tracker, one.item_id) for one in ranked.members} >= {102, 103}
    assert not {*others} & {number_of(tracker, one.item_id) for one in ranked.members}
    raw = rank_source(few, id_of(tracker, 101), CandidateSetting(min_score=0, k=8))
    assert {*others} <= {number_of(tracker, one.item_id) for one in raw.members}


def test_cards_are_kept_as_json_that_names_only_what_was_said():
    kept = json.loads(encode_card(extract_card(JudgedItem(1, 1, "issue", "wallet: it crashes", "", "open"))))
    assert kept == {"component": "wallet", "symptom": "it crashes"}
