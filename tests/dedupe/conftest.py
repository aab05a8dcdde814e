"""Forges with a project that ana maintains, for what closes and opens again."""

import pytest

from dedupe.closing_lab import ClosingLab, let_ana_write


@pytest.fixture(params=("github", "gitlab", "forgejo"))
def lab(request):
    """Each local forge; ana's token may write, and she is its maintainer."""
    lab = request.getfixturevalue(request.param)
    let_ana_write(lab)
    return lab


@pytest.fixture
def closing(lab):
    return ClosingLab(lab)
