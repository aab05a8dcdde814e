"""A first sync brings everything: what the store says afterwards is what the forge knows."""

import pytest


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_first_sync_of_github_equals_the_forge(github, seed):
    github.populate(seed=seed, issues=25, changes=12, discussions=6, releases=4)
    github.sync()
    github.assert_same()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_first_sync_of_gitlab_equals_the_forge(gitlab, seed):
    gitlab.populate(seed=seed, issues=25, changes=12, releases=4)
    gitlab.sync()
    gitlab.assert_same()


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_first_sync_of_forgejo_equals_the_forge(forgejo, seed):
    forgejo.populate(seed=seed, issues=25, changes=12, releases=4)
    forgejo.sync()
    forgejo.assert_same()
