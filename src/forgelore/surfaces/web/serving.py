"""How the web page is served: on this machine, until a signal ends it."""

import signal
from collections.abc import Callable
from typing import TYPE_CHECKING

from forgelore.errors import ConfigError

if TYPE_CHECKING:
    from forgelore.surfaces.web.app import Pools
    from forgelore.surfaces.web.guard import Access

PORT = 8788
_PATIENCE_S = 3  # for open answers when the server ends
_REQUEST_S = 20.0  # from the first byte of a request to its last
# Python looks for cycles after so many new objects. By default after every 700, which took 8 % of a search.
_CYCLES = (20_000, 20, 50)
_NEEDED = ("starlette", "uvicorn", "jinja2", "markdown_it", "nh3")


def check_installed() -> None:
    """Refuse to go on without the libraries of the page, which are an extra."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in _NEEDED):
        raise ConfigError("the web page is an extra that is not installed", hint="pip install '.[web]' in a clone")


def serve(
    pools: "Pools", access: "Access", port: int, *, db: str, address: str, sync_every_s: float,
    on_ready: Callable[[str], None],
) -> None:  # fmt: skip
    """Serve the page on the loopback address. `address`: what a reverse proxy before it is called, if there is one.
    `sync_every_s`: 0 leaves projects as they are, unless a webhook says otherwise. Deliveries wait beside `db`.
    """
    import gc

    import uvicorn

    from forgelore.api import DeliveryLog
    from forgelore.surfaces.mcp.http import listen, make_protocol
    from forgelore.surfaces.web.app import make_app
    from forgelore.surfaces.web.guard import local_origins
    from forgelore.surfaces.web.syncing import Hooks, Syncer, read_secret

    gc.set_threshold(*_CYCLES)
    secret = read_secret()
    log = DeliveryLog(f"{db}-deliveries") if secret else None
    syncer = Syncer(pools, sync_every_s, log)
    listener = listen(port)
    port = int(listener.getsockname()[1])
    hooks = Hooks(secret, pools, syncer, log) if log else None
    app = make_app(pools, access, local_origins(port, address), hooks=hooks)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, ws="none", http=make_protocol(_REQUEST_S),
        timeout_graceful_shutdown=_PATIENCE_S, proxy_headers=False,
    )  # fmt: skip
    before = {number: signal.signal(number, _do_nothing) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        on_ready(address or f"http://127.0.0.1:{port}")
        syncer.thread.start()
        uvicorn.Server(config).run(sockets=[listener])
    finally:
        syncer.stop()
        if log:
            log.close()
        for number, handler in before.items():
            signal.signal(number, handler)


def _do_nothing(_signal: int, _frame: object) -> None:
    return
