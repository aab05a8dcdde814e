"""The page for reviewers: complete, self-contained, and harmless whatever strangers write into titles and texts."""

import json
import re
from html.parser import HTMLParser

import pytest

from forgelore.surfaces.present.review_page import item_link, join, marked, tag

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)> \"'></title><svg/onload=alert(3)> \u202eevil &lt;b&gt;"
BODY = f"{EVIL}\n</pre></details><iframe src=https://evil.example></iframe>\nERROR: no folder left to sync {{7*7}}"
OURS = {
    "a", "article", "b", "bdi", "body", "circle", "details", "div", "figcaption", "figure", "g", "h1", "h2", "h3", "h4",
    "head", "html", "line", "mark", "meta", "nav", "p", "polygon", "polyline", "pre", "section", "span", "style",
    "summary", "svg", "table", "tbody", "td", "text", "th", "thead", "title", "tr",
}  # fmt: skip
VOID = {"meta", "circle", "line"}


class Elements(HTMLParser):
    """What a browser would make elements of, with their attributes; texts apart."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.texts, self.open = [], [], [], []
        self.feed(text)
        self.close()

    def handle_starttag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *one) for one in attributes]
        if name not in VOID:
            self.open.append(name)

    def handle_startendtag(self, name, attributes):
        self.tags.append(name)
        self.attributes += [(name, *one) for one in attributes]

    def handle_endtag(self, name):
        assert self.open.pop() == name

    def handle_data(self, data):
        self.texts.append(data)


@pytest.fixture
def page(demo, tmp_path):
    """The page of the example project with two hostile copies, an audit and a plan."""
    rows = [
        {"kind": "issue", "number": number, "title": EVIL, "body": BODY, "state": "open", "author": "<b>zoe</b>",
         "url": url, "created_at": f"2026-01-{number - 900:02d}T00:00:00Z"}
        for number, url in ((901, "javascript:alert(1)"), (902, 'https://x.example/"onclick="alert(1)'))
    ]  # fmt: skip
    (tmp_path / "more.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    assert demo("import", "more.jsonl", "--project", "lanternsync/lantern").code == 0
    assert demo("dedupe", "run", "--kind", "issue", "--workers", "1").code == 0
    demo("dedupe", "audit", "--cheap", "builtin", "--strong", "statements", "--kind", "issue")
    done = demo("dedupe", "report", "--html", "page.html", "--json")
    assert done.data == {"path": "page.html", "project": "lanternsync/lantern", "clusters": 1, "audits": 1}
    return (tmp_path / "page.html").read_text(encoding="utf-8")


def test_nothing_of_a_strangers_text_becomes_markup(page):
    found = Elements(page)
    assert set(found.tags) <= OURS
    assert found.open == []
    assert not [one for one in found.attributes if one[1].startswith("on") or one[1] in ("src", "style", "srcdoc")]
    links = [value for _, name, value in found.attributes if name == "href"]
    assert all(link.startswith(("#", "https://")) for link in links)
    assert "".join(found.texts).count("<script>alert(1)</script>") >= 4, "it is shown, as text"
    assert "\u202e" not in page


def test_the_page_loads_nothing_and_may_not(page):
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)[1].replace("&#x27;", "'")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy
    assert "@import" not in page
    assert "url(" not in page


def test_the_style_is_the_one_that_the_policy_allows(page):
    import base64
    import hashlib

    style = re.search(r"<style>(.*?)</style>", page, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"sha256-{digest}" in page


def test_plan_audit_and_clusters_are_on_the_page(page):
    text = " ".join("".join(Elements(page).texts).split())
    assert "Plan " in text
    assert "stay open" in text
    assert "measured by builtin rules 2" in text
    assert "similarity at least" in text
    assert page.count("<svg") == 4
    assert page.count("<polyline") == 8
    assert "#902 repeats #901" in text
    assert "#901 repeats #902" not in text, "one of the two tells it"
    assert page.count('class="pair"') == 1 + 4, "an edge, and the pairs that nobody has decided"
    assert "4 pairs worth a look, best first. Decide them with: forgelore dedupe review" in text
    assert "rule: same text" in text


def test_a_project_without_anything_has_a_page_too(demo, tmp_path):
    assert demo("dedupe", "report", "--html", "page.html").code == 0
    text = (tmp_path / "page.html").read_text()
    assert "No plan yet" in text
    assert "No audit yet" in text


def test_a_page_that_cannot_be_written_is_told(demo):
    assert demo("dedupe", "report", "--html", "none/page.html").code == 8
    assert demo("dedupe", "report", "7", "--html", "page.html").code == 2


def test_text_is_escaped_unless_we_made_it():
    assert tag("b", "<x>", tag("i", "&"), title='a"b') == '<b title="a&quot;b">&lt;x&gt;<i>&amp;</i></b>'
    assert join(["<", tag("br")]) == "&lt;<br>"
    assert item_link(5, "javascript:alert(1)") == '<span class="number">#5</span>'


@pytest.mark.parametrize(
    ("text", "facts", "expected"),
    [
        ("an ERROR here", ["error"], "an <mark>ERROR</mark> here"),
        ("a <b> c", ["<b>"], "a <mark>&lt;b&gt;</mark> c"),
        ("one two three", ["two three", "one two"], "<mark>one two</mark> three"),
        ("nothing", ["", "  ", "else"], "nothing"),
    ],
)
def test_shared_facts_are_marked_in_the_text(text, facts, expected):
    assert marked(text, facts) == expected
