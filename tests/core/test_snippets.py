"""The line of a document that is shown, and the words marked in it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.fulltext import FullText
from forgelore.search.ftsquery import build_and, parse_words
from forgelore.search.snippets import build_highlight_query, build_snippet, find_marks, find_region, matched_words
from forgelore.text.terms import char_offsets

TABLE = FullText()
APART = FullText(" qqapartqq ")
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"))
PIECES = ["ChunkCache", "chunk_cache", "cache", "caching", "chunk", "the", "C++", "日本語サーバー", "日本語", "naïve", "İstanbul", "word ", " ",
          " ", "\n\n   ", "\t", ", ", "é", "🥳", "x" * 60, "…", "std::vector", "io_uring", "Io__u-ring", "_", "-", "various"]  # fmt: skip
TEXT = st.one_of(ANY_TEXT, st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
TYPED = st.lists(
    st.sampled_from(
        [
            "cache",
            "ChunkCache",
            "chunk*",
            "C++",
            "日本語",
            "語",
            "naive",
            '"chunk cache"',
            "istanbul",
            "vector",
            "zzz",
            "iouring",
            "IOUring",
            "iou*",
        ]
    ),
    max_size=4,
)
FILLER = " ".join(["lorem ipsum dolor sit amet consectetur"] * 30)


def snippet(text, typed, **options):
    return build_snippet(
        text, find_marks(text, TABLE.tokens(text), build_highlight_query(parse_words(typed), TABLE.stems)), **options
    )


def marked(text, typed, **options):
    found = snippet(text, typed, **options)
    return [found.text[start:end] for start, end in found.marks]


@pytest.mark.parametrize(
    ("text", "typed", "expected"),
    [
        ("The cache is caching caches", "cached", ["cache", "caching", "caches"]),
        ("see ChunkCache::insert", "chunk cache", ["ChunkCache"]),
        ("see ChunkCache::insert", "ChunkCache::insert", ["ChunkCache::insert"]),
        ("my_chunk_cache here", "ChunkCache", ["chunk_cache"]),
        ("a chunk, then the cache", '"chunk cache"', []),
        ("authentication, authorise and author", "autho*", ["authorise", "author"]),
        ("C++ but no c", "C++", ["C++"]),
        ("日本語APIサーバーが起動しない", "語api 起動", ["語API", "起動"]),
        ("日本語APIサーバー", "api", ["API"]),
        ("naïve café", "naive CAFE", ["naïve", "café"]),
        ("how the merge\n\n  base moved", "how the merge_base", ["merge base"]),
        ("read-only", "readonly", ["read-only"]),
        ("in scriptPubKey", "key", ["scriptPubKey"]),
        ("with io_uring on", "iouring", ["io_uring"]),
        ("Is-Open, IS_OPEN", "isopen", ["Is-Open", "IS_OPEN"]),
        ("a db__path", "dbpa*", ["db__path"]),
        ("a_b_c or a-y", "abc AY", ["a_b_c", "a-y"]),
        ("io uring, xio_uring, io_-uring and bio_uring_x", "iouring", []),
    ],
)
def test_what_matched_is_marked(text, typed, expected):
    assert marked(text, typed) == expected


def test_an_identifier_that_stands_there_often_is_marked_once_each_time():
    text = "chunk_cache, then chunk_cache and\nchunk-cache"
    wanted = build_highlight_query(parse_words("chunkcache"), TABLE.stems)
    assert find_marks(text, TABLE.tokens(text), wanted) == [(0, 11, 0), (18, 29, 0), (34, 45, 0)]


def test_a_short_text_is_shown_whole_in_one_line():
    assert snippet("  Crash\r\n\r\n\ton   start \n", "crash").text == "Crash on start"


def test_the_window_shows_the_most_distinct_words():
    text = f"wallet {FILLER} wallet wallet wallet {FILLER} wallet flush crash {FILLER} wallet flush crash"
    found = snippet(text, "crash wallet flush")
    assert marked(text, "crash wallet flush") == ["wallet", "flush", "crash"]
    assert found.text.startswith("…")
    assert found.text.endswith("…")
    assert text.index("flush") == text.index(found.text.strip("…")) + found.text.strip("…").index("flush")


def test_the_earliest_of_equal_windows_is_shown():
    found = snippet(f"first crash {FILLER} second crash", "crash")
    assert found.text.startswith("first crash")


def test_cuts_fall_between_words():
    found = snippet(f"{FILLER} crash {FILLER}", "crash", width=90)
    assert set(found.text.strip("…").split()) <= set(FILLER.split()) | {"crash"}
    assert len(found.text) <= 90


def test_a_hit_by_meaning_shows_the_text_from_its_best_chunk_on():
    text = f"{FILLER} Here the chunk begins. {FILLER}"
    found = snippet(text, "", around=text.index("Here"))
    assert found.text.startswith("…Here the chunk begins.")
    assert found.marks == ()
    assert snippet(text, "zzz").text.startswith("lorem ipsum")
    assert snippet(text, "zzz", around=len(text) + 9).text.endswith("consectetur")


def test_the_words_a_text_has_are_named_as_typed_in_their_order():
    text = "ChunkCache in C++, 日本語です"
    wanted = build_highlight_query(parse_words("zzz C++ the cache 日本 chunk_cache"), TABLE.stems)
    assert matched_words(find_marks(text, TABLE.tokens(text), wanted), wanted) == [
        "C++",
        "cache",
        "日本",
        "chunk_cache",
    ]


@given(TEXT)
def test_character_offsets_cut_the_same_words_as_bytes(text):
    data = text.encode()
    raw = TABLE._tokenizer(data, 4, None, include_colocated=False)
    assert [text[start:end] for start, end, _ in char_offsets(data, raw)] == [
        data[start:end].decode() for start, end, _ in raw
    ]


@given(TEXT, TYPED, st.integers(20, 120), st.integers(-5, 500))
def test_a_snippet_is_bounded_and_its_marks_are_what_was_asked_for(text, typed, width, around):
    asked = parse_words(" ".join(typed))
    wanted = build_highlight_query(asked, TABLE.stems)
    found = build_snippet(text, find_marks(text, TABLE.tokens(text), wanted), width=width, around=around)
    assert len(found.text) <= width
    assert "\n" not in found.text
    assert "  " not in found.text
    position = 0
    for start, end in found.marks:
        assert position <= start < end <= len(found.text)
        position = end
        TABLE.replace(found.text[start:end])
        assert any(TABLE.find(build_and([word])) for word in asked)


@example("0CHUNK:CACH㐀", ["ChunkCache"])
@example("DataChunk and CacheLine", ["ChunkCache"])
@given(TEXT, TYPED)
def test_a_document_that_matched_has_a_mark_and_names_its_words(text, typed):
    """Where a phrase was found across the terms of two identifiers, no word of the text is what was asked for."""
    asked = parse_words(" ".join(typed))
    APART.replace(text)
    wanted = build_highlight_query(asked, TABLE.stems)
    tokens = TABLE.tokens(text)
    if APART.find(build_and(asked)):
        assert matched_words(find_marks(text, tokens, wanted), wanted) == [word.text for word in wanted.words]
        assert build_snippet(text, find_marks(text, tokens, wanted), width=250).marks


@pytest.mark.parametrize("text", ["0CHUNK:CACH㐀", "DataChunk and CacheLine"])
def test_a_phrase_across_the_terms_of_two_words_is_found_and_has_no_mark(text):
    """The terms of neighbours stand side by side in their column. Rare, and known: the words are there, apart."""
    expression = build_and(parse_words("ChunkCache"))
    assert TABLE.replace(text).find(expression) == [1]
    assert APART.replace(text).find(expression) == []
    assert marked(text, "ChunkCache") == []
    assert snippet(text, "ChunkCache").text == text


def test_of_a_long_text_the_region_with_the_most_words_is_looked_at():
    filler = "lorem ipsum dolor sit amet " * 400
    text = f"{filler}the deletions of files {filler}deleted alone{filler}"
    wanted = build_highlight_query(parse_words("deleted files"), TABLE.stems)
    low, high = find_region(text, wanted)
    assert high - low <= 2_500
    assert "deletions of files" in text[low:high]
    assert find_region(text, build_highlight_query(parse_words("zebra"), TABLE.stems), around=9_000) == (8_375, 10_875)
    assert find_region("short", wanted) == (0, 5)


def test_of_a_long_text_the_region_with_a_word_in_pieces_is_looked_at():
    """Its first letters stand elsewhere too, inside of other words."""
    filler = "various ipsum dolor sit amet " * 400
    text = f"{filler}with io_uring{filler}"
    low, high = find_region(text, build_highlight_query(parse_words("iouring"), TABLE.stems))
    assert "io_uring" in text[low:high]
    low, high = find_region(f"iouring {text}", build_highlight_query(parse_words("iouring"), TABLE.stems))
    assert low == 0, "the word as it was asked for comes first"
