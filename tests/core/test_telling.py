"""An item as a full-text query."""

import apsw
import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.compare.sameness import LIMIT, TITLE_TIMES, distinctive_terms
from forgelore.text.terms import TOKENIZER, build_terms


def told(title, body="", counts=None, total=100, **options):
    """Every word is in one document, unless `counts` says otherwise."""

    def document_count(words):
        return {word: count for word in words if (count := (counts or {}).get(word, 1))}

    return distinctive_terms(title, body, document_count=document_count, total=total, **options)


def words_of(terms):
    return {term for term, _ in terms if " " not in term}


def test_rare_words_come_first_title_words_count_twice_and_neighbours_in_the_title_as_a_phrase():
    terms = told("Wallet crash", "the wallet hangs", counts={"wallet": 40, "crash": 10, "hangs": 5, "the": 90})
    assert terms == [("crash", TITLE_TIMES), ("hangs", 1), ("wallet", TITLE_TIMES), ("wallet crash", 1)]


def test_words_that_are_not_asked_for_make_no_phrase():
    terms = told("crash of the wallet", counts={"of": 80, "the": 90})
    assert [term for term, _ in terms] == ["crash", "wallet"]


def test_words_that_no_document_holds_are_not_asked_for():
    assert told("Crash xyzzy", counts={"xyzzy": 0}) == [("crash", TITLE_TIMES)]


def test_words_of_every_other_document_are_not_asked_for():
    assert told("the crash", counts={"the": 51}) == [("crash", TITLE_TIMES)]


@pytest.mark.parametrize("total", [1, 2, 3])
def test_an_index_of_a_few_documents_still_has_telling_words(total):
    assert told("the crash", counts={"the": total, "crash": total}, total=total)


def test_templates_and_logs_ask_for_nothing():
    body = (
        "### Steps to reproduce\n<!-- be brief -->\n- [x] I searched\n2024-01-01 10:00:00 UpdateTip height=3\nIt hangs"
    )
    assert {word for word, _ in told("Sync", body)} == {"sync", "it", "hangs"}


def test_identifiers_are_cut_where_the_index_cuts_them():
    assert words_of(told("merge_base() in src/net.cpp")) == {"merge", "base", "in", "src", "net", "cpp"}


def test_a_script_without_blanks_is_asked_for_by_pairs():
    assert words_of(told("日本語API")) == {"日本", "本語", "api"}


def test_the_body_of_a_megabyte_is_not_counted_to_its_end():
    asked = []

    def document_count(words):
        asked.extend(words)
        return dict.fromkeys(words, 1)

    body = " ".join(f"word{number}" for number in range(100_000))
    terms = distinctive_terms("Title", body, document_count=document_count, total=10)
    assert len(terms) == LIMIT
    assert len(asked) < 2_000


@given(st.text(max_size=200), st.text(max_size=400), st.integers(0, 5))
def test_there_are_never_more_terms_than_allowed_and_each_stands_once(title, body, limit):
    terms = [term for term, _ in told(title, body, limit=limit)]
    assert len(terms) == len(set(terms))
    assert sum(" " not in term for term in terms) <= limit


@given(st.text(max_size=200), st.text(max_size=400))
def test_an_item_finds_itself_in_a_real_index(title, body):
    """Whatever was written, the quoted terms make a valid expression, and what was indexed is found by it."""
    with apsw.Connection(":memory:") as db:
        db.execute(f'CREATE VIRTUAL TABLE fts USING fts5(title, text, terms, tokenize = "{" ".join(TOKENIZER)}")')
        storable = [part.encode(errors="replace").decode().replace("\0", " ") for part in (title, body)]
        db.execute("INSERT INTO fts VALUES (?, ?, ?)", (*storable, build_terms(*storable)))

        def document_count(words):
            found = {word: db.execute("SELECT count(*) FROM fts WHERE fts MATCH ?", (f'"{word}"',)) for word in words}
            return {word: count for word, rows in found.items() if (count := rows.fetchone()[0])}

        terms = distinctive_terms(*storable, document_count=document_count, total=1)
        if terms:
            expression = " OR ".join(f'"{term}"' for term, times in terms for _ in range(times))
            assert db.execute("SELECT rowid FROM fts WHERE fts MATCH ?", (expression,)).fetchall() == [(1,)]
