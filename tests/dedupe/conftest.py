"""Forges with a project that ana maintains, for what closes and opens again."""

import pytest


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def lab(request):
    """Each local forge; ana's token may write, and she is its maintainer."""
    lab = request.getfixturevalue(request.param)
    if request.param == "gitlab":
        lab.server.tokens[lab.good_token].scopes = ("api",)
        lab.project.add_member("ana", 40)
    else:
        lab.project.add_collaborator("ana", "admin")
    return lab


@pytest.fixture
def closing(lab):
    from dedupe.closing_lab import ClosingLab

    return ClosingLab(lab)
