"""What people type, searched: conditions hold in both lists, known items come first, orders are exact."""

import re

import apsw
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import forgelore
from forgelore.errors import InvalidValue, NotFound
from forgelore.search.filters import SortOrder
from forgelore.search.query import Query, QuerySetting, build_query, find_project_ids, read_filter_query
from forgelore.search.run import search
from forgelore.store.projects import list_projects
from forgelore.store.sqlite.fulltext import search_words
from forgelore.text.refs import Hosts
from forgelore.viewer import PUBLIC

SETTING = QuerySetting(None, Hosts(), 1_760_000_000_000)
MODES = ("hybrid", "lexical", "semantic")


def ask(retriever, text, flags=None, **options):
    return search(retriever, build_query(retriever.store, text, flags or {}, SETTING, **options))


def numbers(answer):
    return [hit.row.number for hit in answer.hits]


def said_in(store, item_id):
    """Every text of an item that is searched, in lower case."""
    sql = """
        SELECT t.title || ' ' || t.text
        FROM documents d
        JOIN document_texts t ON t.id = d.id
        WHERE d.item_id = ?
    """
    return " ".join(row[0] for row in store.rows(sql, item_id)).lower()


@pytest.mark.parametrize("mode", MODES)
def test_a_word_that_is_left_out_is_nowhere_in_a_hit_by_words_or_meaning(retriever, mode):
    everything = ask(retriever, "sync deleted files", mode=mode, limit=100)
    assert any("windows" in said_in(retriever.store, hit.row.item_id) for hit in everything.hits)
    for text in ("sync deleted files -windows", "sync deleted files NOT Windows", 'sync deleted files -"windows"'):
        answer = ask(retriever, text, mode=mode, limit=100)
        assert answer.hits
        assert not [hit for hit in answer.hits if "windows" in said_in(retriever.store, hit.row.item_id)]


@pytest.mark.parametrize("mode", MODES)
def test_a_phrase_occurs_in_every_hit(retriever, mode):
    answer = ask(retriever, 'sync "deleted files"', mode=mode, limit=100)
    assert answer.hits
    for hit in answer.hits:
        assert "deleted files" in " ".join(f"{hit.row.title} {hit.row.text}".lower().split())
    assert ask(retriever, 'sync "files deleted lantern never"', mode=mode).hits == []


@pytest.mark.parametrize("mode", MODES)
def test_one_of_two_words_occurs_in_every_hit(retriever, mode):
    answer = ask(retriever, "lantern PUID OR ChunkCache", mode=mode, limit=100)
    texts = [f"{hit.row.title} {hit.row.text}".lower() for hit in answer.hits]
    assert texts
    assert all("puid" in text or "chunkcache" in text for text in texts)
    assert any("puid" in text for text in texts)
    assert any("chunkcache" in text for text in texts)


def test_one_of_two_words_is_enough_in_a_title_and_in_another_order(retriever):
    either = {
        hit.row.item_id
        for word in ("quic", "smb")
        for hit in ask(retriever, f"{word} in:title", mode="lexical", limit=100).hits
    }
    assert len(either) > 2
    assert {hit.row.item_id for hit in ask(retriever, "quic OR smb in:title", limit=100).hits} == either
    sorted_hits = ask(retriever, "quic OR smb in:title sort:created", limit=100).hits
    assert {hit.row.item_id for hit in sorted_hits} == either
    assert any(hit.snippet.marks for hit in ask(retriever, 'quic OR "no such phrase"', mode="lexical").hits)


def test_a_quoted_identifier_is_not_taken_apart(retriever):
    loose, exact = (ask(retriever, text, mode="lexical", limit=100) for text in ("ChunkCache", '"ChunkCache"'))
    assert {hit.row.item_id for hit in exact.hits} <= {hit.row.item_id for hit in loose.hits}
    assert all("chunkcache" in f"{hit.row.title} {hit.row.text}".lower() for hit in exact.hits)
    assert exact.hits


@pytest.mark.parametrize("mode", MODES)
def test_a_phrase_is_not_put_together_to_an_identifier(retriever, mode):
    loose, exact = (ask(retriever, text, mode="lexical", limit=100) for text in ("chunk cache", '"chunk cache"'))
    joined = [hit for hit in loose.hits if "chunkcache" in said_in(retriever.store, hit.row.item_id)]
    assert joined, "nothing in the example has it as one word"
    for hit in ask(retriever, '"chunk cache"', mode=mode, limit=100).hits:
        assert re.search(r"chunk[\W_]+cache", f"{hit.row.title} {hit.row.text}".lower())  # signs do not count
    assert len(exact.hits) < len(loose.hits)


@pytest.mark.parametrize(
    ("text", "mode"),
    [
        ("#41", "lexical"),
        ("issue 41 #48", "lexical"),
        ("#999999", "lexical"),
        ("#41 relay", "hybrid"),
        ("C#7", "hybrid"),
    ],
)
def test_only_a_query_that_is_nothing_but_items_has_no_meaning(retriever, text, mode):
    answer = ask(retriever, text)
    assert (answer.mode, answer.is_named) == (mode, mode == "lexical")
    assert [hit.row.number for hit in answer.hits[: answer.known_count]] == [
        int(word.strip("#")) for word in text.split() if word.strip("#") in ("41", "48")
    ]


@pytest.mark.parametrize("mode", MODES)
def test_words_stand_where_they_are_looked_for(retriever, mode):
    titled = ask(retriever, "deleted in:title", mode=mode, limit=100)
    assert titled.hits
    assert all("delet" in hit.row.title.lower() and hit.row.representation == "item" for hit in titled.hits)
    bodies = ask(retriever, "deleted in:body", mode=mode, limit=100)
    assert all("delet" in hit.row.text.lower() and hit.row.representation == "item" for hit in bodies.hits)
    said = ask(retriever, "deleted in:comments", mode=mode, limit=100)
    assert said.hits
    assert all("delet" in hit.row.text.lower() and hit.row.representation == "thread" for hit in said.hits)
    issues = ask(retriever, "deleted is:issue in:comments", mode=mode, limit=100)
    assert {hit.row.document_id for hit in issues.hits} == {
        hit.row.document_id for hit in said.hits if hit.row.kind == "issue"
    }
    both = {hit.row.item_id for hit in ask(retriever, "deleted in:title,comments", mode=mode, limit=100).hits}
    assert both == {hit.row.item_id for hit in [*titled.hits, *said.hits]}


def test_qualifiers_are_the_flags(retriever):
    typed = ask(retriever, "sync label:bug is:open -author:mira-k", limit=50)
    flagged = ask(retriever, "sync", {"label": "bug", "state": "open", "without": {"author": "mira-k"}}, limit=50)
    assert numbers(typed) == numbers(flagged)
    assert typed.hits
    assert all(hit.row.state == "open" and hit.row.author != "mira-k" for hit in typed.hits)
    assert numbers(ask(retriever, "sync label:bug", {"state": "open"})) == numbers(
        ask(retriever, "sync label:bug is:open")
    )


def test_qualifiers_alone_list_what_they_allow_newest_first(retriever):
    answer = ask(retriever, "label:bug is:open", limit=100)
    expected = retriever.store.rows("""
        SELECT i.number
        FROM items i
        JOIN item_labels l ON l.item_id = i.id
        WHERE l.name = 'bug' AND i.state = 'open'
        ORDER BY coalesce(i.updated_at, i.created_at, 0) DESC, i.number DESC
    """)
    assert numbers(answer) == [number for (number,) in expected]
    assert answer.sort == SortOrder("updated")
    assert len(answer.hits) > 3


@pytest.mark.parametrize("key", ["created", "updated"])
@pytest.mark.parametrize("direction", ["", "-asc"])
def test_another_order_is_that_of_everything_that_has_the_words(retriever, key, direction):
    answer = ask(retriever, f"deleted sort:{key}{direction}", limit=100)
    times = [getattr(hit.row, f"{key}_at") for hit in answer.hits if hit.row.representation == "item"]
    assert times == sorted(times, reverse=not direction)
    every = {found.document_id for found in search_words(retriever.store, "deleted", 1000)}
    items = {retriever.store.value("SELECT item_id FROM documents WHERE id = ?", one) for one in every}
    assert {hit.row.item_id for hit in answer.hits} == items
    assert len(answer.hits) == len(items) > 5


def test_the_most_discussed_come_first(retriever):
    answer = ask(retriever, "sync sort:comments", limit=100)
    counts = [
        retriever.store.value("SELECT count(*) FROM notes WHERE item_id = ? AND NOT is_system", hit.row.item_id)
        for hit in answer.hits
    ]
    assert counts == sorted(counts, reverse=True)
    assert counts[0] > counts[-1]
    assert all(hit.snippet.text for hit in answer.hits)


def test_meaning_has_no_other_order(retriever):
    with pytest.raises(InvalidValue, match="relevance"):
        ask(retriever, "sync sort:created", mode="semantic")
    answer = ask(retriever, "lantern zyzzyva sort:created")
    assert answer.hits == []
    assert any("every word" in warning for warning in answer.warnings)


@pytest.mark.parametrize("text", ["#41", "41", "https://github.com/x/y/issues/41"])
def test_a_known_item_is_first_and_the_answer_says_so(retriever, text):
    store = retriever.store
    store.run("UPDATE projects SET forge = 'github', host = 'github.com', path = 'x/y', path_key = 'x/y'")
    answer = ask(retriever, text)
    assert numbers(answer)[0] == 41
    assert answer.known_count == 1
    assert answer.notes == ("#41 names the item at the top",)
    assert len({hit.row.item_id for hit in answer.hits}) == len(answer.hits)
    assert (answer.hits[0].score, answer.hits[0].lexical_rank) == (1.0, None)
    assert numbers(ask(retriever, text, limit=1)) == [41]


@pytest.mark.parametrize(
    ("text", "note"),
    [
        ("issue 41", "issue 41 names the item at the top"), ("PR #41", "PR #41 names the item at the top"),
        ("GH-41", "GH-41 names the item at the top"), ("lantern#41", "#41 names the item at the top"),
        ("bug 41 is:closed", "bug 41 names the item at the top"), ("#41 deleted", "#41 names the item at the top"),
        ("https://redirect.github.com/lanternsync/lantern/issues/41", "#41 names the item at the top"),
    ],
)  # fmt: skip
def test_an_item_is_named_by_what_people_write(retriever, text, note):
    answer = ask(retriever, text)
    assert numbers(answer)[0] == 41
    assert (answer.known_count, answer.notes) == (1, (note,))
    assert len(answer.hits) > 1


def test_several_items_are_named_at_once(retriever):
    answer = ask(retriever, "#41 #27")
    assert numbers(answer)[:2] == [41, 27]
    assert (answer.known_count, answer.notes) == (2, ("#41 and #27 name the 2 items at the top",))
    some = ask(retriever, "#41 #999999")
    assert (numbers(some)[0], some.known_count) == (41, 1)
    assert {note.split()[1] for note in some.notes} == {"does", "names"}
    none = ask(retriever, "#41 #27 is:open is:merged author:nobody")
    assert none.notes == ("#41 and #27 are excluded by the filters",)


def test_an_item_among_words_leaves_them_words(retriever):
    words = {hit.row.item_id for hit in ask(retriever, "#41 deleted", mode="lexical", limit=100).hits}
    assert {hit.row.item_id for hit in ask(retriever, "deleted", mode="lexical", limit=100).hits} <= words
    dated = ask(retriever, "#41 deleted sort:created", limit=100)
    assert (dated.known_count, dated.notes) == (0, ())
    for text in (
        "deleted 41",
        '"deleted #41 files"',
        "frame #41\nframe #42",
        "is:closed frame #41\nframe",
        "C#41 generics",
    ):
        assert ask(retriever, text).known_count == 0


def test_a_type_that_is_left_out_takes_its_threads_along(retriever):
    every = ask(retriever, "sync", mode="lexical", limit=100)
    assert any((hit.kind, hit.row.representation) == ("change", "thread") for hit in every.hits)
    assert "change" not in {hit.kind for hit in ask(retriever, "sync -is:pr", mode="lexical", limit=100).hits}


def test_a_thousand_phrases_are_cut_and_told(retriever):
    answer = ask(retriever, " ".join(f'"sync {number}"' for number in range(800)))
    assert answer.hits == []
    assert any("800 phrases" in note for note in answer.notes)
    assert ask(retriever, '"deleted files" ' * 500).hits, "one phrase is one, however often it is said"


def test_a_known_item_that_is_not_there_or_filtered_is_told(retriever):
    gone = ask(retriever, "#999999")
    assert "does not exist" in gone.notes[0]
    assert "does not exist" in ask(retriever, "#999999 sort:created").notes[0]
    assert numbers(ask(retriever, "#41 sort:created"))[0] == 41
    assert gone.known_count == 0
    state = retriever.store.value("SELECT state FROM items WHERE number = 41")
    other = "closed" if state == "open" else "open"
    assert numbers(ask(retriever, f"#41 is:{state}"))[0] == 41
    left_out = ask(retriever, f"#41 is:{other}")
    assert "excluded by the filters" in left_out.notes[0]
    assert 41 not in numbers(left_out)


def test_a_ref_names_its_project_wherever_it_is_asked(retriever):
    """In a clone of one project, the items of another are found by their full names."""
    store = retriever.store
    add = (
        "INSERT INTO projects (id, forge, host, path, path_key, added_at) VALUES (9, 'local', 'local', 'old', 'old', 0)"
    )
    store.run(add)
    here = next(project for project in list_projects(store) if project.id == 9)
    setting = SETTING._replace(project=here)
    assert search(retriever, build_query(store, "#41", {}, setting)).known_count == 0
    there = store.value("SELECT path FROM projects WHERE id = 1")
    assert numbers(search(retriever, build_query(store, f"{there}#41", {}, setting)))[0] == 41
    assert search(retriever, build_query(store, f"deleted project:{there}", {}, setting)).hits
    assert search(retriever, build_query(store, "deleted", {}, setting)).hits == []


def test_qualifiers_alone_need_no_meaning(retriever):
    assert ask(retriever, "label:bug", mode="semantic").hits


def test_something_pasted_is_literal(retriever):
    request = build_query(retriever.store, "#41 label:bug -windows", {}, SETTING, is_literal=True)
    assert (request.text, request.excluded, request.filters.labels) == ("#41 label:bug -windows", (), ())
    assert build_query(retriever.store, "#41", {}, SETTING, is_literal=True).known.document_ids == ()


def test_a_value_nobody_has_is_told_with_what_was_meant(retriever):
    def warnings(text):
        return " | ".join(ask(retriever, text, mode="lexical").warnings)

    assert "no item has the label 'buug'; did you mean 'bug'?" in warnings("sync label:buug")
    assert "no item has the label 'buug'; did you mean 'bug'?" in warnings("sync -label:buug")
    assert "unknown person 'mira-kk'; did you mean 'mira-k'?" in warnings("sync author:@mira-kk")
    assert "no item has the milestone 'v9'" in warnings("sync milestone:v9")
    assert "no item is assigned to 'zoe'" in warnings("sync assignee:zoe")
    assert not ask(retriever, "sync label:BUG author:mira-k", mode="lexical").warnings
    either = ask(retriever, "sync author:mira-k author:mira-kk", mode="lexical")  # what was found has one of them
    assert either.hits
    assert "unknown person 'mira-kk'; did you mean 'mira-k'?" in either.warnings
    project = retriever.store.value("SELECT path FROM projects")
    with pytest.raises(NotFound) as caught:
        find_project_ids(retriever.store, [project + "x"], SETTING.hosts)
    assert project in caught.value.hint


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("shell", "no item touches 'shell'; did you mean 'shell/'?"),
        ("/shell/", "no item touches '/shell/'; did you mean 'shell/'?"),
        ("./shell", "no item touches './shell'; did you mean 'shell/'?"),
        ("SHELL/", "no item touches 'SHELL/'; did you mean 'shell/'?"),
        ("/Shell/windows/src/CHUNKREF.h", "did you mean 'shell/windows/src/ChunkRef.h'?"),
        ("Shell/**", "no item touches 'Shell/**'; paths are case-sensitive; did you mean 'shell/"),
        ("nowhere/at/all", "no item touches 'nowhere/at/all'"), ("/", "no item touches '/'"),
    ],
)  # fmt: skip
def test_a_path_that_nothing_touches_is_told_with_what_was_meant(retriever, path, told):
    answer = ask(retriever, f"path:{path}")
    assert answer.hits == []
    assert len(answer.warnings) == 1
    assert told in answer.warnings[0]


def test_a_path_that_something_touches_is_not_looked_at_again(retriever):
    asked = statements(retriever.store, lambda: ask(retriever, "path:shell/", mode="lexical"))
    assert not any("LIMIT 1" in sql and "document_paths" in sql for sql in asked)
    assert not ask(retriever, "path:shell/ author:nobody-at-all").warnings[1:]
    retriever.store.run("UPDATE documents SET is_confidential = 1")
    public = retriever.seen_by(PUBLIC)
    (warning,) = search(public, build_query(public.store, "path:shell", {}, SETTING)).warnings
    assert warning == "no item touches 'shell'", "what nobody may see is not named"


def test_one_of_several_labels_is_enough(retriever):
    either = ask(retriever, 'label:relay,"windows"', limit=100)
    each = [ask(retriever, f"label:{name}", limit=100) for name in ("relay", "windows")]
    assert set(numbers(either)) == {number for answer in each for number in numbers(answer)}
    assert len(either.hits) > max(len(answer.hits) for answer in each)
    assert not set(numbers(ask(retriever, "-label:relay,windows is:issue", limit=100))) & set(numbers(either))
    (warning,) = ask(retriever, "label:relay,windwos").warnings
    assert warning == "no item has the label 'windwos'; did you mean 'windows'?"
    assert "no item has the label 'relay,windows'" in ask(retriever, 'label:"relay,windows"').warnings[0]


def test_who_only_ever_answered_is_somebody(retriever):
    retriever.store.run("UPDATE notes SET author = 'late-comer' WHERE id = (SELECT max(id) FROM notes)")
    assert not ask(retriever, "sync author:late-comer", mode="lexical").warnings


def test_labels_and_authors_that_are_there_are_found_by_an_index(retriever):
    store = retriever.store
    asked = statements(store, lambda: ask(retriever, "sync label:bug author:mira-k", mode="lexical"))
    looked_up = [sql for sql in asked if sql.startswith("SELECT EXISTS") and "?1" in sql]
    assert len(looked_up) == 2
    for sql in looked_up:
        plan = " ".join(row[3] for row in store.rows(f"EXPLAIN QUERY PLAN {sql}", "x"))
        assert "SCAN document" not in plan.replace("SCAN CONSTANT ROW", "")


def test_projects_by_name(retriever):
    project = retriever.store.value("SELECT path FROM projects")
    assert numbers(ask(retriever, f"deleted project:{project}")) == numbers(ask(retriever, "deleted"))
    assert ask(retriever, f"deleted -project:{project}").hits == []


def test_lists_take_qualifiers_and_no_words(retriever):
    filters, sort, _ = read_filter_query(
        retriever.store, "label:bug -author:ana sort:created-asc", {"state": "open"}, SETTING
    )
    assert (filters.labels, filters.states, sort) == (("bug",), ("open",), SortOrder("created", is_ascending=True))
    for text in ("crash", "label:bug -windows", "in:title", '"a phrase"'):
        with pytest.raises(InvalidValue, match="not a filter"):
            read_filter_query(retriever.store, text, {}, SETTING)


def test_the_facade_takes_the_same_language(demo_path):
    with forgelore.open(demo_path) as history:
        typed = history.search("sync label:bug is:open", mode="lexical")
        flagged = history.search("sync", mode="lexical", label="bug", state="open")
        assert numbers(typed) == numbers(flagged) != []
        assert history.search("#41", mode="lexical").known_count == 1
        literal = history.search("#41 label:bug", mode="lexical", literal=True)
        assert literal.known_count == 0
        assert numbers(history.search("deleted NOT lantern", mode="lexical", raw=True))
        found = history.list_items("issues", milestone="none such", comments=">1", without={"label": "bug"})
        assert found == []
        assert history.count("issues", comments=">1").total > 0


AWKWARD = st.lists(
    st.sampled_from(
        ["label:bug", "-label:bug", "is:open", "created:>2024", "sort:created", "in:title", "NOT", "OR", '"', "“", "*", "sync", "-sync",
         "C++", '"C++"', "(", ")", "日本語", "#41", "-windows", "{title}:", "^", "NEAR(", "'", "\0", "path:**.rs", '"the"', '"-"', "-"]
    ),
    max_size=8,
).map(" ".join)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=80)
@given(text=AWKWARD, mode=st.sampled_from(["hybrid", "lexical"]))
def test_any_text_is_answered_or_told_to_be_wrong(retriever, text, mode):
    try:
        answer = ask(retriever, text, mode=mode)
    except InvalidValue as error:
        assert error.hint
    else:
        assert len(answer.hits) <= 20


def statements(store, act):
    """Return the SQL that is asked meanwhile."""
    asked = []
    store.connection.trace_v2(apsw.SQLITE_TRACE_STMT, lambda event: asked.append(event["sql"]))
    try:
        act()
    finally:
        store.connection.trace_v2(0, None)
    return asked


def test_an_ordinary_query_asks_nothing_more(retriever):
    """Operators cost those who use them: a plain query is the statements that it was without the language."""
    text = "deleted files come back"
    ask(retriever, text, mode="lexical")  # the first one reads what full text keeps about itself
    typed = statements(retriever.store, lambda: ask(retriever, text, mode="lexical"))
    plain = statements(retriever.store, lambda: search(retriever, Query(text, "lexical")))
    assert typed == plain
    assert any("MATCH" in sql for sql in plain)
