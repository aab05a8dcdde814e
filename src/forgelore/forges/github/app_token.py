"""The token of a GitHub App's installation, instead of a person's: made from the app's private key, for an hour at a
time.

    private key -> a signed claim (JWT, RS256, ten minutes) -> which installation -> its token -> requests

The claim is sent to the API that it is for and to no other; so is the token. A token is asked for again five minutes
before it ends, so that no request carries one that is over.
https://docs.github.com/apps/creating-github-apps/authenticating-with-a-github-app/generating-a-json-web-token-jwt-for-a-github-app
"""

import base64
import json
import threading
from collections.abc import Callable, Mapping
from urllib.parse import quote

from msgspec import Struct
from msgspec.json import Decoder

from forgelore.errors import AuthError, ConfigError
from forgelore.net.client import Client, HttpAnswer
from forgelore.net.pages import Int64, read
from forgelore.text.dates import parse_ms

_CLAIM_S, _SKEW_S = 540, 60  # GitHub takes ten minutes at most, and clocks differ
_EARLY_S = 300
_PERMISSIONS = "Contents, Issues, Pull requests and Metadata to read"


class _Installation(Struct):
    id: Int64


class _AccessToken(Struct):
    token: str
    expires_at: str


_INSTALLATION, _ACCESS_TOKEN = Decoder(_Installation), Decoder(_AccessToken)


class InstallationToken:
    """Headers with the token of the installation that covers a project. Threads may share it."""

    def __init__(
        self, app_id: str, key: str, path: str, make_client: "Callable[[Callable[[], Mapping[str, str]]], Client]",
        wall_clock: Callable[[], float],
    ) -> None:  # fmt: skip
        self._app_id, self._sign, self._path, self._wall_clock = app_id, load_key(key), path, wall_clock
        self._client = make_client(self._claim_headers)
        self._guard = threading.Lock()
        self._token, self._ends_s = "", 0.0

    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token()}"}

    def token(self) -> str:
        """Return a token that is good for five minutes or more. Raises AuthError where the app is not installed."""
        with self._guard:
            if self._now_s() > self._ends_s - _EARLY_S:
                self._renew()
            return self._token

    def _now_s(self) -> float:
        server_ms = self._client.server_ms
        return self._wall_clock() if server_ms is None else server_ms / 1000

    def _renew(self) -> None:
        answer = self._client.post_json(f"/app/installations/{self._find_installation()}/access_tokens", {})
        self._check(answer, 201)
        found, _ = read(answer.body, _ACCESS_TOKEN)
        self._token = found.token
        self._ends_s = (parse_ms(found.expires_at) or 0) / 1000

    def _find_installation(self) -> int:
        owner, _, name = self._path.partition("/")
        places = (
            [f"/repos/{quote(owner)}/{quote(name)}"] if name else [f"/orgs/{quote(owner)}", f"/users/{quote(owner)}"]
        )
        for place in places:
            answer = self._client.get(f"{place}/installation")
            if answer.status == 401:  # our clock may be wrong; from this answer on the forge's is known
                answer = self._client.get(f"{place}/installation")
            if answer.status != 404:
                break
        self._check(answer, 200)
        return int(read(answer.body, _INSTALLATION)[0].id)

    def _check(self, answer: HttpAnswer, wanted: int) -> None:
        if answer.status == wanted:
            return
        host = self._client.host
        if answer.status == 404:
            raise AuthError(
                f"the app {self._app_id} is not installed for {self._path} on {host}",
                hint=f"install it there, and give it {_PERMISSIONS}",
            )
        raise AuthError(
            f"{host} refuses the app {self._app_id} (HTTP {answer.status})",
            hint="check FORGELORE_APP_ID, and that the private key is one of this app",
        )

    def _claim_headers(self) -> dict[str, str]:
        now_s = int(self._now_s())
        claim = {"iat": now_s - _SKEW_S, "exp": now_s + _CLAIM_S, "iss": self._app_id}
        signed = f"{_encode({'alg': 'RS256', 'typ': 'JWT'})}.{_encode(claim)}"
        return {"Authorization": f"Bearer {signed}.{_url_safe(self._sign(signed.encode()))}"}


def load_key(text: str) -> Callable[[bytes], bytes]:
    """Return what signs with a private key (PEM). Raises ConfigError for anything else."""
    try:
        from cryptography.hazmat.primitives import hashes, serialization
        from cryptography.hazmat.primitives.asymmetric import padding, rsa
    except ImportError as error:
        raise ConfigError("signing in as an app takes an extra", hint="pip install '.[app]' in a clone") from error
    try:
        key = serialization.load_pem_private_key(text.encode(), password=None)
    except (ValueError, TypeError) as error:  # the message could quote the key
        raise ConfigError(
            "the app's private key cannot be read", hint="use the .pem file that the forge gave you, as it is"
        ) from error.with_traceback(None)
    if not isinstance(key, rsa.RSAPrivateKey):
        raise ConfigError("the app's private key is not an RSA key", hint="make one in the settings of the app")
    return lambda data: key.sign(data, padding.PKCS1v15(), hashes.SHA256())


def _encode(value: object) -> str:
    return _url_safe(json.dumps(value, separators=(",", ":")).encode())


def _url_safe(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
