"""A local GitHub: stateful, over a real socket, faithful in what its real model surprises clients with.

with GitHubServer() as server:
    project = server.add_project("acme/web")
    number = project.add_issue("Crash on start", labels=["bug"])
    ...  # point a client at server.api_url and server.graphql_url
    server.truth("acme/web")  # what a perfect client knows by now
"""

from .access import Token
from .server import GitHubServer

__all__ = ["GitHubServer", "Token"]
