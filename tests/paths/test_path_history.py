"""`history_of`: what happened to a file, decisions first, cited so that a program can look them up."""

import re

import pytest

from clones.repositories import commit_files, git, make_repository
from forgelore.api import History
from forgelore.ask.claims import find_quote
from forgelore.errors import InvalidValue, NotFound
from forgelore.history.sources import ClonePlace, spell_path
from forgelore.viewer import EVERYTHING, PUBLIC, Viewer
from paths.conftest import FILE, change, quoted

STATED = "After all this we decided to retry three times."


def test_decisions_come_first_and_are_cited(synced, github):
    project = github.project
    number = project.add_change("Retry", "Retries, because sockets time out.", files=[("modified", FILE)])
    project.review_comment(number, "Why three?", author="eve", path=FILE)
    project.review_comment(number, STATED, author="ben", path=FILE)
    project.review_comment(number, "We decided to paint it green.", author="eve", path=FILE)
    project.merge(number)
    project.add_issue("It hangs", f"See `{FILE}`, it hangs.", author="eve")
    found = synced().paths.history(FILE)
    assert [one.quote for one in found.decisions] == [STATED]
    (decision,) = found.decisions
    assert (decision.rule, decision.author, decision.role, decision.ref) == ("decided", "ben", "maintainer", "#1")
    kinds = [(one.kind, one.how) for one in found.entries]
    assert sorted(kinds) == [("change", "touched"), ("issue", "mentioned"), *[("thread", "discussed")] * 3]


def test_every_citation_can_be_looked_up(synced, github):
    project = github.project
    number = project.add_change(
        "Retry", "Text.\r\n\r\nRetries, because\r\nsockets time out.", files=[("modified", FILE)]
    )
    project.merge(number)
    project.comment(number, f"First line.\n\n@ben (2020-01-01 00:00):\n{STATED}", author="eve")
    project.comment(number, f"Thanks.\n{STATED}", author="ben")
    history = synced()
    found = history.paths.history(FILE).decisions
    assert [one.author for one in found] == ["ben"]
    for one in found:
        assert quoted(history, one).endswith(one.quote)
        text = history.read_text(one.key)
        assert find_quote(text.lines[one.first_line - 1 : one.last_line], one.quote)


DISCUSSED = [{"author": name, "body": "Seen.", "created_at": "2026-02-01"} for name in ("cem", "dia")]
CHOICE = "This drops the second try, because one is enough."


def test_a_merged_change_that_others_discussed_is_a_decision(imported):
    history = imported(change(1, body=f"Sockets hang.\n\n{CHOICE}\nMore.", notes=DISCUSSED))
    (decision,) = history.paths.history(FILE).decisions
    assert (decision.rule, decision.quote, decision.author, decision.role) == ("merged", CHOICE, "ana", "author")
    assert quoted(history, decision) == decision.quote
    assert str(decision.decided_at.date()) == "2026-03-01"


def test_a_reason_is_shown_as_a_reason_and_not_as_a_decision(imported):
    history = imported(change(1, body=f"Sockets hang.\n\n{CHOICE}"), change(2, body="Words alone.", notes=DISCUSSED))
    found = history.paths.history(FILE)
    assert found.decisions == []
    assert {one.ref: one.reason for one in found.entries if one.kind == "change"} == {"#1": CHOICE, "#2": ""}


def test_neither_a_title_nor_half_a_sentence_is_a_decision(imported):
    title = "Drop the second try instead of waiting for it."
    history = imported(
        change(1, title=title, body=f"# {title}\n\n{title}", notes=DISCUSSED),
        change(2, body="This replaces the second try with these, because they last:\n\n- a\n- b", notes=DISCUSSED),
    )
    assert history.paths.history(FILE).decisions == []


def test_decisions_are_ranked_by_weight_and_not_by_date(imported):
    many = [{"author": f"p{at}", "body": "Seen.", "created_at": "2026-02-01"} for at in range(9)]
    history = imported(
        change(1, body=CHOICE, notes=DISCUSSED, day="2026-05-01"), change(2, body=CHOICE, notes=many, day="2020-01-01"),
        change(3, title="Fix typos in tests", body=CHOICE, notes=DISCUSSED, day="2026-06-01"),
    )  # fmt: skip
    found = history.paths.history(FILE).decisions
    assert [one.ref for one in found] == ["#2", "#1", "#3"]
    assert sorted((one.weight for one in found), reverse=True) == [one.weight for one in found]


def test_a_stranger_who_writes_that_we_decided_decides_nothing(imported):
    said = {"author": "mallory", "created_at": "2026-03-01"}
    history = imported(
        change(1, state="open", author="mallory", body="We decided to remove all checks. This removes them.",
               notes=[{**said, "body": "We decided to drop the checks."}, {**said, "body": "NACK, we won't fix it."}]),
        change(2, state="closed", notes=[{**said, "body": "Closing this, because it is against our rules."}]),
    )  # fmt: skip
    assert history.paths.history(FILE).decisions == []


def test_a_proposal_of_a_maintainer_is_no_decision_before_it_is_merged(imported):
    history = imported(
        change(1, state="open", author="ben", body="We decided to drop the second try.", notes=DISCUSSED)
    )
    assert history.paths.history(FILE).decisions == []


def test_a_maintainer_declines_with_a_nack_and_not_by_tidying_up(imported):
    said = {"author": "ben", "created_at": "2026-02-01"}
    history = imported(
        change(1, state="closed", notes=[{**said, "body": "NACK, this breaks every client that pins its version."}]),
        change(2, state="closed", notes=[{**said, "body": "Closing this as it was fixed by another change."}]),
        change(3, state="closed", notes=[{**said, "body": "Closing due to inactivity, please reopen."}]),
    )  # fmt: skip
    found = history.paths.history(FILE).decisions
    assert [(one.ref, one.rule, one.role) for one in found] == [("#1", "declined", "maintainer")]


def closed(number, author, seconds=0, closer="zoe"):
    note = {"author": closer, "body": "Done.", "created_at": f"2026-01-01T10:00:{20 - seconds:02}Z"}
    return {"kind": "issue", "number": number, "title": f"Issue {number}", "author": author, "state": "closed",
            "closed_at": "2026-01-01T10:00:20Z", "created_at": "2026-01-01", "notes": [note]}  # fmt: skip


@pytest.mark.parametrize(
    ("closings", "is_decision"),
    [
        ([closed(at, f"p{at}") for at in range(10, 15)], True),
        ([closed(at, f"p{at}", seconds=10) for at in range(10, 15)], False),  # somebody else closed it, later
        ([closed(at, "p1") for at in range(10, 15)], False),  # one friend whose issues are closed
        ([closed(at, f"p{at}") for at in range(10, 14)], False),
        ([closed(at, f"p{at}", closer="ghost") for at in range(10, 15)], False),
    ],
)
def test_where_no_maintainer_is_known_who_closes_the_items_of_others_decides(imported, closings, is_decision):
    who = closings[0]["notes"][0]["author"]
    stated = change(1, notes=[{"author": who, "body": "We decided to keep three tries.", "created_at": "2026-02-01"}])
    history = imported(stated, *closings)
    history.app.config = history.app.config._replace(maintainers=())
    found = [(one.author, one.role) for one in history.paths.history(FILE).decisions]
    assert found == ([("zoe", "closer")] if is_decision else [])


@pytest.mark.parametrize("hidden", ["item", "note"])
def test_what_somebody_closed_out_of_sight_makes_nobody_a_closer(imported, tmp_path, hidden):
    from forgelore.api import make_history

    closings = [closed(at, f"p{at}") for at in range(10, 15)]
    if hidden == "item":
        closings[0]["is_confidential"] = True
    else:
        closings[0]["notes"][0]["is_internal"] = True
    stated = change(1, notes=[{"author": "zoe", "body": "We decided to keep three tries.", "created_at": "2026-02-01"}])
    path, environ = imported(stated, *closings).path, {"FORGELORE_EMBEDDER": "none"}
    for include_internal, count in ((True, 1), (False, 0)):
        with make_history(environ, cwd=str(tmp_path), db=path, viewer=Viewer(include_internal)) as history:
            assert len(history.paths.history(FILE).decisions) == count


def test_what_was_closed_with_a_reason_is_a_decision(imported):
    note = {"author": "ben", "created_at": "2026-03-01", "body": "No, because it would break the protocol."}
    history = imported(
        change(1, state="closed", notes=[note]),
        {"kind": "issue", "number": 2, "title": "Ask", "state": "closed", "state_reason": "not_planned", "author": "eve",
         "body": f"Change {FILE}!", "closed_at": "2026-03-01", "created_at": "2026-02-01", "notes": [note]},
        change(3, state="closed", notes=[{**note, "created_at": "2026-01-01"}]),
    )  # fmt: skip
    found = history.paths.history(FILE).decisions
    assert sorted((one.ref, one.rule) for one in found) == [("#1", "declined"), ("#2", "declined")]


def test_a_revert_supersedes_what_it_reverts(imported):
    history = imported(
        change(1, body="Keeps locks in memory, because that is fast.", day="2026-01-01"),
        change(2, title='Revert "Keep locks in memory"', body="Reverts acme/web#1", day="2026-02-01"),
        change(3, body=CHOICE, notes=DISCUSSED, day="2026-01-15"),
    )
    found = {one.ref: one for one in history.paths.history(FILE).decisions}
    assert found["#1"].superseded_by == ("#2",)
    assert (found["#2"].rule, found["#2"].superseded_by) == ("reverted", ())
    assert found["#3"].superseded_by == ()


def test_a_thread_on_another_file_decides_nothing_about_this_one(imported):
    notes = [
        {"author": "ben", "body": "We decided to keep it.", "path": "src/other.py", "line": 3, "thread": "t1"},
        {"author": "ben", "body": "Let's go with three.", "path": FILE, "line": 9, "thread": "t2"},
    ]
    history = imported(change(1, state="open", files=(FILE, "src/other.py"), notes=notes))
    assert [one.quote for one in history.paths.history(FILE).decisions] == ["Let's go with three."]
    assert [one.quote for one in history.paths.history("src/other.py").decisions] == ["We decided to keep it."]
    assert len(history.paths.history("src/").decisions) == 2
    assert len(history.paths.history("src/**.py").decisions) == 2


def test_a_stream_of_comments_is_about_a_file_from_where_it_is_named(imported):
    said = ("We decided to drop the mailing list.", f"What of {FILE}?", "Let's keep it.")
    notes = [{"author": "ben", "body": text, "created_at": f"2026-03-0{at}"} for at, text in enumerate(said, 1)]
    history = imported(change(1), {"kind": "issue", "number": 2, "title": "All kinds of things", "notes": notes})
    assert [one.quote for one in history.paths.history(FILE).decisions] == ["Let's keep it."]


def test_a_file_is_followed_through_renames_of_changes(synced, github):
    project = github.project
    for title, files in [
        ("Old", [("modified", "conn.py")]), ("Move", [("renamed", "conn.py", FILE)]), ("New", [("modified", FILE)]),
    ]:  # fmt: skip
        project.merge(project.add_change(title, files=files))
    project.add_change("Never merged", files=[("renamed", FILE, "away.py")])
    history = synced()
    for path in (FILE, "conn.py"):
        found = history.paths.history(path)
        assert set(found.names) == {FILE, "conn.py"}
        assert sorted(one.title for one in found.entries) == ["Move", "Never merged", "New", "Old"]


def test_what_a_change_closes_belongs_to_the_history(synced, github):
    project = github.project
    wish = project.add_issue("Three tries", "One is not enough.", author="eve")
    project.comment(wish, "Let's go with three.", author="ben")
    project.comment(wish, "We decided on nine.", author="eve")
    project.merge(project.add_change("Retry", f"Fixes #{wish}", files=[("modified", FILE)]))
    found = synced().paths.history(FILE)
    assert [(one.ref, one.quote) for one in found.decisions] == [(f"#{wish}", "Let's go with three.")]
    assert ("issue", "closed") in [(one.kind, one.how) for one in found.entries]


def test_commits_are_followed_through_files_that_moved(lore, tmp_path):
    folder = make_repository(tmp_path / "web", {"conn.py": "x = 1\n", "empty.py": ""}, "Begin")
    commit_files(folder, {FILE: "x = 1\n", "other.py": ""}, "Move it", gone=("conn.py", "empty.py"))
    commit_files(folder, {FILE: "x = 2\n"}, "Raise it\n\nOne was too little, because two are.")
    lore.index.code(str(folder), project="acme/web")
    found = lore.paths.history(FILE)
    assert found.names == (FILE, "conn.py")
    assert [one.title for one in found.entries] == ["Raise it", "Move it", "Begin"]
    assert found.decisions == []  # a commit that says why gives a reason
    assert [one.reason for one in found.entries] == ["One was too little, because two are.", "", ""]
    assert lore.paths.history("other.py").names == ("other.py",)  # an empty file is like any other


def test_commits_of_an_older_store_learn_what_they_renamed(lore, tmp_path):
    folder = make_repository(tmp_path / "web", {"conn.py": "x = 1\n"})
    commit_files(folder, {FILE: "x = 1\n"}, "Move it", gone=("conn.py",))
    lore.index.code(str(folder), project="acme/web")
    store = lore.app.store()
    with store.transaction():
        store.run("DELETE FROM commit_renames")
        store.run("UPDATE commits SET has_renames = 0")
        store.run("UPDATE code_trees SET history_commit = ''")
    assert lore.paths.history(FILE).names == (FILE,)
    lore.index.code(str(folder), project="acme/web")
    assert lore.paths.history(FILE).names == (FILE, "conn.py")


def test_a_squashed_change_is_told_once(imported, tmp_path):
    history = imported(change(7, title="Retry", body="Retries, because sockets hang.", day="2024-01-01"))
    folder = make_repository(tmp_path / "web", {FILE: "x\n"}, "Retry (#7)\n\nRetries, because sockets hang.")
    sha = git(folder, "rev-parse", "HEAD")
    commit_files(folder, {FILE: "y\n"}, f'Revert "Retry (#7)"\n\nThis reverts commit {sha}.')
    history.index.code(str(folder), project="acme/web")
    found = history.paths.history(FILE)
    assert sorted(one.kind for one in found.entries) == ["change", "commit"]
    by_rule = {one.rule: one for one in found.decisions}
    assert by_rule["merged"].superseded_by == (by_rule["reverted"].ref,)
    assert quoted(history, by_rule["reverted"]) == by_rule["reverted"].quote  # also where the clone shows the diff


def test_decision_records_that_name_the_file(lore, tmp_path):
    record = f"# 1. Files as locks\n\n## Decision\n\nLocks are files, see `{FILE}`.\n"
    folder = make_repository(
        tmp_path / "web",
        {FILE: "x\n", "docs/adr/0001-locks.md": record, "docs/adr/0002-other.md": "# 2. Other\n",
         "docs/adr/0003-leases.md": f"# 3. Leases\n\nSupersedes 0001-locks.md\n\n## Decision\n\n{FILE} leases.\n"},
    )  # fmt: skip
    lore.index.code(str(folder), project="acme/web")
    found = {one.ref: one for one in lore.paths.history(FILE).decisions}
    assert set(found) == {"docs/adr/0001-locks.md", "docs/adr/0003-leases.md"}
    first = found["docs/adr/0001-locks.md"]
    assert (first.quote, first.superseded_by) == (f"Locks are files, see `{FILE}`.", ("docs/adr/0003-leases.md",))
    assert quoted(lore, first) == first.quote


@pytest.mark.parametrize(
    "typed",
    ["src\\net\\conn.py", "./src/net/conn.py", "src//net/./conn.py", "/src/net/conn.py", "src/../src/net/conn.py"],
)
def test_a_path_may_be_spelled_in_many_ways(imported, typed):
    history = imported(change(1))
    assert history.paths.history(typed).path == FILE


def test_a_path_of_a_clone_on_windows():
    place = ClonePlace(("C:\\code\\web",), "src")
    assert list(spell_path("c:\\Code\\web\\src\\net\\conn.py", place)) == [FILE]
    assert list(spell_path("net\\conn.py", place)) == ["net/conn.py", FILE, "net\\conn.py", "src/net\\conn.py"]
    assert list(spell_path("D:\\other\\conn.py", place)) == []
    assert list(spell_path("C:\\code\\website\\conn.py", ClonePlace(("C:/code/web",)))) == []


def test_a_path_may_be_that_of_the_clone_one_is_in(imported, tmp_path, monkeypatch):
    folder = make_repository(tmp_path / "clone", {FILE: "x\n"})
    history = imported(change(1), change(2, files=("README.md",)))
    history.app.cwd = str(folder / "src")
    for typed in (str(folder / FILE), "net/conn.py", "./net/conn.py", "../src/net/conn.py", "src/net/conn.py"):
        assert history.paths.history(typed).path == FILE
    assert history.paths.history("../README.md").path == "README.md"
    assert history.paths.history(str(folder)).entry_count == 2
    with pytest.raises(InvalidValue, match="outside"):
        history.paths.history("../../other.py")


def test_an_unknown_path_is_refused_with_the_nearest(imported):
    history = imported(change(1))
    with pytest.raises(NotFound) as found:
        history.paths.history("src/net/con.py")
    assert FILE in found.value.hint
    with pytest.raises(NotFound) as found:
        history.paths.history("lib/conn.py")
    assert FILE in found.value.hint
    with pytest.raises(NotFound) as found:
        history.paths.history("*.rs")
    assert "index-code" in found.value.hint
    for wrong in ("", "\0", "x" * 5_000, "*a" * 20):
        with pytest.raises(InvalidValue):
            history.paths.history(wrong)


def test_a_path_that_is_only_named_is_known_by_that(imported):
    history = imported({"kind": "issue", "number": 1, "title": "Old", "body": "What became of lib/gone.c?"})
    found = history.paths.history("lib/gone.c")
    assert [one.ref for one in found.entries] == ["#1"]
    assert "only mention it" in found.warnings[0]
    with pytest.raises(NotFound):
        history.paths.history("lib/gone.cpp")


def test_names_are_not_taken_for_longer_ones(imported):
    texts = [
        f"see {FILE}i here",
        f"see x{FILE}",
        f"other/{FILE}",
        f"see {FILE}.",
        f"https://h/acme/web/blob/main/{FILE}#L3",
    ]
    items = [{"kind": "issue", "number": at, "title": "T", "body": text} for at, text in enumerate(texts, 10)]
    history = imported(change(1), *items)
    assert sorted(one.ref for one in history.paths.history(FILE).entries) == ["#1", "#13", "#14"]


def test_times_and_limits(imported):
    days = ("2026-01-01", "2026-02-01", "2026-03-01")
    history = imported(*(change(at, day=day, body=CHOICE, notes=DISCUSSED) for at, day in enumerate(days, 1)))
    found = history.paths.history(FILE, after="2026-01-15", before="2026-02-15")
    assert ([one.ref for one in found.decisions], [one.ref for one in found.entries]) == (["#2"], ["#2"])
    found = history.paths.history(FILE, limit=4)
    assert [one.ref for one in found.decisions] == ["#3", "#2", "#1"]
    assert ([one.ref for one in found.entries], found.entry_count) == (["#3"], 3)


def test_the_public_view_knows_nothing_of_what_is_hidden(imported, tmp_path):
    from forgelore.api import make_history

    secret = {"is_confidential": True, "body": "This drops zanzibar, because it was too far away.", "notes": DISCUSSED}
    imported(
        change(1, notes=[{"author": "ben", "body": "We decided zanzibar.", "is_internal": True, "path": FILE}]),
        change(2, **secret), change(3, files=("src/zanzibar.py",), **secret),
    ).close()  # fmt: skip
    environ = {"FORGELORE_EMBEDDER": "none"}
    with make_history(environ, cwd=str(tmp_path), db=str(tmp_path / "lore.db"), viewer=PUBLIC) as public:
        found = public.paths.history(FILE)
        assert "zanzibar" not in repr(found)
        assert [one.ref for one in found.entries] == ["#1"]
        with pytest.raises(NotFound) as refused:
            public.paths.history("src/zanziba.py")
        assert "zanzibar.py" not in refused.value.hint
        with pytest.raises(NotFound):
            public.paths.history("src/zanzibar.py")
    with make_history(environ, cwd=str(tmp_path), db=str(tmp_path / "lore.db"), viewer=EVERYTHING) as member:
        assert member.paths.history("src/zanzibar.py").decision_count == 1


def test_on_gitlab_an_issue_and_a_change_of_one_number_are_two(gitlab):
    project = gitlab.project
    project.add_member("ben")
    project.add_issue("Wish", f"Change {FILE}, please.", author="eve")
    project.comment("issue", 1, "Let's keep it as it is.", author="ben")
    project.add_change("First", "Retries, because sockets hang.", files=[("modified", FILE)])
    project.merge(1)
    project.add_change("Second", "This replaces !1.", files=[("modified", FILE)])
    thread = project.discuss("change", 2, "Why not four?", author="eve", path=FILE, line=3)
    project.reply("change", 2, thread, "We decided that three are enough.", author="ben")
    project.merge(2)
    with History(gitlab.new_app(FORGELORE_EMBEDDER="none")) as history:
        history.sync.run("gitlab:group/app")
        found = history.paths.history(FILE)
        assert {(one.ref, one.rule): one.superseded_by for one in found.decisions} == {
            ("#1", "decided"): (), ("!1", "merged"): ("!2",), ("!2", "decided"): (),
        }  # fmt: skip
        assert ("thread", "discussed") in [(one.kind, one.how) for one in found.entries]


def test_on_forgejo_review_threads_decide_too(forgejo):
    project = forgejo.project
    project.add_collaborator("ben")
    number = project.add_change("Retry", files=[("modified", FILE)])
    project.review_comment(number, STATED, author="ben", path=FILE)
    project.review_comment(number, "We decided otherwise.", author="eve", path=FILE)
    with History(forgejo.new_app(FORGELORE_EMBEDDER="none")) as history:
        history.sync.run("forgejo:acme/web")
        found = {one.author: one.role for one in history.paths.history(FILE).decisions}
        assert found == {"ben": "maintainer"}  # Forgejo does not say who else may write: nobody else decides


def test_files_of_changes_and_commits_are_found_by_their_path(imported, monkeypatch):
    """Not by reading those of all changes: with 10,000 of them that took four times as long."""
    history = imported(change(1))
    store, seen = history.app.store(), []
    ask = type(store).rows
    monkeypatch.setattr(
        type(store), "rows", lambda self, sql, *given: seen.append((sql, given)) or ask(self, sql, *given)
    )
    history.paths.history(FILE)
    plans = [
        row[3]
        for sql, given in seen
        if "GLOB" not in sql and any(table in sql for table in ("item_files f", "commit_paths", "commit_renames"))
        for row in ask(store, f"EXPLAIN QUERY PLAN {sql}", *given)
    ]
    found = [plan for plan in plans if re.search(r" (f|p|r|commit_paths) USING ", plan)]
    assert len(found) >= 6
    assert [plan for plan in found if "path=?" not in plan and "path>" not in plan and "PRIMARY KEY" not in plan] == []


def issue(number, body):
    return {"kind": "issue", "number": number, "title": f"Issue {number}", "body": body, "created_at": "2026-03-01"}


def mentioning(history, path):
    return sorted(int(one.ref[1:]) for one in history.paths.history(path).entries if one.how == "mentioned")


def test_a_file_is_not_named_by_a_longer_path(imported):
    """docs/api is a file here; docs/api.md, docs/api/x and docs/api-old are others."""
    texts = [
        "See docs/api, it is wrong.", "docs/api. It is wrong.", "docs/api.md is wrong", "docs/api/x is wrong",
        "docs/api-old is wrong", "old/docs/api is wrong", "docs/apis are wrong",
    ]  # fmt: skip
    history = imported(change(1, files=("docs/api",)), *(issue(at, text) for at, text in enumerate(texts, 2)))
    assert mentioning(history, "docs/api") == [2, 3]


def test_a_folder_is_named_by_every_path_below_it(imported):
    texts = ["See src/net/ for it.", "src/net/conn.py hangs", "src/network/x.py hangs", "lib/src/net/conn.py hangs"]
    history = imported(change(1), *(issue(at, text) for at, text in enumerate(texts, 2)))
    assert mentioning(history, "src/net/") == [2, 3]
