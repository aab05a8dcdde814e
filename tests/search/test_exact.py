"""Searching for identifiers, and whether what was found fits."""

import json

import pytest
from hashed import HashedEmbedder

from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.search.fusion import FLOOR
from forgelore.search.query import Query, QuerySetting, build_query
from forgelore.search.retriever import Retriever
from forgelore.search.run import search
from forgelore.store.filters import Filters
from forgelore.store.sqlite.schema import open_store
from forgelore.sync.archive import import_lines
from forgelore.viewer import PUBLIC
from forgelore.words import ProjectName

PROSE, LITERAL = range(1, 31), range(31, 56)
FILLER = " ".join(f"line{at} in libfoo at 0x{at:x}" for at in range(900))


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    """Thirty items write about dead code, 25 name dead_code somewhere, one deep in a log; others are about the rest."""
    path = tmp_path_factory.mktemp("exact") / "exact.db"
    store = open_store(str(path))
    items = [item(at, "dead code, dead code", "remove the dead code of a module") for at in PROSE]
    items += [item(at, f"warning {at} while compiling", "says `dead_code` and more " + "words " * at) for at in LITERAL]
    items += [item(60, "crash", f"{FILLER} libGIF.dylib {FILLER}")]
    items += [item(at, f"wallet number {at}", "the wallet is empty") for at in range(70, 90)]
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "exact"), lines, 1)
    index_items(store, [1])
    embed_documents(store, Knowing(), [1])
    yield store
    store.close()


class Knowing(HashedEmbedder):
    floor = 0.45


def item(number, title, body):
    return {"kind": "issue", "number": number, "title": title, "body": body, "state": "open"}


def ask(store, text, mode="hybrid", **more):
    return search(Retriever(store, Knowing()), Query(text, mode, **more))


def numbers(answer):
    return [hit.row.number for hit in answer.hits]


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_those_that_hold_an_identifier_come_before_those_that_hold_its_words(store, mode):
    found = numbers(ask(store, "dead_code", mode, limit=40))
    assert sorted(found[:25]) == list(LITERAL)
    assert set(found[25:]) <= set(PROSE)


@pytest.mark.parametrize("mode", ["lexical", "hybrid"])
def test_a_qualified_name_finds_what_names_its_last_part(tmp_path, mode):
    store = open_store(str(tmp_path / "names.db"))
    items = [item(at, "remove tx", "c tx mem pool: remove recursive") for at in range(1, 4)]
    items += [item(at, f"wallet {at}", "is empty") for at in range(4, 40)]
    items += [item(50, "slow eviction", f"the profile shows removeRecursive {FILLER}")]
    items += [item(51, "races", f"removeRecursive is called without a lock on CTxMemPool {FILLER}")]
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "names"), lines, 1)
    index_items(store, [1])
    embed_documents(store, Knowing(), [1])
    assert numbers(ask(store, "CTxMemPool::removeRecursive", mode))[:2] == [51, 50]
    store.close()


def test_as_words_they_are_found_by_rank(store):
    assert set(numbers(ask(store, "dead code", "lexical"))) <= set(PROSE)


def test_an_identifier_in_a_long_log_is_shown_and_fits(store):
    answer = ask(store, "libGIF")
    assert numbers(answer)[0] == 60
    assert answer.hits[0].words == ("libGIF",)
    assert "libGIF" in answer.hits[0].snippet.text
    assert answer.hits[0].relevance == 1
    assert not answer.is_nothing_fitting


def test_words_in_titles_are_marked(store):
    hit = ask(store, "compiling warnings 31").hits[0]
    assert [hit.row.title[start:end] for start, end in hit.title_marks] == ["warning", "31", "compiling"]


def test_the_best_of_a_bad_lot_is_told(store):
    bad = ask(store, "sourdough starter does not rise while the oven is empty")
    assert bad.hits
    assert bad.is_nothing_fitting
    assert max(hit.relevance for hit in bad.hits) < FLOOR
    good = ask(store, "empty wallet")
    assert not good.is_nothing_fitting
    assert good.hits[0].relevance == 1


def test_a_filter_that_holds_none_of_the_words_still_has_hits_by_meaning(store):
    """The store knows the word, so what is near within the filter is an answer, rated as any other."""
    only_wallets = Filters(not_items=tuple(range(1, 57)))
    known = ask(store, "compiling", filters=only_wallets)
    assert known.hits
    assert max(hit.relevance for hit in known.hits) < FLOOR
    assert known.is_nothing_fitting
    assert not ask(store, "sourdough", filters=only_wallets).hits


def test_a_word_that_only_a_confidential_item_holds_is_not_known_to_the_public(tmp_path):
    store = open_store(str(tmp_path / "secret.db"))
    items = [
        item(1, "wallet", "is empty"),
        {**item(2, "codename sourdough", "in secret"), "is_confidential": True},
    ]
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "secret"), lines, 1)
    index_items(store, [1])
    embed_documents(store, Knowing(), [1])
    assert not ask(store.seen_by(PUBLIC), "sourdough").hits
    assert numbers(ask(store, "sourdough"))[0] == 2
    store.close()


def test_a_named_item_and_what_filters_allow_fit_by_definition(store):
    setting = QuerySetting(None, {}, 0)
    for text in ("#60", "is:open sort:created", "wallet sort:created"):
        answer = search(Retriever(store, Knowing()), build_query(store, text, {}, setting))
        assert answer.hits[0].relevance == 1
        assert not answer.is_nothing_fitting


def test_ranks_alone_rate_nothing(store):
    answer = ask(store, "sourdough wallet", is_bare=True)
    assert {hit.relevance for hit in answer.hits} == {None}
    assert not answer.is_nothing_fitting


def test_whether_anything_fits_does_not_depend_on_the_length_of_the_page(store):
    for text in ("wallet empty module", "warning while compiling bread", "sourdough bread recipe", "zebra crash"):
        told = {
            search(Retriever(store, Knowing()), Query(text, limit=limit)).is_nothing_fitting for limit in (1, 3, 20)
        }
        assert len(told) == 1, text


@pytest.mark.parametrize(
    ("typed", "spread"),
    [
        ("zebrafish walnut quagmire", f"zebrafish {FILLER} walnut {FILLER} quagmire"),
        ('zebrafish "walnut quagmire"', f"zebrafish {FILLER} walnut\n  quagmire {FILLER}"),
    ],
    ids=["words", "a phrase over two lines"],
)
def test_a_long_text_is_rated_by_all_of_it(tmp_path, typed, spread):
    store = open_store(str(tmp_path / "long.db"))
    items = [item(1, "log of a run", spread), *(item(at, f"wallet {at}", "is empty") for at in range(2, 40))]
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "long"), lines, 1)
    index_items(store, [1])
    answer = search(Retriever(store), Query(typed, "lexical"))
    assert [(hit.row.number, hit.words, hit.relevance) for hit in answer.hits] == [(1, ("zebrafish",), 1.0)]
    assert not answer.is_nothing_fitting
    store.close()


@pytest.mark.parametrize("before", ["", FILLER], ids=["short", "long"])
@pytest.mark.parametrize("typed", ["iouring", "isopen", "dbpath"])
def test_an_identifier_that_is_asked_for_in_one_piece_is_shown_and_fits(tmp_path, typed, before):
    """Though its first piece is shorter than what is looked for first."""
    store = open_store(str(tmp_path / "pieces.db"))
    items = [
        item(1, "various dbs", f"{before} opens with io_uring where is_open, see db_path"),
        item(2, "wallet", "is empty"),
    ]
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "pieces"), lines, 1)
    index_items(store, [1])
    answer = search(Retriever(store), Query(typed, "lexical"))
    (hit,) = answer.hits
    assert [hit.snippet.text[start:end].replace("_", "") for start, end in hit.snippet.marks] == [typed]
    assert (hit.words, hit.relevance) == ((typed,), 1.0)
    store.close()


def test_the_common_words_of_a_long_title_count_too(tmp_path):
    """Twelve rare words are noise here; what the title is about is told by the four that others have as well."""
    store = open_store(str(tmp_path / "title.db"))
    rare = [f"noise{letter}" for letter in "abcdefghijklmn"]
    told = ["wallet", "crashes", "during", "rescan"]
    items = [item(at, f"about {word}", "nothing else") for at, word in enumerate(rare, 1)]
    items += [item(20 + at, f"{word} and more", "something else") for at, word in enumerate([*told, *told])]
    items += [item(99, "wallet crashes during rescan", "every time")]
    lines = [json.dumps(one).encode() + b"\n" for one in items]
    import_lines(store, ProjectName("local", "local", "title"), lines, 1)
    index_items(store, [1])
    answer = search(Retriever(store), Query(" ".join([*rare, *told]), "lexical"))
    assert numbers(answer)[0] == 99
    store.close()
