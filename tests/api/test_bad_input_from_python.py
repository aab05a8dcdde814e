"""What cannot be meant is refused from Python as on the command line: with an error that says what to write."""

import re

import pytest

import forgelore
from forgelore.errors import InvalidValue, NotFound, UsageError
from forgelore.surfaces.cli.setup import demo_file
from forgelore.sync.archive import import_lines, open_source
from forgelore.viewer import EVERYTHING


@pytest.fixture
def history(tmp_path):
    with forgelore.open(tmp_path / "lore.db", create=True, viewer=EVERYTHING) as opened:
        with open_source(demo_file()) as source:
            import_lines(opened.app.store(), opened.app.parse_project("demo"), source, 0)
        yield opened


NOT_WHOLE = ["5", True, 1.5, None, float("nan")]


@pytest.mark.parametrize(
    ("limit", "says"),
    [*((one, f"limit is not a whole number: '{one}'") for one in NOT_WHOLE)]
    + [(one, f"limit is out of range: {one}") for one in (-1, 0, 10**9)],
)
@pytest.mark.parametrize("name", ["search", "similar", "items"])
def test_a_limit_that_is_none_is_told_in_our_words(history, name, limit, says):
    asked = {"search": "sync", "similar": "#41", "items": ""}[name]
    with pytest.raises(InvalidValue) as caught:
        getattr(history, name)(asked, limit=limit)
    assert caught.value.message == says
    assert caught.value.hint.startswith("use 1 to")


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda h: h.search(None), "the query must be text, not: None"),
        (lambda h: h.search(5), "the query must be text, not: 5"),
        (lambda h: h.items(None), "the query must be text"),
        (lambda h: h.count("issues", 5), "the query must be text"),
        (lambda h: h.count(None), "the kind of item must be text"),
        (lambda h: h.list_items(5), "the kind of item must be text"),
        (lambda h: h.search("x", after=5), "not a date for after: 5"),
        (lambda h: h.items(updated_after=[]), "not a date for updated_after"),
        (lambda h: h.people.who("mira-k", after=5), "not a date for after: 5"),
        (lambda h: h.items(created=5), "created must be text, not: 5"),
        (lambda h: h.items(comments=True), "comments must be text, not: True"),
        (lambda h: h.items(label=5), "label must be text, not: 5"),
        (lambda h: h.items(label=["bug", None]), "label must be text, not: None"),
        (lambda h: h.items(author={"ana": 1}), "author must be text"),
        (lambda h: h.items(state=b"open"), "state must be text"),
        (lambda h: h.items(project=5), "the project's name must be text, not: 5"),
        (lambda h: h.items(without="bug"), "not a filter to exclude: bug"),
        (lambda h: h.items(without={"colour": "red"}), "not a filter to exclude"),
        (lambda h: h.items(without={"label": 5}), "label must be text, not: 5"),
        (lambda h: h.items(sort=5), "the order must be text, not: 5"),
        (lambda h: h.items(sort="created-up"), "unknown sort order: 'created-up'"),
        (lambda h: h.search("x", sort=5), "the order must be text, not: 5"),
        (lambda h: h.search("x", mode=[]), "unknown search mode"),
        (lambda h: h.search("x", offset=None), "no page starts at 'None'"),
        (lambda h: h.get(None), "None is not an item"),
        (lambda h: h.get(True), "True is not an item"),
        (lambda h: h.show(), "no item named"),
        (lambda h: h.show(5, 41), "'5' is not a kind of item"),
        (lambda h: h.similar(None), "similar takes either a ref or a text"),
        (lambda h: h.similar(True), "True is not an item"),
        (lambda h: h.read(None), "None is not an item"),
        (lambda h: h.read("#41", line="x"), "not a whole number"),
        (lambda h: h.read_text(None), "the key must be text, not: None"),
        (lambda h: h.find_page(1.5), "1.5 is not an item"),
    ],
)
def test_a_value_of_the_wrong_type_is_told_in_our_words(history, ask, message):
    with pytest.raises(InvalidValue) as caught:
        ask(history)
    assert message in caught.value.message
    assert caught.value.hint
    assert not re.search(r" --\w|<class|FilterWords", f"{caught.value.message} {caught.value.hint}")


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda h: h.search("x", mode="fuzzy"), InvalidValue),
        (lambda h: h.similar("#41", mode="fuzzy"), InvalidValue),
        (lambda h: h.evaluate("no.jsonl", mode="fuzzy"), InvalidValue),
        (lambda h: h.search("x", limit=0), InvalidValue),
        (lambda h: h.search("x", colour="red"), TypeError),
        (lambda h: h.list_items("issues", sort="title"), InvalidValue),
        (lambda h: h.list_items("issues", limit=0), InvalidValue),
        (lambda h: h.list_items("bananas"), InvalidValue),
        (lambda h: h.count("bananas"), InvalidValue),
        (lambda h: h.show("#999999"), NotFound),
        (lambda h: h.show("issue", "1", "2"), UsageError),
        (lambda h: h.list_items("issues", project="nobody/nothing"), NotFound),
    ],
)
def test_what_cannot_be_meant_is_refused(history, ask, error):
    with pytest.raises(error) as caught:
        ask(history)
    assert error is TypeError or caught.value.hint
