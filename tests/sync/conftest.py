"""What the tests of sync share."""

import pytest


@pytest.fixture(params=["github", "gitlab"])
def lab(request):
    """Each claim holds on both forges."""
    return request.getfixturevalue(request.param)
