"""Comments that the bot wrote are in no document, synced or imported: nobody should find an item by what we said of it."""

import contextlib
import json

import apsw
import pytest

from forgelore.index.update import index_items
from forgelore.store.projects import list_projects
from forgelore.text.items import MARKER, is_report
from forgelore.triage.report import Report, ReportRow, build_report
from old_stores import forget_migrations

ROW = ReportRow("#2", "zyzzyva is lost", "https://example.org/acme/web/issues/2", 0.99, "open", None, "issue")
REPORT = build_report(Report((ROW,), True, 0.8, 20, (), (), (), "github", "issue", 60_000))


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def lab(request):
    return request.getfixturevalue(request.param)


def say(lab, number, text, author="ana"):
    """A comment; the bot's account has no name of its own: a person's token may run it."""
    return lab.on_issue("comment", number, text, author=author)


def texts(store):
    return "\n".join(text for (text,) in store.rows("SELECT text FROM document_texts"))


def index(lab):
    store = lab.app.store()
    index_items(store, [project.id for project in list_projects(store)])
    return store


def test_a_report_is_known_by_its_first_line():
    assert is_report(REPORT)
    assert is_report(REPORT.replace("\n", "\r\n"))
    assert is_report(MARKER)
    assert not is_report(None)
    assert not is_report("")
    assert not is_report("> " + REPORT.replace("\n", "\n> "))
    assert not is_report(f"Look what it writes:\n{MARKER}")
    assert not is_report(f"{MARKER} and more on the line")


def test_a_synced_report_is_in_no_document(lab):
    number, other = lab.project.add_issue("me", "crash"), lab.project.add_issue("zyzzyva is gone", "x")
    say(lab, number, "quokka")
    say(lab, number, REPORT)
    say(lab, number, "> " + REPORT.replace("zyzzyva", "numbat").replace("\n", "\n> ") + "\n\nNo, it is not.")
    say(lab, other, REPORT)
    lab.sync()
    store = index(lab)
    assert "zyzzyva is lost" not in texts(store)
    assert "quokka" in texts(store)
    assert "numbat is lost" in texts(store), "a person who quotes it says something"
    assert store.value("SELECT count(*) FROM documents WHERE representation = 'thread'") == 1
    assert store.value("SELECT count(*) FROM notes WHERE body LIKE '%zyzzyva%'") == 2, "it is still part of the story"


def test_what_a_report_suggests_is_no_link(lab):
    """Known duplicates are learned from links: the bot must not learn from itself."""
    number = lab.project.add_issue("me", "crash")
    say(lab, number, f"{MARKER}\nDuplicate of #7, see #8")
    lab.sync()
    assert {link[4] for link in lab.links(number)} & {7, 8} == set()


def test_an_edit_that_makes_a_report_of_a_comment_changes_the_document(github):
    number = github.project.add_issue("me", "crash")
    note = github.project.comment(number, "zyzzyva")
    github.sync()
    assert "zyzzyva" in texts(index(github))
    github.time.pass_by(600)
    github.project.edit_comment(note, f"{MARKER}\nzyzzyva")
    github.sync()
    assert "zyzzyva" not in texts(index(github))


LINE = {
    "kind": "issue",
    "number": 1,
    "title": "me",
    "body": "crash",
    "notes": [{"author": "bot", "body": REPORT}, {"author": "ben", "body": "quokka"}],
}


def test_an_imported_report_is_found_by_no_command(cli, tmp_path):
    other = {"kind": "issue", "number": 2, "title": "other", "body": "something else"}
    (tmp_path / "t.jsonl").write_text("\n".join(map(json.dumps, (LINE, other))), encoding="utf-8")
    assert cli("import", "t.jsonl", "--project", "old").code == 0
    assert cli("search", "zyzzyva", "--json").data["hits"] == []
    assert len(cli("search", "quokka", "--json").data["hits"]) == 1
    assert "zyzzyva" not in cli("search", "quokka").out
    assert "zyzzyva" not in cli("similar", "#2").out
    assert "zyzzyva" not in cli("show", "#1", "--document").out
    assert "zyzzyva" in cli("show", "#1").out
    assert "zyzzyva" in cli("export", "--project", "old").out


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_documents_of_an_older_version_are_built_again(cli, tmp_path, ending):
    line = {**LINE, "notes": [{"author": "bot", "body": "zyzzyva"}, {"author": "ben", "body": "quokka"}]}
    (tmp_path / "t.jsonl").write_text(json.dumps(line), encoding="utf-8")
    assert cli("import", "t.jsonl", "--project", "old").code == 0
    with contextlib.closing(apsw.Connection(str(tmp_path / "lore.db"))) as old:
        old.execute("UPDATE notes SET body = ? WHERE author = 'bot'", (REPORT.replace("\n", ending),))
        old.execute(
            "INSERT INTO item_links (project_id, item_id, note_id, relation, source, target_number)"
            " SELECT project_id, item_id, id, 'duplicate_of', 'text', 2 FROM notes WHERE author = 'bot'"
        )
        forget_migrations(old.execute, after=6)
    assert cli("search", "zyzzyva", "--json").data["hits"], "nothing is lost before the documents are built again"
    assert cli("generate-docs").code == 0
    assert cli("search", "zyzzyva", "--json").data["hits"] == []
    assert cli("search", "quokka", "--json").data["hits"]
    assert cli("show", "#1", "--json").data["links"] == []
