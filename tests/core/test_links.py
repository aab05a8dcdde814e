"""Relations in what people write."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.text.links import links_in_event, links_in_text
from growth import assert_grows_slowly


def found(text):
    return [(link.relation, link.project, link.kind, link.number) for link in links_in_text(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Fixes #12, see acme/api#3", [("closes", "", None, 12), ("mentions", "acme/api", None, 3)]),
        ("Closes: group/sub/app!7", [("closes", "group/sub/app", "change", 7)]),
        ("resolves issue #4", [("closes", "", None, 4)]),
        ("closing as a dup of #9. Dupe #8", [("duplicate_of", "", None, 9), ("duplicate_of", "", None, 8)]),
        ("Duplicate of https://github.com/a/b/issues/3", [("duplicate_of", "github.com/a/b", "issue", 3)]),
        ("(fixes #7)", [("closes", "", None, 7)]),
        ("moved to other/place#3", [("moved_to", "other/place", None, 3)]),
        ("#1 first, #1 again", [("mentions", "", None, 1)]),
        ("see #5. Fixes #5", [("closes", "", None, 5)]),
        ("thanks! 5 stars", []),
        ("`#3` and\n```\n#4\n```\nbut #6", [("mentions", "", None, 6)]),
        ("~~~\nFixes #4", []),
        ("an open ` tick and #7", [("mentions", "", None, 7)]),
        ("&#39; a#1 page.html#2 colour #12ab #1234567890", []),
        ("prefix#12", []),
    ],
)
def test_references_mean_what_the_forges_make_of_them(text, expected):
    assert found(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("marked this issue as a duplicate of #12", [("duplicate_of", "", 12, False)]),
        ("marked this issue as a duplicate of group/app#12", [("duplicate_of", "group/app", 12, False)]),
        ("marked this issue as related to #5", [("relates", "", 5, False)]),
        ("removed the relation with #5", [("relates", "", 5, True)]),
        ("moved to group/other#9", [("moved_to", "group/other", 9, False)]),
        ("marked #6 as a duplicate of this issue", []),
        ("changed the description", []),
    ],
)
def test_system_notes_hold_the_duplicate_history(text, expected):
    assert [(link.relation, link.project, link.number, link.is_withdrawn) for link in links_in_event(text)] == expected


@given(st.text(alphabet="#!`~/aZ0 9\n.:-&(acme/web", max_size=200))
def test_any_text_can_be_scanned(text):
    for link in links_in_text(text):
        assert 0 <= link.number < 10**9


@pytest.mark.parametrize("unit", ["#1 `x` ", "#1", "`", "~~~\n#1\n", "acme/web#1 ", "http://a", "!1 `", "closes #1 "])
def test_many_marks_are_scanned_without_quadratic_cost(unit):
    assert_grows_slowly(links_in_text, lambda size: unit * (size // len(unit)))
