"""What people type becomes an expression that FTS5 accepts and that finds what they mean."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from core.fulltext import FullText
from forgelore.search.ftsquery import MAX_WORDS, build_and, build_or, choose_rare, is_too_long, loosen, parse_words

TABLE = FullText()
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))  # lone surrogates and NUL included
AWKWARD = st.lists(
    st.sampled_from(
        ["C++", "c#", ".NET", "Node.js", '"', "”", "*", "(", ")", "AND", "OR", "NOT", "NEAR", "NEAR(", "title:", "^", "-", "+", ":",
         "{", "}", ",", "'", "\\", "\0", "\ud800", "ChunkCache", "chunk_cache", "日本語", "語", "ที่", "서버", "é", "İ", "ß", "\u19b0",
         "\u0e31", "a", "7", " ", " ", "\n", "\u3000", "\ufeff", "🥳", "..", "_", "what", "the", "foo*", "x" * 300]
    ),
    max_size=30,
).map("".join)  # fmt: skip
# What text in a tracker is made of: prose, identifiers, signs, scripts without blanks, and what stands between them.
PROSE = st.lists(
    st.one_of(
        st.sampled_from(["ChunkCache", "chunk_cache", "getURLForItem", "C++", "c++17", "C#", ".NET", "Node.js", "don't", "日本語",
                         "サーバーが", "使用API时", "서버가", "ภาษา", "naïve", "größeMax", "src/net/conn.cpp", "std::vector<int>", "the"]),
        st.sampled_from([" ", " ", "\n", ", ", "(", "). ", "、", "。", "-", "_", "/", '"', "*", "#", "."]),
        st.text(alphabet="abzABZ019éß日語", min_size=1, max_size=8),
    ),
    min_size=1, max_size=25,
).map("".join)  # fmt: skip


def expression(text):
    return build_and(parse_words(text))


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("auth error", '("auth") AND ("error")'),
        ("auth*", '("auth"*)'),
        ("requirem*", '("requirem"* OR "requirement")'),
        ("jwt_tok*", '("jwt_tok"* OR "jwttok"*)'),
        ("C++", '("cplusplus")'),
        ("C++17", '("cplusplus 17")'),
        ("C++/CLI", '("cplusplus") AND ("/CLI")'),
        ("don't panic", '("don\'t") AND ("panic")'),
        ("-DWITH_SSL", '("-DWITH_SSL" OR "dwithssl")'),
        ("a.b", '("a.b")'),
        ("what?", '("what?")'),
        ("auth-token", '("auth-token" OR "authtoken")'),
        ("ChunkCache::insert", '("ChunkCache::insert" OR "chunk cache insert")'),
        ('"connection reset"', '("connection reset")'),
        ('“connection reset” "conn res"*', '("connection reset") AND ("conn res"*)'),
        ('say "hi', '("say") AND ("""hi")'),
        ("Node.js", '("Node.js" OR "nodejs")'),
        ("日本語", '("日本語" OR "日本 本語")'),
        ("エラー、日本語API", '("エラー" OR "エラ ラー") AND ("日本語API" OR "日本 本語 語 api")'),
        ("Crash crash CRASH,", '("Crash")'),
        ("how does the cache work", '("cache") AND ("work")'),
        ("the who", '("the") AND ("who")'),
        ('"to be" or not', '("to be")'),
    ],
)
def test_typed_text_becomes_this_expression(typed, expected):
    assert expression(typed) == expected


@pytest.mark.parametrize("typed", ["", " ", "+ - *", '"', '""', "¿?", "\0", "\ud800", "\u0e31", "\u19b0", "()"])
def test_text_without_a_word_is_no_expression(typed):
    assert parse_words(typed) == ()
    assert expression(typed) is None
    assert build_or(()) is None


@pytest.mark.parametrize(
    "typed", ["AND", "OR", "NOT crash", "NEAR crash", "NEAR(crash hang)", "title:crash", "^crash", "{crash}", "-crash"]
)
def test_the_syntax_of_fts5_is_only_text(typed):
    TABLE.replace("crash near NOT AND OR crash, hang) title: crash near(crash hang)")
    assert TABLE.find(expression(typed)) == [1]


SPELLINGS = ["chunk_cache", "chunkCache", "chunk-cache", "ChunkCache", "CHUNK_CACHE"]


@pytest.mark.parametrize("typed", [*SPELLINGS, "chunkcache", "chunk cache", '"chunk cache"', "ChunkCach*", "chunk_ca*"])
def test_every_spelling_of_an_identifier_finds_every_other(typed):
    TABLE.replace(*(f"crash in {written}.insert" for written in SPELLINGS), "cache of chunky bacon")
    assert TABLE.find(expression(typed))[:5] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("typed", "numbers"),
    [("C++", [1, 2]), ("c++17", [2]), ("C#", [4]), (".NET", [5]), ("nodejs", [6]), ("node.js", [6])],
)
def test_signs_tell_languages_apart(typed, numbers):
    TABLE.replace("in C++.", "C++17 only", "plain C, net and node", "(C#)", "on .NET", "Node.js 20")
    assert TABLE.find(expression(typed)) == numbers


@pytest.mark.parametrize(
    "typed",
    [
        "日本語",
        "語",
        "本",
        "API",
        "語API",
        "サーバー",
        "サーバーが起動",
        "が",
        "日本語APIサーバー",
        "서버",
        "서버를 起動",
    ],
)
def test_words_are_found_inside_text_without_blanks(typed):
    TABLE.replace("日本語APIサーバーが起動しない。서버를", "plain")
    assert TABLE.find(expression(typed)) == [1]


@pytest.mark.parametrize("typed", ["本日", "語本", "ーサ", "버를서", "日本語サーバー"])
def test_characters_in_another_order_are_another_word(typed):
    TABLE.replace("日本語APIサーバーが起動しない。서버를")
    assert TABLE.find(expression(typed)) == []


def test_words_are_stemmed_on_both_sides():
    TABLE.replace("searching caches")
    assert TABLE.find(expression("search cached")) == [1]


@pytest.mark.parametrize(
    ("typed", "written"),
    [("jwt_token*", "jwt_tokens"), ("transacti*", "transaction"), ("configurat*", "configuration"), ("operat*", "operators"), ("runn*", "running"), ("key*", "keystore"),
     ("keys*", "keystore"), ("encry*", "encrypted"), ("relat*", "relative"), ("compatibili*", "compatible"), ("jwt_authenti*", "jwt_authentication")],
)  # fmt: skip
def test_a_prefix_finds_words_whose_stem_is_shorter_or_other_than_itself(typed, written):
    TABLE.replace(f"the {written} of it")
    assert TABLE.find(expression(typed)) == [1]


def test_a_megabyte_of_query_uses_its_first_words():
    words = parse_words(megabyte := " ".join(f"word{n}" for n in range(120_000)))
    assert len(words) == MAX_WORDS
    assert is_too_long(megabyte, words)
    TABLE.find(build_and(words))
    for monster in ("x" * 1_000_000, "日" * 1_000_000, "a.b-C" * 200_000, '"' * 1_000_000, "C++" * 300_000):
        TABLE.find(expression(monster))


def test_a_path_a_phrase_or_a_sentence_can_be_tried_in_pieces():
    assert [word.text for word in loosen(parse_words("src/net/conn.cpp"))] == ["src", "net", "conn", "cpp"]
    assert [word.text for word in loosen(parse_words("ChunkCache C++"))] == [
        "ChunkCache",
        "chunk",
        "cache",
        "C++",
    ]
    assert [word.text for word in loosen(parse_words('日本語 "reset by peer" auth*'))] == [
        "日本",
        "本語",
        "reset",
        "by",
        "peer",
        "auth",
    ]
    assert build_or(loosen(parse_words("日本語 conn.cp*"))) == '("日本") OR ("本語") OR ("conn") OR ("cp"*)'


def test_the_rarest_words_come_first_until_the_budget_is_spent():
    words = parse_words("crash wallet flush the zzz")
    counts = {"crash": 50, "wallet": 10, "flush": 30, "the": 1, "zzz": 0}

    def chosen(budget):
        return [word.text for word in choose_rare(words, counts, total=100, budget=budget)]

    assert chosen(budget=1000) == ["wallet", "flush", "crash"]
    assert chosen(budget=40) == ["wallet", "flush"]
    assert chosen(budget=0) == ["wallet"]


def test_words_that_are_nowhere_or_uncounted_are_chosen_last():
    words = parse_words("alpha beta")
    assert [word.text for word in choose_rare(words, {"alpha": 0, "beta": 0}, total=9, budget=9)] == ["alpha"]
    assert [word.text for word in choose_rare(words, {"beta": 3}, total=9, budget=99)] == ["beta", "alpha"]
    assert choose_rare((), {}, total=9, budget=9) == []


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.integers(0, 200))
def test_the_choice_keeps_to_its_limits(counts, budget):
    words = parse_words(" ".join(f"w{n}" for n in range(len(counts))))
    known = {f"w{n}": count for n, count in enumerate(counts)}
    chosen = choose_rare(words, known, total=50, budget=budget)
    spent = [known[word.text] for word in chosen]
    assert 1 <= len(chosen) <= 12
    assert spent == sorted(spent)
    assert len(chosen) == 1 or sum(spent) <= budget


@given(st.one_of(ANY_TEXT, AWKWARD))
@example('"\0"')
@example("İC++ ſ")
def test_any_text_makes_a_valid_expression_or_none(text):
    words = parse_words(text)
    for found in (build_and(words), build_or(words), build_or(loosen(words))):
        TABLE.find(found)  # an invalid one raises
    assert all(word.alternatives and word.text for word in words)
    assert (build_and(words) is None) == (not words)


@given(st.one_of(ANY_TEXT, AWKWARD))
def test_no_word_spoils_an_and_by_having_no_token(text):
    for word in parse_words(text):
        assert any(TABLE.stems(phrase.text) for phrase in word.alternatives)


@given(PROSE, st.data())
def test_a_document_is_found_by_its_own_words(text, data):
    typed = data.draw(st.lists(st.sampled_from(text.split() or [""]), max_size=6)) if text.split() else []
    words = [word for token in typed for word in parse_words(re.sub('["“”„]', " ", token))]
    TABLE.replace(text)
    assert not words or TABLE.find(build_and(words)) == [1]
    assert not words or TABLE.find(build_or(loosen(words))) == [1]


@given(PROSE, PROSE)
def test_words_found_by_and_are_found_by_or_of_their_pieces(text, typed):
    TABLE.replace(text)
    words = parse_words(typed)
    if TABLE.find(build_and(words)):
        assert TABLE.find(build_or(loosen(words))) == [1]


def test_a_query_is_too_long_when_a_further_word_is_left_out():
    typed = [f"word{n}" for n in range(MAX_WORDS)]
    words = parse_words(" ".join(typed))
    assert not is_too_long(" ".join([*typed, "word1"]), words)
    assert is_too_long(" ".join([*typed, "more"]), words)
