"""`item_links`: what items and notes say of others, from the forges' fields, their events and people's text."""


def link(relation, number, *, kind=None, project="", source="text", withdrawn=0):
    return (relation, source, project, kind, number, withdrawn)


def test_closing_words_and_mentions_in_text(lab):
    bug, other = lab.project.add_issue("bug"), lab.project.add_issue("other")
    change = lab.project.add_change("fix", f"Fixes #{bug}, see #{other} and `#{other + 50}`")
    lab.on_issue("comment", bug, f"same as #{other}?")
    lab.sync()
    assert {link("closes", bug), link("mentions", other)} <= lab.links(change, "change")
    assert not [found for found in lab.links(change, "change") if found[4] == other + 50]
    assert link("mentions", other) in lab.links(bug)


def test_an_edit_replaces_what_a_text_said(lab):
    bug, other = lab.project.add_issue("bug"), lab.project.add_issue("other")
    number = lab.project.add_issue("teller", f"see #{bug}")
    note = lab.on_issue("comment", number, f"and #{bug}")
    lab.sync()
    lab.time.pass_by(3600)
    lab.on_issue("edit", number, body=f"see #{other}")
    (lab.project.edit_comment if lab.has_shared_numbers else lab.project.edit_note)(note, f"and #{other}")
    lab.sync()
    said = {found for found in lab.links(number) if found[1] == "text"}
    assert said == {link("mentions", other)}


def test_links_of_a_deleted_note_go_with_it(github):
    bug, number = github.project.add_issue("bug"), github.project.add_issue("teller")
    note = github.project.comment(number, f"see #{bug}")
    github.sync()
    assert github.links(number) == {link("mentions", bug)}
    github.project.delete_comment(note)
    github.time.pass_by(90_000)
    github.sync()
    assert github.links(number) == set()


def test_cross_project_references_keep_their_project(lab):
    number = lab.project.add_issue("teller", "like other/repo#3, and https://example.org/x/y/-/issues/4")
    lab.sync()
    assert link("mentions", 3, project="other/repo") in lab.links(number)
    assert link("mentions", 4, kind="issue", project="example.org/x/y") in lab.links(number)


def test_our_own_name_is_no_other_project(lab):
    """However it is spelled: by path, in another case, or by the page's address."""
    bug = lab.project.add_issue("bug")
    path = lab.path
    spelled = [f"{path}#{bug}", f"{path.upper()}#{bug}"]
    numbers = [lab.project.add_issue("teller", text) for text in spelled]
    lab.sync()
    for number in numbers:
        assert link("mentions", bug) in lab.links(number)


def test_github_says_what_a_change_closes_and_who_closed_an_issue(github):
    bug = github.project.add_issue("bug")
    change = github.project.add_change("fix", f"Fixes #{bug}")
    other = github.server.add_project("acme/api")
    there = other.add_issue("there")
    far = github.project.add_change("far", f"Fixes acme/api#{there}")
    github.sync()
    assert link("closes", bug, kind="issue", source="detail") in github.links(change, "change")
    assert link("relates", change, kind="change", source="detail") in github.links(bug)
    assert link("closes", there, kind="issue", project="acme/api", source="detail") in github.links(far, "change")


def test_a_mark_that_is_taken_back_is_known_as_such(github):
    original, copy = github.project.add_issue("a"), github.project.add_issue("b")
    github.project.mark_duplicate(copy, original)
    github.sync()
    assert link("duplicate_of", original, kind="issue", source="detail") in github.links(copy)
    github.time.pass_by(600)
    github.project.unmark_duplicate(copy)
    github.sync()
    assert github.links(copy) == {link("duplicate_of", original, kind="issue", source="detail", withdrawn=1)}


def test_gitlab_says_duplicates_and_relations_in_fields_and_events(gitlab):
    original, copy, friend = (gitlab.project.add_issue(name) for name in ("a", "b", "c"))
    gitlab.time.pass_by(100)
    gitlab.project.mark_duplicate(copy, original)
    gitlab.project.relate(friend, original)
    gitlab.sync()
    assert gitlab.links(copy) == {
        link("duplicate_of", original, kind="issue", source="forge"),
        link("duplicate_of", original, kind="issue", source="event"),
    }
    assert link("relates", original, kind="issue", source="event") in gitlab.links(friend)
    assert gitlab.value("SELECT state_reason FROM items WHERE number = ?", copy) == "duplicate"


def test_a_duplicate_in_another_project_is_named_by_its_path(gitlab):
    """GitLab's field holds the other project's number: its path is said where the store knows it."""
    other = gitlab.server.add_project("group/other")
    there = other.add_issue("original")
    gitlab.sync(path="group/other")
    number = gitlab.project.add_issue("copy")
    gitlab.project.close("issue", number)
    gitlab.project.issues[number].duplicate_of = other.issues[there]
    gitlab.sync()
    assert link("duplicate_of", there, kind="issue", project="group/other", source="forge") in gitlab.links(number)


def test_a_reference_to_a_sibling_is_spelled_out(gitlab):
    """`other#3` in a system note means a project of the same group."""
    number = gitlab.project.add_issue("moves")
    gitlab.project.system_note("issue", number, "marked this issue as a duplicate of other#3")
    gitlab.project.system_note("issue", number, "marked this issue as related to far/away!4")
    gitlab.sync()
    assert gitlab.links(number) == {
        link("duplicate_of", 3, kind="issue", project="group/other", source="event"),
        link("relates", 4, kind="change", project="far/away", source="event"),
    }


def test_a_second_sync_repeats_no_link(lab):
    lab.populate(issues=20, changes=10)
    lab.sync()
    count = "SELECT count(*), count(DISTINCT item_id || '/' || coalesce(note_id, 0) || relation || source || target_project || target_number) FROM item_links"
    before = lab.rows(count)
    lab.time.pass_by(90_000)
    lab.sync(full=True)
    assert lab.rows(count) == before
