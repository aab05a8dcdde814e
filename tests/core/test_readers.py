"""The rule of access levels by itself: the whole table, and what must hold for words that nobody knows."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forgelore.model import Access, Project, ProjectName
from forgelore.triage.readers import (
    Readers,
    may_index,
    may_index_from,
    may_name,
    possible_readers,
    sure_readers,
    why_not_indexed,
    why_not_indexed_from,
)

VISIBILITIES = ("public", "internal", "private")
LEVELS = ("disabled", "private", "enabled", "public")
N, R, M, S, E = Readers


def project(forge="gitlab", visibility="public", issues="enabled", changes="enabled", repository="enabled"):
    name = ProjectName(forge, "forge.test", "acme/web")
    return Project(name, access=Access(visibility, issues, changes, repository))


# visibility, level -> who surely reads issues, changes, repository; who possibly reads the repository
GITLAB = {
    ("public", "disabled"): (N, N, N, E),
    ("public", "private"): (M, R, M, M),
    ("public", "enabled"): (E, E, E, E),
    ("public", "public"): (E, E, E, E),
    ("internal", "disabled"): (N, N, N, E),
    ("internal", "private"): (M, R, M, M),
    ("internal", "enabled"): (S, S, S, S),
    ("internal", "public"): (S, S, S, E),
    ("private", "disabled"): (N, N, N, E),
    ("private", "private"): (M, R, R, R),
    ("private", "enabled"): (M, R, R, R),
    ("private", "public"): (M, R, R, E),
}


def test_the_table_has_every_level_of_every_visibility():
    assert set(GITLAB) == set(itertools.product(VISIBILITIES, LEVELS))


@pytest.mark.parametrize(("visibility", "level"), GITLAB)
def test_readers_of_a_gitlab_feature(visibility, level):
    told = project("gitlab", visibility, level, level, level)
    sure = tuple(sure_readers(told, feature) for feature in ("issues", "changes", "repository"))
    assert (*sure, possible_readers(told, "repository")) == GITLAB[visibility, level]


@pytest.mark.parametrize(("visibility", "readers"), [("public", E), ("internal", S), ("private", M)])
def test_on_github_whoever_reads_the_repository_reads_the_rest(visibility, readers):
    told = project("github", visibility)
    assert {sure_readers(told, feature) for feature in ("issues", "changes", "repository")} == {readers}
    assert may_index(told, "issue")
    assert may_index(told, "change")
    assert not may_index(project("github", visibility, issues="disabled"), "issue")


@pytest.mark.parametrize(("visibility", "readers"), [("public", E), ("internal", S), ("private", N)])
def test_on_forgejo_units_of_a_private_project_are_for_some_of_its_members(visibility, readers):
    told = project("forgejo", visibility)
    assert {sure_readers(told, feature) for feature in ("issues", "changes", "repository")} == {readers}
    assert may_index(told, "issue") == may_name(told, "change", on="issue") == (visibility != "private")


word = st.one_of(st.none(), st.text(max_size=12), st.sampled_from([*VISIBILITIES, *LEVELS]))


@given(st.sampled_from(["github", "gitlab", "forgejo", "local"]), word, word, word, word)
def test_whatever_the_forge_says_the_answer_is_one_and_doubt_leaves_out(forge, visibility, issues, changes, repository):
    told = project(forge, visibility, issues, changes, repository)
    for kind, level in (("issue", issues), ("change", changes)):
        if visibility not in VISIBILITIES or level not in ("private", "enabled", "public"):
            assert not may_index(told, kind)
            assert not may_index_from(told, kind)
        assert may_name(told, kind, on=kind)
        if may_index_from(told, kind):
            assert visibility == "public"
            assert may_index(told, kind)
        if not may_index(told, kind) and level != "disabled":
            assert "left out" in why_not_indexed(told, kind)
            assert len(why_not_indexed(told, kind)) < 400
    assert isinstance(why_not_indexed_from(told), str)
    for kind in ("discussion", "release"):
        assert not may_index(told, kind)


@given(st.sampled_from(VISIBILITIES), st.sampled_from(LEVELS), st.sampled_from(LEVELS))
def test_a_narrower_level_never_lets_more_in(visibility, repository, changes):
    wide = project("gitlab", visibility, "enabled", changes, repository)
    narrow = project("gitlab", visibility, "private", changes, repository)
    assert may_index(wide, "issue") >= may_index(narrow, "issue")
    assert may_name(wide, "issue", on="change") >= may_name(narrow, "issue", on="change")


def test_below_an_issue_that_guests_read_no_merge_request_is_named_that_they_do_not():
    private = project("gitlab", "private")
    assert may_index(private, "change")
    assert not may_name(private, "change", on="issue")
    assert may_name(private, "issue", on="change")
