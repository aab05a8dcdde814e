"""The terms column: what the tokenizer would lose."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.fulltext import FullText
from forgelore.text.terms import build_terms, find_specials, may_be_special, pair_query, split_word, word_terms
from growth import assert_grows_slowly

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=("Cs",), exclude_characters="\0"))


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("ChunkCache", ("chunk cache",)),
        ("getURLForItem", ("get url for item",)),
        ("HTTPServer", ("http server",)),
        ("x509Cert", ("x509 cert",)),
        ("X509Cert", ("x509 cert",)),
        ("HTTP2Server", ("http2 server",)),
        ("base64Encode", ("base64 encode",)),
        ("getURLsFor", ("get urls for",)),
        ("chunk_cache", ("chunkcache",)),
        ("chunk-cache", ("chunkcache",)),
        ("name__icontains", ("nameicontains",)),
        ("my_ChunkCache", ("my chunk cache", "mychunkcache")),
        ("utf-8", ("utf8",)),
        ("GitHubToken", ("github token",)),
        ("OAuth2Token", ("oauth2 token",)),
    ],
)
def test_identifiers_are_written_as_their_parts_and_joined(word, expected):
    assert word_terms(word) == expected


@pytest.mark.parametrize(
    "word",
    ["cache", "Cache", "CACHE", "URLs", "utf8mb4", "GitHub", "2024-01-02", "12-34", "sha256", "dead10cc",
     "1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa", "123e4567-e89b-12d3-a456-426614174000"],
)  # fmt: skip
def test_plain_words_numbers_and_keys_add_nothing(word):
    assert word_terms(word) == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("C++", "cplusplus"),
        ("(c++17).", "cplusplus 17"),
        ("libstdc++", "libstdcplusplus"),
        ("C# and F#", "csharp fsharp"),
        ("on .NET", "dotnet"),
        (".NET8", "dotnet 8"),
        ("ASP.NET", "aspnet dotnet"),
        ("Node.js", "nodejs"),
        ("最新のC++", "最新 新の の c cplusplus"),
        ("éC++ C++11ß", ""),
        ("example.net i++ a/c#12 #c index.js abc++", ""),
    ],
)
def test_names_that_live_by_their_signs_get_words(text, expected):
    assert sorted(build_terms("", text).split()) == sorted(expected.split())


def test_runs_without_blanks_are_written_as_pairs_with_a_closing_character():
    assert build_terms("", "日本語API") == "日本 本語 語 api"
    assert build_terms("", "使用API时, 语") == "使用 用 api 时 语"
    assert build_terms("", "서버가") == "서버 버가 가"
    assert build_terms("", "ที่นี่") == "ทน น"  # marks, at which the tokenizer cuts, are left out


def test_a_query_for_a_run_leaves_its_end_open():
    assert pair_query("日本語") == ("日本 本語", False)
    assert pair_query("語") == ("語", True)
    assert pair_query("本語API") == ("本語 語 api", False)


def test_each_identifier_is_written_once_and_in_order_of_appearance():
    assert build_terms("ChunkCache", "a ChunkCache, chunk_cache and merge-base") == "chunk cache chunkcache mergebase"


SPELLINGS = ["chunk_cache", "chunkCache", "chunk-cache", "ChunkCache", "CHUNK_CACHE"]


@pytest.mark.parametrize("written", SPELLINGS)
def test_every_spelling_of_an_identifier_is_found_by_its_parts_and_joined(written):
    table = FullText().replace(f"crash in {written}::insert")
    assert table.find('"chunk cache"') == [1]
    assert table.find('"chunkcache"') == [1]


def test_letters_with_two_diacritics_are_folded():
    assert FullText().replace("Việt Nam").find('"viet"') == [1]


@given(ANY_TEXT, ANY_TEXT)
def test_any_text_has_terms_and_always_the_same(title, text):
    terms = build_terms(title, text)
    assert terms == build_terms(title, text)
    assert "  " not in terms
    assert terms == terms.strip()


@given(st.from_regex(r"[A-Za-z0-9]{1,20}([_-][A-Za-z0-9]{1,20}){0,3}", fullmatch=True))
def test_splitting_an_identifier_loses_no_letter(word):
    assert split_word(word).replace(" ", "") == word.replace("_", "").replace("-", "").lower()


@given(st.text(alphabet="cC+#.netNET js日é a/", max_size=40))
def test_specials_stand_in_order_inside_the_text(text):
    found = find_specials(text)
    assert found == sorted(found)
    for special in found:
        assert 0 <= special.start < special.end <= len(text)


@pytest.mark.parametrize("unit", ["a", "aB", "a_", "_", "c++", "C++ ", ".net", "日", "日a", "+", "é", "A"])
def test_a_long_line_of_anything_is_scanned_without_quadratic_cost(unit):
    assert_grows_slowly(lambda text: build_terms("", text), lambda size: unit * (size // len(unit)))


def test_what_special_names_are_found_by_is_known_by_its_stem():
    """Whoever looks for none of these need not look for the names."""
    names = [*(f"{one}++17" for one in ("c", "g", "clang", "libc", "libstdc", "notepad")), "C#7", "F#", ".NET8"]
    names += [*(f"{one}.net" for one in ("ado", "asp", "ml", "vb")), "socket.io"]
    names += [
        f"{one}.js" for one in ("angular", "chart", "d3", "express", "next", "node", "nuxt", "react", "three", "vue")
    ]
    found = [special.terms for name in names for special in find_specials(name)]
    assert len(found) >= len(names)
    stems = [stem for terms in found for _, _, stem in FullText().tokens(terms)]
    assert all(map(may_be_special, stems)), [stem for stem in stems if not may_be_special(stem)]
    assert not any(map(may_be_special, ["wallet", "crash", "chunk", "c", "node"]))
