"""One process that has imported everything, for the commands of all crash tests to be forked from."""

import pytest

from crash.killing import Forker


@pytest.fixture(scope="session")
def forker():
    with Forker() as found:
        yield found
