"""The library's client, with proxies and certificates from the environment, in our words when they are wrong."""

import contextlib
from collections.abc import Mapping
from typing import Any

import httpx

from forgelore.errors import ConfigError

TIMEOUT = httpx.Timeout(60.0, connect=15.0)


def connect(headers: Mapping[str, str], ca_file: str | None, timeout: httpx.Timeout = TIMEOUT) -> httpx.Client:
    """Return the library's client; proxies and certificates come from the environment, in our words when they are
    wrong.
    """
    verify = verify_with(ca_file)
    try:
        return httpx.Client(headers=headers, timeout=timeout, follow_redirects=False, verify=verify)
    except (ValueError, ImportError, httpx.InvalidURL) as error:
        raise ConfigError(
            "the proxy in HTTP_PROXY, HTTPS_PROXY or ALL_PROXY is not usable", hint="write http://HOST:PORT"
        ) from error
    except OSError as error:
        raise ConfigError(
            "cannot read the certificates of SSL_CERT_FILE or SSL_CERT_DIR", hint="check the path"
        ) from error


def verify_with(ca_file: str | None) -> Any:
    """Return what httpx takes as `verify`: a context with the given authority, or True."""
    if not ca_file:
        return True
    import ssl

    with contextlib.suppress(OSError):
        return ssl.create_default_context(cafile=ca_file)
    raise ConfigError(f"cannot read the certificate file {ca_file}", hint="check ca_file in the settings")
