"""No item links to itself: not through a forge's fields, its events or people's text, under whatever name; nor in what
older versions have stored.
"""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.browse.items import load_item
from forgelore.model import Detail, Item, ItemKey, Link, Note, Project, ProjectName, Thread
from forgelore.store.items import save_details, save_items
from forgelore.store.jobs import count_jobs
from forgelore.store.notes import save_threads
from forgelore.store.projects import list_projects, save_project
from forgelore.store.sqlite.schema import open_store
from forgelore.sync.archive import export_lines
from forgelore.sync.replay import replay_project
from forgelore.text.refs import Ref
from old_stores import forget_migrations
from support import content_hash


def own_links(store):
    """(kind, number, relation, source, target kind) of every link to the item that holds it, as each forge numbers."""
    found = store.rows(
        "SELECT p.forge, i.kind, i.number, l.relation, l.source, l.target_kind FROM item_links l"
        " JOIN items i ON i.id = l.item_id JOIN projects p ON p.id = i.project_id"
        " WHERE l.target_project = '' AND l.target_number = i.number"
    )
    return [row[1:] for row in found if is_own(row[0], row[1], row[5])]


def is_own(forge, kind, target):
    if forge in ("github", "forgejo") and "release" not in (kind, target):
        return True
    return target == kind or (target is None and (forge != "gitlab" or kind == "issue"))


def told(app):
    """The same of what people and programs are shown: `show` of every item, and `export`."""
    store = app.store()
    project = list_projects(store)[0]
    for kind, number in store.rows("SELECT kind, number FROM items WHERE kind <> 'release'"):
        item = load_item(store, Ref("", number, kind), project, app.hosts)
        yield from (link for link in item.links if link.number == number and link.project == "")
        yield from (link for link in item.linked_from if (link.kind, link.number) == (kind, number))
    for line in map(json.loads, export_lines(store, project)):
        yield from (link for link in line.get("links", ()) if link["number"] == line["number"])


def test_an_original_is_no_duplicate_of_itself(github):
    """GitHub marks both of a pair, and the original's mark names the original."""
    project = github.project
    original, copy, regretted = (project.add_issue(name) for name in ("a", "b", "c"))
    project.close(copy, reason="duplicate", duplicate_of=original)
    project.mark_duplicate(regretted, original)
    project.unmark_duplicate(regretted)
    github.sync()
    assert github.links(original) == set()
    assert github.links(copy) == {("duplicate_of", "detail", "", "issue", original, 0)}
    assert list(told(github.app)) == []


def test_a_change_is_asked_what_it_repeats(github):
    project = github.project
    bug = project.add_issue("bug")
    first, second, third = (project.add_change(name) for name in ("a", "b", "c"))
    project.mark_duplicate(second, first)
    project.mark_duplicate(third, bug)
    project.mark_duplicate(third, first)
    project.unmark_duplicate(third)
    github.sync()
    marked = ("duplicate_of", "detail", "")
    assert github.links(first, "change") == set()
    assert github.links(second, "change") == {(*marked, "change", first, 0)}
    assert github.links(third, "change") == {(*marked, "issue", bug, 0), (*marked, "change", first, 1)}
    assert github.links(bug) == set()
    assert list(told(github.app)) == []


def test_an_older_server_without_marks_of_changes_tells_the_rest(github):
    """GitHub Enterprise lags behind: files, reviews and closing references still come through GraphQL."""
    handle = github.server.handle
    unknown = {"message": "Field 'timelineItems' doesn't exist", "extensions": {"code": "undefinedField"}}

    def older(request):
        if request.path.endswith("/graphql") and "timelineItems" in request.json()["query"]:
            response = handle(request)
            response.body = json.dumps({"errors": [unknown]}).encode()
            return response
        return handle(request)

    github.server.handle = older
    bug = github.project.add_issue("bug")
    change = github.project.add_change("fix", f"Fixes #{bug}", files=[("added", "a.py")])
    github.sync()
    assert ("closes", "detail", "", "issue", bug, 0) in github.links(change, "change")
    assert not [path for path in github.server.paths() if path.endswith("/files")]


def test_an_item_that_mentions_itself_links_to_nothing(lab):
    """However it spells its own name: by number, by path, in another case."""
    text = f"I am #1, {lab.path}#1, {lab.path.upper()}#1 and duplicate of #1; not #2"
    assert lab.project.add_issue("me", text) == 1
    lab.on_issue("comment", 1, "Fixes #1")
    lab.sync()
    assert {link[4] for link in lab.links(1)} == {2}


def test_on_gitlab_a_change_may_name_the_issue_of_its_own_number(gitlab):
    bug = gitlab.project.add_issue("bug")
    change = gitlab.project.add_change("fix", f"Closes #{bug}, not !1")
    assert (bug, change) == (1, 1)
    gitlab.sync()
    assert {(link[0], link[4]) for link in gitlab.links(1, "change") if link[1] == "text"} == {("closes", 1)}


def test_a_project_that_takes_the_name_it_was_linked_by(lab):
    """Links to the new name were links to another project; since the rename they are links inside it, or none."""
    new = f"{lab.path}-of-old"
    one, two = lab.project.add_issue("a", f"see {new}#1"), lab.project.add_issue("b", f"see {new}#1")
    lab.sync()
    lab.time.pass_by(600)
    lab.server.rename(lab.path, new)
    lab.sync(path=new)
    assert lab.links(one) == set()
    assert lab.links(two) == {("mentions", "text", "", None, 1, 0)}


def test_a_mark_from_before_a_rename_is_still_ones_own(github):
    """The payload names the original by the project's name of then."""
    original, copy = github.project.add_issue("a"), github.project.add_issue("b")
    github.project.mark_duplicate(copy, original)
    github.sync()
    github.time.pass_by(600)
    github.server.rename("acme/web", "Other/Website")
    github.sync(path="Other/Website")
    store, project = github.app.store(), list_projects(github.app.store())[0]
    before = content_hash(github.app)
    assert replay_project(store, github.app.payload_reader(project.name), project).restored == []
    assert content_hash(github.app) == before
    assert github.links(original) == set()


def test_no_history_makes_an_item_link_to_itself(lab):
    lab.populate(issues=40, changes=20)
    first, second = [lab.project.add_issue(name) for name in "ab"]
    lab.project.mark_duplicate(second, first)
    lab.sync()
    assert own_links(lab.app.store()) == []
    assert list(told(lab.app)) == []


NAMES = ("", "acme/web", "ACME/Web", "host/acme/web", "old/name", "Host/Old/Name", "acme/other", "web", "projects/7")
LINKS = st.builds(
    Link, st.sampled_from(["closes", "mentions", "duplicate_of", "relates", "moved_to"]), st.integers(1, 3),
    st.sampled_from(["issue", "change", "discussion", "release", None]), st.sampled_from(NAMES),
    st.sampled_from(["forge", "detail", "event", "text"]), st.booleans(),
)  # fmt: skip
TEXTS = st.lists(
    st.sampled_from(["#1", "!1", "#2", "acme/web#1", "OLD/name#1", "acme/other#1", "duplicate of #1", "Fixes #2"])
).map("\n".join)


@given(
    forge=st.sampled_from(["github", "gitlab", "forgejo", "local"]), kind=st.sampled_from(["issue", "change", "release"]),
    number=st.integers(1, 3), links=st.lists(LINKS, max_size=8), body=TEXTS, note=TEXTS, is_system=st.booleans(),
)  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_whatever_is_saved_no_item_links_to_itself(store, forge, kind, number, links, body, note, is_system):
    with store.transaction():
        store.run("DELETE FROM projects")
        store.run("DELETE FROM project_aliases")
        old = Project(ProjectName(forge, "host", "old/name"), 7, raw=b"a")
        now = Project(ProjectName(forge, "host", "acme/web"), 7, raw=b"b")
        save_project(store, old, 1)
        project_id = save_project(store, now, 2).id
        key = ItemKey(kind, number)
        ids = save_items(store, project_id, [Item(key, "t", body, links=links, raw=b"x")]).ids
        save_threads(
            store, project_id, [Thread(key, "comments", [Note("1", body=note, is_system=is_system, links=links)])]
        )
        save_details(store, project_id, [Detail(key, b"y", links=links)])
    assert own_links(store) == []
    expected = [link for link in links if link.number != number or link.project == "acme/other"]
    kept = store.value("SELECT count(*) FROM item_links WHERE item_id = ? AND note_id IS NOT NULL", ids[key])
    assert kept >= len(expected), "links to others are all kept"


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    found = open_store(str(tmp_path_factory.mktemp("laws") / "a.db"))
    yield found
    found.close()


def upgrade(lab):
    """Take the store for one of version 6, and open it with this program."""
    forget_migrations(lab.app.store().run, after=6)
    lab.app.store().close()
    lab.app = lab.same_file()
    return lab.app.store()


def test_what_an_older_version_stored_is_healed(github):
    original, copy = github.project.add_issue("a", "see #2"), github.project.add_issue("b")
    github.project.mark_duplicate(copy, original)
    github.sync()
    good = github.rows("SELECT item_id, relation, source, target_number FROM item_links ORDER BY 1, 2")
    github.app.store().run(
        "INSERT INTO item_links (project_id, item_id, relation, source, target_kind, target_number)"
        " SELECT project_id, id, 'duplicate_of', 'detail', 'issue', number FROM items WHERE number = ?", original,
    )  # fmt: skip
    store = upgrade(github)
    assert own_links(store) == [], "at once, also for who only reads"
    project = list_projects(store)[0]
    assert count_jobs(store, project.id)["replay"] == (1, 0)
    github.time.pass_by(600)
    github.sync()
    assert "replay" not in count_jobs(store, project.id)
    assert github.rows("SELECT item_id, relation, source, target_number FROM item_links ORDER BY 1, 2") == good


def test_an_imported_store_is_healed_without_payloads(tmp_path):
    store = open_store(str(tmp_path / "a.db"))
    with store.transaction():
        project_id = save_project(store, Project(ProjectName("local", "local", "old")), 1).id
        save_items(store, project_id, [Item(ItemKey("issue", 5), "t", raw=b"x")], keep_raw=False)
    forget_migrations(store.run, after=6)
    store.run(
        "INSERT INTO item_links (project_id, item_id, relation, source, target_kind, target_number)"
        " VALUES (1, 1, 'duplicate_of', 'forge', 'issue', 5), (1, 1, 'relates', 'forge', 'change', 5)"
    )
    store.close()
    store = open_store(str(tmp_path / "a.db"))
    assert store.rows("SELECT relation, target_kind FROM item_links") == [("relates", "change")]
    assert count_jobs(store, project_id).get("replay") is None


def test_only_changes_that_somebody_called_a_duplicate_are_asked_again(github):
    """Their marks were never asked for; a mark begins with that very comment, so nothing else is fetched."""
    project = github.project
    first, second, third = (project.add_change(name) for name in ("a", "b", "c"))
    project.add_collaborator("ben", "push")
    project.comment(second, f"Duplicate of #{first}", author="ben")
    github.sync()
    marked = ("duplicate_of", "detail", "", "change", first, 0)
    store = github.app.store()
    store.run("DELETE FROM item_links WHERE source = 'detail'")
    store.run("UPDATE items SET detail_hash = x'00' WHERE kind = 'change'")  # as if the marks had not been asked for
    store = upgrade(github)
    assert store.rows("SELECT key FROM jobs WHERE kind = 'detail'") == [(f"change:{second}",)]
    before = len(github.graphql_requests("Changes"))
    github.sync()
    assert len(github.graphql_requests("Changes")) == before + 1
    assert marked in github.links(second, "change")
    assert third
