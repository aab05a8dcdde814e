"""Words that are passed over cannot match: marks are those that all tokens of a text would give."""

from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.fulltext import FullText
from forgelore.search.ftsquery import parse_words
from forgelore.search.snippets import (
    build_beginnings,
    build_highlight_query,
    find_letters,
    find_marks,
    find_matching_words,
    find_split,
    find_tokens,
    spell_stem,
)
from forgelore.text.terms import char_offsets, find_words, word_terms

TABLE = FullText()
SUFFIXES = ["", "s", "es", "ies", "ed", "eed", "ing", "y", "ly", "e", "ational", "izer", "bli", "ization", "iviti",
            "biliti", "logi", "icate", "ical", "ness", "ement", "ion", "ating", "izing", "bling", "yed", "ying", "yly",
            "fulness", "ousness", "ability", "entli", "eli", "yes", "ally", "enci", "anci", "ator", "alism"]  # fmt: skip
PIECES = ["ChunkCache", "chunk_cache", "chunk", "cache", "caching", "say", "said", "eyed", "eyes", "C++17", "C#", "17", "a", "x.y",
          "std::vector", "naïve", "日本語API", "İstanbul", "…", " ", "  ", "\n", "\t", ", ", "_", "-", "\0", "\x1c", "0x1f", "SAY"]  # fmt: skip
ASKED = ["cache", "ChunkCache", "chunk*", "say", "eye", "ei", "17", "C++", '"chunk cache"', "x.y", "a", "naive", "api", "std::vector", "s*", "語"]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=60))
SPLIT = ["io", "i", "o", "u", "uring", "is", "open", "IO", "Uring", "db", "path", "a", "b", "_", "_", "-", "__", " ", " ",
          "\n", "é", "İ", ".", "::", "1"]  # fmt: skip
JOINED = [
    "iouring",
    "IOUring",
    "isopen",
    "dbpath",
    "dbpa*",
    "ab",
    "aba",
    "iso",
    "io1",
    "pathdb",
    "io_uring",
    "ioi",
    "baba",
]
SPLIT_TEXTS = st.lists(st.sampled_from(SPLIT), max_size=40).map("".join)


@given(text=TEXTS, asked=st.lists(st.sampled_from(ASKED), min_size=1, max_size=4))
@example(text="chunk — cache, then chunk, cache", asked=['"chunk cache"'])
@example(text="chunk chunk cache cache", asked=['"chunk cache"', "x.y"])
@example(text="cache", asked=["ei"])
def test_marks_are_those_of_all_tokens(text, asked):
    wanted = build_highlight_query(parse_words(" ".join(asked)), TABLE.stems)
    every = find_marks(text, TABLE.tokens(text), wanted)
    assert find_marks(text, find_tokens(text, TABLE.tokens, wanted), wanted) == every


@pytest.mark.parametrize("size", [0, 1, 2, 3])
def test_a_stem_begins_as_its_word_does(size):
    """What the passing over rests on: the first three letters, where a y may have become an i."""
    words = ["".join(letters) + end for letters in product("abeilsyz0", repeat=size) for end in SUFFIXES]
    words = [word for word in words if word]
    stems = TABLE.stems(" ".join(words))
    assert len(stems) == len(words)
    for word, stem in zip(words, stems, strict=True):
        assert any(word.startswith(letters) for letters in build_beginnings([stem])), (word, stem)


def test_words_that_begin_otherwise_are_passed_over():
    beginnings = build_beginnings(["wallet"])
    found = find_matching_words("The Wallet, a wallaby, swallows", beginnings, TABLE.tokens, TABLE.stems)
    assert [token for token in found if token[1]] == [(4, 10, "wallet"), (14, 21, "wallabi")]
    assert find_letters("a wall, walls and swallows", beginnings) == [2, 8, 19]


@given(text=TEXTS)
def test_places_in_bytes_become_places_in_characters(text):
    """Against counting the characters of everything before."""
    data = text.encode(errors="replace")
    cuts = sorted({len(data[:at].decode(errors="ignore").encode()) for at in range(len(data) + 1)})
    tokens = [(low, high, "") for low, high in pairwise(cuts)]
    expected = [(len(data[:low].decode()), len(data[:high].decode()), "") for low, high, _ in tokens]
    assert char_offsets(data, tokens) == expected


@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_word_begins_as_its_stem_is_spelled(size):
    """What the looking rests on: of long stems, all but the last letter."""
    words = ["".join(letters) + end for letters in product("abeilsyz0", repeat=size) for end in SUFFIXES]
    words += [f"{word}{end}" for word in words[:: 7 * size] for end in SUFFIXES]
    stems = TABLE.stems(" ".join(words))
    assert len(stems) == len(words)
    for word, stem in zip(words, stems, strict=True):
        assert word.startswith(spell_stem(stem)), (word, stem)


@given(text=SPLIT_TEXTS, asked=st.lists(st.sampled_from(JOINED), min_size=1, max_size=4))
@example(text="ab_aba", asked=["aba"])
@example(text="aba b-ab_a", asked=["baba"])
@example(text="İ xio_uring io_uring", asked=["iouring"])
def test_every_word_that_an_identifier_has_is_marked(text, asked):
    """And each mark of a word that is there in pieces alone is one of an identifier, once."""
    wanted = build_highlight_query(parse_words(" ".join(asked)), TABLE.stems)
    whole = {
        (*match.span(), place)
        for match in find_words(text)
        for terms in word_terms(match[0])
        for stem in TABLE.stems(terms)
        for place, sought in wanted.heads.get(stem, ())
        if len(sought.stems) == 1 and " " not in terms
    }
    marks = find_marks(text, TABLE.tokens(text), wanted)
    assert {place for _, _, place in whole} <= {place for _, _, place in marks}
    plain = {place for _, _, place in find_marks(text.replace("_", " ").replace("-", " "), TABLE.tokens(text), wanted)}
    in_pieces = [mark for mark in marks if mark[2] not in plain]
    assert len(in_pieces) == len(set(in_pieces))


def test_places_are_those_of_the_text_with_its_signs():
    lowered = "-a_ b--c io_uring, i-o__uring iouring"
    found = find_split(lowered, [("iou", 4), ("uri", 2)])
    assert found == [(lowered.index("io_u"), 4), (lowered.index("i-o"), 4)]
    assert find_split("a b c", [("abc", 0)]) == []
