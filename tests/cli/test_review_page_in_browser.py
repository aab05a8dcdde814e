"""The page for reviewers in a real browser: it loads nothing, runs nothing, and can be read, light or dark, wide or narrow."""

import json

import pytest

from browser import Browser, find_browser

LONG = "a_name_that_has_no_place_to_break_" * 12
STACK = "\n".join(f"  at {LONG[:90]}.frame{at} (src/sync/watcher.rs:{at})" for at in range(40))
EVIL = (
    "<script>document.title = 'taken'</script><img src=https://evil.example/x.png onerror=\"document.title='taken'\">"
)
BODY = f"{EVIL}\n{LONG}\n{STACK}\nERROR: no folder left to sync"
# Each text with the colours that it is really shown in: the nearest background that is not transparent lies behind it.
CONTRASTS = """
(() => {
  const channels = text => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map(v => v / 255)
    .map(v => v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, at) => sum + v * [0.2126, 0.7152, 0.0722][at], 0);
  const behind = element => {
    for (let at = element; at; at = at.parentElement) {
      const found = channels(getComputedStyle(at).backgroundColor);
      if (found.length < 4 || found[3] > 0) return found;
    }
    return [255, 255, 255];
  };
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const found = [];
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement, text = walker.currentNode.data.trim();
    if (!text || element.closest('title')) continue;
    const style = getComputedStyle(element);
    const ink = light(channels(element.closest('svg') ? style.fill : style.color)), paper = light(behind(element));
    const ratio = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
    found.push([text.slice(0, 40), Math.round(ratio * 100) / 100]);
  }
  return found;
})()
"""
# Boxes that reach beyond the window, outside of what scrolls by itself.
TOO_WIDE = """
[...document.body.querySelectorAll('*')].filter(element => element.getBoundingClientRect().right > innerWidth + 1)
  .filter(element => !element.parentElement.closest('.wide'))
  .map(element => element.tagName + ' ' + element.textContent.slice(0, 40))
"""
SCROLLED = "[...document.querySelectorAll('.wide')].filter(one => one.scrollWidth > one.clientWidth).length"
SIZES = "[...document.querySelectorAll('svg text')].map(text => text.getBoundingClientRect().height)"
OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true })"


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    if find_browser() is None:
        pytest.skip("there is no browser here")
    with Browser(tmp_path_factory.mktemp("browser")) as running:
        yield running


@pytest.fixture
def page(demo, tmp_path):
    """The page of the example project with hostile and unbreakable copies, an audit and a plan."""
    rows = [
        {"kind": "issue", "number": number, "title": f"{EVIL} {LONG}", "body": BODY, "state": "open", "author": LONG[:60],
         "created_at": f"2026-01-{number - 900:02d}T00:00:00Z", "url": f"https://x.example/{number}"}
        for number in (901, 902, 903)
    ]  # fmt: skip
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert demo("import", "more.jsonl", "--project", "lanternsync/lantern").code == 0
    assert demo("dedupe", "run", "--kind", "issue", "--workers", "1").code == 0
    demo("dedupe", "audit", "--cheap", "builtin", "--strong", "statements", "--kind", "issue")
    assert demo("dedupe", "report", "--html", "page.html").out == "page.html: 1 cluster, 1 audit\n"
    return tmp_path / "page.html"


def test_a_browser_shows_the_page_as_it_is_meant(browser, page):
    for scheme in ("light", "dark"):
        papers = set()
        for width in (1280, 700, 360):
            seen = browser.open(page, width=width, scheme=scheme)
            assert (seen.requests, seen.blocked) == ([page.as_uri()], []), "nothing else is asked for"
            assert seen.problems == [], "no script, no error, nothing that the policy had to stop"
            browser.evaluate(OPEN_ALL)
            assert browser.evaluate("document.title") == "Duplicates in lanternsync/lantern"
            assert browser.evaluate("document.documentElement.scrollWidth") <= width, "nobody scrolls sideways"
            assert browser.evaluate(TOO_WIDE) == []
            assert width < 1280 or browser.evaluate(SCROLLED) == 0, "nor inside of a table, where there is room"
            assert min(browser.evaluate(SIZES)) >= 11, "numbers at the axes can be read"
            texts = browser.evaluate(CONTRASTS)
            assert len(texts) > 60
            assert [one for one in texts if one[1] < 4.5] == [], "https://www.w3.org/TR/WCAG22/#contrast-minimum"
            papers.add(browser.evaluate("getComputedStyle(document.body).backgroundColor"))
        assert papers == {{"light": "rgb(255, 255, 255)", "dark": "rgb(13, 17, 23)"}[scheme]}


def test_what_strangers_wrote_does_nothing_even_past_the_escaping(browser, page, tmp_path):
    """The policy of the page is the second lock: here the first one is broken open."""
    broken = tmp_path / "broken.html"
    broken.write_text(page.read_text(encoding="utf-8").replace("</body>", f"{EVIL}</body>"), encoding="utf-8")
    seen = browser.open(broken)
    assert browser.evaluate("document.title") == "Duplicates in lanternsync/lantern"
    assert seen.requests == [broken.as_uri()]
    assert seen.blocked == ["https://evil.example/x.png"]
    assert any("Content Security Policy" in one for one in seen.problems)


def test_the_browser_would_notice_what_the_page_must_not_do(browser, tmp_path):
    bad = tmp_path / "bad.html"
    bad.write_text(
        "<body style='color: #999; background: #fff'><img src='https://evil.example/a.png'><p>pale</p>"
        "<div style='width: 2000px'>wide</div><script>document.title = 'ran'; null.x</script>"
    )
    seen = browser.open(bad, width=360)
    assert "https://evil.example/a.png" in seen.requests
    assert any("null" in one for one in seen.problems)
    assert browser.evaluate("document.title") == "ran"
    assert browser.evaluate(TOO_WIDE)
    assert min(ratio for _, ratio in browser.evaluate(CONTRASTS)) < 4.5
