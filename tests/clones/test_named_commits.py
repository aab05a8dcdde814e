"""Commits by their names: sha, prefix and page in show, search, read and Python; their diffs; their changes."""

import pytest

import forgelore
from clones.repositories import commit_files, git, make_repository
from forgelore.errors import InvalidValue, NotFound
from forgelore.model import Item, Project
from forgelore.store.items import save_items
from forgelore.store.projects import save_project
from forgelore.text.refs import Ref, parse_ref
from forgelore.viewer import PUBLIC
from forgelore.words import ItemKey, ProjectName

SHA = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (SHA, Ref("", tag=SHA, kind="release", sha=SHA)), ("0ABCDEF", Ref("", tag="0ABCDEF", kind="release", sha="0abcdef")),
        ("1234567", Ref("", 1234567, sha="1234567")), ("acme/web@1a2b", Ref("acme/web", sha="1a2b")),
        ("acme/web 1a2b3c4", Ref("acme/web", tag="1a2b3c4", kind="release", sha="1a2b3c4")),
        (f"https://github.com/acme/web/commit/{SHA}", Ref("https://github.com/acme/web", sha=SHA)),
        (f"https://github.com/acme/web/commit/{SHA}.patch", Ref("https://github.com/acme/web", sha=SHA)),
        (f"https://github.com/acme/web/commit/{SHA[:8]}#diff-1", Ref("https://github.com/acme/web", sha=SHA[:8])),
        (f"https://github.com/acme/web/pull/7/commits/{SHA}", Ref("https://github.com/acme/web", sha=SHA)),
        (f"https://gitlab.com/g/s/a/-/commit/{SHA}?view=inline", Ref("https://gitlab.com/g/s/a", sha=SHA)),
        (f"https://codeberg.org/acme/web/commit/{SHA}", Ref("https://codeberg.org/acme/web", sha=SHA)),
        ("item:12", Ref("", key="item:12")), ("feed", Ref("", tag="feed", kind="release")),
    ],
)  # fmt: skip
def test_a_commit_is_understood_in_every_spelling(text, expected):
    assert parse_ref(text) == expected


@pytest.fixture
def shas(lore, tmp_path):
    repository = make_repository(tmp_path / "web", {"a.py": "one = 1\n", "b b.py": "b = 1\n"})
    shas = {"squashed": commit_files(repository, {"a.py": "one = 2\n"}, "Two instead (#2)\n\nBecause of reasons.")}
    git(repository, "checkout", "--quiet", "-b", "fix")
    shas["inner"] = commit_files(repository, {"c.py": "c = 3\n"}, "Work on it", gone=["a.py"])
    git(repository, "checkout", "--quiet", "main")
    commit_files(repository, {"d.py": "d = 4\n"}, "Meanwhile")
    git(repository, "merge", "--quiet", "--no-ff", "--no-gpg-sign", "-m", "Merge pull request #3 from ana/fix", "fix")
    shas["merge"] = git(repository, "rev-parse", "HEAD")
    store = lore.app.store()
    with store.transaction():
        project = save_project(store, Project(ProjectName("github", "github.com", "acme/web")), 1)
        changes = [Item(ItemKey("change", number), f"Change {number}", state="merged") for number in (2, 3)]
        save_items(store, project.id, changes)
    lore.index.code(str(repository), project="acme/web")
    lore.index.build_documents()
    return shas


@pytest.mark.parametrize("spell", [
    lambda sha: sha, lambda sha: sha[:7], lambda sha: sha[:12].upper(), lambda sha: f"acme/web@{sha[:7]}",
    lambda sha: f"acme/web {sha[:12]}", lambda sha: f"https://github.com/acme/web/commit/{sha}",
])  # fmt: skip
def test_a_commit_is_shown_read_got_and_found_by_each_of_its_names(lore, shas, spell):
    name = spell(shas["squashed"])
    shown = lore.show(name)
    assert (shown.kind, shown.ref, shown.title) == ("commit", shas["squashed"][:12], "Two instead (#2)")
    assert lore.get(name).body == "Because of reasons."
    assert lore.read(name).ref == shas["squashed"][:12]
    answer = lore.search(name)
    assert (answer.hits[0].kind, answer.hits[0].ref) == ("commit", shas["squashed"][:12])
    assert "names the commit at the top" in answer.notes[-1]
    with pytest.raises(InvalidValue, match="is a commit"):
        lore.similar(name)


def test_as_few_letters_as_git_takes_will_do_where_it_is_said_to_be_a_commit(lore, shas):
    assert lore.show("commit", shas["inner"][:4]).title == "Work on it"
    with pytest.raises(InvalidValue, match="not a commit"):
        lore.show("commit", "1a2")


def test_a_name_of_several_commits_is_refused_with_longer_ones(lore, shas):
    store = lore.app.store()
    for sha in ("abcdef0" + "1" * 33, "abcdef0" + "2" * 33):
        store.run("INSERT INTO commits (project_id, sha, message, is_merge) VALUES (1, ?, 'x', 0)", sha)
    with pytest.raises(InvalidValue, match="several commits begin with abcdef0") as caught:
        lore.show("abcdef0")
    assert "abcdef01111" in caught.value.hint
    assert lore.show("abcdef01").title == "x"
    with pytest.raises(NotFound, match="abcdef09 is not in"):
        lore.show("abcdef09")


def test_a_tag_or_number_that_looks_like_a_commit_is_the_item(lore, shas):
    store, number = lore.app.store(), int("".join(one for one in shas["inner"] if one.isdecimal())[:7].ljust(7, "1"))
    with store.transaction():
        save_items(
            store,
            1,
            [Item(ItemKey("issue", number), "A number"), Item(ItemKey("release", 1), "A tag", tag=shas["inner"][:7])],
        )
    assert lore.show(str(number)).title == "A number"
    assert lore.show(shas["inner"][:7]).title == "A tag"
    assert lore.show("commit", shas["inner"][:7]).title == "Work on it"


def test_a_commit_leads_to_its_change_and_a_change_to_its_commits(lore, shas):
    for name, ref in (("squashed", "#2"), ("inner", "#3"), ("merge", "#3")):
        assert [(link.relation, link.ref) for link in lore.show(shas[name]).links] == [("part_of", ref)]
    assert [one.sha for one in lore.show("#2").commits] == [shas["squashed"]]
    assert {one.sha for one in lore.show("#3").commits} == {shas["inner"], shas["merge"]}


def test_the_diff_is_part_of_what_is_read_of_a_commit(lore, shas):
    text = lore.show(shas["squashed"], with_document=True).document
    assert "-one = 1\n+one = 2" in text
    assert "+c = 3" in lore.show(shas["merge"], with_document=True).document, "a merge against its first parent"
    files = {(file.new_path, file.status) for file in lore.show(shas["inner"]).files}
    assert files == {("a.py", "changed"), ("c.py", "changed")}


def test_a_clone_that_is_gone_leaves_the_message(lore, shas, tmp_path):
    (tmp_path / "web").rename(tmp_path / "elsewhere")
    text = lore.show(shas["squashed"], with_document=True).document
    assert "Because of reasons." in text
    assert "not on this machine" in text
    assert str(tmp_path) not in text


def test_a_large_diff_is_cut(lore, tmp_path):
    repository = make_repository(tmp_path / "big", {"a.txt": "x\n"})
    sha = commit_files(repository, {"a.txt": "line of text\n" * 40_000}, "Large")
    lore.index.code(str(repository), project="acme/big")
    text = lore.show(sha, with_document=True).document
    assert len(text) < 210_000
    assert "[diff truncated after 200,000 bytes]" in text


def test_a_diff_runs_nothing_that_the_clone_names(lore, tmp_path):
    repository = make_repository(tmp_path / "evil", {"a.txt": "x\n", ".gitattributes": "*.txt diff=evil\n"})
    sha = commit_files(repository, {"a.txt": "y\n"}, "Change")
    mark = tmp_path / "ran"
    for name in ("diff.external", "diff.evil.command", "diff.evil.textconv", "core.pager", "core.fsmonitor"):
        git(repository, "config", name, f"touch {mark}; cat")
    lore.index.code(str(repository), project="acme/evil")
    assert "+y" in lore.show(sha, with_document=True).document
    assert not mark.exists()


def test_a_file_is_shown_by_its_path_and_key(lore, shas):
    assert lore.show("d.py").body == "d = 4\n"
    assert lore.show("b b.py").kind == "file"
    assert lore.show(lore.show("d.py").reading_id).ref == "d.py"


def test_a_public_reader_does_not_learn_of_a_confidential_change(lore, shas, tmp_path):
    lore.app.store().run("UPDATE items SET is_confidential = 1 WHERE number = 2")
    public = forgelore.api.history.make_history(
        {"FORGELORE_EMBEDDER": "none", "PATH": "/usr/bin:/bin"}, cwd=str(tmp_path), db=str(tmp_path / "lore.db"),
        viewer=PUBLIC,
    )  # fmt: skip
    with public:
        assert public.show(shas["squashed"]).links == ()
        assert public.show(shas["inner"]).links
