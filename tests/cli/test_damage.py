"""A store that was damaged behind the program's back: found, healed, or told with what to do. The table is `damages`."""

import json
import os
import pathlib
import shutil

import apsw
import pytest

import engine_tables
from cli.damages import DAMAGES, Damage
from forgelore.index.findings import MEANINGS
from forgelore.store.calibration import CalibrationScope, save_calibration
from forgelore.store.sqlite.schema import open_store
from forgelore.surfaces.cli.main import main
from servers.embedding import EmbeddingServer
from support import GitHubLab

IMPORTED = [
    {"kind": "issue", "number": number, "title": f"Old crash {number}", "body": f"It fell in OldModule{number}, see #2",
     "labels": ["old", f"area-{number}"], "files": ["src/old.py"],
     "notes": [{"author": "ben", "body": f"same as #{number + 1} in merge_base", "created_at": "2020-01-01T00:00:00Z"}]}
    for number in range(1, 5)
]  # fmt: skip
QUESTIONS = (
    ["search", "ChunkCache is full"],
    ["search", "chunk cache", "--mode", "lexical", "--limit", "90"],
    ["search", "slow upload of part", "--mode", "semantic"],
    ["search", "mergebase", "--mode", "lexical", "--label", "bug", "--state", "open"],
    ["show", "acme/web#1"],
    ["show", "acme/old#1"],
    ["list", "issues", "--limit", "200"],
    ["export", "--project", "acme/web"],
    ["export", "--project", "acme/old"],
)


class Original:
    """A store with a synced and an imported project, embedded; its forge and embedder go on running."""

    def __init__(self, folder: pathlib.Path, lab: GitHubLab, server: EmbeddingServer):
        self.folder, self.lab = folder, lab
        self.path = str(folder / "original.db")
        self.file = str(folder / "old.jsonl")
        pathlib.Path(self.file).write_text("".join(json.dumps(item) + "\n" for item in IMPORTED))
        self.environ = {
            "FORGELORE_EMBEDDER": "openai", "FORGELORE_EMBEDDER_URL": server.v1,
            "FORGELORE_EMBEDDER_MODEL": "nomic-embed-text", "FORGELORE_REQUESTS_PER_SECOND": "100",
            "GITHUB_API_URL": lab.server.api_url, "GITHUB_TOKEN": lab.good_token, "NO_COLOR": "1",
        }  # fmt: skip
        self.answers = None


@pytest.fixture(scope="session")
def forge_and_embedder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("damage")
    with GitHubLab(folder) as lab, EmbeddingServer() as server:
        lab.populate(issues=5, changes=3, discussions=2, releases=1, comments_per_item=2)
        project = lab.project
        bug = project.add_issue("Crash in ChunkCache", "It falls in merge_base. See #1 and #2", labels=["bug", "ui"])
        project.comment(bug, "same as #3, and ChunkCache is full")
        project.comment(1, "Duplicate of #2")
        project.add_issue("Very long", "\n".join(f"Line {at} about slow upload of part {at}" for at in range(120)))
        change = project.add_change("Fix", f"Fixes #{bug}", files=[("renamed", "a b.py", "c.py"), ("added", "d.py")])
        project.review_comment(change, "why?", path="d.py", line=1)
        project.review(change, "see #4", state="CHANGES_REQUESTED")
        yield Original(folder, lab, server)


class Desk:
    """One copy of the store, and the commands that a person runs on it."""

    def __init__(self, original: Original, folder: pathlib.Path, monkeypatch, capsys):
        self.original, self._capsys = original, capsys
        self.path = str(folder / "lore.db")
        for name, value in {**original.environ, "FORGELORE_DB": self.path}.items():
            monkeypatch.setenv(name, value)

    def run(self, *words: str):
        self._capsys.readouterr()
        code = main([*words])
        out, err = self._capsys.readouterr()
        assert "Traceback" not in err
        assert "this is a bug" not in out + err
        return code, out, err

    def data(self, *words: str):
        code, out, _ = self.run(*words, "--json")
        return code, json.loads(out)

    def fetch(self, *, full: bool) -> None:
        assert self.run("sync", "acme/web", *(["--full"] if full else []))[0] == 0

    def load(self) -> None:
        assert self.run("import", self.original.file, "--project", "acme/old")[0] == 0

    def answers(self) -> list:
        return [self._answer(words) for words in QUESTIONS]

    def _answer(self, words: list[str]):
        if words[0] == "export":
            code, out, _ = self.run(*words)
            return code, out
        code, said = self.data(*words)
        data = said.get("data")
        if words[0] == "search" and "lexical" not in words:
            return code, without_ids(data["hits"][0])
        if words[0] == "search":  # documents that are equally good come in the order of their ids
            return code, sorted((hit["project"], hit["ref"], hit["state"], hit["labels"]) for hit in data["hits"])
        return code, without_ids(data)

    def damage(self, act) -> None:
        if not isinstance(act, str):
            act(self.path)
            return
        connection = apsw.Connection(self.path)
        connection.execute("PRAGMA foreign_keys=OFF")
        before = connection.total_changes(), connection.execute("PRAGMA schema_version").get
        connection.execute(act)
        assert (connection.total_changes(), connection.execute("PRAGMA schema_version").get) != before, "did nothing"
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()

    def names(self, found: dict) -> set[str]:
        return {finding["name"] for finding in found["data"]["check"]}


def without_ids(value):
    """Rows that are written again get new numbers of their own, and nobody is shown those."""
    if isinstance(value, dict):
        return {name: without_ids(entry) for name, entry in value.items() if name != "id" and not name.endswith("_id")}
    return [without_ids(entry) for entry in value] if isinstance(value, list) else value


@pytest.fixture
def desk(forge_and_embedder, tmp_path, home, monkeypatch, capsys):
    original = forge_and_embedder
    made = Desk(original, tmp_path, monkeypatch, capsys)
    if original.answers is None:
        made.fetch(full=False)
        made.load()
        assert made.run("dedupe", "intent", "--project", "acme/web")[0] == 0
        store = open_store(made.path)
        with store.transaction():
            save_calibration(store, CalibrationScope(1, "issue", "x"), (1.0, 0.5, 0.9, 100), 500, {}, 1)
        store.run("PRAGMA wal_checkpoint(TRUNCATE)")
        store.close()
        shutil.copy(made.path, original.path)
        original.answers = made.answers()
    for end in ("", "-wal", "-shm"):
        if os.path.exists(made.path + end):
            os.unlink(made.path + end)
    shutil.copy(original.path, made.path)
    return made


def test_the_store_before_any_damage_is_sound_and_has_something_to_lose(desk):
    code, found = desk.data("stats", "--check")
    assert (code, found["data"]["check"]) == (0, [])
    assert all(proof["checked"] == proof["total"] for proof in found["data"]["proofs"][1:]), found["data"]["proofs"]
    assert all(code == 0 for code, _ in desk.original.answers)
    assert all(answer for _, answer in desk.original.answers)


def test_there_are_more_kinds_than_were_tried_from_outside():
    assert len({damage.name for damage in DAMAGES}) == len(DAMAGES) >= 55
    assert set(MEANINGS) == {damage.finds for damage in DAMAGES if damage.finds}


def cases(*outcomes):
    chosen = [damage for damage in DAMAGES if damage.outcome in outcomes]
    return pytest.mark.parametrize("damage", chosen, ids=[damage.name for damage in chosen])


def do_what_is_told(desk: Desk, damage: Damage) -> None:
    if damage.why == "anew":
        for end in ("", "-wal", "-shm"):
            if os.path.exists(desk.path + end):
                os.rename(desk.path + end, desk.path + end + ".broken")
    if damage.why in ("sync", "anew"):
        desk.fetch(full=True)
    if damage.why in ("import", "anew"):
        desk.load()


def assert_as_before(desk: Desk) -> None:
    code, found = desk.data("stats", "--check")
    assert (code, found["data"]["check"]) == (0, [])
    for words, now, before in zip(QUESTIONS, desk.answers(), desk.original.answers, strict=True):
        assert now == before, words


@cases("healed")
def test_damage_is_found_and_healed(desk, damage):
    desk.damage(damage.act)
    code, found = desk.data("stats", "--check")
    assert code == 8
    assert damage.finds in desk.names(found)
    code, repaired = desk.data("stats", "--check", "--repair")
    assert (code, repaired["data"]["check"]) == (0, [])
    assert damage.finds in {repair["name"] for repair in repaired["data"]["repair"]}
    if damage.why:
        assert repaired["warnings"], "what a repair cannot bring back is told"
        do_what_is_told(desk, damage)
    assert_as_before(desk)


@cases("told")
def test_damage_is_found_and_told_with_what_to_do(desk, damage):
    desk.damage(damage.act)
    code, found = desk.data("stats", "--check")
    assert code == 8
    assert damage.finds in desk.names(found)
    code, repaired = desk.data("stats", "--check", "--repair")
    assert code == 8
    assert {"sync": "sync --full", "import": "import", "anew": "keep"}[damage.why] in repaired["error"]["hint"]
    do_what_is_told(desk, damage)
    assert_as_before(desk)


@cases("refused")
def test_a_file_that_cannot_be_opened_is_refused_with_what_to_do(desk, damage):
    desk.damage(damage.act)
    for words in (["stats", "--check", "--repair"], ["search", "crash"], ["doctor", "--offline"]):
        code, _, err = desk.run(*words)
        assert code in (3, 8)
        assert "→" in err
    assert "everything" not in desk.run("doctor", "--offline")[1]


UNSEARCHABLE = {
    **engine_tables.UNSEARCHABLE,
    "items' table dropped": ("DROP TABLE items", "broken references"),
    "documents deleted": ("PRAGMA foreign_keys=ON; DELETE FROM document_texts; DELETE FROM documents", "no documents"),
}


@pytest.mark.parametrize("name", UNSEARCHABLE)
def test_doctor_says_what_keeps_a_store_from_being_searched(desk, name):
    assert "everything needed is in place" in desk.run("doctor", "--offline")[1]
    statement, told = UNSEARCHABLE[name]
    desk.damage(statement)
    code, out, _ = desk.run("doctor", "--offline")
    assert code != 0
    assert told in out
    assert "stats --check" in out
    assert "in place" not in out


def test_doctor_does_not_praise_a_store_without_items_or_with_waiting_ones(desk):
    desk.damage("INSERT INTO jobs (project_id, kind, key, queued_at) SELECT project_id, 'document', id, 0 FROM items")
    code, out, _ = desk.run("doctor", "--offline")
    assert (code, "in place" in out, "cannot be found yet" in out) == (0, False, True)
    os.unlink(desk.path)
    open_store(desk.path).close()
    code, out, _ = desk.run("doctor", "--offline")
    assert (code, "in place" in out, "nothing to search yet" in out) == (0, False, True)
    os.unlink(desk.path)
    assert "in place" not in desk.run("doctor", "--offline")[1]


def test_an_embedder_with_another_fingerprint_looks_like_another_setting(desk):
    """Which of the two it is nobody can tell: the check says why no vector was made again, and `embed` makes all."""
    desk.damage("UPDATE embedders SET fingerprint = 'another'")
    code, found = desk.data("stats", "--check")
    assert code == 0
    assert "is not the configured embedder" in found["data"]["proofs"][-1]["why"]
    assert desk.run("embed")[0] == 0
    assert_as_before(desk)


@cases("unseen")
def test_what_no_check_can_see_has_a_reason_and_breaks_nothing(desk, damage):
    desk.damage(damage.act)
    assert damage.why
    assert desk.run("stats", "--check")[0] == 0
    assert all(code == 0 for code, _ in desk.answers())
