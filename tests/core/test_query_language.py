"""The query language: what is an operator, what is text, and what qualifiers become."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forgelore.errors import InvalidValue
from forgelore.search.filters import SortOrder, join_words, read_qualifiers
from forgelore.search.language import MAX_CHARS, NAMES, parse_typed, render_typed

ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))
# What a query is made of, so that random texts meet every rule.
AWKWARD = st.lists(
    st.sampled_from(
        ["label:", "-label:", "is:open", "created:>2024", "sort:", "in:title", "path::x", "path://x", "NOT", "OR", "AND", "label:a,", "created:>3 months ago", "-", "--", '"', "“",
         "”", "„", "*", "windows", "Windows", "-windows", "NULL", "-Xmx", "a b", "C++", "(", ")", ",", ":", " ", " ", " ", "\n", "日本語", "7"]
    ),
    max_size=25,
).map("".join)  # fmt: skip


def qualifiers_of(text):
    return [(one.name, one.value, one.is_excluded) for one in parse_typed(text).qualifiers]


@pytest.mark.parametrize(
    "text",
    [
        "crash on exit", "TypeError: x is not a function", "std::vec", "path::join fails", "-Xmx OutOfMemoryError", "a - b",
        "--flag ignored", "https://example.com/a:b?label:x", r"C:\path\to", "foo:bar", "label: bug", "label:", "java -Xmx2g -XX:+UseG1GC",
        "rm -rf deletes", "make -j8 -O2", "gcc -DWITH_SSL", "path://server/share", 'f("x y") fails', 'a 5" disk', '"', '"unclosed phrase',
        "-verbose", "NOT windows", "-windows -linux", "NOT NULL constraint failed", "CREATE OR REPLACE fails", "does NOT EXIST",
        "CREATE AND REPLACE", "AND", "a AND", "AND b", "NOT AND", "foo() fails", "(a b)", "( a )", "f(label:x)", 'label:""', 'author:" "',
        "author: brson", "label::a,b",
        "OR", "a OR", "OR b", "NOT", "ends with NOT", "Author:ana", "xlabel:bug", "#12", "!34", "owner/repo#12", "", "  ", "two\nlines  here",
        "this or that, and not those", '"--"',
    ],
)  # fmt: skip
def test_what_is_no_operator_stays_text_as_it_was_typed(text):
    query = parse_typed(text)
    assert query.is_plain
    assert query.text == text


@pytest.mark.parametrize(
    ("typed", "text", "required", "excluded"),
    [
        ('"connection reset" by peer', '"connection reset" by peer', (('"connection reset"',),), ()),
        ("“connection reset”, again", "“connection reset”, again", (('"connection reset"',),), ()),
        ('"conn res"* x', '"conn res"* x', (('"conn res"*',),), ()),
        ('"E0308"', '"E0308"', (('"E0308"',),), ()),
        ("panic OR crash", "panic crash", (('"panic"', '"crash"'),), ()),
        ('a OR "b c" OR d e', 'a "b c" d e', (('"a"', '"b c"', '"d"'),), ()),
        ("(panic OR crash) linker", "(panic crash) linker", (('"panic"', '"crash"'),), ()),
        ("WSL OR cuda", "WSL cuda", (('"WSL"', '"cuda"'),), ()),
        ("crash -windows", "crash", (), ("windows",)),
        ("-windows crash", "crash", (), ("windows",)),
        ("crash NOT Windows", "crash", (), ('"Windows"',)),
        ("crash NOT tokio_util -linux", "crash", (), ('"tokio_util"', "linux")),
        ('crash -"blue screen"', "crash", (), ('"blue screen"',)),
        ('crash NOT "blue screen"', "crash", (), ('"blue screen"',)),
        ('-"blue screen"', "", (), ('"blue screen"',)),
        ("crash -日本語", "crash", (), ("日本語",)),
        ("is:open -windows", "", (), ("windows",)),
        ("-Windows crash -wsl", "-Windows crash", (), ("wsl",)),
        ("panic AND linker", "panic linker", (), ()),
        ('panic AND "stack overflow"', 'panic "stack overflow"', (('"stack overflow"',),), ()),
        ("panic AND NOT Windows", "panic", (), ('"Windows"',)),
        ("panic AND -windows", "panic", (), ("windows",)),
        ("a OR b AND c", "a b c", (('"a"', '"b"'),), ()),
        ("WSL AND cuda", "WSL cuda", (), ()),
    ],
)  # fmt: skip
def test_phrases_must_occur_and_exclusions_must_not(typed, text, required, excluded):
    query = parse_typed(typed)
    assert (query.text, query.required, query.excluded) == (text, required, excluded)


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        ("label:bug", [("label", "bug", False)]),
        ('label:"good first issue" x', [("label", "good first issue", False)]),
        ("-label:x -author:@ana", [("label", "x", True), ("author", "@ana", True)]),
        ("x NOT label:x", [("label", "x", True)]),
        ("created:>2024-01-01 updated:2024-01..2024-03", [("created", ">2024-01-01", False), ("updated", "2024-01..2024-03", False)]),
        ("label:C++ label:A-diagnostics:x", [("label", "C++", False), ("label", "A-diagnostics:x", False)]),
        ("path:src/**/x_*.py", [("path", "src/**/x_*.py", False)]),
        ("author:ana OR author:ben", [("author", "ana", False), ("author", "ben", False)]),
        ("is:open AND label:Bug", [("is", "open", False), ("label", "Bug", False)]),
        ("is:open AND NOT label:Bug", [("is", "open", False), ("label", "Bug", True)]),
        ("(label:Bug OR label:Wallet) is:open", [("label", "Bug", False), ("label", "Wallet", False), ("is", "open", False)]),
        ('(label:"a b" OR label:"c d")', [("label", "a b", False), ("label", "c d", False)]),
        ("( is:open AND (-label:a) )", [("is", "open", False), ("label", "a", True)]),
        ("label:f(x) path:a(b", [("label", "f(x)", False), ("path", "a(b", False)]),
        ("repo:rust -repo:a/b", [("project", "rust", False), ("project", "a/b", True)]),
        ('label:bug,"good first issue" x', [("label", 'bug,"good first issue"', False)]),
        ("(-label:“a b”,c)", [("label", '"a b",c', True)]),
        ('label:"a,b"', [("label", '"a,b"', False)]),
        ('created:>"3 months ago"', [("created", ">3 months ago", False)]),
        ('created:">3 months ago"', [("created", ">3 months ago", False)]),
        ("created:>3 months ago x", [("created", ">3 months ago", False)]),
        ("updated:<=last week x", [("updated", "<=last week", False)]),
    ],
)  # fmt: skip
def test_a_qualifier_is_a_known_name_with_a_value(typed, expected):
    assert qualifiers_of(typed) == expected
    assert parse_typed(typed).text in ("", "x")


@pytest.mark.parametrize("name", NAMES)
def test_every_name_is_a_qualifier_with_a_value_and_text_without(name):
    assert qualifiers_of(f"x {name}:7") == [(name, "7", False)]
    for text in (f"x {name}: 7", f"x {name.title()}:7", f"x {name}::7", f"x {name}://7", f"x y{name}:7", f'x {name}:"'):
        assert parse_typed(text).text == text


def test_what_may_have_been_meant_otherwise_is_told():
    assert "NOT windows" in parse_typed("crash -Windows").notes[0]
    assert "OR joins" in parse_typed("label:a OR label:b").notes[0]
    assert parse_typed("label:a OR label:b").text == ""
    assert "items with windows are excluded" in parse_typed("crash -windows").notes[0]
    assert not parse_typed("crash --flag - a author:a OR author:b AND is:open (a b) foo()").notes


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("-panic", "-panic is searched for: a query cannot consist of exclusions alone"),
        ("NOT panic", "NOT panic is searched for: a query cannot consist of exclusions alone"),
        ("-windows -linux", "-windows and -linux are searched for: a query cannot consist of exclusions alone"),
        ("crash -Windows -Xmx", "-Windows and -Xmx are searched for; to exclude the word, write NOT windows"),
        ("(is:open)", "groups are not supported: parentheses are ignored, and all qualifiers must match"),
        ("NOT (is:open author:a)", "groups are not supported: parentheses are ignored, and all qualifiers must match"),
        ("label: bug", "label: is searched for as text: put the value right after the colon"),
        ('label:"" -author: author: x', "label: and author: are searched for as text: put the value right after the colon"),
        ('x repo:" "', "repo: is searched for as text: put the value right after the colon"),
    ],
)  # fmt: skip
def test_a_note_is_told_once(text, note):
    assert parse_typed(text).notes == (note,)


@example('"a „. b”')
@example('"a label:"b" "')
@example("-foo OR bar NOT")
@given(st.one_of(ANY_TEXT, AWKWARD))
def test_any_text_means_something_and_is_understood_again(text):
    query = parse_typed(text)
    again = parse_typed(render_typed(query))
    assert again[1:] == query[1:]
    assert again.text.split() == query.text.split()
    assert render_typed(again) == render_typed(query)


@given(st.text(alphabet=st.characters(exclude_characters='"“”„')))
def test_text_without_operators_comes_back_unchanged(text):
    if not any(sign in text for sign in (":", " -", "OR", "NOT", "AND")) and not text.startswith("-"):
        assert parse_typed(text).text == text
        assert parse_typed(text).is_plain


def test_something_pasted_is_text():
    pasted = "label:bug -windows " + "x" * MAX_CHARS
    assert parse_typed(pasted).text == pasted
    for start, repeated in (("", '"'), ("", "("), ("", "-("), ("label:a,", ")"), ("label:", "a,"), ("label:", '"a",')):
        assert parse_typed(start + repeated * (9_000 // len(repeated)) + ' "').pieces  # and quickly


def read(text):
    return read_qualifiers(parse_typed(text).qualifiers)


def test_qualifiers_become_the_words_of_flags():
    found = read(
        "is:open is:pr is:merged type:issue author:ana -label:x -is:closed comments:>10 project:a/b -project:c/d"
    )
    assert found.words == {
        "state": ["open", "merged"], "type": ["pr", "issue"], "author": ["ana"], "comments": [">10"],
        "without": {"label": ["x"], "state": ["closed"]},
    }  # fmt: skip
    assert (found.projects, found.not_projects) == (("a/b",), ("c/d",))


def test_places_and_order():
    found = read("in:title,body in:title sort:updated-asc")
    assert found.fields == ("title", "body")
    assert found.sort == SortOrder("updated", is_ascending=True)
    assert read("x").sort is None
    assert read("sort:Comments").sort == SortOrder("comments")


@pytest.mark.parametrize(
    ("text", "message"),
    [("is:fun", "is:fun"), ("in:production", "in:production"), ("sort:asc", "unknown sort order: asc"), ("sort:relevance-asc", "unknown sort order: relevance-asc"),
     ("sort:created sort:updated", "twice"), ("-in:title", "cannot be excluded"), ("in:title,", "unknown qualifier")],
)  # fmt: skip
def test_a_value_that_cannot_be_meant_is_told(text, message):
    with pytest.raises(InvalidValue, match=message) as caught:
        read(text)
    assert caught.value.hint


def test_flags_and_query_are_one_list():
    flags = {"label": ["a"], "author": "ana", "after": "2024", "without": {"label": "x"}}
    typed = {"label": ["b"], "author": ["ben"], "without": {"label": ["y"], "state": ["open"]}}
    assert join_words(flags, typed) == {
        "label": ["a", "b"], "author": ["ana", "ben"], "after": "2024", "without": {"label": ["x", "y"], "state": ["open"]},
    }  # fmt: skip
