"""Signatures of patches: which lines count, whatever a stranger writes into a diff."""

from hypothesis import example, given
from hypothesis import strategies as st

from forgelore.compare.overlap import MAX_SHARERS, find_shared, find_shared_pairs, is_contained, is_same_change
from forgelore.model import PatchLines
from forgelore.text.patches import MAX_LINES, find_diff_paths, hash_line, normalise, read_diff, read_patch

DIFF = """diff --git a/src/app.py b/src/app.py
--- a/src/app.py
+++ b/src/app.py
@@ -7,3 +7,3 @@ def connect():
 def connect():
-    timeout = 3000
+    timeout = read_timeout()
     return open_socket(timeout)
"""


def of(path: str, *lines: str) -> tuple[int, ...]:
    return tuple(sorted(hash_line(path, line) for line in lines))


def test_a_diff_gives_its_removed_and_added_lines_with_their_path():
    assert read_diff(DIFF) == PatchLines(
        of("src/app.py", "timeout = 3000"), of("src/app.py", "timeout = read_timeout()")
    )
    assert find_diff_paths(DIFF) == {"src/app.py"}


def test_a_patch_of_a_list_of_files_says_the_same_as_the_whole_diff():
    hunks = DIFF.partition("@@")[2]
    assert read_patch("src/app.py", "src/app.py", f"@@{hunks}") == read_diff(DIFF)


def test_white_space_is_folded_and_lines_that_say_too_little_are_left_out():
    assert normalise("\t return  total_of( rows )\r") == "return total_of( rows )"
    assert [normalise(line) for line in ("    }", "return x;", "x" * 12, "=" * 80, "")] == [""] * 5
    assert normalise("x" * 13) == "x" * 13


def test_the_same_line_in_another_file_is_another_line():
    assert read_patch("a.py", "a.py", "@@ -1 +1 @@\n-first = second()") != read_patch(
        "b.py", "b.py", "@@ -1 +1 @@\n-first = second()"
    )


def test_a_removed_line_that_looks_like_the_head_of_a_file_is_a_line():
    diff = (
        "--- a/notes.sql\n+++ b/notes.sql\n@@ -1,3 +1,2 @@\n--- a/etc/passwd\n+++ b/etc/passwd and more\n"
        "-SELECT name FROM users\n keep\n"
    )
    found = read_diff(diff)
    assert found.removed == of("notes.sql", "-- a/etc/passwd", "SELECT name FROM users")
    assert found.added == of("notes.sql", "++ b/etc/passwd and more")
    assert find_diff_paths(diff) == {"notes.sql"}


def test_renamed_added_deleted_and_quoted_files_keep_the_path_that_had_the_line():
    renamed = (
        "diff --git a/old.py b/new.py\nrename from old.py\nrename to new.py\n--- a/old.py\n+++ b/new.py\n"
        "@@ -1 +1 @@\n-value = compute_it()\n+value = compute_all()\n"
    )
    assert read_diff(renamed) == PatchLines(of("old.py", "value = compute_it()"), of("new.py", "value = compute_all()"))
    assert find_diff_paths(renamed) == {"old.py", "new.py"}
    deleted = "--- a/gone.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-value = compute_it()\n"
    assert read_diff(deleted).removed == of("gone.py", "value = compute_it()")
    quoted = '--- "a/na\\303\\257ve\\t.py"\n+++ "b/na\\303\\257ve\\t.py"\n@@ -1 +0,0 @@\n-value = compute_it()\n'
    assert read_diff(quoted).removed == of("naïve\t.py", "value = compute_it()")


def test_binary_files_renames_and_prose_have_no_lines():
    for text in (
        "",
        "Binary files a/x.png and b/x.png differ\n",
        "rename from a\nrename to b\n",
        "- not a diff at all",
    ):
        assert read_diff(text) == PatchLines()


def test_a_huge_patch_keeps_a_bounded_number_of_lines_and_two_copies_keep_the_same():
    lines = [f"-statement number {number}" for number in range(3 * MAX_LINES)]
    patch = "\n".join([f"@@ -1,{len(lines)} +0,0 @@", *lines])
    backwards = "\n".join([f"@@ -1,{len(lines)} +0,0 @@", *reversed(lines)])
    found = read_patch("big.py", "big.py", patch)
    assert len(found.removed) == MAX_LINES
    assert read_patch("big.py", "big.py", backwards) == found


@given(st.text(st.characters(), max_size=400) | st.text("-+@ ab/,1\n\r\0\ud800\u2028", max_size=400))
@example("--- a/x\n+++ b/x\n@@ -1,999999999 +1 @@\n-\ud800\0 long enough to count\r\n")
def test_any_text_at_all_gives_a_signature(text):
    for found in (read_diff(text), read_patch("\ud800", "x", text)):
        assert list(found.removed) == sorted(set(found.removed))
        assert all(-(2**63) <= line < 2**63 for line in (*found.removed, *found.added))
    find_diff_paths(text)


LINES = st.frozensets(st.integers(0, 30), max_size=12)
CHANGES = st.dictionaries(st.integers(1, 20), LINES.filter(bool), max_size=14)


@given(CHANGES)
def test_overlap_is_symmetric_whoever_asks(changes):
    pairs = find_shared_pairs(changes)
    for one, lines in changes.items():
        others = {item: other for item, other in changes.items() if item != one}
        assert find_shared(lines, others) == {
            first + second - one: shared for (first, second), shared in pairs.items() if one in (first, second)
        }


@given(LINES, CHANGES, st.integers(1, 50))
def test_lines_that_nobody_else_has_never_make_a_match(mine, others, more):
    unrelated = frozenset(range(100, 100 + more))
    assert find_shared(mine | unrelated, others).keys() <= find_shared(mine, others).keys()


def test_lines_that_many_changes_remove_prove_nothing():
    licence = [1, 2, 3]
    crowd = dict.fromkeys(range(MAX_SHARERS), licence)
    assert find_shared(licence, crowd) == {}
    assert len(find_shared(licence, dict.fromkeys(range(MAX_SHARERS - 1), licence))) == MAX_SHARERS - 1


def test_whoever_quotes_everybodys_lines_matches_nobody():
    others = {item: range(40 * item, 40 * item + 40) for item in range(100)}
    assert find_shared(range(4_000), others) == {}


def test_a_change_is_contained_where_nearly_all_of_it_is_in_another_one():
    mine, theirs = PatchLines((1, 2, 3, 4, 5), (6, 7)), PatchLines((1, 2, 3, 4, 9), (6, 7, 8))
    assert is_contained(mine, theirs)
    assert not is_contained(theirs, mine)
    assert is_same_change(mine, mine)
    assert not is_contained(PatchLines((1,), (2,)), PatchLines((1,), (2,))), "two lines are in another one by chance"
    assert not is_same_change(PatchLines(), PatchLines())
