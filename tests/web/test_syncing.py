"""A served history stays fresh: by the clock, and when a forge says that something happened."""

import hashlib
import hmac
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time

import pytest
from sites import Site, serving

from forgelore.api import Delivery, DeliveryLog, read_delivery
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


def test_a_delivery_outlives_the_server_that_took_it(forge):
    """Killed between the answer and the sync; the next server finds it, without a clock and without the forge's help."""
    number = forge.project.add_issue("Fourth", "It came just before the end", author="zoe")
    env = of_forge(forge) | {"FORGELORE_WEBHOOK_SECRET": SECRET}
    command = [sys.executable, "-m", "forgelore", "serve", "--port", "0", "--sync-every", "0"]
    command += ["--db", str(forge.app.config.db)]
    with subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True) as process:
        site = Site(re.search(r"http://127\.0\.0\.1:\d+", process.stderr.readline())[0])
        address = site.data("/api/v1/projects")[0]["project"]
        assert deliver(site, address).status_code == 202
        os.kill(process.pid, signal.SIGKILL)
    with serve(forge, "--sync-every", "0", FORGELORE_WEBHOOK_SECRET=SECRET) as url:
        wait_for(Site(url), number)


def test_a_delivery_that_comes_again_is_no_other_delivery(forge):
    with serve(forge, "--sync-every", "0", FORGELORE_WEBHOOK_SECRET=SECRET) as url:
        site = Site(url)
        address = site.data("/api/v1/projects")[0]["project"]
        answers = [deliver(site, address, **{"x-github-delivery": one}) for one in ("a", "b", "a", "", "")]
        assert [one.json()["repeated"] for one in answers] == [False, False, True, False, False]


@pytest.mark.parametrize("torn", ["", "+ x https://forge.te"])
def test_the_file_of_deliveries_knows_what_waits_and_what_came(tmp_path, torn):
    path = tmp_path / "deliveries"
    log = DeliveryLog(str(path))
    for at, address in enumerate("abab", 1):
        assert log.add(Delivery(str(at), address)).result(5)
    begun = log.waiting()
    assert log.add(Delivery("5", "a")).result(5)  # while the sync of `a` runs
    for address, line in begun.items():
        log.settle(address, line)
    log.close()
    with path.open("a", encoding="utf-8") as file:
        file.write(torn)
    again = DeliveryLog(str(path))
    assert list(again.waiting()) == ["a"]
    assert not again.add(Delivery("3", "a")).result(5)
    assert again.add(Delivery("6", "b\n- 99 a")).result(5)  # an address is one word
    again.settle("a", again.waiting()["a"])
    again.close()
    last = DeliveryLog(str(path))
    assert list(last.waiting()) == ["b-99a"]
    last.close()


def test_deliveries_of_many_threads_are_all_kept(tmp_path):
    log = DeliveryLog(str(tmp_path / "deliveries"))
    kept = []
    threads = [
        threading.Thread(target=lambda at=at: kept.extend(log.add(Delivery(f"{at}-{n}", f"p{at}")) for n in range(100)))
        for at in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(one.result(10) for one in kept)
    log.close()
    again = DeliveryLog(str(tmp_path / "deliveries"))
    assert len(again.waiting()) == 8
    assert not any(again.add(Delivery(f"{at}-{n}", "x")).result(5) for at in range(8) for n in range(100))
    again.close()


@pytest.mark.parametrize("profile", PROFILES.values(), ids=lambda one: one.name)
def test_a_delivery_is_believed_when_it_was_made_with_the_secret(profile):
    """Signed by two forges, sent along by the third."""
    signature = hmac.new(SECRET.encode(), BODY, hashlib.sha256).hexdigest()
    given = SECRET if profile.hook_prefix is None else profile.hook_prefix + signature
    headers = {profile.hook_header: given, profile.hook_id: "9f3c"}
    assert read_delivery(headers, BODY, SECRET) == Delivery("9f3c", "https://forge.test/acme/web")
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
