"""`changes overlap` as people and programs use it: one change, a diff that is no change yet, and a whole project."""

import json

import pytest

from clones.repositories import make_repository
from forgelore.errors import InvalidValue
from forgelore.surfaces.mcp.tools import ServerOptions, list_tools

PATCH = "@@ -1,3 +1,3 @@\n import settings\n-timeout_seconds = 30\n+timeout_seconds = {}\n-retry_attempts = 3\n+retries = {}\n"
DIFF = f"diff --git a/src/limits.py b/src/limits.py\n--- a/src/limits.py\n+++ b/src/limits.py\n{PATCH.format(5, 6)}"


def change(lab, title, value, author, **more):
    files = [("modified", "src/limits.py", {"patch": PATCH.format(value, value)})]
    return lab.project.add_change(title, more.pop("body", ""), files=files, author=author, head=f"b-{author}")


@pytest.fixture
def typed(github, cli, github_env):
    """Two people change the same two lines for one issue; a third change is by one of them."""
    issue = github.project.add_issue("Uploads time out")
    change(github, "Wait for a minute", 60, "bo", body=f"Fixes #{issue}")
    change(github, "Let people choose [31m how long", 90, "cy", body=f"Closes #{issue}")
    change(github, "Wait even longer", 120, "cy")
    github.project.add_change("Sort imports", files=[("modified", "src/other.py")], author="di", head="b-di")

    def run(*words, **more):
        return cli(*words, **github_env, **more)

    assert run("sync", "acme/web").code == 0
    return run


def test_a_change_is_told_with_the_facts(typed):
    done = typed("changes", "overlap", "#3")
    assert done.code == 0
    assert "#2  open  @bo  Wait for a minute\n  changes the same 2 lines · closes issue 1\n" in done.out
    assert "changes the same 2 lines · by the same author" in done.out
    assert done.out.index("@bo") < done.out.index("by the same author")
    assert "\x1b[31m" not in done.out
    data = typed("changes", "overlap", "#3", "--json").data
    assert [pair["other"] for pair in data["groups"][0]["pairs"]] == ["#2", "#4"]
    first = data["groups"][0]["pairs"][0]
    assert first["sentence"] == "changes the same 2 lines as #2, which also closes issue 1"
    assert [fact["kind"] for fact in first["facts"]] == ["same_lines", "same_issue"]
    assert (data["ref"], data["total"], data["open_changes"], data["compared"]) == ("#3", 2, 4, 4)


def test_a_project_is_told_in_groups_of_several_people(typed):
    done = typed("changes", "overlap")
    assert "1 group of changes that do the same, in " in done.out
    assert "#3 changes the same 2 lines as #2, which also closes issue 1" in done.out
    (group,) = typed("changes", "overlap", "--json").data["groups"]
    assert [one["ref"] for one in group["changes"]] == ["#4", "#3", "#2"]
    assert not any(pair["is_same_author"] for pair in group["pairs"])


def test_somebody_who_has_not_opened_a_change_asks_by_its_diff_path_or_issue(typed, tmp_path):
    path = tmp_path / "mine.diff"
    path.write_text(DIFF, encoding="utf-8")
    for words in (("--diff", str(path)), ("--path", "src/limits.py"), ("--closes", "1")):
        data = typed("changes", "overlap", *words, "--json").data
        others = [pair["other"] for pair in data["groups"][0]["pairs"]]
        assert data["ref"] is None
        assert set(others) == ({"#2", "#3"} if "--closes" in words else {"#2", "#3", "#4"})
    asked = typed("changes", "overlap", "--diff", "-", stdin=DIFF.encode())
    assert "changes the same 2 lines" in asked.out
    assert "No other change overlaps with it." in typed("changes", "overlap", "--path", "src/nowhere.py").out


ADDS = (
    "@@ -1,4 +1,4 @@\n import settings\n-timeout_seconds = 30\n+timeout_seconds = 60\n-retry_attempts = 3\n"
    "+retries_total = 60\n-backoff = read_backoff()\n+backoff_seconds = 60\n"
)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("timeout_seconds = 60\nretries_total = 60\nbackoff_seconds = 60\n", "3 of the 3 lines that it adds are on"),
        ("read_limits_of(settings)\n", "3 of the 3 lines that it removes are gone from"),
        ("timeout_seconds = 30\nretry_attempts = 3\nbackoff = read_backoff()\n", ""),
        (None, ""),
    ],
    ids=["there", "gone", "as it was", "another file"],
)
def test_what_the_default_branch_has_or_lacks_by_now_is_told(typed, github, tmp_path, content, said):
    files = [("modified", "src/waits.py", {"patch": ADDS})]
    number = github.project.add_change("Wait", files=files, author="di", head="b-wait")
    path = "src/other.py" if content is None else "src/waits.py"
    repository = make_repository(tmp_path / "web", {path: f"import settings\n{content}", "README.md": "# Web\n"})
    assert typed("sync", "acme/web").code == 0
    assert typed("index-code", str(repository), "--project", "acme/web").code == 0
    done = typed("changes", "overlap", f"#{number}")
    assert ("the default branch" in done.out, said in done.out) == (bool(said), True)
    draft = f"--- a/src/waits.py\n+++ b/src/waits.py\n{ADDS}"
    data = typed("changes", "overlap", "--diff", "-", "--json", stdin=draft.encode()).data
    assert data["on_default"].startswith(said)
    assert bool(data["on_default"]) == bool(said)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--diff", "-"), "the diff is empty"),
        (("--diff", "nowhere.diff"), "nowhere.diff cannot be read"),
        (("#3", "--path", "a.py"), "an existing change already has its diff"),
        (("#1",), "#1 is not a change"),
    ],
)
def test_what_cannot_be_compared_is_refused_with_a_reason(typed, words, said):
    done = typed("changes", "overlap", *words, stdin=b" \n")
    assert done.code != 0
    assert said in done.err


def test_text_without_a_diff_in_it_is_refused(typed):
    assert "no diff was found in this text" in typed("changes", "overlap", "--diff", "-", stdin=b"hello\n-bye").err


def test_an_imported_tracker_says_that_lines_are_not_known(cli, tmp_path):
    rows = [
        {"kind": "change", "number": n, "title": "T", "author": f"p{n}", "state": "open", "body": "Fixes #9", "files": ["a.py"]}
        for n in (1, 2)
    ]  # fmt: skip
    path = tmp_path / "t.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    assert cli("import", str(path), "--project", "p").code == 0
    done = cli("changes", "overlap")
    assert "the lines of 2 of 2 open changes are not known" in done.err
    assert "#2 closes issue 9, as does #1" in done.out


def test_an_agent_asks_before_it_opens_a_change(typed, tmp_path):
    import forgelore

    tool = next(one for one in list_tools(ServerOptions()) if one.name == "overlap")
    assert not tool.is_writing
    with forgelore.open(str(tmp_path / "lore.db")) as history:
        said = tool.call(history, {"diff": DIFF}).text
        assert "#2 (open, @bo, 2026-03-01) Wait for a minute: it changes the same 2 lines" in said
        assert "<forge-text-" in said
        assert "closes issue 1" in tool.call(history, {}).text
        assert "no overlaps" in tool.call(history, {"paths": "src/nowhere.py"}).text
        with pytest.raises(InvalidValue):
            tool.call(history, {"ref": "#2", "paths": ["a"]})
