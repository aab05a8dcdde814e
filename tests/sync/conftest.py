"""What the tests of sync share."""

import pytest


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def lab(request):
    """Each claim holds on every forge."""
    return request.getfixturevalue(request.param)
