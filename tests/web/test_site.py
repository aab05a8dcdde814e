"""A project as static pages, in a real browser from a plain file server, and what of a project gets there at all."""

import contextlib
import functools
import hashlib
import http.server
import json
import pathlib
import shutil
import subprocess
import sys
import threading

import pytest

from agents.talking import PLANTED, SECRET, make_store
from browser import Browser, find_browser
from journeys import run
from meta.test_journeys import environ, of_forge
from support import GitHubLab, GitLabLab

PAGES = ("index.html", "before-you-file.html", "clusters.html", "report.html")
AXE = pathlib.Path(sys.prefix) / "agents" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = """
axe.run().then(found => found.violations.filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes.map(node => node.html).slice(0, 2).join(" ")}`))
"""
READY = "document.querySelector('main').dataset.ready !== undefined"
TITLES = "[...document.querySelectorAll('#hits .title')].map(one => one.textContent)"
# What npm has for minisearch 7.2.0, dist/umd/index.js.
MINISEARCH = "03c27931eb603af1d3358579e9885eafdb6a2f5fa9929557b3e77d7e99d06d03"


def site(db, folder, *words, **more):
    env = {**environ(folder), "FORGELORE_DB": str(db), **more}
    command = [sys.executable, "-m", "forgelore", "site", str(folder / "out"), "--json", *words]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    return json.loads(done.stdout)


def items(folder):
    return json.loads((folder / "out" / "items.json").read_text(encoding="utf-8"))["items"]


@contextlib.contextmanager
def files_of(folder):
    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            return

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
def clustered(example, tmp_path_factory):
    """The example project with one cluster, written as a site."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(example, folder / "lore.db")
    for words in (("accept", "#43", "#41"), ("canonicalize",)):
        run(folder, "dedupe", *words, env=environ(folder))
    found = site(folder / "lore.db", folder)
    assert found["ok"], found
    return folder, found["data"]


@pytest.fixture(scope="module")
def pages(clustered):
    with files_of(clustered[0] / "out") as url:
        yield url


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if find_browser() is None:
        pytest.skip("there is no browser here")
    with Browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


def test_the_answer_says_what_was_written(clustered):
    folder, said = clustered
    written = sum(len(path.read_bytes()) for path in (folder / "out").iterdir())
    assert (said["items"], said["clusters"], said["bytes"]) == (said["total"], 1, written)
    assert {path.name for path in (folder / "out").iterdir()} == {
        *PAGES, "items.json", "search.js", "style.css", "minisearch-7.2.0.js", "minisearch-LICENSE.txt"
    }  # fmt: skip


@pytest.mark.parametrize("page", PAGES)
def test_a_page_asks_for_its_own_files_alone_and_fits_every_window(browser, pages, page):
    for width, scheme in ((1280, "light"), (390, "dark")):
        browser.open(pages + page, width=width, scheme=scheme)
        if page in PAGES[:2]:
            browser.wait(READY)
        seen = browser.seen()
        assert all(url.startswith((pages, "data:")) for url in seen.requests), seen.requests
        assert (seen.blocked, seen.problems) == ([], [])
        assert not browser.evaluate("document.documentElement.scrollWidth > innerWidth + 1")


@pytest.mark.parametrize("page", PAGES)
def test_nothing_serious_stands_in_the_way_of_people_who_cannot_see_it(browser, pages, page):
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make agents")
    for scheme in ("light", "dark"):
        browser.open(pages + page, scheme=scheme)
        if page in PAGES[:2]:
            browser.wait(READY)
        browser.evaluate(AXE.read_text(encoding="utf-8") + ";1")
        assert browser.evaluate(SERIOUS) == []


def test_a_search_finds_marks_and_keeps_its_address(browser, pages):
    browser.open(f"{pages}index.html")
    browser.wait(READY)
    browser.press("/")
    browser.type("deleted files come back")
    browser.wait("location.search.includes('q=deleted')")
    assert browser.evaluate(TITLES)[0].startswith("Deleted files come back after a device was offline")
    assert browser.evaluate("document.querySelector('#hits mark').textContent") == "Deleted"
    browser.open(f"{pages}index.html?q=%2341&state=closed")
    browser.wait(READY)
    assert browser.evaluate("document.querySelectorAll('#hits .open').length") == 0
    browser.press("j")
    assert browser.evaluate("document.activeElement.className") == "title"


def test_a_draft_finds_closed_items_and_goes_on_to_the_form(browser, pages):
    browser.open(f"{pages}before-you-file.html?title=relay+stalls+behind+a+proxy")
    browser.wait(READY)
    assert browser.evaluate("document.querySelectorAll('#hits .ended').length") > 0
    assert browser.evaluate(TITLES)


def test_clusters_and_the_month_are_there_without_scripts(clustered):
    folder, said = clustered
    clusters = (folder / "out" / "clusters.html").read_text(encoding="utf-8")
    assert "<script" not in clusters
    assert clusters.index(">#41<") < clusters.index(">#43<")  # the one that stays is first
    assert f"<h1>{said['month']}</h1>" in (folder / "out" / "report.html").read_text(encoding="utf-8")


def test_nothing_that_members_alone_may_see_is_written_and_no_text_acts(browser, tmp_path):
    db = make_store(tmp_path)
    assert site(db, tmp_path)["ok"]
    everything = "".join(path.read_text(encoding="utf-8") for path in (tmp_path / "out").iterdir())
    assert SECRET not in everything
    assert PLANTED in "".join(str(row) for row in items(tmp_path))
    with files_of(tmp_path / "out") as url:
        browser.open(f"{url}index.html?q=system")
        browser.wait(READY)
        seen = browser.seen()
        assert (seen.blocked, seen.problems) == ([], [])
        assert browser.evaluate("document.querySelectorAll('#hits *:is(script, img, iframe, svg, form)').length") == 0


HOSTILE = [
    "<script>document.title='gone'</script>", "<img src=x onerror=\"document.title='gone'\">", "</script><b>x",
    "\u202egnp.exe", "{{7*7}}", "\u2028alert(1)",
]  # fmt: skip


def test_hostile_titles_labels_and_addresses_stay_text(browser, tmp_path):
    lines = [
        {"number": at, "kind": "issue", "title": f"{text} quokka", "body": text, "labels": [text], "author": text,
         "url": "javascript:alert(1)", "created_at": "2026-03-01T00:00:00Z", "state": "open"}
        for at, text in enumerate(HOSTILE, 1)
    ]  # fmt: skip
    source = tmp_path / "items.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    run(tmp_path, "import", str(source), "--project", "acme/web", env=environ(tmp_path))
    assert site(tmp_path / "lore.db", tmp_path, "--month", "2026-03")["ok"]
    with files_of(tmp_path / "out") as url:
        for page in ("index.html?q=quokka", "before-you-file.html?q=quokka", "clusters.html", "report.html"):
            browser.open(url + page)
            if "?" in page:
                browser.wait(READY)
                assert len(browser.evaluate(TITLES)) == len(HOSTILE)
            seen = browser.seen()
            assert (seen.blocked, seen.problems) == ([], [])
            assert browser.evaluate("document.title") != "gone"
            assert browser.evaluate("document.querySelectorAll('[href^=javascript]').length") == 0
            assert "\u202e" not in browser.evaluate("document.body.textContent")


def test_more_items_than_the_limit_are_counted_and_left_out(example, tmp_path):
    found = site(example, tmp_path, "--limit", "20")
    assert (found["data"]["items"], len(items(tmp_path))) == (20, 20)
    assert found["data"]["total"] > 20
    assert "the 20 that changed last are searched" in found["warnings"][0]
    assert "20 items of" in (tmp_path / "out" / "index.html").read_text(encoding="utf-8")
    assert site(example, tmp_path, "--limit", "20001")["error"]["code"] == "invalid_value"


def test_a_folder_with_other_files_is_left_alone(example, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine", encoding="utf-8")
    assert site(example, tmp_path)["error"]["code"] == "refused"
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["mine.txt"]


def test_a_folder_that_cannot_be_made_is_told(example, tmp_path):
    (tmp_path / "out").symlink_to(tmp_path / "gone" / "out")
    said = site(example, tmp_path)["error"]
    assert (said["code"], said["hint"]) == ("refused", "name another folder")


def test_a_private_project_is_written_for_members_alone(tmp_path):
    with GitHubLab(tmp_path) as lab:
        lab.project.add_issue("First", "It was there", author="zoe")
        lab.project.visibility = "private"
        run(tmp_path, "sync", lab.name_text, env=of_forge(lab))
    refused = site(tmp_path / "lore.db", tmp_path)
    assert refused["error"]["code"] == "refused"
    assert "--members" in refused["error"]["hint"]
    assert not (tmp_path / "out").exists()
    assert site(tmp_path / "lore.db", tmp_path, "--members")["data"]["items"] == 1


def test_merge_requests_for_members_are_left_out(tmp_path):
    with GitLabLab(tmp_path) as lab:
        lab.project.add_issue("First", "It was there", author="zoe")
        lab.project.add_change("Second", "It came", author="zoe")
        lab.project.levels["merge_requests"] = "private"
        run(tmp_path, "sync", lab.name_text, env=of_forge(lab))
    found = site(tmp_path / "lore.db", tmp_path)
    assert {row[1] for row in items(tmp_path)} == {"issue"}
    assert any("merge requests" in one for one in found["warnings"])
    assert "Second" not in (tmp_path / "out" / "report.html").read_text(encoding="utf-8")


def test_what_is_vendored_is_what_npm_has():
    import forgelore

    path = pathlib.Path(forgelore.__file__).parent / "data" / "site" / "minisearch-7.2.0.js"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == MINISEARCH
