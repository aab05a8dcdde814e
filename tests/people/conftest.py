"""A synced project with people in it, on every forge."""

import pytest

from people.office import Office


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def office(request):
    return Office(request.getfixturevalue(request.param))
