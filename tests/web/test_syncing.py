"""A served history stays fresh: by the clock, and when a forge says that something happened."""

import hashlib
import hmac
import json
import time

import pytest
from sites import Site, serving

from forgelore.api import read_delivery
from forgelore.errors import AuthError, InvalidValue
from forgelore.profiles import PROFILES
from meta.test_journeys import of_forge
from support import GitHubLab

SECRET = "a-secret-of-the-server"
PATIENCE_S = 60
BODY = b'{"action": "opened", "repository": {"html_url": "https://forge.test/acme/web"}}'


@pytest.fixture(scope="module")
def forge(tmp_path_factory):
    with GitHubLab(tmp_path_factory.mktemp("forge")) as lab:
        lab.project.add_issue("First", "It was there", author="zoe")
        lab.sync()
        yield lab


def serve(forge, *words, **more):
    env = {name: value for name, value in of_forge(forge).items() if name not in ("PATH", "HOME", "FORGELORE_DB")}
    return serving(forge.app.config.db, forge.folder, *words, **env, **more)


def wait_for(site, number):
    until = time.monotonic() + PATIENCE_S
    while site.get(f"/item/%23{number}").status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.1)


def deliver(site, address, *, secret=SECRET, **headers):
    body = json.dumps({"action": "opened", "repository": {"html_url": address}}).encode()
    signature = "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    return site.client.post("/hooks", content=body, headers={"x-hub-signature-256": signature} | headers)


def test_what_a_webhook_names_is_synced_and_nothing_else_is_believed(forge):
    with serve(forge, "--sync-every", "0", FORGELORE_WEBHOOK_SECRET=SECRET) as url:
        site = Site(url)
        address = site.data("/api/v1/projects")[0]["project"]
        number = forge.project.add_issue("Second", "It came later", author="zoe")
        assert deliver(site, address, secret="another-secret-of-somebody").status_code == 401
        assert deliver(site, "https://forge.test/acme/other").status_code == 404
        assert site.get(f"/item/%23{number}").status_code == 404
        for _ in range(20):  # repeated deliveries are one sync
            assert deliver(site, address).status_code == 202
        wait_for(site, number)


def test_projects_are_synced_by_the_clock(forge):
    number = forge.project.add_issue("Third", "It came while nobody looked", author="zoe")
    with serve(forge, "--sync-every", "60") as url:
        wait_for(Site(url), number)  # at the start: what happened while the server was away


def test_without_a_secret_no_webhook_is_taken(forge):
    with serve(forge, "--sync-every", "0") as url:
        assert deliver(Site(url), "https://forge.test/acme/web").status_code in (404, 405)


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda one: one.name)
def test_a_delivery_is_believed_when_it_was_made_with_the_secret(profile):
    """Signed by two forges, sent along by the third."""
    signature = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
    given = SECRET if profile.hook_prefix is None else profile.hook_prefix + signature
    assert read_delivery({profile.hook_header: given}, BODY, SECRET) == "https://forge.test/acme/web"
    for wrong in ("", given[:-1], given + "0", given.upper() + "x", "é"):
        with pytest.raises(AuthError):
            read_delivery({profile.hook_header: wrong}, BODY, SECRET)
    with pytest.raises(AuthError):
        read_delivery({profile.hook_header: given}, BODY + b" ", SECRET + "x")


@pytest.mark.parametrize("body", [b"", b"payload=%7B%7D", b"[]", b"{}", b'{"repository": 3}', b"\xff", b"[" * 100_000])
def test_a_delivery_that_names_no_project_is_refused(body):
    given = "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest()
    with pytest.raises(InvalidValue):
        read_delivery({"x-hub-signature-256": given}, body, SECRET)
