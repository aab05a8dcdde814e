"""What cannot be meant is refused from Python as on the command line: with an error that says what to write."""

import pytest

import forgelore
from forgelore.errors import InvalidValue, NotFound, UsageError
from forgelore.flows.transfer.importing import import_lines, open_source
from forgelore.surfaces.cli.commands.demo import demo_file


@pytest.fixture
def history(tmp_path):
    with forgelore.open(tmp_path / "lore.db", create=True) as opened:
        with open_source(demo_file()) as source:
            import_lines(opened.app.store(), opened.app.parse_project("demo"), source, 0)
        yield opened


@pytest.mark.parametrize("limit", ["5", True, 1.5, -1, None, 0, 10**9, float("nan")])
@pytest.mark.parametrize("name", ["search", "similar", "items"])
def test_a_limit_that_is_none_is_told_in_our_words(history, name, limit):
    asked = {"search": "sync", "similar": "#41", "items": ""}[name]
    with pytest.raises(InvalidValue, match="limit of") as caught:
        getattr(history, name)(asked, limit=limit)
    assert caught.value.hint.startswith("use 1 to")


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
