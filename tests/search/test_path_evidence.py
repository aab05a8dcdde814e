"""Changes of the same files are nearer: the rarer the files, the more; what is not known changes nothing."""

import json

import pytest

from forgelore.app import App
from forgelore.compare.evidence import path_bonus
from forgelore.compare.rank import CompareRequest, rank_matches
from forgelore.index.update import index_items
from forgelore.search.retriever import Retriever
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.store.paths import count_changes_by_path
from forgelore.surfaces.present.find import why
from forgelore.sync.archive import import_lines

COMMON = "CHANGELOG.md"
TITLE, BODY = "Round taxes as the law says", "Cents were lost when taxes of several rates were added."


def line(number, files, title=TITLE, body=BODY, kind="change"):
    made = {
        "kind": kind,
        "number": number,
        "title": title,
        "body": body,
        "created_at": f"2026-03-{number:02}T12:00:00Z",
    }
    return json.dumps({**made, "files": files} if files else made).encode()


@pytest.fixture
def project(tmp_path):
    """project(lines) -> a retriever over them; no vectors, so that words alone and files decide."""
    apps = []

    def build(*lines):
        app = App({"HOME": str(tmp_path)}, cwd=str(tmp_path), db=str(tmp_path / f"{len(apps)}.db"))
        apps.append(app)
        import_lines(app.store(create=True), app.parse_project("local/tracker"), lines, 0)
        index_items(app.store(), [1])
        return Retriever(app.store(), None)

    yield build
    for app in apps:
        app.close()


def rank(retriever, number, kind="change"):
    store = retriever.store
    subject = load_subject(store, store.value("SELECT id FROM items WHERE number = ? AND kind = ?", number, kind))
    filters = Filters(types=(kind,), not_items=(subject.item_id,))
    return rank_matches(retriever, CompareRequest(subject, filters, "lexical")).matches


ORDINARY = [
    line(at, [COMMON, f"src/other/{at}.py"], f"Ordinary change {at}", f"Words of part {at}.") for at in range(1, 9)
]


def test_of_two_equal_texts_the_one_that_shares_rare_files_comes_first(project):
    for order in (("src/tax.py", "src/elsewhere.py"), ("src/elsewhere.py", "src/tax.py")):
        first, second = line(11, [COMMON, order[0]], body=BODY + " a"), line(12, [COMMON, order[1]], body=BODY + " b")
        found = rank(project(*ORDINARY, first, second, line(20, [COMMON, "src/tax.py"], body=BODY + " c")), 20)
        shares = {match.hit.row.number: match for match in found[:2]}
        near, far = (shares[11], shares[12]) if order[0] == "src/tax.py" else (shares[12], shares[11])
        assert near is found[0]
        assert near.features["shared_paths"] > 10 * far.features["shared_paths"]


def test_what_both_change_is_told_and_what_everybody_changes_is_not(project):
    everybody = [line(at, [COMMON], f"Ordinary change {at}", f"Words of part {at}.") for at in range(1, 9)]
    again = line(
        20, [COMMON, {"new_path": "src/vat.py", "old_path": "src/tax.py", "status": "renamed"}], body=BODY + " c"
    )
    (match, *_) = rank(project(*everybody, line(11, [COMMON, "src/tax.py"]), again), 20)
    files = [quote for quote in match.quotes if quote.what == "file"]
    assert [(quote.text, quote.other) for quote in files] == [("src/tax.py", "src/tax.py")]
    assert "both change: src/tax.py" in why((match.hit, match))


def test_files_that_are_not_known_change_no_number(project):
    lines = [*ORDINARY, line(11, []), line(12, ["src/tax.py"], body=BODY + " b")]
    found = {
        match.hit.row.number: match for match in rank(project(*lines, line(20, ["src/tax.py"], body=BODY + " c")), 20)
    }
    without = {match.hit.row.number: match for match in rank(project(*lines, line(20, [], body=BODY + " c")), 20)}
    assert "shared_paths" not in found[11].features
    assert found[11].strength == without[11].strength
    bonus = path_bonus(found[12].features)
    assert found[12].strength == pytest.approx(without[12].strength + bonus)
    assert bonus > 0.1


def test_an_issue_has_no_files_to_share(project):
    lines = [line(at, [], body=f"{BODY} {at}", kind="issue") for at in (1, 2)]
    assert "shared_paths" not in rank(project(*lines, line(11, ["src/tax.py"])), 2, "issue")[0].features


def test_counting_changes_of_a_path_reads_an_index_alone(project):
    store = project(*ORDINARY).store
    assert count_changes_by_path(store, 1, [COMMON, "src/other/1.py", "none"]) == {
        COMMON: 8,
        "src/other/1.py": 1,
        "none": 0,
    }
    for column in ("new_path", "old_path"):
        sql = f"EXPLAIN QUERY PLAN SELECT count(*) FROM item_files WHERE project_id = 1 AND {column} = 'x'"
        assert f"USING COVERING INDEX item_files_by_{column}" in store.rows(sql)[0][3]


def test_a_change_of_the_same_rare_files_is_compared_though_it_shares_no_word(project):
    files = ["src/tax.py", "src/vat.py"]
    ours = line(20, files, "Cents vanish", "Halves go upwards.")
    theirs = line(11, files, "Honour the law", "Nothing is lost any more.")
    one_file = line(12, files[:1], "Name a constant", "Easier to read.")
    retriever = project(*ORDINARY, ours, theirs, one_file)
    found = {match.hit.row.number: match for match in rank(retriever, 20)}
    assert 11 in found
    assert 12 not in found
    assert {quote.text for quote in found[11].quotes if quote.what == "file"} == {*files}
    store = retriever.store
    subject = load_subject(store, store.value("SELECT id FROM items WHERE number = 20"))
    hidden = store.value("SELECT id FROM items WHERE number = 11")
    filters = Filters(types=("change",), not_items=(subject.item_id, hidden))
    left = rank_matches(retriever, CompareRequest(subject, filters, "lexical")).matches
    assert 11 not in [match.hit.row.number for match in left]
