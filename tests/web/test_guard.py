"""Who may ask what: other sites, other hosts, unknown tokens, roles, forms of others, and what nobody here may see."""

import html
import socket
import string
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sites import Site, serving

from agents.talking import PLANTED, SECRET
from forgelore.surfaces.web import api, pages, review, work
from forgelore.surfaces.web.guard import ROLES
from forgelore.surfaces.web.html import markdown, marked

ADDRESSES = (*pages.ADDRESSES, *review.ADDRESSES, *work.ADDRESSES, *api.ADDRESSES)
# One address of each kind, in the project with traps; a new row needs a sample here.
SAMPLES = {
    "/": "/", "/waiting/{name}": "/waiting/answer", "/search": "/search?q=cache", "/list": "/list?q=is:open",
    "/item/{ref:path}": "/item/%231", "/similar/{ref:path}": "/similar/%231",
    "/decisions/{ref:path}": "/decisions/%231", "/text/{ref:path}": "/text/%231?lines=1-9", "/changes": "/changes",
    "/files": "/files?path=src/cache.py", "/ask": "/ask?q=cache", "/ask/answer": "/ask/answer?q=cache+files",
    "/projects": "/projects", "/report": "/report?month=2026-03", "/duplicates": "/duplicates",
    "/duplicates/clusters": "/duplicates/clusters", "/duplicates/closings": "/duplicates/closings", "/duplicates/answers": "/duplicates/answers",
    "/duplicates/plan": "/duplicates/plan", "/duplicates/answer": "/duplicates/answer",
    "/duplicates/undo": "/duplicates/undo", "/work/{id}": "/work/none", "/work/{id}/cancel": "/work/none/cancel",
    "/projects/sync": "/projects/sync", "/duplicates/compare": "/duplicates/compare", "/duplicates/plan/start": "/duplicates/plan/start",
    "/duplicates/plans/{run}": "/duplicates/plans/1", "/duplicates/plans/{run}/apply": "/duplicates/plans/1/apply",
    "/duplicates/runs/{run}/rollback": "/duplicates/runs/1/rollback", "/api/v1/search": "/api/v1/search?q=cache",
    "/api/v1/items": "/api/v1/items", "/api/v1/items/{ref:path}": "/api/v1/items/%231",
    "/api/v1/similar/{ref:path}": "/api/v1/similar/%231", "/api/v1/count/{what}": "/api/v1/count/issues",
    "/api/v1/waiting": "/api/v1/waiting", "/api/v1/duplicates": "/api/v1/duplicates",
    "/api/v1/duplicates/answer": "/api/v1/duplicates/answer", "/api/v1/history": "/api/v1/history?path=src/cache.py",
    "/api/v1/changes": "/api/v1/changes", "/api/v1/projects": "/api/v1/projects",
}  # fmt: skip
TOKENS = {role: f"{role}-0123456789abcdef" for role in ROLES}


@pytest.fixture(scope="module")
def guarded(trapped, tmp_path_factory, example):
    """A server for three people."""
    folder = tmp_path_factory.mktemp("guarded")
    people = folder / "people.txt"
    people.write_text("# who\n" + "".join(f"{token} {role} {role}-er\n" for role, token in TOKENS.items()))
    with serving(example, folder, "--tokens", str(people), FORGELORE_EMBEDDER="none") as url:
        yield url


def test_every_address_has_a_sample():
    assert {one.path for one in ADDRESSES} == SAMPLES.keys()


@pytest.mark.parametrize("path", sorted({SAMPLES[one.path] for one in ADDRESSES if not one.writes}))
def test_no_page_shows_what_members_alone_may_see_or_lets_text_act(trapped, path):
    answer = trapped.get(path)
    assert SECRET not in answer.text
    if not path.startswith("/api/"):
        assert not {"\x1b", "\u202e"} & set(answer.text)
    assert answer.status_code in (200, 400, 404, 409), answer.text[:300]


def test_planted_text_is_there_as_text(trapped):
    assert html.escape(PLANTED) in trapped.text("/item/%234")
    assert "<system" not in trapped.text("/item/%234").lower()


@pytest.mark.parametrize("one", ADDRESSES, ids=lambda one: f"{'POST' if one.writes else 'GET'} {one.path}")
def test_each_address_takes_its_role_and_no_less(guarded, one):
    method, path = ("POST" if one.writes else "GET"), SAMPLES[one.path]
    for role in ROLES:
        person = Site(guarded, authorization=f"Bearer {TOKENS[role]}")
        status = person.client.request(method, path).status_code
        is_allowed = ROLES.index(role) >= ROLES.index(one.role)
        assert (status != 403) == is_allowed, f"{role} gets {status}"
    nobody = Site(guarded).client.request(method, path)
    assert nobody.status_code == (401 if one.kind == "data" else 303)


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "127.0.0.1:1", "localhost.evil.example", ""])
def test_other_hosts_are_refused(site, host):
    assert site.get("/", headers={"host": host}).status_code in (400, 403)


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:1", "file://"])
def test_forms_of_other_sites_are_refused(site, origin):
    assert site.post("/duplicates/undo", origin=origin, token=site.token()).status_code == 403


def test_a_form_without_its_token_is_refused(site):
    for token in ("", "0" * 64, site.token()[:-1]):
        assert site.post("/duplicates/undo", token=token).status_code == 403
    own = f"http://{urlsplit(site.url).netloc}"
    assert site.post("/duplicates/undo", origin=own, token=site.token()).status_code == 404  # nothing was answered


def test_other_methods_and_large_bodies_are_refused(site):
    assert site.client.put("/").status_code == 405
    assert site.client.post("/duplicates/answer", content=b"a" * 1_100_000).status_code == 413
    endless = (b"a" * 65_536 for _ in range(40))
    headers = {"content-type": "application/x-www-form-urlencoded"}
    assert site.client.post("/duplicates/answer", content=endless, headers=headers).status_code in (400, 413)


@pytest.mark.parametrize("path", ["/", "/nope", "/static/style.css", "/api/v1/items", "/item/%239999"])
def test_every_answer_says_what_a_browser_may_do_with_it(site, path):
    headers = site.get(path).headers
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "unsafe" not in headers["content-security-policy"]
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["cache-control"] == ("public, max-age=31536000, immutable" if "static" in path else "no-store")


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/%2e%2e/app.py", "/static/..%2f..%2fapp.py", "/static//etc/passwd"]
)
def test_no_path_leads_out_of_the_static_files(site, path):
    address = urlsplit(site.url)
    with socket.create_connection((address.hostname, address.port)) as raw:
        raw.sendall(f"GET {path} HTTP/1.1\r\nhost: {address.netloc}\r\nconnection: close\r\n\r\n".encode())
        answer = b"".join(iter(lambda: raw.recv(65_536), b""))
    assert b" 404 " in answer.split(b"\r\n")[0]
    assert b"import" not in answer


def test_signing_in_gives_a_cookie_that_scripts_cannot_read(guarded):
    person = Site(guarded)
    assert person.get("/").headers["location"] == "/sign-in?to=%2F"
    assert person.post("/sign-in", password="wrong").status_code == 401
    answer = person.post("/sign-in?to=/duplicates", password=TOKENS["read"])
    assert answer.headers["location"] == "/duplicates"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert "read-er" in person.text("/")
    assert TOKENS["read"] not in person.text("/")


@pytest.mark.parametrize("to", ["https://evil.example", "//evil.example", "/\\evil.example"])
def test_signing_in_leads_to_no_other_site(guarded, to):
    person = Site(guarded)
    answer = person.client.post("/sign-in", params={"to": to}, data={"password": TOKENS["read"]})
    assert answer.headers["location"] == "/"


def test_a_changed_session_is_nobodys(guarded):
    person = Site(guarded)
    person.post("/sign-in", password=TOKENS["read"])
    said, _, signature = person.client.cookies["forgelore"].partition(".")
    for forged in (f"{said}.{'0' * 64}", f"x{said}.{signature}", "", ".", f"{said}", "=.=", "é"):
        asked = Site(guarded, cookie=f"forgelore={forged}".encode())
        assert asked.get("/").status_code == 303


HOSTILE = st.text(string.ascii_letters + "<>\"'=/ :&;()[]!`#*_\n\\", max_size=300) | st.sampled_from(
    [
        "<script>alert(1)</script>", "[x](javascript:alert(1))", "<img src=x onerror=alert(1)>", "<a href='data:x'>y</a>",
        "<svg/onload=alert(1)>", "<form action=/duplicates/undo method=post><button>x", "<iframe src=//evil>",
        "<math><mtext><table><mglyph><style><img src=x onerror=alert(1)>", "![x](http://evil.example/x.png)",
        '<div hx-get="/duplicates" hx-trigger="load" data-hx-post="/x" id=main class=card style="position:fixed">x</div>',
        "<base href=//evil>", "<meta http-equiv=refresh content=0>", "&lt;script&gt;", "<details open ontoggle=alert(1)>",
    ]
)  # fmt: skip


@given(text=HOSTILE, more=HOSTILE)
def test_no_text_of_a_forge_becomes_markup_that_acts_or_loads(text, more):
    found = markdown(text + more).lower()
    for word in ("<script", "<img", "<svg", "<form", "<iframe", "<style", "<base", "<meta", "<input", "<button"):
        assert word not in found
    for tag in [part.split(">")[0] for part in found.split("<")[1:]]:
        names = {name.split("=")[0] for name in tag.split()[1:] if "=" in name}
        assert not any(name.startswith(("on", "hx-", "data-", "style", "id", "class")) for name in names), tag
        assert "javascript:" not in tag.replace(" ", "").split("title=")[0]


@given(text=st.text(max_size=100), data=st.data())
def test_marks_escape_what_they_mark(text, data):
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    shown = str(marked(text, [(start, end)]))
    assert shown.count("<") == shown.count("<mark>") + shown.count("</mark>") == 2
