"""What a model writes as a call: natively, in text, and wrongly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.ask.conversation import CUT, Spoken, choose_condensed, count_tokens, cut_text
from forgelore.ask.tool_calls import (
    MAX_CALL_CHARS,
    TOOLS,
    AskCall,
    ClaimedCitation,
    MalformedCall,
    find_text_call,
    parse_call,
)


@pytest.mark.parametrize(
    ("name", "arguments", "call"),
    [
        ("search", '{"keywords": " a b "}', AskCall("search", "a b")),
        ("search", {"keywords": "a", "types": "code", "path": "src/**"}, AskCall("search", "a", ("code",), "src/**")),
        ("read", {"id": 41, "line": "7"}, AskCall("read", "41", line=7)),
        ("read", {"id": "#41", "line": None, "observations": "x"}, AskCall("read", "#41")),
        ("scroll", {"direction": "up"}, AskCall("scroll", direction="up")),
        (
            "answer",
            {"text": "x [1]", "citations": [{"id": 4, "first_line": 9, "last_line": 2, "quote": "q"}]},
            AskCall("answer", "x [1]", citations=(ClaimedCitation("#4", 2, 9, "q"),)),
        ),
        ("answer", {"text": "x", "citations": [{"ref": "#4", "line": 3}]},
         AskCall("answer", "x", citations=(ClaimedCitation("#4", 3, 3, ""),))),
    ],
)  # fmt: skip
def test_calls_are_read_as_they_are_meant(name, arguments, call):
    assert parse_call(name, arguments) == call


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('{"tool_call": {"name": "read", "arguments": {"id": "#1"}}}', ("", "read", {"id": "#1"})),
        ('Well: ```json\n{"observations": " o ", "tool_call": {"name": "get", "arguments": {}}}\n``` so',
         ("o", "get", {})),
        ('{"name": "search", "parameters": {"keywords": "x"}}', ("", "search", {"keywords": "x"})),
        ('{broken {"name": "search", "arguments": "{}"}', ("", "search", "{}")),
    ],
)  # fmt: skip
def test_calls_in_text_are_found(text, found):
    assert find_text_call(text) == found


def test_arguments_may_be_as_long_as_is_said():
    longest = '{"keywords": "a"}'.ljust(MAX_CALL_CHARS)
    assert parse_call("search", longest) == AskCall("search", "a")
    with pytest.raises(MalformedCall, match=f"the maximum is {MAX_CALL_CHARS:,}"):
        parse_call("search", longest + " ")


@pytest.mark.parametrize(
    "call", ['{"tool_call": "search"}', '{"tool_call": ["search"]}', '{"function": 3, "name": "x"}']
)
def test_a_call_that_is_no_object_is_malformed_and_the_next_one_counts(call):
    with pytest.raises(MalformedCall, match="no tool call found"):
        find_text_call(call)
    assert find_text_call(call + ' {"name": "read", "arguments": {"id": "#1"}}') == ("", "read", {"id": "#1"})


@pytest.mark.parametrize(
    ("name", "arguments", "words"),
    [
        ("read", {"id": "#41", "lines": 3}, "read has no argument 'lines'; it takes: id, line"),
        ("search", {"query": "x"}, "search has no argument 'query'; it takes: keywords, types, path"),
        ("get", {"ref": "#1", "id": "#1"}, "get has no argument 'id'; it takes: ref"),
    ],
)
def test_an_unknown_argument_is_refused_with_the_right_names(name, arguments, words):
    with pytest.raises(MalformedCall, match=words):
        parse_call(name, arguments)


@given(st.text(), st.one_of(st.text(), st.dictionaries(st.text(), st.integers()), st.lists(st.none())))
def test_nothing_a_model_writes_is_more_than_malformed(name, arguments):
    with pytest.raises(MalformedCall):
        parse_call(name, arguments)


_NAMES = ["id", "line", "text", "keywords", "types", "path", "citations", "quote", "first_line", "direction"]
_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_NAMES), inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from([tool.name for tool in TOOLS]), _JSON)
def test_arguments_of_any_shape_are_a_call_or_malformed(name, arguments):
    try:
        assert parse_call(name, arguments).name == name
    except MalformedCall as problem:
        assert str(problem)


@given(st.text())
def test_text_of_any_shape_is_a_call_or_malformed(text):
    try:
        find_text_call(text + "{" * 60)
    except MalformedCall as problem:
        assert "tool_call" in str(problem)


def test_depth_does_not_break_the_reader():
    with pytest.raises(MalformedCall):
        find_text_call('{"a":' * 100_000)
    with pytest.raises(MalformedCall):
        parse_call("search", "[" * 30_000)


@given(st.lists(st.tuples(st.text(max_size=400), st.text(max_size=20)), max_size=10), st.integers(0, 400))
def test_condensing_takes_the_oldest_first_and_no_more_than_needed(pairs, most):
    messages = [Spoken("tool", text, gist) for text, gist in pairs]
    chosen = choose_condensed(messages, most)
    left = [one._replace(text=one.gist) if at in chosen else one for at, one in enumerate(messages)]
    able = [at for at, one in enumerate(messages) if one.gist and (len(one.text) - len(one.gist)) // 4 > 0]
    assert sorted(chosen) == able[: len(chosen)]
    if count_tokens(messages) <= most:
        assert not chosen
    elif len(chosen) < len(able):
        assert count_tokens(left) <= most + len(messages)


@given(st.text(), st.integers(0, 50))
def test_a_cut_text_is_a_beginning_that_says_so(text, most):
    kept = cut_text(text, most)
    assert kept == text if len(text) <= most else text.startswith(kept.removesuffix(f"\n{CUT}"))
    assert len(kept) <= most + len(CUT) + 1
