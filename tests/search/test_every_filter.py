"""Milestones, assignees, comments, globs, ranges and what is left out: one meaning in `list`, `count` and `search`, held
against a loop over all rows; and what contradicts itself is told.
"""

import fnmatch
import itertools
import json
import random
import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from forgelore.browse.lists import count_rows, list_items
from forgelore.errors import InvalidValue
from forgelore.search.filters import parse_filters, warn_of_absent
from forgelore.store.filters import Filters, build_allowed, load_allowed
from forgelore.text.dates import Bounds, parse_dates, parse_numbers, parse_period, parse_when
from forgelore.text.globs import glob_matches, loose_glob
from forgelore.viewer import PUBLIC

KINDS = ("issue", "change", "discussion", "release")
NOW = parse_when("2026-11-15T12:00:00Z", 0)
MILESTONES = ("1.0", "Next Release", None, None)
PEOPLE = ("ana", "@Ben", "cleo")


@pytest.fixture
def world(demo):
    """The demo tracker, whose items have milestones, assignees and, some of them, the forge's count of comments."""
    rng = random.Random(3)
    demo.run("UPDATE notes SET is_internal = 1 WHERE id % 7 = 0")
    for (item_id,) in demo.rows("SELECT id FROM items ORDER BY id"):
        people = json.dumps(rng.sample(PEOPLE, rng.choice((0, 0, 1, 2))))
        count = rng.choice((None, None, 0, 3, 12))
        demo.run(
            "UPDATE items SET milestone = ?, assignees = ?, comment_count = ? WHERE id = ?",
            rng.choice(MILESTONES), people, count, item_id,
        )  # fmt: skip
    return demo


def all_rows(store):
    """Every item and note with all that filters ask for, read without any of the filters' code."""
    rows = {}
    names = ("id", "kind", "state", "author", "created_at", "updated_at", "milestone", "assignees", "comment_count")
    for row in store.rows(f"SELECT {', '.join(names)} FROM items WHERE deleted_at IS NULL"):
        item = dict(zip(names, row, strict=True)) | {"labels": set(), "paths": set(), "notes": 0}
        item["assignees"] = {name.lower().removeprefix("@") for name in json.loads(item["assignees"])}
        rows[item["id"]] = item
    for item_id, name in store.rows("SELECT item_id, name FROM item_labels"):
        rows[item_id]["labels"].add(name.lower())
    for item_id, *paths in store.rows("SELECT item_id, new_path, old_path FROM item_files"):
        rows[item_id]["paths"].update(paths)
    notes = []
    for item_id, author, created_at, updated_at, path, hidden in store.rows("""
        SELECT n.item_id, n.author, n.created_at, n.updated_at, coalesce(n.path, t.path), n.is_system OR n.is_internal
        FROM notes n
        JOIN threads t ON t.id = n.thread_id
    """):
        rows[item_id]["notes"] += not hidden
        own = {"author": author, "created_at": created_at, "updated_at": updated_at, "paths": {path} - {None}}
        notes.append((item_id, own))
    for item in rows.values():
        item |= {
            "commenter": set(),
            "mentions": set(),
            "involves": {(item["author"] or "").lower()} | item["assignees"],
        }
    for item_id, author, is_system in store.rows("SELECT item_id, author, is_system FROM notes"):
        if author and not is_system:
            rows[item_id]["commenter"].add(author.lower())
            rows[item_id]["involves"].add(author.lower())
    for item_id, login, role in store.rows("SELECT item_id, login, role FROM item_people"):
        rows[item_id]["mentions"].update({login.lower()} if role == "mentioned" else ())
        rows[item_id]["involves"].add(login.lower())
    for item in rows.values():
        item["comments"] = item["notes"] if item["comment_count"] is None else item["comment_count"]
    return {"items": list(rows.values()), "notes": [rows[item_id] | own for item_id, own in notes]}


def in_range(value, text, read):
    if value is None:
        return False
    if text.startswith(">="):
        return value >= read(text[2:])[0]
    if text.startswith(">"):
        return value >= read(text[1:])[1]
    if text.startswith("<="):
        return value < read(text[2:])[1]
    if text.startswith("<"):
        return value < read(text[1:])[0]
    first, _, last = text.partition("..")
    last = last or first
    return (first == "*" or value >= read(first)[0]) and (last == "*" or value < read(last)[1])


def whole(number):
    return int(number), int(number) + 1


def period(text):
    return parse_period(text, NOW)


def is_path(path, wanted):
    if "*" in wanted:
        parts = wanted.split("**")
        pattern = ".*".join("[^/]*".join(map(re.escape, part.split("*"))) for part in parts)
        return re.fullmatch(pattern, path) is not None
    return path.startswith(wanted) if wanted.endswith("/") else path == wanted


def meets(row, name, value):
    """Whether a row meets one value of one filter."""
    if name == "comments":
        return in_range(row["comments"], value, whole)
    if name == "created":
        return in_range(row["created_at"], value, period)
    if name == "updated":
        return in_range(row["created_at"] if row["updated_at"] is None else row["updated_at"], value, period)
    if name == "author":
        return (row["author"] or "").lower() == value.lower().removeprefix("@")
    if name in ("assignee", "commenter", "mentions", "involves"):
        return value.lower().removeprefix("@") in row["assignees" if name == "assignee" else name]
    if name == "no":
        return not row[{"label": "labels", "assignee": "assignees"}.get(value, value)]
    if name == "label":
        return any(one.strip('"') in row["labels"] for one in value.lower().split(","))
    if name == "path":
        return any(is_path(path, value) for path in row["paths"])
    return (row[name] or "").lower() == value.lower()


def is_kept(row, words):
    every = ("label", "no", "created", "updated", "comments")
    asked = all(
        (all if name in every else any)(meets(row, name, value) for value in values)
        for name, values in words.items()
        if name != "without"
    )
    left_out = ((name, value) for name, values in words.get("without", {}).items() for value in values)
    return asked and not any(meets(row, name, value) for name, value in left_out)


VALUES = {
    "milestone": ["1.0", "next release", "none such"],
    "assignee": ["ANA", "@ben", "cleo", "nobody"],
    "commenter": ["mira-k", "@S-ABARA", "nobody"],
    "mentions": ["rsoto-dev", "@OLDMANFISK", "nobody"],
    "involves": ["mira-k", "@Ben", "rsoto-dev", "nobody"],
    "comments": ["0", ">2", ">=3", "<3", "<=12", "1..5", "2..*", "*..3"],
    "created": [">2024-06-01", "<2025", "2024", "2024-03..2025-02", ">=2024-06-01", "<=2024-12", "*..2025", "2024-11..*"],
    "updated": [">2024-06-01", "<2025", "2024", "2024-03..2025-02", "<=2024-12-31"],
    "path": ["crates/**", "crates/*/src/*.rs", "**.rs", ".github/*/*", "docs/", "Cargo.toml", "*.toml", "**/src/*.rs", "no/*"],
    "no": ["label", "milestone", "assignee"],
    "author": ["mira-k", "@FJORDDATA", "nobody"],
    "label": ["bug", "WINDOWS", "lanternd", "Relay,windows", '"bug",docs', "none such,bug"],
    "state": ["open", "closed", "merged"],
}  # fmt: skip


def draw(rng):
    words = {name: rng.sample(values, rng.randint(1, 2)) for name, values in VALUES.items() if rng.random() < 0.15}
    without = {name: rng.sample(values, rng.randint(1, 2)) for name, values in VALUES.items() if rng.random() < 0.12}
    return words | ({"without": without} if without else {})


def ids_of(store, kind, words):
    """What list, count and search give for these filters, each as a set of items or a number."""
    filters = parse_filters({**words, "type": [kind]}, now_ms=NOW)
    listed = list_items(store, filters, limit=1000)
    allowed = build_allowed(store, filters)
    ids = load_allowed(store, allowed)
    searched = store.rows(f"SELECT item_id FROM documents WHERE id IN ({ids}) AND representation = 'item'")
    within = allowed.condition("t.id")
    matched = store.rows(f"SELECT id FROM document_texts t WHERE {within.sql} ORDER BY id", *within.bindings)
    assert [row[0] for row in matched] == sorted(map(int, ids.split(","))) if ids else not matched
    return (
        {(one.kind, one.number) for one in listed},
        count_rows(store, "items", filters).total,
        {i for (i,) in searched},
    )


@pytest.mark.parametrize("seed", range(4))
def test_list_count_and_search_keep_what_a_loop_over_all_rows_would_keep(world, seed):
    rng, rows = random.Random(seed), all_rows(world)
    key = {item_id: (kind, number) for item_id, kind, number in world.rows("SELECT id, kind, number FROM items")}
    told = found = 0
    for _ in range(60):
        words, kind = draw(rng), rng.choice(KINDS)
        expected = {row["id"] for row in rows["items"] if row["kind"] == kind and is_kept(row, words)}
        try:
            listed, total, searched = ids_of(world, kind, words)
        except InvalidValue:
            assert not expected, words
            told += 1
            continue
        assert listed == {key[item_id] for item_id in expected}, words
        assert total == len(expected), words
        assert searched == expected, words
        given = parse_filters(words, now_ms=NOW)
        assert count_rows(world, "notes", given).total == sum(is_kept(row, words) for row in rows["notes"]), words
        found += bool(expected)
    assert found > 12, "too many combinations match nothing to prove anything"
    assert told < 30


@pytest.mark.parametrize("seed", range(4))
def test_without_a_type_filters_ask_the_item_whatever_is_found_of_it(world, seed):
    """Who wrote it and when: a thread below it was begun by somebody else, on another day. (Paths are left out here:
    of a thread they are those that it is about.)
    """
    rng, rows = random.Random(seed), all_rows(world)["items"]
    found = 0
    for _ in range(60):
        words = draw(rng)
        words.pop("path", None)
        words.get("without", {}).pop("path", None)
        expected = {row["id"] for row in rows if is_kept(row, words)}
        try:
            filters = parse_filters(words, now_ms=NOW)
        except InvalidValue:
            continue
        allowed = build_allowed(world, filters)
        ids = load_allowed(world, allowed) if allowed else "SELECT id FROM documents"
        assert {i for (i,) in world.rows(f"SELECT item_id FROM documents WHERE id IN ({ids})")} == expected, words
        assert count_rows(world, "items", filters).total == len(expected), words
        found += bool(expected)
    assert found > 12, "too many combinations match nothing to prove anything"


@pytest.mark.parametrize("name", ["commenter", "mentions", "involves"])
def test_an_internal_note_does_not_tell_a_public_reader_who_wrote_it_or_is_named_there(world, name):
    """Neither by what is found nor by what is left out."""
    item_id = world.value("SELECT id FROM items WHERE kind = 'issue' AND deleted_at IS NULL ORDER BY id LIMIT 1")
    thread = world.insert("INSERT INTO threads (project_id, item_id, key) VALUES (1, ?, 'secret')", item_id)
    sql = """
        INSERT INTO notes (project_id, item_id, thread_id, key, author, body, is_internal, row_hash)
        VALUES (1, ?, ?, 'n-secret', 'secret-agent', 'cc @secret-agent', 1, x'00')
    """
    note = world.insert(sql, item_id, thread)
    sql = """
        INSERT INTO item_people (project_id, item_id, note_id, login, role, source)
        VALUES (1, ?, ?, 'secret-agent', 'mentioned', 'text')
    """
    world.run(sql, item_id, note)
    for words, is_asked in (({name: "secret-agent"}, True), ({"without": {name: "secret-agent"}}, False)):
        public = world.seen_by(PUBLIC)
        every = count_rows(public, "items", Filters()).total
        filters = parse_filters(words, now_ms=NOW)
        assert count_rows(public, "items", filters).total == (0 if is_asked else every)
        assert count_rows(world, "items", filters).total == (1 if is_asked else every - 1)
        assert warn_of_absent(public, filters, is_empty=True) == ["unknown person 'secret-agent'"]
        assert not warn_of_absent(world, filters, is_empty=True)


def test_threads_that_are_asked_for_by_type_have_their_own_authors_and_dates(world):
    begun = {
        (item_id, author, created_at)
        for item_id, author, created_at in world.rows("""
            SELECT item_id, thread_author, thread_created_at FROM documents WHERE representation = 'thread'
        """)
    }
    for author in ("mira-k", "fjorddata"):
        for words in ({"author": author}, {"without": {"author": [author]}}):
            filters = parse_filters({"type": "thread", "created": ">2024", **words}, now_ms=NOW)
            ids = load_allowed(world, build_allowed(world, filters))
            of = {one for one in begun if one[2] >= period("2024")[1] and (one[1] == author) == ("author" in words)}
            assert of
            assert (
                set(world.rows(f"SELECT item_id, thread_author, thread_created_at FROM documents WHERE id IN ({ids})"))
                == of
            )


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in VALUES.items() for value in values])
def test_what_is_left_out_is_the_rest(world, name, value):
    every = {row["id"] for row in all_rows(world)["items"]}
    asked, left_out = (
        {key for kind in KINDS for key in ids_of(world, kind, words)[2]}
        for words in ({name: [value]}, {"without": {name: [value]}})
    )
    assert asked | left_out == every
    assert not asked & left_out


def test_each_value_that_should_occur_does(world):
    rows = all_rows(world)["items"]
    rare = {
        (name, value)
        for name, values in VALUES.items()
        for value in values
        if not any(meets(r, name, value) for r in rows)
    }
    assert rare == {("milestone", "none such"), ("assignee", "nobody"), ("path", "no/*"), ("author", "nobody")} | {
        (name, "nobody") for name in ("commenter", "mentions", "involves")
    }


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"created": [">2024-06", "<2024-06"]}, "no creation date meets all conditions: >2024-06 and <2024-06"),
        ({"created": "2024-03..2024-01"}, "no creation date meets all conditions: 2024-03"),
        ({"after": "2025-01-01", "created": "<2024"}, "after 2025-01-01 and <2024"),
        ({"after": "2025-01-01", "before": "2024-01-01"}, "after 2025-01-01 and before 2024-01-01"),
        ({"updated_after": "2025-01-01", "updated": "<2024"}, "no update date meets all conditions: after 2025-01-01 and <2024"),
        ({"created": ">2025", "updated": "<2024"}, "before it was created"),
        ({"comments": [">10", "<5"]}, "comments"),
        ({"comments": "many"}, "not a number"), ({"comments": "-1"}, "not a number"), ({"comments": ">"}, "not a number"),
        ({"created": "soon"}, "not a date"), ({"created": ">"}, "not a date"), ({"created": "7d"}, "is a point in time"),
        ({"label": ["a", "b"], "without": {"label": ["B"]}}, "both required and excluded"),
        ({"state": ["open"], "without": {"state": "opened"}}, "both required and excluded"),
        ({"label": "a", "without": {"label": "A,b"}}, "'a' is both required and excluded"),
        ({"label": "a,b", "without": {"label": ["A", "c,b"]}}, "'a' is both required and excluded"),
        ({"created": ".."}, "not a date"), ({"comments": " .. "}, "not a number"),
        ({"milestone": " "}, "empty"), ({"assignee": "@"}, "empty"), ({"path": "*a" * 9}, "more than 8 wildcards"),
        ({"without": {"label": ""}}, "empty"), ({"without": {"without": {}}}, "cannot be nested"),
    ],
)  # fmt: skip
def test_what_cannot_be_meant_is_told(words, message):
    with pytest.raises(InvalidValue, match=re.escape(message)) as caught:
        parse_filters(words, now_ms=NOW)
    assert caught.value.hint


def test_one_of_two_states_may_be_left_out():
    filters = parse_filters({"state": ["open", "closed"], "without": {"state": "open"}}, now_ms=NOW)
    assert filters.states == ("open", "closed")
    assert filters.without == (Filters(states=("open",)),)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024-01-31", "2024-01-31", "2024-02-01"), ("2024-12", "2024-12-01", "2025-01-01"), ("2024", "2024-01-01", "2025-01-01"),
        ("Feb 2024", "2024-02-01", "2024-03-01"), ("yesterday", "2026-11-14", "2026-11-15"), ("1.3.2024", "2024-03-01", "2024-03-02"),
    ],
)  # fmt: skip
def test_a_day_a_month_and_a_year_have_an_end(text, first, last):
    assert parse_period(text, NOW) == (parse_when(first, NOW), parse_when(last, NOW))


def test_a_moment_has_none_and_years_end():
    assert parse_period("7d", NOW) == (parse_when("7d", NOW),) * 2
    assert parse_period("2024-01-31T12:00:00Z", NOW)[0] == parse_period("2024-01-31T12:00:00Z", NOW)[1]
    assert parse_period("9999-12", NOW)[1] > parse_when("9999-12-31", NOW)
    assert parse_dates(">7d", NOW) == Bounds(low=parse_when("7d", NOW))


@given(st.integers(0, 30), st.integers(0, 30), st.sampled_from([">", ">=", "<", "<=", ""]))
def test_comparisons_of_numbers_mean_what_they_say(value, other, sign):
    bounds = parse_numbers(f"{sign}{other}")
    is_in = (bounds.low is None or value >= bounds.low) and (bounds.high is None or value < bounds.high)
    assert (
        is_in
        == {">": value > other, ">=": value >= other, "<": value < other, "<=": value <= other, "": value == other}[
            sign
        ]
    )


@given(st.text(max_size=30))
def test_any_text_is_a_range_or_a_clear_error(text):
    for read in (parse_numbers, lambda one: parse_dates(one, NOW)):
        try:
            assert isinstance(read(text), Bounds)
        except InvalidValue as error:
            assert error.hint


PATHS = ["", "a", "b", "a/b", "a/b/c", "ab", "a/bb", "b/a/b", "a/b/", "[a]", "a?b", "abc/d.py", "a/x/y/b"]
PATTERNS = ["".join(parts) for size in range(5) for parts in itertools.product(["a", "b", "/", "*", "**"], repeat=size)]


def slow_match(pattern, path):
    """One character after the other, as the rules say it."""
    if not pattern:
        return not path
    if pattern.startswith("**/") and slow_match(pattern[3:], path):
        return True  # (only asked at the beginning of a folder)
    if pattern.startswith("**"):
        rest = pattern.lstrip("*")
        return any(slow_match(rest, path[at:]) for at in range(len(path) + 1))
    if pattern.startswith("*"):
        segment = path.partition("/")[0]
        return any(slow_match(pattern[1:], path[at:]) for at in range(len(segment) + 1))
    if not path or path[0] != pattern[0]:
        return False
    return slow_match(pattern[1:], path[1:])


def test_a_star_stops_at_a_slash_and_two_do_not():
    for pattern in ("a/*", "*", "a*", "*/b", "a/**", "**", "**b", "a**", "a/*/b", "*/*", "**/b", "a/**/b"):
        for path in PATHS:
            expected = slow_match(pattern, path)
            assert glob_matches(pattern, path) == expected, (pattern, path)


def test_what_a_glob_matches_the_loose_one_of_sqlite_does_too(demo):
    for pattern in PATTERNS:
        loose = loose_glob(pattern)
        for path in PATHS:
            if glob_matches(pattern, path):
                assert fnmatch.fnmatchcase(path, loose), (pattern, path, loose)
    assert demo.value("SELECT 'a[1]?' GLOB ?", loose_glob("a[1]?")) == 1


@example("a[", "a[")
@given(st.text(alphabet="ab/[]?^-!", max_size=8), st.text(alphabet="ab/[]?^-!", max_size=8))
def test_only_stars_mean_anything(pattern, path):
    assert glob_matches(pattern + "x", path + "x") == (pattern == path)
