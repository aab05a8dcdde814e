"""The pages in a real browser: light and dark, wide and narrow, by keyboard alone, and nothing from anywhere else."""

import pathlib
import sys

import pytest

from browser import Browser, find_browser

PATHS = (
    "/", "/waiting/answer", "/search", "/search?q=deleted+files", "/list?q=is:open", "/item/%2341", "/duplicates",
    "/duplicates/answers", "/duplicates/clusters", "/duplicates/closings", "/changes", "/files",
    "/ask", "/ask?q=why+do+files+return", "/projects", "/report", "/item/%2399999", "/text/%2341?lines=5-8",
    "/search?q=qqqxyzzy&type=release", "/list?label=bug&author=mira-k",
)  # fmt: skip
AXE = pathlib.Path(sys.prefix) / "agents" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = """
axe.run().then(found => found.violations.filter(one => ["serious", "critical"].includes(one.impact))
  .map(one => `${one.id}: ${one.nodes.map(node => node.html).slice(0, 2).join(" ")}`))
"""
TOO_WIDE = "document.documentElement.scrollWidth > innerWidth + 1"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if find_browser() is None:
        pytest.skip("there is no browser here")
    with Browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.mark.parametrize("path", PATHS)
def test_a_page_loads_its_own_files_alone_and_fits_every_window(browser, site, path):
    for width, scheme in ((1280, "light"), (360, "dark")):
        seen = browser.open(site.url + path, width=width, scheme=scheme)
        browser.wait("!document.querySelector('.busy')")
        seen = browser.seen()
        assert all(url.startswith((site.url, "data:")) for url in seen.requests), seen.requests
        problems = [one for one in seen.problems if "404 (Not Found)" not in one]
        assert (seen.blocked, problems) == ([], [])
        assert not browser.evaluate(TOO_WIDE)


def test_pairs_are_decided_by_single_keys_and_taken_back(browser, site):
    browser.open(f"{site.url}/duplicates")
    first = browser.evaluate("document.querySelector('.pair h2').textContent")
    browser.press("n")
    browser.wait("document.querySelector('.said')?.textContent.includes(': not') ?? false")
    assert browser.evaluate("document.querySelector('.pair h2').textContent") != first
    browser.press("z")
    browser.wait("document.querySelector('.said')?.textContent.includes('taken back') ?? false")
    assert browser.evaluate("document.querySelector('.pair h2').textContent") == first


def test_a_search_answers_while_somebody_types(browser, site):
    browser.open(f"{site.url}/")
    browser.press("/")
    browser.type("tombstones")
    browser.press("Enter")
    browser.wait("location.pathname === '/search' && document.readyState === 'complete'")
    browser.press("/")
    browser.type("relay stalls")
    browser.wait("document.querySelector('.hit mark')?.textContent.toLowerCase().includes('relay') ?? false")
    assert "q=relay" in browser.evaluate("location.search")


def test_rows_are_walked_and_opened_by_keys(browser, site):
    browser.open(f"{site.url}/search?q=deleted+files")
    browser.press("j")
    browser.press("j")
    second = browser.evaluate("document.querySelectorAll('.hit .title')[1].textContent")
    assert browser.evaluate("document.activeElement.textContent") == second
    browser.press("Enter")
    browser.wait("location.pathname.startsWith('/item/') && document.readyState === 'complete'")
    browser.press("g")
    browser.press("d")
    browser.wait("location.pathname === '/duplicates'")


def test_the_legend_opens_and_closes_by_key(browser, site):
    browser.open(f"{site.url}/duplicates")
    browser.press("?")
    browser.wait("document.getElementById('help').open")
    browser.press("Escape")
    browser.wait("!document.getElementById('help').open")


@pytest.mark.parametrize("path", PATHS)
def test_nothing_serious_stands_in_the_way_of_people_who_cannot_see_it(browser, site, path):
    """axe-core looks at the page, light and dark."""
    if not AXE.exists():
        pytest.skip("axe-core is not installed: make agents")
    for scheme in ("light", "dark"):
        browser.open(site.url + path, scheme=scheme)
        browser.wait("!document.querySelector('.busy')")
        browser.evaluate(AXE.read_text(encoding="utf-8") + ";1")
        found = browser.evaluate(SERIOUS)
        assert found == []
