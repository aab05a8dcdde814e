"""The pages in a real browser: light and dark, wide and narrow, by keyboard alone, and nothing from anywhere else."""

import json
import pathlib
import re
import subprocess
import sys
from urllib.parse import quote

import pytest
from sites import ACTS

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


def test_why_a_result_was_found_is_shown_by_a_key(browser, site):
    browser.open(f"{site.url}/search?q=deleted+files")
    browser.press("j")
    browser.press("e")
    browser.wait("document.querySelector('details.why').open")
    assert "by words" in browser.evaluate("document.querySelector('details.why').textContent")


def test_a_number_leads_to_its_item(browser, site):
    browser.open(f"{site.url}/")
    browser.press("/")
    browser.type("#41")
    browser.press("Enter")
    browser.wait("location.pathname === '/item/%2341'")


def test_a_list_is_narrowed_and_widened_by_keyboard(browser, site):
    browser.open(f"{site.url}/list?q=is:open")
    before = browser.evaluate("document.querySelectorAll('.row').length")
    tab_to(browser, '.facets a[href*="label=bug"]')
    browser.press("Enter")
    browser.wait("location.search.includes('label=bug') && document.readyState === 'complete'")
    assert 0 < browser.evaluate("document.querySelectorAll('.row').length") < before
    tab_to(browser, ".facets a[aria-current]")
    browser.press("Enter")
    browser.wait("!location.search.includes('label=bug') && document.readyState === 'complete'")
    assert browser.evaluate("document.querySelectorAll('.row').length") == before


def test_a_newcomer_decides_plans_closes_and_takes_back_with_the_keyboard_alone(browser, forge, team):
    """On a local forge, without reading anything but the page."""
    states = lambda: [forge.project.items[number].state for number in forge.copies]  # noqa: E731
    browser.open(f"{team.url}/projects")
    tab_to(browser, 'form[action="/projects/sync"] button')
    browser.press("Enter")
    browser.wait("document.querySelector('.finished') !== null")
    browser.open(f"{team.url}/")
    tab_to(browser, 'form[action="/duplicates/compare"] button')
    browser.press("Enter")
    browser.wait("document.querySelector('#work a[href^=\"/duplicates\"]') !== null")
    tab_to(browser, '#work a[href^="/duplicates"]')
    browser.press("Enter")
    browser.wait("document.querySelector('.pair') !== null")
    assert "Folders vanish" in browser.evaluate("document.querySelector('.pair h2').textContent")
    browser.press("s")
    browser.wait("document.querySelector('.said')?.textContent.includes(': same') ?? false")
    tab_to(browser, '.tabs a[href^="/duplicates/plan"]')
    browser.press("Enter")
    browser.wait("location.pathname === '/duplicates/plan' && document.readyState === 'complete'")
    tab_to(browser, "main form button")
    browser.press("Enter")
    browser.wait("document.querySelector('.finished') !== null")
    tab_to(browser, '#work a[href*="/plans/"]')
    browser.press("Enter")
    browser.wait("document.querySelector('#confirm') !== null")
    tab_to(browser, "#hours")
    browser.press("n")  # now
    tab_to(browser, "#confirm")
    browser.type(browser.evaluate("document.querySelector('label[for=confirm] code').textContent"))
    browser.press("Enter")
    browser.wait("document.querySelector('#work .log') !== null && document.querySelector('.finished') !== null")
    assert states() == ["open", "closed"]
    browser.open(f"{team.url}/duplicates/closings")
    tab_to(browser, "main form button")
    browser.press("Enter")
    browser.wait("document.querySelector('.finished') !== null")
    assert states() == ["open", "open"]


def tab_to(browser, selector):
    """Press Tab until what a selector names has the focus, as people without a mouse do."""
    for _ in range(120):
        browser.press("Tab")
        if browser.evaluate(f"document.activeElement.matches({json.dumps(selector)})"):
            return
    raise AssertionError(f"no Tab leads to {selector}")


@pytest.mark.parametrize(
    "path", [
        "/", "/waiting/answer", "/list", "/item/%231", "/item/!3", "/duplicates", "/duplicates/clusters", "/duplicates/answers",
        "/duplicates/closings", "/changes", "/text/%231?lines=1-9", "/report?month=2026-03", "/projects",
        *(f"/{page}={quote(ACTS)}" for page in ("search?q", "search?label", "list?q", "list?author", "files?path", "ask?q", "duplicates?said")),
        f"/item/{quote(ACTS, safe='')}", f"/waiting/{quote(ACTS, safe='')}", f"/text/%231?lines={quote(ACTS)}",
    ],
)  # fmt: skip
def test_no_word_of_an_attacker_acts(browser, hostile, path):
    """Titles, bodies, labels, names of people and files, search terms, addresses."""
    browser.open(hostile.url + path)
    browser.wait("!document.querySelector('.busy') && !document.body.textContent.includes('Looking …')")
    seen = browser.seen()
    assert browser.evaluate("document.title") != "hacked"
    assert (
        browser.evaluate(
            "document.querySelectorAll('main script, main img, main [onerror], [href^=\"javascript:\"]').length"
        )
        == 0
    )
    assert seen.blocked == []
    assert not [one for one in seen.problems if "the server responded with a status of 4" not in one]
    assert all(url.startswith((hostile.url, "data:")) for url in seen.requests)


def test_the_pictures_of_the_readme_can_be_drawn_again(tmp_path):
    script = pathlib.Path(__file__).parents[2] / "scripts" / "web_pictures.py"
    subprocess.run([sys.executable, str(script), str(tmp_path)], check=True, timeout=120)
    drawn = {path.name: path.read_bytes() for path in tmp_path.glob("*.png")}
    assert len(drawn) == len(set(drawn.values())) == 6


def test_the_first_page_is_small(site):
    """All that a browser loads for it, as it comes over the wire without compression: at most 100 KB."""
    page = site.get("/").text
    files = re.findall(r'(?:href|src)="(/static/[^"]+)"', page)
    assert len(page.encode()) + sum(len(site.get(path).content) for path in files) <= 100_000


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
