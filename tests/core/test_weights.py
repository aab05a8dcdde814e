"""What a query is made of, and what each list counts therefore."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.search.ftsquery import join_groups, parse_words
from forgelore.search.fusion import WeighedWord, is_exact, weigh_lists, with_numbered_names


def only_word(text):
    (word,) = parse_words(text)
    return word


@pytest.mark.parametrize(
    "text",
    [
        "ChunkCache", "HTTPServer", "chunk_cache", "EXC_BAD_ACCESS", "E0277", "CVE-2020-8840", "std::vec", "a->next",
        "src/net/conn.cpp", "util/trace.h", "java.lang.NullPointerException", "addons.mozilla.org", "x509", "C++", "0.21.1",
        '"connection reset"', "my-ChunkCache", "`dead_code`", "foo@bar.org", "141", "8333",
        "-dbcache", "--no-embed", "ECONNREFUSED", "SIGSEGV", "mandatory-script-verify-flag-failed",
    ],
)  # fmt: skip
def test_identifiers_codes_paths_and_phrases_are_exact(text):
    assert is_exact(only_word(text))


@pytest.mark.parametrize(
    "text",
    [
        "wallet", "Wallet", "RPC", "watch-only", "read/write", "GitHub", "JavaScript", "e.g.", "don't", "32-bit", "2024", "10",
        "auth*", "ChunkC*", "日本語", "URLs", "error:", '"crash"',
        "ERROR", "EMPTY", "SIGNED", "end-to-end", "out-of-the-box",
    ],
)  # fmt: skip
def test_plain_language_is_not(text):
    assert not is_exact(only_word(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("BIP 141", "BIP 141"),
        ("error 404 page", "error 404"),
        ("crash since 2014", ""),
        ("windows 10", ""),
        ("404", "404"),
    ],
)
def test_a_word_before_a_number_is_part_of_a_name(text, expected):
    words = [WeighedWord(word.text, 3.0, is_exact(word)) for word in parse_words(text)]
    assert " ".join(word.text for word in with_numbered_names(words) if word.is_exact) == expected


def test_alternatives_of_plain_words_are_no_phrase():
    (word,) = join_groups(parse_words("panic crash"), [("panic", "crash")])
    assert not is_exact(word)


def plain(weight=3.0, *, is_known=True):
    return WeighedWord("word", weight, is_exact=False, is_known=is_known)


def exact(weight=6.0, *, is_known=True):
    return WeighedWord("Chunk_Cache", weight, is_exact=True, is_known=is_known)


def test_an_identifier_is_left_to_the_words_and_a_sentence_to_both():
    by_words, by_meaning = weigh_lists([exact()])
    assert by_words / 30 > by_meaning * 10 / 11, "the first by meaning stays behind the twentieth by words"
    assert by_meaning > 0, "where words find too little, meaning fills the page"
    by_words, by_meaning = weigh_lists([plain(), plain()])
    assert by_words == by_meaning


def test_what_no_document_holds_does_not_count():
    assert weigh_lists([plain(), exact(is_known=False)]) == weigh_lists([plain()])
    assert weigh_lists([]) == weigh_lists([exact(is_known=False)]) == weigh_lists([plain()])


@given(st.floats(0.1, 7.5), st.floats(0.1, 7.5), st.floats(0.1, 7.5))
def test_the_more_an_identifier_tells_the_more_words_count(low, more, other):
    before, after = (weigh_lists([exact(weight), plain(other)]) for weight in (low, low + more))
    assert after[0] > before[0]
    assert after[1] < before[1]
    assert sum(before) == pytest.approx(2) == pytest.approx(sum(after))
