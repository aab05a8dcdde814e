"""Requests that carry no token: which forge an unknown host is, and files that everybody may read."""

from urllib.parse import urljoin, urlsplit

import httpx

from forgelore.errors import ForgeError, InvalidValue, NotFound
from forgelore.net.client import MAX_REDIRECTS, connect, verify_with
from forgelore.profiles import PROBED, TITLES
from forgelore.text.refs import is_loopback
from forgelore.version import __version__


def probe_forge(root: str, ca_file: str | None) -> str:
    """Return which forge an unknown host is, asked without any token; GitLab answers 401 to strangers, but in JSON."""
    host = urlsplit(root).netloc
    for profile in PROBED:
        try:
            answer = httpx.get(
                root + profile.probe_path, timeout=15, verify=verify_with(ca_file),
                headers={"User-Agent": f"forgelore/{__version__}", "Accept": "application/json"},
            )  # fmt: skip
        except httpx.HTTPError as error:
            hint = "check the address and the network"
            raise ForgeError(f"{host} cannot be reached: {error}", hint=hint) from error
        if answer.status_code in (200, 401, 403) and "json" in answer.headers.get("content-type", ""):
            return profile.name
    hint = "set its kind under [[forges]] in the settings"
    raise InvalidValue(f"{host} does not look like {TITLES}", hint=hint)


def download(url: str, path: str, *, ca_file: str | None, max_bytes: int) -> None:
    """Write what a server gives to everybody to a file: no token is sent, and plain http is for this machine alone."""
    with connect({"User-Agent": f"forgelore/{__version__}"}, ca_file) as http:
        for _ in range(MAX_REDIRECTS + 1):
            host = urlsplit(url).netloc
            if not url.startswith("https://") and not is_loopback(host):
                raise InvalidValue(f"{url} is not an https:// address", hint="nothing is fetched over plain http")
            try:
                with http.stream("GET", url) as response:
                    if response.is_redirect:
                        url = urljoin(url, response.headers.get("location", ""))
                        continue
                    _save(response, path, host, max_bytes)
                    return
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                hint = "check the address and the network"
                raise ForgeError(f"{host} cannot be read: {error}", hint=hint) from error
    raise ForgeError(f"{host} redirects in a loop", hint="use the file's current address")


def _save(response: httpx.Response, path: str, host: str, max_bytes: int) -> None:
    if response.status_code != 200:
        message = f"{host} answered HTTP {response.status_code}"
        raise NotFound(message, hint="only files that everybody may read are fetched; download others by hand")
    size = 0
    with open(path, "wb") as file:
        for part in response.iter_bytes():
            size += len(part)
            if size > max_bytes:
                raise ForgeError(f"{host} sends more than {max_bytes:,} bytes", hint="it is not a packed index")
            file.write(part)
