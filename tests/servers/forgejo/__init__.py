"""A local Forgejo: a stateful forge that answers the REST API v1 of Forgejo and Gitea over a real socket."""

from .access import Token
from .server import ForgejoServer

__all__ = ["ForgejoServer", "Token"]
