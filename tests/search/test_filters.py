"""Filters never lie: what comes back is exactly what a loop over everything would keep, and never short of it."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from forgelore.browse.lists import count_rows, list_items
from forgelore.errors import InvalidValue
from forgelore.search.filters import parse_filters
from forgelore.search.query import Query
from forgelore.search.retriever import Retriever
from forgelore.search.run import search
from forgelore.store.filters import Filters, build_allowed, load_allowed
from forgelore.text.dates import parse_when

DAY = 86_400_000


def rows(store):
    """Every document with all that filters ask for, read without any of the filters' code."""
    labels, paths = {}, {}
    for document_id, name in store.rows("SELECT document_id, name FROM document_labels"):
        labels.setdefault(document_id, set()).add(name.lower())
    for document_id, path in store.rows("SELECT document_id, path FROM document_paths"):
        paths.setdefault(document_id, set()).add(path)
    names = ("id", "kind", "representation", "state", "author", "created_at", "updated_at", "item_id", "project_id")
    own = tuple(f"thread_{name}" for name in ("author", "created_at", "updated_at"))
    found, of_items = [], {}
    commenters, mentioned = {}, {}
    for item_id, author in store.rows("SELECT item_id, lower(author) FROM notes WHERE NOT is_system"):
        commenters.setdefault(item_id, set()).add(author)
    for item_id, login in store.rows("SELECT item_id, lower(login) FROM item_people WHERE role = 'mentioned'"):
        mentioned.setdefault(item_id, set()).add(login)
    for row in store.rows(f"SELECT {', '.join((*names, *own))} FROM documents"):
        one = dict(zip((*names, *own), row, strict=True)) | {"paths": paths.get(row[0], set())}
        one |= {"labels": labels.get(one["id"], set())}
        one["forge"] = store.value("SELECT forge FROM projects WHERE id = ?", one["project_id"])
        one |= {"commenters": commenters.get(one["item_id"], set()), "mentions": mentioned.get(one["item_id"], set())}
        found.append(one)
        of_items.setdefault(one["item_id"], set()).update(one["paths"])
    return [one | {"item_paths": of_items[one["item_id"]]} for one in found]


def is_kept(one, filters):
    """Author, dates and paths are those of the item, but where threads are asked for by their type."""
    if {"thread", "discussion"} & set(filters.types):
        is_thread = one["representation"] == "thread"
        one = one | {name: one[f"thread_{name}"] for name in ("author", "created_at", "updated_at") if is_thread}
    elif filters.with_threads or not filters.types:
        one = one | {"paths": one["item_paths"]}
    is_thread = one["representation"] == "thread"
    is_type = not filters.types or any(
        is_thread if kind == "thread"
        else (one["kind"] == kind and (filters.with_threads or not is_thread))
        or (kind == "discussion" and is_thread and one["forge"] == "gitlab")
        for kind in filters.types
    )  # fmt: skip
    return (
        is_type
        and (not filters.states or one["state"] in filters.states)
        and (not filters.authors or (one["author"] or "").lower() in _logins(filters.authors))
        and (not filters.commenters or bool(one["commenters"] & _logins(filters.commenters)))
        and (not filters.mentions or bool(one["mentions"] & _logins(filters.mentions)))
        and all(label.lower() in one["labels"] for label in filters.labels)
        and all(any(label.lower() in one["labels"] for label in names) for names in filters.any_labels)
        and ("label" not in filters.missing or not one["labels"])
        and (not filters.paths or any(_is_below(path, filters.paths) for path in one["paths"]))
        and (filters.after is None or (one["created_at"] or -1) >= filters.after)
        and (filters.before is None or (one["created_at"] is not None and one["created_at"] < filters.before))
        and (filters.updated_after is None or (one["updated_at"] or one["created_at"] or -1) >= filters.updated_after)
        and one["item_id"] not in filters.not_items
    )


def _logins(authors):
    return {name.lower().removeprefix("@") for name in authors}


def _is_below(path, wanted):
    return any(path.startswith(one) if one.endswith("/") else path == one for one in wanted)


some_filters = st.builds(
    Filters,
    types=st.lists(st.sampled_from(["issue", "change", "discussion", "release", "thread"]), max_size=2).map(tuple),
    with_threads=st.booleans(),
    states=st.lists(st.sampled_from(["open", "closed", "merged"]), max_size=2).map(tuple),
    authors=st.lists(st.sampled_from(["mira-k", "@Mira-K", "fjorddata", "nobody"]), max_size=2).map(tuple),
    labels=st.lists(st.sampled_from(["bug", "BUG", "windows", "lanternd"]), max_size=2).map(tuple),
    paths=st.lists(st.sampled_from(["lanternd/", "lanternd/src/resolver.rs", "docs/", "nowhere/"]), max_size=2).map(
        tuple
    ),
    after=st.one_of(st.none(), st.integers(1_680_000_000_000, 1_760_000_000_000)),
    before=st.one_of(st.none(), st.integers(1_680_000_000_000, 1_760_000_000_000)),
    updated_after=st.one_of(st.none(), st.integers(1_680_000_000_000, 1_760_000_000_000)),
    not_items=st.lists(st.integers(1, 60), max_size=3).map(tuple),
    project_ids=st.just(()),
    milestones=st.just(()),  # the rest: test_every_filter
    assignees=st.just(()),
    commenters=st.lists(st.sampled_from(["mira-k", "@Mira-K", "jannik-o", "nobody"]), max_size=2).map(tuple),
    mentions=st.lists(st.sampled_from(["rsoto-dev", "@OLDMANFISK", "nobody"]), max_size=2).map(tuple),
    involves=st.just(()),
    updated_before=st.none(),
    min_comments=st.none(),
    max_comments=st.none(),
    missing=st.sampled_from([(), (), ("label",)]),
    without=st.just(()),
    any_labels=st.lists(
        st.lists(st.sampled_from(["bug", "BUG", "windows", "relay", "none"]), min_size=2, max_size=3).map(tuple),
        max_size=2,
    ).map(tuple),
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=200)
@given(filters=some_filters, forge=st.sampled_from(["github", "gitlab"]))
def test_a_filter_allows_what_a_loop_over_everything_would_keep(demo, filters, forge):
    demo.run("UPDATE projects SET forge = ?", forge)  # what a discussion is depends on it
    allowed = build_allowed(demo, filters)
    expected = {one["id"] for one in rows(demo) if is_kept(one, filters)}
    if allowed is None:
        assert len(expected) == demo.value("SELECT count(*) FROM documents")
    else:
        assert {int(one) for one in load_allowed(demo, allowed).split(",") if one} == expected
        marked = Retriever(demo).scope(filters, with_vectors=True).allowed
        assert marked.marks is not None
        for one in (allowed, marked):
            within = one.condition("t.id")
            found = demo.rows(f"SELECT id FROM document_texts t WHERE {within.sql}", *within.bindings)
            assert {row[0] for row in found} == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=60)
@given(filters=some_filters, mode=st.sampled_from(["hybrid", "lexical", "semantic"]))
def test_no_hit_breaks_a_filter_and_none_is_missing(retriever, filters, mode):
    """By meaning, everything allowed is a hit: as many items as are allowed come back, however few they are."""
    answer = search(retriever, Query("sync file lantern", mode, filters, 100))
    kept = {one["id"]: one["item_id"] for one in rows(retriever.store) if is_kept(one, filters)}
    found = {hit.row.document_id for hit in answer.hits}
    assert found <= set(kept)
    items = [hit.row.item_id for hit in answer.hits]
    assert len(items) == len(set(items))
    if mode != "lexical":
        assert len(items) == min(100, len(set(kept.values())))


def test_hits_come_in_the_order_of_their_score(retriever):
    scores = [hit.score for hit in search(retriever, Query("deleted files come back")).hits]
    assert scores == sorted(scores, reverse=True)
    assert scores[0] <= 1


def test_a_filter_that_matches_nothing_gives_nothing(retriever):
    assert search(retriever, Query("sync", filters=Filters(authors=("nobody-at-all",)))).hits == []


@pytest.mark.parametrize("limit", [0, -1, 101, 10**9])
def test_a_limit_out_of_range_is_refused(retriever, limit):
    with pytest.raises(InvalidValue, match="out of range"):
        search(retriever, Query("sync", limit=limit))


@pytest.mark.parametrize(
    "words",
    [
        {"label": 50}, {"path": 200}, {"author": 200}, {"milestone": 200}, {"assignee": 200}, {"without": {"author": 200}},
        {"commenter": 200}, {"mentions": 200}, {"involves": 200}, {"without": {"involves": 200}},
        {"without": {"label": 50}}, {"without": {"path": 200}},
        {"label": 50, "path": 200, "author": 200, "without": {"author": 190}}, {"label": [50, 200]}, {"without": {"label": [50, 3]}},
    ],
    ids=str,
)  # fmt: skip
def test_as_many_values_as_are_allowed_are_answered_and_more_are_told(retriever, words):
    """SQLite has limits of its own: 64 joins, expressions 1,000 deep. Nobody is to meet them."""

    def values(counts, more=0):
        return {
            name: values(count, more) if isinstance(count, dict)
            else lists(*count, more) if isinstance(count, list)
            else [f"{name}-{at}" for at in range(count + more)]
            for name, count in counts.items()
        }  # fmt: skip

    def lists(count, size, more):
        return [",".join(f"{at}-{one}" for one in range(size + more)) for at in range(count + more)]

    filters = parse_filters(values(words), now_ms=0)
    for mode in ("lexical", "hybrid"):
        assert len(search(retriever, Query("sync", mode, filters)).warnings) <= 6
    assert list_items(retriever.store, filters) == [] or "without" in words
    for what in ("items", "threads", "notes"):
        count_rows(retriever.store, what, filters)
    with pytest.raises(InvalidValue, match="too many values"):
        parse_filters(values(words, more=11), now_ms=0)


def test_a_value_that_is_repeated_counts_once(retriever):
    assert parse_filters({"label": ["bug"] * 1_000}, now_ms=0).labels == ("bug",)


def test_a_list_of_labels_means_any_of_them_unless_a_label_is_called_so(demo):
    lists = parse_filters({"label": ["bug,windows", "relay", 'a,"b, c"'], "without": {"label": "x,y"}}, now_ms=0)
    assert (lists.labels, lists.any_labels) == (("relay",), (("bug", "windows"), ("a", "b, c")))
    assert lists.without == (Filters(any_labels=(("x", "y"),)),)
    for text in ("bug,windows", "BUG,windows"):
        assert parse_filters({"label": text}, now_ms=0, store=demo).any_labels
    demo.run("""
        INSERT INTO document_labels (document_id, project_id, name)
        SELECT max(id), project_id, 'bug,windows'
        FROM documents
    """)
    for text in ("bug,windows", "BUG,windows"):
        assert parse_filters({"label": text}, now_ms=0, store=demo).labels == (text,)
    assert parse_filters({"label": '"p, q"'}, now_ms=0, store=demo).labels == ("p, q",)
    assert parse_filters({"label": 'a,"b'}, now_ms=0, store=demo).labels == ('a,"b',)
    with pytest.raises(InvalidValue, match="one of the labels in 'bug,' is empty"):
        parse_filters({"label": "bug,"}, now_ms=0)


def test_people_say_pr_and_opened(retriever):
    filters = parse_filters({"type": ["pr"], "state": ["opened"]}, now_ms=0)
    assert (filters.types, filters.states) == (("change",), ("open",))
    with pytest.raises(InvalidValue, match="not a type"):
        parse_filters({"type": ["bugs"]}, now_ms=0)
    with pytest.raises(InvalidValue, match="not a state"):
        parse_filters({"state": ["done"]}, now_ms=0)


NOW = parse_when("2026-11-15T12:00:00Z", 0)


@pytest.mark.parametrize(
    ("text", "day"),
    [
        ("2026-03-01", "2026-03-01"), ("2026/3/1", "2026-03-01"), ("20260301", "2026-03-01"), ("1.3.2026", "2026-03-01"),
        ("2026-03", "2026-03-01"), ("2026", "2026-01-01"), ("March 2026", "2026-03-01"), ("1 Mar 2026", "2026-03-01"),
        ("Mar 1, 2026", "2026-03-01"), ("today", "2026-11-15"), ("yesterday", "2026-11-14"), (" 2026-3-1 ", "2026-03-01"),
    ],
)  # fmt: skip
def test_a_date_in_every_sensible_spelling(text, day):
    assert parse_when(text, NOW) == parse_when(day, NOW)


@pytest.mark.parametrize(
    ("text", "days"),
    [("7d", 7), ("2w", 14), ("1 week ago", 7), ("last week", 7), ("a day ago", 1), ("48 hours", 2), ("12 months", 365),
     ("1y", 365), ("now", 0)],
)  # fmt: skip
def test_back_from_now(text, days):
    assert parse_when(text, NOW) == NOW - days * DAY


def test_a_month_before_the_31st_ends_with_that_month():
    assert parse_when("1 month", parse_when("2026-03-31", 0)) == parse_when("2026-02-28", 0)
    assert parse_when("1 month", parse_when("2026-01-31", 0)) == parse_when("2025-12-31", 0)
    assert parse_when("11 months", parse_when("2026-12-31", 0)) == parse_when("2026-01-31", 0)


@pytest.mark.parametrize(
    "text",
    ["03/04/2026", "soon", "", "2026-13-01", "2026-02-30", "32.1.2026", "99999 years", "-3d", "3 moons", "🌒", "7d7d"],
)
def test_what_is_no_date_is_an_error_with_examples(text):
    with pytest.raises(InvalidValue) as caught:
        parse_when(text, NOW)
    assert "2026-03-01" in caught.value.hint


@settings(max_examples=300)
@given(st.text(max_size=40))
def test_any_text_is_a_date_or_a_clear_error(text):
    try:
        assert isinstance(parse_when(text, NOW), int)
    except InvalidValue as error:
        assert error.hint


def test_ago_is_counted_from_the_moment_that_is_given():
    now_ms = 1_760_000_000_000
    assert parse_filters({"after": "7 days ago"}, now_ms=now_ms).after == now_ms - 7 * 86_400_000
