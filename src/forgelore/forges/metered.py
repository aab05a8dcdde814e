"""The meter of a forge: requests made and left, and the server's clock. Its one client counts them, whichever forge."""

from forgelore.net.client import Client


class MeteredForge:
    """`ForgeMeter` of ports, for every forge that talks through one client."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def close(self) -> None:
        self._client.close()

    def requests(self) -> int:
        return self._client.requests

    def requests_left(self) -> int | None:
        return self._client.requests_left

    def server_ms(self) -> int | None:
        return self._client.server_ms
