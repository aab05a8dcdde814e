"""Matches with their evidence: order, similarity, chance; in a project of three issues and in one of hundreds."""

import io
import json

import pytest
from hashed import HashedEmbedder

from forgelore.app import App
from forgelore.compare.calibrate import build_sample, learn_boilerplate, rank_earlier, remember_strengths
from forgelore.compare.calibration import MIN, load_shipped
from forgelore.compare.rank import CompareRequest, rank_matches
from forgelore.compare.reference import FEW_ITEMS, load_distribution, scope_of
from forgelore.compare.trees import VERSION
from forgelore.index.update import index_items
from forgelore.index.vectors import embed_documents
from forgelore.records import BestMatch
from forgelore.search.retriever import Retriever
from forgelore.store.calibration import load_boilerplate, load_strengths
from forgelore.store.filters import Filters
from forgelore.store.hits import load_subject
from forgelore.store.sqlite.fulltext import load_document_counts, make_stems
from forgelore.sync.archive import import_lines
from forgelore.viewer import EVERYTHING

CRASH = (
    "App crashes when saving a file with a long name",
    "Open the editor, type a file name longer than 255 characters, save: it crashes with `OSError: File name too long`.",
)
FIRST = {
    1: CRASH,
    2: ("Add dark mode to the settings page", "A dark theme would be great. Please add a switch under Settings."),
    3: ("Search finds no accented characters", "Searching for 'café' gives nothing, normalization is missing."),
}
NEARLY = (
    "App crashes when saving file with very long name",
    "Type a file name longer than 255 characters in the editor, save: crashes with `OSError: File name too long`.",
)
OTHER = ("Export to PDF ignores page margins", "The margins of the print dialog are ignored and the text is cut.")


class Project:
    """A tracker that items are filed into one by one."""

    def __init__(self, folder, embedder):
        self.app = App({"HOME": str(folder)}, cwd=str(folder), db=str(folder / "p.db"), viewer=EVERYTHING)
        self.store = self.app.store(create=True)
        self.embedder = self.app.embedder(embedder)
        self.retriever = Retriever(self.store, self.embedder)

    def file(self, items, kind="issue"):
        rows = [
            {"kind": kind, "number": number, "title": title, "body": body, "created_at": f"20{number // 300 + 20}-"
             f"{number // 25 % 12 + 1:02}-{number % 25 + 1:02}T00:00:00Z"}
            for number, (title, body) in items.items()
        ]  # fmt: skip
        import_lines(self.store, self.app.parse_project("p"), io.BytesIO("\n".join(map(json.dumps, rows)).encode()), 0)
        index_items(self.store, [1])
        if self.embedder:
            embed_documents(self.store, self.embedder, [1])

    def subject(self, number, kind="issue"):
        return load_subject(
            self.store, self.store.value("SELECT id FROM items WHERE number = ? AND kind = ?", number, kind)
        )

    def rank(self, number, kind="issue", types=("issue",)):
        subject = self.subject(number, kind)
        return rank_matches(self.retriever, CompareRequest(subject, Filters(types=types, not_items=(subject.item_id,))))


@pytest.fixture(params=["lore", "none"])
def small(request, tmp_path):
    project = Project(tmp_path, request.param)
    project.file(FIRST)
    yield project
    project.app.close()


@pytest.fixture
def lore(tmp_path):
    project = Project(tmp_path, "lore")
    yield project
    project.app.close()


def best(ranking):
    return ranking.matches[0].hit.row.number, ranking.matches[0].similarity


def test_the_fourth_issue_of_a_project_is_recognised_as_the_first_again(small):
    small.file({4: NEARLY})
    number, similarity = best(small.rank(4))
    assert number == 1
    assert similarity >= 0.92
    assert {quote.what for quote in small.rank(4).matches[0].quotes} >= {"error", "title"}


def test_once_it_is_edited_to_say_something_else_nothing_is_near(small):
    small.file({4: NEARLY})
    small.file({4: OTHER})
    assert all(match.similarity < 0.75 for match in small.rank(4).matches)


def test_a_change_is_related_to_an_issue_and_no_chance_is_told_of_that(lore):
    lore.file(FIRST)
    lore.file(
        {5: ("Dark theme for the settings page", "Adds a dark theme and a switch under Settings.")}, kind="change"
    )
    ranking = lore.rank(5, "change")
    assert best(ranking)[0] == 2
    assert ranking.chance is None
    assert ranking.scope is None


def test_equal_texts_are_nearly_certain_to_be_alike(small):
    small.file({4: (CRASH[0].upper(), CRASH[1] + "\n")})
    assert best(small.rank(4)) == (1, pytest.approx(0.995, abs=0.006))


def test_empty_forms_are_not_alike_because_both_are_empty(small):
    small.file({4: (".", ""), 5: (".", "")})
    assert all(match.similarity < 0.99 for match in small.rank(5).matches)


def test_without_vectors_the_words_decide_and_it_is_said(small):
    small.file({4: NEARLY})
    ranking = small.rank(4)
    is_lexical = small.embedder is None
    assert ranking.mode == ("lexical" if is_lexical else "hybrid")
    assert bool(ranking.warnings) is is_lexical
    assert ranking.scope.model.startswith("words" if is_lexical else "lore")
    assert ranking.chance.source == "shipped"


def test_strengths_are_in_order_and_similarity_follows_them(retriever):
    subject = load_subject(
        retriever.store, retriever.store.value("SELECT id FROM items WHERE number = 154 AND kind = 'issue'")
    )
    matches = rank_matches(
        retriever, CompareRequest(subject, Filters(types=("issue",), not_items=(subject.item_id,)))
    ).matches
    strengths = [match.strength for match in matches]
    assert strengths == sorted(strengths, reverse=True)
    assert [match.similarity for match in matches] == sorted((m.similarity for m in matches), reverse=True)


def test_an_embedder_nobody_measured_gets_a_model_that_looks_at_no_cosine(retriever):
    assert scope_of(retriever, 1, "issue").model == f"other {VERSION} hashed words 64"


WORDS = ("amber", "birch", "cedar", "delta", "ember", "flint", "grove", "haven", "inlet", "jetty", "knoll", "larch", "maple", "nimbus", "otter", "pine", "quartz", "river")  # fmt: skip


def many(count):
    """Items about something of their own each, in one form."""
    return {
        number: (
            f"{WORDS[number % 18]} {WORDS[number // 18 % 18]} widget{number}",
            f"### Steps to reproduce\nuse {WORDS[number * 7 % 18]} with {WORDS[number * 5 % 18]} and part{number}",
        )
        for number in range(1, count + 1)
    }


@pytest.fixture
def large(tmp_path):
    project = Project(tmp_path, "none")
    project.file(many(FEW_ITEMS + 40))
    yield project
    project.app.close()


def test_the_sample_is_of_the_newest_items_and_grows_to_its_size_only(large):
    assert build_sample(large.retriever, 1, "issue", size=120) == 120
    assert build_sample(large.retriever, 1, "issue", size=120) == 0
    oldest = large.store.value("SELECT min(i.number) FROM nearest_strengths s JOIN items i ON i.id = s.item_id")
    assert oldest == FEW_ITEMS + 40 - 120 + 1


def test_a_project_gets_a_distribution_of_its_own_with_its_sample(large):
    scope = scope_of(large.retriever, 1, "issue")
    assert load_distribution(large.store, scope) == load_shipped("words")[0]
    build_sample(large.retriever, 1, "issue", size=MIN - 1)
    assert load_distribution(large.store, scope).source == "shipped"
    build_sample(large.retriever, 1, "issue", size=MIN)
    assert load_distribution(large.store, scope).source == "project"


def test_every_item_that_is_looked_at_joins_the_sample_once(large):
    subject = large.subject(200)
    ranking = rank_earlier(large.retriever, subject)
    for _ in range(2):
        assert remember_strengths(large.store, [(subject, ranking)]) == 1
    scope = scope_of(large.retriever, 1, "issue")
    assert load_strengths(large.store, scope, limit=9) == [BestMatch(ranking.matches[0].strength, is_open=True)]


def test_a_ranking_across_kinds_is_no_part_of_the_sample(large):
    ranking = large.rank(200, types=("issue", "change"))
    assert remember_strengths(large.store, [(large.subject(200), ranking)]) == 0


def test_only_earlier_items_count_for_the_sample(large):
    subject = large.subject(200)
    first = rank_earlier(large.retriever, subject).matches[0]
    assert first.hit.row.created_at < subject.created_at


def test_lines_of_the_template_are_learned_once_and_again_when_the_project_has_grown(large):
    assert learn_boilerplate(large.store, 1) == 1
    assert learn_boilerplate(large.store, 1) == 0
    assert len(load_boilerplate(large.store, 1, "issue")) == 1
    large.file({number: item for number, item in many(400).items() if number > FEW_ITEMS + 40})
    assert learn_boilerplate(large.store, 1) == 1


def test_a_shared_template_is_no_likeness(large):
    """Two reports that share nothing but their form."""
    form = "### Steps to reproduce\n"
    large.file({300: ("zebra", form + "apple"), 301: ("yacht", form + "lemon")})
    learn_boilerplate(large.store, 1, is_forced=True)
    assert 300 not in [match.hit.row.number for match in large.rank(301).matches]


def test_what_was_remembered_of_one_embedder_is_not_used_for_another(large):
    build_sample(large.retriever, 1, "issue", size=MIN)
    embedder = HashedEmbedder()
    embed_documents(large.store, embedder, [1])
    assert load_distribution(large.store, scope_of(Retriever(large.store, embedder), 1, "issue")).source == "shipped"


def test_words_are_in_as_many_documents_as_a_loop_over_all_texts_counts(demo):
    stems = [*make_stems(demo)("the lantern daemon deletes files of zzqx and Ünïcode"), "", "'\"*"]
    split = make_stems(demo)
    texts = [set(split("\n".join(row))) for row in demo.rows("SELECT title, text, terms FROM document_texts")]
    counts = {stem: count for stem in stems if (count := sum(stem in words for words in texts))}
    assert counts
    assert load_document_counts(demo, stems) == counts
