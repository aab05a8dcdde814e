"""The sentences of an answer: where each begins and ends, what it rests on, and which need no citation."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ask.conftest import QUOTE, READ, answer, broken, cite
from forgelore.ask.claims import CheckedCitation, list_numbers, says_nothing, split_claims
from forgelore.errors import Refused
from growth import assert_grows_slowly
from servers.chat import call

GOOD = [CheckedCitation(number, "#1", 1, 1, "q", "found") for number in (1, 2, 3)]
BAD = CheckedCitation(4, "#1", 1, 1, "q", "quote_not_found")


def claims_of(text):
    return split_claims(text, [*GOOD, BAD])


HONEST = {
    "abbreviations": "Some tools, e.g. rsync, i.e. copies, vs. links etc. are used [1]. Cf. the notes of J. Smith [2].",
    "versions and names of files": "Since v1.2 the file foo.py of Node.js reads a.b.c at 3.5 s [1].",
    "marks behind the full stop": "It is so. [1] It was so.[2] And so [3]!",
    "ranges and lists of marks": "It is so [1-3]. It is so [1, 2]. It is so [1][2]. It is so [^1]. So 【1】.",
    "an item first": "#12 was closed by Ana [1]. #13 was not [2].",
    "a colon with marks": "It was refused for two reasons [1]:\n\n- it leaks [2]\n- it is slow [3]",
    "a colon above a list": "It was refused for two reasons:\n\n1. It leaks. [2]\n2. It is slow. [3]",
    "code below its sentence": "The check is [1]:\n\n```cpp\nif (a[4] < 0) return;\n// No. Never.\n```",
    "code above its mark": "```cpp\nif (x < 0) return;\n```\n[1]",
    "a quote below its sentence": "Ana wrote [1]:\n\n> It is slow. It leaks.\n> Remove it.",
    "a table": "| setting | default |\n|---|---|\n| `a` | 1 [1] |\n| `b` | 2 [2] |",
    "a table below its sentence": "The defaults are [1]:\n\n| setting | default |\n|:--|--:|\n| a | 1 |\n| b | 2 |",
    "headings": "# Why\n\nIt leaks [1].\n\n## What was done\n\n**In short**\n\nIt was removed [2].",
    "wrapped lines": "The cache was removed, because nobody could say\nwhat it was good for, and it was slow [1].",
    "Chinese": "缓存被删除了[1]。因为它太慢！[2]没有人反对？[3]",
    "Japanese": "キャッシュは削除されました[1]。遅かったからです。[2]",
    "dots": "It was slow ... and it leaked [1].",
    "nothing is said": 'The history does not say why. I looked for "cache removal" in issues and commits.',
}


@pytest.mark.parametrize("text", HONEST.values(), ids=HONEST)
def test_an_honest_answer_has_no_unchecked_claim(text):
    assert [claim.text for claim in claims_of(text) if not claim.is_checked and not claim.is_absence] == []
    assert claims_of(text)


@pytest.mark.parametrize(
    ("text", "unchecked"),
    [
        ("#12 was closed by Ana. It is so [1].", ["#12 was closed by Ana."]),
        ("The maintainers refused it because it leaks keys:", ["The maintainers refused it because it leaks keys:"]),
        ("It leaks:\n- so [1]\n- so", ["It leaks:", "- so"]),
        ("缓存被删除了。因为它太慢[1]。没有人反对", ["缓存被删除了。", "没有人反对"]),
        ("It is so [1]. it was never tested. It is so [2].", ["it was never tested."]),
        ("So [1].\n\n```\nrm -rf /\n```", ["```\nrm -rf /\n```"]),
        ("So [1].\n\n> it leaks", ["> it leaks"]),
        ("| a | b |\n|---|---|\n| it leaks | 1 |\n| so | 2 [1] |", ["| it leaks | 1 |"]),
        (
            "# The cache was removed because Ana hates all caches",
            ["# The cache was removed because Ana hates all caches"],
        ),
        ("So [1]\nIt leaks\nSo [2]", ["It leaks"]),
        ("It is `a[1]`.", ["It is `a[1]`."]),
        ("It is so [4].", ["It is so [4]."]),
        ("It is so [9].", ["It is so [9]."]),
        ("The answer is no. It leaks [1].", ["The answer is no."]),
    ],
)
def test_every_claim_without_a_good_citation_is_unchecked(text, unchecked):
    assert [claim.text for claim in claims_of(text) if not claim.is_checked and not claim.is_absence] == unchecked


@pytest.mark.parametrize(
    "sentence",
    [
        "The history does not say.", "The history doesn't say why the cache was removed.", "I found no mention of it.",
        "The stored history does not mention “dark mode”.", "Nothing in the history explains this.",
        "I could not find a discussion of it.", "There is no decision about it in the project's history.",
        "The issues and the commits do not say when or why.", "I searched for cache and for the index in all issues.",
        "历史记录中没有提到这一点。", "履歴にはこの点について書かれていません。", "L'historique ne dit rien à ce sujet.",
    ],
)  # fmt: skip
def test_that_the_history_does_not_say_needs_no_citation(sentence):
    assert says_nothing(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "The history does not say, but the cache was removed by Ana.", "The cache was removed.",
        "The history does not say why; it was Ana.", "The history says that the cache was removed.",
        "I looked at #12, which says that Ana removed it.", "The history does not say and the cache was removed by Ana.",
        "The history does not say: Ana removed it.", "There is no cache.", "No bug was found in the cache.",
        "The history does not say, although Ana removed the cache.", "历史记录中没有提到这一点，但是缓存被删除了。",
    ],
)  # fmt: skip
def test_nothing_else_is_smuggled_in_with_it(sentence):
    assert not says_nothing(sentence)


@given(st.text(alphabet="a.[1-3]: |`#>\n-*e。 ", max_size=60))
def test_claims_are_parts_of_the_text_in_their_order(text):
    rest = text
    for claim in claims_of(text):
        _, said, rest = rest.partition(claim.text)
        assert said
        assert set(claim.bad) <= set(claim.citations)


def test_numbers_of_marks():
    assert list_numbers("so [1-3], [5; 7] and [9–8] `x[4]`") == (1, 2, 3, 5, 7, 9, 8)


def test_strict_takes_the_answer_that_the_history_does_not_say(history, server):
    server.replies = [*READ, answer("The history does not say. I looked for deleted files.")]
    found = history.ask("why?", strict=True)
    assert (found.ended_by, found.unchecked) == ("answer", ())


def test_who_has_looked_for_nothing_is_sent_back_once(history, server):
    server.replies = [answer("The history does not say."), *READ, answer("The history does not say.")]
    found = history.ask("why?")
    assert "search before you say" in found.steps[0].calls[0].problem
    assert len(found.steps) == 4


@pytest.mark.parametrize("text", [HONEST["abbreviations"], HONEST["a table"], HONEST["code below its sentence"]])
def test_strict_does_not_refuse_honest_answers(history, server, text):
    server.replies = [*READ, answer(text, *[cite("#41", 35, 35, QUOTE)] * 3)]
    assert history.ask("why?", strict=True).text == text


@pytest.mark.parametrize(
    "citations",
    ["#41 line 35", ["#41"], [{"id": "#41"}], [{"id": "#41", "first_line": -1, "quote": QUOTE}], [{"quote": QUOTE}], 7],
)
def test_an_answer_with_misshapen_citations_is_shown_as_unchecked(history, server, citations):
    server.replies = [*READ, call("answer", text="Purged too early [1].", citations=citations)]
    found = history.ask("why?")
    assert (found.ended_by, found.text) == ("answer", "Purged too early [1].")
    assert [one.status for one in found.citations] == ["malformed"]
    assert found.unchecked
    server.replies = [*READ, call("answer", text="Purged too early [1].", citations=citations)]
    with pytest.raises(Refused):
        history.ask("why?", strict=True)


def test_an_answer_in_broken_json_is_shown(history, server):
    server.replies = [*READ, broken("answer", '{"text": "Purged too early, I \\"think')]
    found = history.ask("why?")
    assert (found.ended_by, found.is_partial) == ("error", True)
    assert 'Purged too early, I "think' in found.text


def test_an_answer_that_could_not_be_mended_in_time_is_shown_with_its_checks(history, server):
    server.replies = [*READ, answer("Purged too early [1]. It leaks.", cite("#41", 35, 35, QUOTE)), *READ]
    found = history.ask("why?", steps=5)
    assert (found.ended_by, found.is_partial, found.text) == ("steps", True, "Purged too early [1]. It leaks.")
    assert [claim.is_checked for claim in found.claims] == [True, False]


@pytest.mark.parametrize("count", [10**30, -5, 1.5, "12", None, [1], True])
def test_a_usage_that_makes_no_sense_is_not_counted(history, server, count):
    server.usage = {"prompt_tokens": count, "completion_tokens": count}
    server.replies = [*READ, answer("The history does not say.")]
    found = history.ask("why?")
    assert found.ended_by == "answer"
    assert 0 < found.tokens_in + found.tokens_out < 100_000


@pytest.mark.parametrize(
    "unit", ["|a\n", ">a\n\n", "ab. ", "- abc:\n", "...", "|a|\n" + 12 * "-" + "x\n", "`a` ", "~~~\n", "[1, 1", "a.  "]
)
def test_an_answer_of_one_thing_again_and_again_is_split_in_linear_time(unit):
    """A model that runs wild, or that hostile text leads, must not stop the program."""
    assert_grows_slowly(claims_of, lambda size: unit * (size // len(unit)) + "x", largest=50_000)


def test_a_line_of_dashes_below_a_row_is_read_at_once():
    assert [claim.text for claim in claims_of(f"| a |\n{'-' * 5_000}x\n| b |\n{'-' * 5_000}\n| c [1] |")] == [
        "| a |", f"{'-' * 5_000}x", "| c [1] |"
    ]  # fmt: skip
