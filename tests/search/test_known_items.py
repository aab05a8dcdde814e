"""A query that is an item's number, ref or address finds that item, or says that there is none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.search.query import KnownItems, find_known_items, parse_known_item, parse_known_items, permit_known
from forgelore.store.filters import Condition, Filters, build_allowed
from forgelore.store.hits import load_hits
from forgelore.text.refs import Hosts, Ref

HOSTS = Hosts()


@pytest.mark.parametrize(
    ("text", "ref"),
    [
        ("28601", Ref("", 28601)), (" #28601 ", Ref("", 28601)), ("!12", Ref("", 12, "change")),
        ("acme/web#28601", Ref("acme/web", 28601)), ("gitlab:group/sub/p!3", Ref("gitlab:group/sub/p", 3, "change")),
        ("https://github.com/acme/web/issues/12", Ref("https://github.com/acme/web", 12, "issue")),
        ("https://github.com/acme/web/issues/12#issuecomment-5", Ref("https://github.com/acme/web", 12, "issue")),
        ("github.com/acme/web/issues/12", Ref("https://github.com/acme/web", 12, "issue")),
        ("git.example.org:3000/a/b/pulls/3", Ref("https://git.example.org:3000/a/b", 3, "change")),
        ("https://github.com/acme/web/pull/7/files#diff-1", Ref("https://github.com/acme/web", 7, "change")),
        ("https://gitlab.com/g/p/-/merge_requests/3#note_99", Ref("https://gitlab.com/g/p", 3, "change")),
        ("https://redirect.github.com/acme/web/issues/7", Ref("https://github.com/acme/web", 7, "issue")),
        ("redirect.github.com/acme/web/pull/7", Ref("https://github.com/acme/web", 7, "change")),
        ("https://www.github.com/acme/web/issues/7", Ref("https://github.com/acme/web", 7, "issue")),
        ("https://github.com/acme/web/releases/tag/v1.2", Ref("https://github.com/acme/web", tag="v1.2", kind="release")),
    ],
)  # fmt: skip
def test_a_query_that_names_an_item(text, ref):
    assert parse_known_item(text) == ref


@pytest.mark.parametrize(
    "text",
    ["", "crash", "v1.2.0", "12 crash", "#12 #13", "#", "#x", "12.5", "E0308", "-12", "https://example.com/", "http://[::1", "٣",
     "https://github.com/acme/web", "1234567890123456789012"],
)  # fmt: skip
def test_a_query_that_is_something_to_search_for(text):
    assert parse_known_item(text) is None


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        ("28601", [Ref("", 28601)]), ("issue 28601", [Ref("", 28601, "issue")]), ("Bug 28601", [Ref("", 28601)]),
        ("PR #28617", [Ref("", 28617, "change")]), ("pr 28617", [Ref("", 28617, "change")]), ("GH-28601", [Ref("", 28601)]),
        ("pr 999999999999999999", [Ref("", 999999999999999999, "change")]),
        ("MR !12", [Ref("", 12, "change")]), ("pull request 5", [Ref("", 5, "change")]), ("issue GH-5", [Ref("", 5, "issue")]),
        ("#28601 #28617", [Ref("", 28601), Ref("", 28617)]), ("#5 #5", [Ref("", 5)]), ("rust#5", [Ref("rust", 5)]),
        ("#5 acme/web!6 issue 7", [Ref("", 5), Ref("acme/web", 6, "change"), Ref("", 7, "issue")]),
        ("https://github.com/a/b/issues/1 #2", [Ref("https://github.com/a/b", 1, "issue"), Ref("", 2)]),
    ],
)  # fmt: skip
def test_a_query_of_items_and_words_that_say_what_they_are(text, refs):
    named, is_all = parse_known_items(text.split())
    assert ([ref for ref, _ in named], is_all) == (refs, True)


@pytest.mark.parametrize(
    ("text", "refs"),
    [
        ("#28601 panic", [Ref("", 28601)]), ("panic (see #28601, GH-7).", [Ref("", 28601), Ref("", 7)]),
        ("panic acme/web#5", [Ref("acme/web", 5)]), ("issue #5 panics", [Ref("", 5)]), ("error 404 page", []),
        ("issue 28601 panic", []), ("28601 28617", []), ("issue", []), ("pr 9999999999999999999", []), ("pull request", []), ("#5 pull request", [Ref("", 5)]), ("release 5", []), ("v1.2 crash", []), ("a#b #x", []),
        ("panic https://github.com/a/b/issues/1", []), ("#0 main", []), ("#1 a #2 b #3 c #4 d #5 e #6 f", []), ("", []),
    ],
)  # fmt: skip
def test_among_other_words_an_item_is_named_by_its_sign(text, refs):
    named, is_all = parse_known_items(text.split())
    assert ([ref for ref, _ in named], is_all) == (refs, False)


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_any_text_names_an_item_or_does_not(text):
    ref = parse_known_item(text)
    assert ref is None or ref.number or ref.tag or ref.number == 0
    assert parse_known_items(text.split())[1] or ref is None


def known(store, text, project_ids=()):
    found = find_known_items(store, parse_known_item(text), HOSTS, project_ids)
    rows = load_hits(store, found.document_ids)
    return [rows[one].number for one in found.document_ids], found.note


@pytest.mark.parametrize("text", ["41", "#41", "lantern/lantern#41"])
def test_the_item_is_found(demo, text):
    project = demo.value("SELECT path FROM projects")
    numbers, note = known(demo, text.replace("lantern/lantern", project))
    assert numbers == [41]
    assert "at the top" in note


def test_the_address_of_an_issue_leads_to_a_change_where_both_share_their_numbers(demo):
    """As GitHub itself does; elsewhere issue 7 is another thing than change 7."""
    url, number = demo.row("SELECT url, number FROM items WHERE kind = 'change' LIMIT 1")
    assert "/pull/" in url
    assert known(demo, url.replace("/pull/", "/issues/"))[0] == [number]
    demo.run("UPDATE projects SET forge = 'gitlab'")
    numbers, _ = known(demo, url.replace("/pull/", "/issues/"))
    assert number not in numbers


def test_a_number_that_does_not_exist_says_so(demo):
    assert known(demo, "999999") == ([], "#999999 does not exist in this database; run a sync to fetch what is new")
    assert "is not in this database" in known(demo, "no/where#41")[1]
    assert known(demo, "C#7") == ([], "")


def test_a_deleted_item_and_one_that_is_not_indexed_are_told(demo):
    demo.run("UPDATE items SET deleted_at = 1 WHERE number = 41")
    assert known(demo, "#41") == ([], "#41 was deleted on its forge")
    demo.run(
        "DELETE FROM document_texts WHERE id IN (SELECT id FROM documents WHERE item_id = (SELECT id FROM items WHERE number = 27))"
    )
    demo.run("DELETE FROM documents WHERE item_id = (SELECT id FROM items WHERE number = 27)")
    assert "not indexed" in known(demo, "#27")[1]


def test_the_same_number_in_two_projects_gives_both_unless_one_is_meant(demo):
    demo.run(
        "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (9, 'local', 'local', 'Old', 'old', 0)"
    )
    demo.run("""
        INSERT INTO items (id, project_id, kind, number, title, content_hash, row_hash)
        VALUES (9000, 9, 'issue', 41, 'another', '', x'')
    """)
    demo.run("""
        INSERT INTO documents (id, project_id, item_id, representation, kind, content_hash, labels_hash, paths_hash)
        VALUES (9000, 9, 9000, 'item', 'issue', x'', x'', x'')
    """)
    demo.run("INSERT INTO document_texts (id, title, text, terms) VALUES (9000, 'another', '', '')")
    assert known(demo, "#41")[0] == [41, 41]
    assert "2 items" in known(demo, "#41")[1]
    assert find_known_items(demo, parse_known_item("old#41"), HOSTS).document_ids == (9000,)
    assert find_known_items(demo, parse_known_item("41"), HOSTS, (9,)).document_ids == (9000,)
    assert "outside" in find_known_items(demo, parse_known_item("old#41"), HOSTS, (1,)).note


def test_an_address_is_told_as_its_forge_writes_items(demo):
    """GitHub writes #41 for a change as well."""
    url, number = demo.row("SELECT url, number FROM items WHERE kind = 'change' LIMIT 1")
    assert known(demo, url)[1] == f"#{number} names the item at the top"
    demo.run("UPDATE projects SET forge = 'gitlab'")
    assert known(demo, url)[1] == f"!{number} names the item at the top"


@pytest.mark.parametrize("digits", [19, 25, 99])
def test_a_number_that_no_forge_has_is_told(demo, digits):
    numbers, note = known(demo, "#" + "9" * digits)
    assert numbers == []
    assert "does not exist" in note


def test_items_that_filters_leave_out_are_not_counted_at_the_top(demo):
    ids = tuple(row[0] for row in demo.rows("SELECT id FROM documents WHERE representation = 'item' LIMIT 3"))
    both = KnownItems(ids, "#7 names the 3 items at the top", "#7")

    def note(*kept):
        condition = Condition(f"d.id IN ({', '.join(map(str, kept)) or 'NULL'})", ())
        return permit_known(demo, both, build_allowed(demo, Filters(), [condition]))

    assert note(*ids) == both
    assert note(ids[1]) == ((ids[1],), "#7 names the item at the top, and 2 excluded by the filters", "#7")
    assert note(*ids[:2]).note == "#7 names the 2 items at the top, and one excluded by the filters"
    assert note().note == "#7 is excluded by the filters"


def test_numbers_are_found_by_an_index(demo):
    plan = " | ".join(row[3] for row in demo.rows("""
        EXPLAIN QUERY PLAN
        SELECT i.id
        FROM items i
        WHERE i.project_id IN (SELECT id FROM projects) AND i.number = 41
    """))  # fmt: skip
    assert "items_by_number" in plan
