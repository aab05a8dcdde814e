"""Webhooks: that something happened in a project, as its forge says. What happened is read from the forge itself.

A delivery is believed when it was made with our secret: signed over its raw bytes, or carrying it, as forges differ. It
names a project and nothing else that is used, so that a repeated, late or reordered one does no harm, and one that is
lost is made good by the next sync.
"""

import hashlib
import hmac
from collections.abc import Mapping

from msgspec import DecodeError, Struct, ValidationError, json

from forgelore.errors import AuthError, InvalidValue
from forgelore.profiles import PROFILES

MIN_SECRET = 16  # characters


class _Place(Struct, frozen=True):
    html_url: str = ""
    web_url: str = ""


class _Delivery(Struct, frozen=True):
    repository: _Place = _Place()
    project: _Place = _Place()


def read_delivery(headers: Mapping[str, str], body: bytes, secret: str) -> str:
    """Return the address of the project that a webhook is about. `headers`: their names in lower case. Raises AuthError
    for one that was not made with the secret, InvalidValue for one that names no project.
    """
    if not any(
        _is_signed(headers.get(one.hook_header, ""), one.hook_prefix, body, secret) for one in PROFILES.values()
    ):
        raise AuthError("this delivery was not made with the secret of this server", hint="set the same secret there")
    try:
        found = json.decode(body, type=_Delivery)
    except (DecodeError, ValidationError, RecursionError) as error:
        raise InvalidValue("this delivery is not JSON of a forge", hint="choose application/json there") from error
    address = found.project.web_url or found.repository.html_url
    if not address:
        raise InvalidValue("this delivery names no project")
    return address


def _is_signed(given: str, prefix: str | None, body: bytes, secret: str) -> bool:
    """Compare in a time that does not tell how near it comes."""
    wanted = secret if prefix is None else prefix + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(given.encode(errors="replace"), wanted.encode())
