"""Agents of one database, each with a server of its own."""

import pytest
from talking import make_store, over_http, over_stdio


@pytest.fixture(scope="session")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="session")
def store(place):
    """A database with hidden items, planted instructions and long texts."""
    return make_store(place)


@pytest.fixture(scope="session", params=[over_stdio, over_http])
def agent(request, store, place):
    """An agent of the server as it is started by default, over both transports."""
    with request.param(store, place) as found:
        yield found


@pytest.fixture(scope="session")
def member(store, place):
    """An agent of a server that was started by somebody who wants it to see everything."""
    with over_stdio(store, place, "--include-internal") as found:
        yield found
