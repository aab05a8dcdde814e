"""A local GitLab: a stateful, independent forge that answers the REST API v4 over a real socket."""

from .records import Token
from .server import GitLabServer

__all__ = ["GitLabServer", "Token"]
