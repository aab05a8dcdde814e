"""Which forge an unknown host is: asked once, without any token, of pages that each shows to everybody."""

import httpx

from forgelore.errors import ForgeError, InvalidValue
from forgelore.net.client import verify_with
from forgelore.profiles import PROBED, TITLES
from forgelore.text.refs import web_root
from forgelore.version import __version__


def probe_forge(host: str, ca_file: str | None) -> str:
    """Return the kind of server; GitLab answers 401 to strangers, but in JSON."""
    for profile in PROBED:
        try:
            answer = httpx.get(
                web_root(host) + profile.probe_path, timeout=15, verify=verify_with(ca_file),
                headers={"User-Agent": f"forgelore/{__version__}", "Accept": "application/json"},
            )  # fmt: skip
        except httpx.HTTPError as error:
            hint = "check the address and the network"
            raise ForgeError(f"{host} cannot be reached: {error}", hint=hint) from error
        if answer.status_code in (200, 401, 403) and "json" in answer.headers.get("content-type", ""):
            return profile.name
    hint = "name its kind under [[forges]] in the settings"
    raise InvalidValue(f"{host} does not look like {TITLES}", hint=hint)
