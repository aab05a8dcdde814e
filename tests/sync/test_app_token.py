"""A GitHub App instead of a person's token: the local GitHub checks the claim, and knows which tokens it gave."""

import base64
import json

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

from forgelore.config import find_app
from forgelore.errors import AuthError, ConfigError
from servers.github.apps import App
from support import GitHubLab

HOUR_S = 3600


def pem(key):
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, form, plain).decode()


def public(key):
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return key.public_key().public_bytes(serialization.Encoding.PEM, form).decode()


@pytest.fixture(scope="module")
def key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


@pytest.fixture
def lab(tmp_path, key):
    with GitHubLab(tmp_path) as found:
        found.populate()
        found.server.apps.append(App(4711, public(key), {"acme": 99}))
        found.server.require_auth = True
        found.time.skew_s = found.server.clock.now().timestamp() - found.time.wall_clock()
        found.seen, handle = [], found.server.handle

        def note(request):
            found.seen.append((request.path, request.headers.get("authorization", "").removeprefix("Bearer ")))
            return handle(request)

        found.server.handle = note
        yield found


def app_of(lab, key, **more):
    lab.seen.clear()
    return lab.new_app("", FORGELORE_APP_ID="4711", **({"FORGELORE_APP_KEY": pem(key)} | more))


def bearers(lab):
    """Path and token of each request; the server's own record hides them."""
    return lab.seen


def test_a_project_is_synced_with_the_token_of_the_installation(lab, key):
    app = app_of(lab, key)
    lab.sync(app)
    lab.assert_same(app)
    (made,) = lab.server.apps[0].made
    asked = bearers(lab)
    claims = [path for path, given in asked if given.count(".") == 2]
    assert claims == ["/repos/acme/web/installation", "/app/installations/99/access_tokens"]
    assert {given for path, given in asked if path not in claims} == {made}


def test_the_claim_lives_ten_minutes_at_most_and_names_the_app(lab, key):
    lab.sync(app_of(lab, key))
    claim = next(given for _, given in bearers(lab) if given.count(".") == 2)
    head, body = (json.loads(base64.urlsafe_b64decode(part + "==")) for part in claim.split(".")[:2])
    assert (head["alg"], body["iss"]) == ("RS256", "4711")
    assert body["exp"] - body["iat"] <= 600


def test_a_token_is_made_anew_before_it_ends(lab, key):
    app = app_of(lab, key)
    lab.sync(app)
    lab.time.sleep(HOUR_S - 240)
    lab.project.add_issue("Late", "It came within the last minutes of the token", author="zoe")
    lab.sync(app)
    first, second = lab.server.apps[0].made
    assert bearers(lab)[-1][1] == second != first
    lab.assert_same(app)


def test_a_clock_that_is_wrong_does_not_matter(lab, key):
    lab.time.skew_s += 7_000.0
    app = app_of(lab, key)
    lab.sync(app)
    assert len(lab.server.apps[0].made) == 1


def test_the_key_may_lie_in_a_file_or_on_one_line(lab, key, tmp_path):
    path = tmp_path / "app.pem"
    path.write_text(pem(key), encoding="utf-8")
    lab.sync(app_of(lab, key, FORGELORE_APP_KEY="", FORGELORE_APP_KEY_FILE=str(path)))
    lab.sync(app_of(lab, key, FORGELORE_APP_KEY=pem(key).replace("\n", "\\n")))
    assert len(lab.server.apps[0].made) == 2


def test_each_owner_has_an_installation_of_its_own(lab, key):
    lab.server.populate("other/lib", seed=3, issues=2, changes=1)
    lab.server.apps[0].installations["other"] = 100
    app = app_of(lab, key)
    lab.sync(app)
    lab.sync(app, path="other/lib")
    first, second = lab.server.apps[0].made
    used = {path.split("/")[2]: given for path, given in bearers(lab) if given in (first, second) and "/repos/" in path}
    assert used["acme"] == first
    assert used["other"] == second


def test_an_app_that_is_not_installed_is_told_where(lab, key):
    lab.server.apps[0].installations.clear()
    with pytest.raises(AuthError, match="not installed for acme/web") as caught:
        lab.sync(app_of(lab, key))
    assert "install it" in caught.value.hint


def test_a_key_of_another_app_is_refused_without_being_said(lab):
    other = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    with pytest.raises(AuthError, match="refuses the app 4711") as caught:
        lab.sync(app_of(lab, other))
    assert pem(other).splitlines()[1] not in f"{caught.value}{caught.value.hint}"


@pytest.mark.parametrize(
    "text", ["", "no key", "-----BEGIN PRIVATE KEY-----\nsecretsecret\n-----END PRIVATE KEY-----\n"]
)
def test_what_is_no_key_is_said_before_anything_is_sent(lab, key, text):
    with pytest.raises(ConfigError) as caught:
        lab.sync(app_of(lab, key, FORGELORE_APP_KEY=text))
    assert "secretsecret" not in f"{caught.value}{caught.value.hint}{caught.value.__cause__}"
    assert lab.seen == []


def test_a_key_that_is_not_rsa_is_refused(lab):
    curve = ec.generate_private_key(ec.SECP256R1())
    with pytest.raises(ConfigError, match="not an RSA key"):
        lab.sync(app_of(lab, curve))


def test_an_app_belongs_to_one_host(lab, key):
    app = app_of(lab, key)
    host = app.parse_project("acme/web").host
    assert find_app(app.config, app.environ, "github", host).id == "4711"
    assert find_app(app.config, app.environ, "github", "git.example.org") is None
    assert find_app(app.config, app.environ, "gitlab", host) is None
