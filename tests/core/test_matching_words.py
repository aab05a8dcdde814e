"""Words that are passed over cannot match: marks are those that all tokens of a text would give."""

from itertools import pairwise, product

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.fulltext import FullText
from forgelore.core.search.ftsquery import parse_query
from forgelore.core.search.matching_words import build_beginnings, find_letters, find_matching_words
from forgelore.core.search.snippets import char_offsets, find_marks, find_tokens, wanted_of

TABLE = FullText()
SUFFIXES = ["", "s", "es", "ies", "ed", "eed", "ing", "y", "ly", "e", "ational", "izer", "bli", "ization", "iviti",
            "biliti", "logi", "icate", "ical", "ness", "ement", "ion", "ating", "izing", "bling", "yed", "ying", "yly"]  # fmt: skip
PIECES = ["ChunkCache", "chunk_cache", "chunk", "cache", "caching", "say", "said", "eyed", "eyes", "C++17", "C#", "17", "a", "x.y",
          "std::vector", "naïve", "日本語API", "İstanbul", "…", " ", "  ", "\n", "\t", ", ", "_", "-", "\0", "\x1c", "0x1f", "SAY"]  # fmt: skip
ASKED = ["cache", "ChunkCache", "chunk*", "say", "eye", "ei", "17", "C++", '"chunk cache"', "x.y", "a", "naive", "api", "std::vector", "s*", "語"]  # fmt: skip
TEXTS = st.one_of(st.lists(st.sampled_from(PIECES), max_size=40).map("".join), st.text(max_size=60))


@given(text=TEXTS, asked=st.lists(st.sampled_from(ASKED), min_size=1, max_size=4))
@example(text="chunk — cache, then chunk, cache", asked=['"chunk cache"'])
@example(text="chunk chunk cache cache", asked=['"chunk cache"', "x.y"])
@example(text="cache", asked=["ei"])
def test_marks_are_those_of_all_tokens(text, asked):
    wanted = wanted_of(parse_query(" ".join(asked)), TABLE.stems)
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
        assert any(word.startswith(letters) for letters in build_beginnings([stem], 1).letters), (word, stem)


def test_words_that_begin_otherwise_are_passed_over():
    beginnings = build_beginnings(["wallet"], 1)
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
