"""Finding and reading from Python: items, hits and times as Python has them, and errors that know no command line."""

import datetime as dt

import pytest

import forgelore
from forgelore.errors import LoreError, UsageError
from forgelore.index.update import index_items
from forgelore.surfaces.cli.setup import demo_file
from forgelore.sync.archive import import_lines, open_source

JULY = dt.datetime(2025, 7, 1, tzinfo=dt.UTC)


@pytest.fixture
def lore(tmp_path):
    with forgelore.open(tmp_path / "lore.db", create=True, environ={"FORGELORE_EMBEDDER": "none"}) as opened:
        with open_source(demo_file()) as source:
            import_lines(opened.app.store(), opened.app.parse_project("lanternsync/lantern"), source, 0)
        index_items(opened.app.store(), [1])
        yield opened


def test_items_are_of_all_kinds_or_of_those_that_are_named(lore):
    every = lore.items(limit=1000)
    assert len(every) == lore.count("items").total
    assert {item.kind for item in every} == {"issue", "change", "discussion", "release"}
    some = lore.items("label:bug is:open", type=["issue", "change"], limit=1000)
    assert some
    assert all(item.state == "open" and "bug" in item.labels for item in some)
    assert [item.ref for item in lore.items("is:issue sort:created-asc", limit=3)] == [
        item.ref for item in sorted((one for one in every if one.kind == "issue"), key=lambda one: one.created_at)[:3]
    ]
    assert "did you mean 'lanternd'?" in lore.items(label="lantrnd").warnings[0]
    assert lore.count("issues", "label:lantrnd").warnings


def test_an_item_is_had_by_its_ref(lore):
    item = lore.get("#41")
    assert item == lore.show("#41")
    assert item.title.startswith("Deleted files come back")
    assert lore.get("lanternsync/lantern#41").number == 41
    assert next(found.ref for found in lore.similar("#41", mode="lexical").hits).startswith("#")


def test_an_item_is_had_by_its_number(lore):
    assert lore.get(41) == lore.show(41) == lore.show("issue", 41) == lore.get("#41")
    assert lore.read(41) == lore.read("#41")
    assert lore.find_page(41) == lore.find_page("#41")
    assert lore.similar(41, mode="fts").hits == lore.similar("#41", mode="lexical").hits


def test_what_the_command_line_takes_is_taken(lore):
    assert lore.search("sync", mode="fts").hits == lore.search("sync", mode="lexical").hits
    assert [one.ref for one in lore.items(comments=3)] == [one.ref for one in lore.items("comments:3")] != []
    assert lore.items(comments=[3, ">2"]) == lore.items(comments=3)
    for order in ("created", "number", "comments", "updated"):
        up, down = (lore.items(sort=f"{order}-{way}", limit=1000) for way in ("asc", "desc"))
        assert lore.items(sort=order, limit=1000) == down
        assert up[0].ref != down[0].ref
    assert [one.ref for one in lore.items("sort:created", sort="updated-asc")] == [
        one.ref for one in lore.items(sort="created")
    ]
    assert lore.list_items("issues", sort="created-asc", limit=1)[0].created_at.year == 2023
    assert lore.search(author="mira-k", mode="lexical").mode == "lexical"
    assert {one.ref for one in lore.items(label="relay,windows", limit=1000)} == {
        one.ref for label in ("relay", "windows") for one in lore.items(label=label, limit=1000)
    }


def test_a_misspelt_project_is_told_with_the_one_that_was_meant(lore):
    for ask in (lore.search, lore.items):
        with pytest.raises(LoreError) as caught:
            ask("", project="lanternsync/lanter")
        assert caught.value.hint.startswith("did you mean lanternsync/lantern?")


def test_a_hit_says_at_once_what_it_is(lore):
    hit = lore.search("deleted files come back", type="issue", mode="lexical").hits[0]
    assert (hit.ref, hit.number, hit.kind, hit.project) == ("#41", 41, "issue", "lanternsync/lantern")
    assert hit.title == hit.row.title
    assert hit.url == "https://github.com/lanternsync/lantern/issues/41"
    assert "bug" in hit.labels
    assert (hit.state, hit.author) == (hit.row.state, hit.row.author)


@pytest.mark.parametrize(
    ("filters", "typed"),
    [({"author": "s-abara"}, "author:s-abara"), ({"label": ["bug"], "state": "open"}, "label:bug is:open")],
)
def test_filters_without_words_are_the_qualifiers(lore, filters, typed):
    by_filters, by_qualifiers = lore.search("", **filters), lore.search(typed)
    assert by_filters.hits == by_qualifiers.hits != []
    assert by_filters.sort == by_qualifiers.sort
    assert not lore.search("").hits
    assert not lore.search("", author=None).hits


def test_refs_name_their_item_in_a_store_with_several_projects(lore):
    assert lore.items("is:issue", limit=1)[0].ref.startswith("#")
    with open_source(demo_file()) as source:
        import_lines(lore.app.store(), lore.app.parse_project("other/one"), source, 0)
    index_items(lore.app.store(), [2])
    found = lore.search("deleted files come back", mode="lexical", limit=6).hits
    listed = [one for kind in ("issue", "change", "discussion", "release") for one in lore.items(type=kind, limit=3)]
    for one in (*found, *listed):
        item = lore.get(one.ref)
        assert (item.number, item.project, item.kind) == (one.number, one.project, one.kind)
    assert {hit.project for hit in found} == {"lanternsync/lantern", "other/one"}
    like = lore.similar(found[0].ref, mode="lexical").hits
    assert like
    assert all(lore.get(one.ref).project == one.hit.project for one in like)
    assert lore.similar(like[0].ref, mode="lexical").hits


def test_times_are_aware(lore):
    hit = lore.search("deleted files", mode="lexical").hits[0]
    item = lore.get("#41")
    (listed,) = [one for one in lore.items("is:issue", limit=1000) if one.number == 41]
    assert item.created_at == listed.created_at == dt.datetime.fromisoformat("2023-09-06T09:19:44Z")
    for moment in (hit.created_at, hit.updated_at, item.created_at, item.closed_at, listed.updated_at):
        assert moment.utcoffset() == dt.timedelta(0)
    assert all(note.created_at.tzinfo for thread in item.threads for note in thread.notes)


@pytest.mark.parametrize(
    "moment", [JULY, JULY.date(), JULY.replace(tzinfo=None), JULY.astimezone(dt.timezone(dt.timedelta(hours=5)))]
)
def test_dates_are_taken_as_they_are(lore, moment):
    assert lore.items(after=moment, limit=1000) == lore.items(after="2025-07-01", limit=1000)
    assert lore.count("issues", before=moment).total == lore.count("issues", before="2025-07-01").total > 0
    assert lore.count("issues", updated_after=moment).total == lore.count("issues", updated_after="2025-07-01").total


def test_a_day_is_a_range(lore):
    day = lore.get("#41").created_at.date()
    assert [item.number for item in lore.items(type="issue", created=day)] == [
        item.number for item in lore.items(type="issue", created=day.isoformat())
    ]
    assert 41 in [item.number for item in lore.items(type="issue", created=[day])]


@pytest.mark.parametrize(
    "ask",
    [
        lambda lore: lore.search("x", limit=0),
        lambda lore: lore.search("x", offset=-1),
        lambda lore: lore.search("x", mode="fuzzy"),
        lambda lore: lore.search("x", mode="semantic"),
        lambda lore: lore.search("title: (", raw=True),
        lambda lore: lore.search("x", after="soon"),
        lambda lore: lore.items("words"),
        lambda lore: lore.items(limit=0),
        lambda lore: lore.items(sort="title"),
        lambda lore: lore.items("is:pr", type="issue"),
        lambda lore: lore.similar("#41", limit=0),
        lambda lore: lore.get("#999999"),
        lambda lore: lore.get("acme/nothing#1"),
        lambda lore: lore.find_page("#999999"),
    ],
)
def test_errors_speak_of_no_flag(lore, ask):
    with pytest.raises(LoreError) as caught:
        ask(lore)
    assert caught.value.hint
    assert "--" not in caught.value.message + caught.value.hint


def test_what_is_closed_answers_no_more(tmp_path):
    with forgelore.open(tmp_path / "lore.db", create=True) as lore:
        assert lore.items() == []
    for ask in (
        lore.items,
        lambda: lore.search("x"),
        lambda: lore.get("#1"),
        lambda: lore.count("items"),
        lore.__enter__,
    ):
        with pytest.raises(UsageError, match="is closed"):
            ask()
    lore.close()  # twice is no error
