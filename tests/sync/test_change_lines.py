"""Which lines changes remove and add comes with their files, or with one diff of each open change; on every forge."""

import re

import pytest

from forgelore.compare.overlap import find_groups, find_overlaps, load_change_facts

LIMITS = "src/limits.py"


def replace(old, new, *, path=LIMITS):
    return [("modified", path, {"patch": f"@@ -1,2 +1,2 @@\n import settings\n-{old}\n+{new}\n"})]


THIRTY = replace("timeout_seconds = 30", "timeout_seconds = 60")
ASKED = replace("    timeout_seconds  =  30", "timeout_seconds = settings.timeout")
OTHER = replace("retry_attempts = 3", "retry_attempts = 5", path="src/retry.py")


def change(lab, files, *, author="bo", **more):
    return lab.project.add_change("Wait longer", files=files, author=author, head=f"b{author}", **more)


def known(lab):
    rows = lab.rows(
        "SELECT i.number, length(l.removed) / 8, length(l.added) / 8, l.head_sha IS i.head_sha"
        " FROM change_lines l JOIN items i ON i.id = l.item_id ORDER BY 1"
    )
    return {number: tuple(rest) for number, *rest in rows}


def now_ms(lab):
    return int(lab.server.clock.now().timestamp() * 1000)


def overlaps(lab, number):
    store = lab.app.store()
    item_id = lab.value("SELECT id FROM items WHERE kind = 'change' AND number = ?", number)
    mine = load_change_facts(store, 1, [item_id])[item_id]
    found = find_overlaps(store, 1, mine, as_of=now_ms(lab))
    return {one.change.number: [fact.says for fact in one.facts] for one in found}


DIFFS = {"github": r"/pulls/\d+$", "gitlab": r"/diffs", "forgejo": r"\.diff$"}


def asked_for_diffs(lab, since=0):
    """The requests that brought diffs."""
    pattern = DIFFS[lab.server.kind]
    return [path for path in lab.server.paths(since) if re.search(pattern, path)]


def test_rivals_are_found_after_one_sync(lab):
    first, second, third = change(lab, THIRTY), change(lab, ASKED, author="cy"), change(lab, OTHER, author="di")
    assert lab.sync().warnings == []
    assert known(lab) == dict.fromkeys((first, second, third), (1, 1, 1))
    assert overlaps(lab, second) == {first: ["changes the same line"]}
    assert overlaps(lab, third) == {}
    (group,) = find_groups(lab.app.store(), 1, as_of=now_ms(lab))
    assert [row.number for row in group.changes] == [second, first]


def test_a_quiet_sync_reads_no_diff_again_and_a_push_has_its_diff_read(lab):
    first, second = change(lab, THIRTY), change(lab, ASKED, author="cy")
    lab.sync()
    lab.time.pass_by(600)
    before = len(lab.server.requests)
    lab.sync()
    assert asked_for_diffs(lab, before) == []
    lab.time.pass_by(600)
    lab.project.push(second, OTHER)
    lab.sync()
    assert known(lab)[second] == (1, 1, 1)
    assert overlaps(lab, second) == {}
    assert overlaps(lab, first) == {}


def test_a_change_whose_renamed_files_are_listed_needs_no_diff(github):
    """GraphQL does not tell the old path, REST does, and brings the lines with it."""
    number = change(github, [*THIRTY, ("renamed", "src/old.py", "src/new.py")])
    plain = change(github, ASKED, author="cy")
    github.sync()
    assert [path.rpartition("/")[2] for path in asked_for_diffs(github)] == [str(plain)]
    removed, added, is_current = known(github)[number]
    assert (removed >= 1, added >= 1, is_current) == (True, True, 1)


def test_lines_are_kept_for_a_year_after_a_change_is_closed(lab):
    first, second = change(lab, THIRTY), change(lab, ASKED, author="cy")
    lab.sync()
    close = (first,) if lab.has_shared_numbers else ("change", first)
    lab.project.close(*close)
    lab.sync()
    assert sorted(known(lab)) == [first, second]
    assert overlaps(lab, second) == {first: ["changes the same line"]}
    lab.time.pass_by(40 * 86_400)
    assert overlaps(lab, second) == {}, "nobody works on what was closed a month ago"
    lab.time.pass_by(400 * 86_400)
    change(lab, OTHER, author="di")
    lab.sync()
    assert first not in known(lab)


def test_a_file_of_an_older_version_gets_the_lines_of_its_open_changes(lab):
    first, second = change(lab, THIRTY), change(lab, ASKED, author="cy")
    lab.sync()
    store = lab.app.store()
    with store.transaction():
        store.run("DELETE FROM change_lines")
    lab.time.pass_by(600)
    before = len(lab.server.requests)
    lab.sync()
    assert len(asked_for_diffs(lab, before)) == 2
    assert overlaps(lab, second) == {first: ["changes the same line"]}


@pytest.mark.parametrize("patch", ["@@ -1 +1 @@", "@@ -1,9 +1,9 @@\n-\x00\r\n+--- a/x\n", "no hunk at all", "\ud83d"])
def test_odd_patches_do_no_harm(lab, patch):
    number = change(lab, [("modified", "a.txt", {"patch": patch})])
    lab.sync()
    assert known(lab)[number][0] == 0


def test_a_change_that_is_merged_with_the_same_lines_is_told_as_merged(lab):
    lines = "@@ -1,3 +1,2 @@\n-timeout_seconds = 30\n-retry_attempts = 3\n+timeout_seconds = 60\n"
    files = [("modified", LIMITS, {"patch": lines})]
    first, second = change(lab, files), change(lab, files, author="cy")
    lab.sync()
    assert overlaps(lab, second) == {first: ["makes the same change"]}
    lab.time.pass_by(60)
    lab.project.merge(first)
    lab.sync()
    assert overlaps(lab, second) == {first: ["has brought the same lines"]}


def test_a_change_of_thousands_of_files_is_compared_like_any_other(lab):
    wide = [("modified", f"src/part_{number}.py") for number in range(1_500)]
    first = change(lab, [*THIRTY, ("added", "src/a.py"), ("added", "src/b.py")])
    second = change(lab, [*wide, *ASKED], author="cy")
    lab.sync()
    assert overlaps(lab, second) == {}
    assert overlaps(lab, first) == {}


def test_two_changes_of_the_same_rare_files_are_listed_and_nobody_is_warned(lab):
    files = [("added", f"src/new_{number}.py") for number in range(4)]
    texts = [[(*file, {"patch": f"@@ -0,0 +1 @@\n+written by {who}\n"}) for file in files] for who in ("bo", "cyrus")]
    first, second = change(lab, texts[0]), change(lab, texts[1], author="cy")
    lab.sync()
    assert overlaps(lab, second) == {first: ["touches the same 4 files"]}
    assert find_groups(lab.app.store(), 1, as_of=now_ms(lab)) == []


def test_a_merged_change_that_closed_the_issue_supersedes(lab):
    issue = lab.project.add_issue("Uploads time out")
    first, second = (
        lab.project.add_change("T", f"Fixes #{issue}", files=[("added", f"{who}.py")], author=who, head=who)
        for who in ("bo", "cy")
    )
    lab.sync()
    assert overlaps(lab, second) == {first: [f"closes issue {issue}"]}
    lab.time.pass_by(60)
    lab.project.merge(first)
    lab.sync()
    assert overlaps(lab, second) == {first: [f"closed issue {issue} when it was merged"]}
