"""What people see on the pages, and what programs get from the same addresses."""

import csv
import hashlib
import html
import json
import re
import shlex
import shutil
import subprocess
import sys
from urllib.parse import unquote

import pytest
from sites import Site, serving

from ask.conftest import QUOTE, READ, answer, cite
from forgelore.api import FilterWords
from meta.test_journeys import environ
from servers.chat import ChatServer

FIRST = "Deleted files come back after a device was offline"


def test_home_names_what_waits_and_how_fresh_the_data_is(site):
    page = site.text("/")
    assert "Possible duplicates" in page
    assert "Waiting for an answer" in page
    assert "Last import" in page


def test_a_search_shows_marks_and_the_same_search_as_a_command(site):
    page = site.text("/search?q=deleted+files+come+back")
    assert "<mark>Deleted</mark> <mark>files</mark>" in page
    assert "forgelore search &#39;deleted files come back&#39;" in page


def test_htmx_gets_the_part_of_a_search_that_changes(site):
    part = site.get("/search?q=deleted+files", headers={"hx-request": "true", "hx-request-type": "partial"}).text
    assert "<html" not in part
    assert FIRST in part.replace("<mark>", "").replace("</mark>", "")


def test_pages_of_results_do_not_repeat(site):
    seen, path = [], "/api/v1/search?q=relay&limit=5"
    for _ in range(3):
        found = site.data(path)
        seen += [hit["ref"] for hit in found["hits"]]
        path = f"/api/v1/search?q=relay&limit=5&offset={found['next']}"
    assert len(seen) == len(set(seen)) == 15


def test_a_search_without_results_says_what_to_try(site):
    page = site.text("/search?q=qqqxyzzy&type=release")
    assert "Nothing matches" in page or "no close match" in page


def command_of(page):
    """The command that a page says is the same list, as words."""
    return shlex.split(html.unescape(re.search(r'class="command-line.*?<code>(.+?)</code>', page, re.DOTALL)[1]))


@pytest.mark.parametrize(
    ("path", "refs"), [
        ("/list?q=is:open&label=bug", r'class="row".*?href="/item/([^"?]+)'),
        ("/list?type=issue&state=open&author=carmen-vl", r'class="row".*?href="/item/([^"?]+)'),
        ("/waiting/answer?q=created:%3C30d&type=issue", r'class="row".*?href="/item/([^"?]+)'),
        ("/search?q=the+relay%27s+%22timeout%22&type=issue&state=closed", r'class="hit".*?href="/item/([^"?]+)'),
        ("/search?q=relay&sort=created&label=bug&label=relay", r'class="hit".*?href="/item/([^"?]+)'),
    ],
)  # fmt: skip
def test_the_command_below_a_list_prints_the_same_list(site, example, tmp_path, path, refs):
    page = site.text(path)
    seen = [unquote(ref) for ref in re.findall(refs, page, re.DOTALL)]
    command = [sys.executable, "-m", *command_of(page), "--limit", str(len(seen)), "--json"]
    env = environ(tmp_path) | {"FORGELORE_DB": str(example)}
    printed = json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)["data"]
    rows = printed if isinstance(printed, list) else printed.get("hits") or printed["lists"][0]["items"]
    assert seen
    assert [row["ref"] for row in rows] == seen


@pytest.mark.parametrize("path", ["/list?q=is:open", "/waiting/answer", "/search?q=relay+stalls&sort=created"])
def test_each_count_beside_a_list_is_what_choosing_it_leaves(site, path):
    chips = re.findall(r'<li><a href="([^"]+)"><span>[^<]*</span><span class="n">([\d,]+)</span>', site.text(path))
    assert len(chips) >= 6
    for address, count in chips[:12]:
        page = site.text(html.unescape(address))
        total = re.search(r'class="count">([\d,]+)<', page) or re.search(r">(?:at least )?([\d,]+) results?", page)
        assert total[1] == count, address
        assert 'aria-current="true" title="Remove"' in page


def test_a_list_is_a_file_for_a_spreadsheet_or_a_program(site):
    answer = site.get("/waiting/answer?type=issue&as=csv")
    assert answer.headers["content-type"].startswith("text/csv")
    assert answer.headers["content-disposition"] == 'attachment; filename="answer.csv"'
    rows = list(csv.DictReader(answer.text.splitlines()))
    assert [row["ref"] for row in rows] == [one["ref"] for one in site.data("/waiting/answer?type=issue&as=json")]
    assert {row["kind"] for row in rows} == {"issue"}
    assert (
        len(list(csv.DictReader(site.get("/list?as=csv").text.splitlines())))
        == site.data("/api/v1/count/items")["total"]
    )
    assert site.get("/list?as=xls").status_code == 400


def test_no_cell_of_a_spreadsheet_is_a_formula(hostile):
    rows = list(csv.reader(hostile.get("/list?as=csv").text.splitlines()))
    assert any("cmd|" in cell for row in rows for cell in row)
    assert not [cell for row in rows for cell in row if cell.startswith(("=", "+", "-", "@"))]


def test_a_number_alone_leads_to_its_item(site):
    assert site.get("/search?q=%2341").headers["location"] == "/item/%2341?project=lanternsync%2Flantern"
    assert site.get("/search?q=41+files").status_code == 200
    part = site.get("/search?q=%2341", headers={"hx-request": "true", "hx-request-type": "partial"})
    assert "opens it" in part.text


def test_a_search_explains_each_result(site):
    page = site.text("/search?q=deleted+files")
    assert len(re.findall(r'class="why"', page)) == 20
    assert re.search(r"number 1 by words \(BM25 [\d.]+\)", page)
    assert re.search(r"number \d+ by meaning \(cosine 0\.\d\d\)", page)


def test_an_item_shows_its_links_its_life_and_its_people(site):
    page = site.text("/item/%2341")
    picture = re.search(r'<svg class="picture links".*?</svg>', page, re.DOTALL)[0]
    assert re.findall(r"<text[^>]*>(\S+)</text>", picture) == [
        "#41",
        "#46",
        "#48",
        "#45",
        "#44",
        "#145",
        "v0.9.0",
        "#44",
    ]
    assert 'aria-label="3 comments by 2 people, closed after 30 days"' in page
    assert '@mira-k</a> <span class="dim">2 comments' in page
    assert "Evidence" in site.text("/similar/%2341")


def test_what_was_decided_in_an_item_leads_to_the_lines_that_say_so(site):
    part = site.text("/decisions/%2345")
    address = re.search(r'<blockquote><a href="([^"]+)">([^<]+)', part)
    page = site.text(html.unescape(address[1]))
    cited = " ".join(re.findall(r'class="cited"><span>([^<]*)', page))
    assert html.unescape(address[2])[:40] in html.unescape(cited)


def test_lines_of_a_text_are_numbered_and_marked(site):
    page = site.text("/text/%2341?lines=10-12")
    assert re.findall(r'<li id="L(\d+)" value="\d+" class="cited">', page) == ["10", "11", "12"]
    assert "Over the summer I cleaned up" in page
    assert 'value="41"' in site.text("/text/%2341?lines=99999")
    for lines in ("x", "1-x", "-1", "9" * 30):
        assert site.get(f"/text/%2341?lines={lines}").status_code == 400


def test_passages_of_a_question_open_their_lines(site):
    part = site.text("/ask/answer?q=why+do+deleted+files+come+back")
    addresses = re.findall(r'href="(/text/[^"]+)">lines', part)
    assert addresses
    assert all('class="cited"' in site.text(html.unescape(one)) for one in addresses)


def test_an_answer_cites_lines_that_open_and_can_be_followed_up(example, tmp_path):
    shutil.copy(example, tmp_path / "lore.db")
    said = "Tombstones were kept for 30 days [1]."
    replies = [*READ, answer(said, cite("#41", 1, 60, QUOTE)), answer("It was mira-k [1].", cite("#41", 1, 60, QUOTE))]
    with ChatServer(replies) as model:
        env = {
            "FORGELORE_LLM_BASE_URL": model.v1,
            "FORGELORE_LLM_MODEL": "scripted-model",
            "FORGELORE_EMBEDDER": "lore",
        }
        with serving(tmp_path / "lore.db", tmp_path, **env) as url:
            asking = Site(url)
            part = asking.text("/ask/answer?q=why+do+deleted+files+come+back")
            assert "Tombstones were kept for 30 days" in part
            lines = asking.text(html.unescape(re.search(r'href="(/text/%2341[^"]+)"', part)[1]))
            assert QUOTE in " ".join(re.findall(r'class="cited"><span>([^<]*)', lines))
            session = re.search(r'name="continues" value="(\d+)"', part)[1]
            page = asking.text(f"/ask?q=who+said+so&continues={session}")
            address = html.unescape(re.search(r'hx-get="([^"]+)"', page)[1])
            assert "It was mira-k" in asking.text(address)
        assert said in json.dumps(model.asked[-1])


def test_pairs_that_people_join_are_the_most_repeated_items(site):
    first = site.data("/api/v1/duplicates")["pairs"][0]
    newer, older = first["newer"]["ref"], first["older"]["ref"]
    assert "Most repeated" not in site.text("/")
    site.post("/duplicates/answer", newer=newer, older=older, answer="same", token=site.token())
    assert "Most repeated" in site.text("/")
    picture = re.search(r'<svg class="picture ring".*?</svg>', site.text("/duplicates/clusters"), re.DOTALL)[0]
    assert sorted(re.findall(r"<text[^>]*>(\S+)</text>", picture)) == sorted([newer, older])
    site.post("/duplicates/undo", token=site.token())
    assert "Most repeated" not in site.text("/")


def test_nobody_without_the_right_sees_a_confidential_copy(trapped):
    """Its link to an open item makes that no magnet."""
    assert "Most repeated" not in trapped.text("/")
    assert trapped.get("/text/%232?lines=1").status_code == 404


def test_a_report_shows_the_age_of_the_backlog_as_picture_and_table(site):
    page = site.text("/report?month=2026-03")
    said = re.search(r'aria-label="Open issues by age: ([^"]+)"', page)[1]
    table = re.findall(r'class="key age\d"></span>([^<]+)</td><td>(\d+)', page)
    assert said == ", ".join(f"{count} {words}" for words, count in table)


def test_an_item_shows_its_conversation_and_links_its_refs(site):
    page = site.text("/item/%2341")
    assert FIRST in page
    assert "Tombstones (the records that say" in page
    assert 'href="/item/%2344?project=lanternsync%2Flantern"' in page


def test_an_unknown_item_is_a_page_that_says_what_to_do(site):
    answer = site.get("/item/%2399999")
    assert answer.status_code == 404
    assert "99999" in answer.text


def test_a_pair_is_answered_taken_back_and_asked_again(site):
    before = site.data("/api/v1/duplicates")["pairs"]
    first = before[0]
    form = {"newer": first["newer"]["ref"], "older": first["older"]["ref"], "answer": "not", "token": site.token()}
    answer = site.post("/duplicates/answer", **form)
    assert answer.status_code == 303
    after = site.data("/api/v1/duplicates")["pairs"]
    assert [one["newer"]["ref"] for one in after] == [one["newer"]["ref"] for one in before[1:]]
    assert "ana: not" in site.text("/duplicates/answers")
    assert site.post("/duplicates/undo", token=site.token()).status_code == 303
    assert len(site.data("/api/v1/duplicates")["pairs"]) == len(before)


def test_an_answer_that_means_nothing_is_refused_in_words(site):
    first = site.data("/api/v1/duplicates")["pairs"][0]
    form = {"newer": first["newer"]["ref"], "older": first["older"]["ref"], "token": site.token()}
    answer = site.post("/duplicates/answer", answer="perhaps", **form)
    assert answer.status_code == 400
    assert "perhaps" in answer.text


def test_what_programs_get_is_what_the_command_prints(site, example, tmp_path):
    env = environ(tmp_path) | {"FORGELORE_DB": str(example)}
    command = [sys.executable, "-m", "forgelore", "search", "relay stalls", "--limit", "5", "--json"]
    printed = json.loads(subprocess.run(command, env=env, capture_output=True, check=True).stdout)
    assert site.data("/api/v1/search?q=relay+stalls&limit=5") == printed["data"]


@pytest.mark.parametrize("name", sorted(set(FilterWords.__annotations__) - {"project", "without"}))
def test_no_filter_of_a_program_is_ignored(site, name):
    answer = site.get(f"/api/v1/count/items?{name}=qqqxyzzy")
    assert answer.status_code == 400 or answer.json()["data"]["total"] == 0


def test_filters_of_programs_are_those_of_the_command_line(site):
    found = site.data("/api/v1/items?label=bug&state=open&limit=100")
    assert found
    assert all("bug" in one["labels"] and one["state"] == "open" for one in found)


@pytest.mark.parametrize(
    "path", ["/search?q=x&state=nonsense", "/list?q=label:", "/waiting/nonsense", "/search?q=a&from=x"]
)
def test_odd_addresses_are_answered_with_a_page(site, path):
    answer = site.get(path)
    assert answer.status_code in (200, 400)
    assert "</html>" in answer.text


def test_a_question_without_a_model_shows_passages(site):
    part = site.text("/ask/answer?q=why+do+deleted+files+come+back")
    assert 'class="passage"' in part


def test_paths_and_changes_have_pages(site):
    assert "No two open changes do the same" in site.text("/changes")
    assert "forgelore index-code" in site.text("/files")
    path = next(iter(site.data("/api/v1/items/%2345")["files"]))["new_path"]
    assert "What happened" in site.text(f"/files?path={path}")


def test_a_file_that_changes_gets_another_address(site):
    """Browsers keep it for a year."""
    address = re.search(r'href="(/static/style\.css\?v=\w+)"', site.text("/"))[1]
    style = site.get(address)
    assert style.headers["cache-control"].endswith("immutable")
    assert address.endswith(hashlib.sha256(style.content).hexdigest()[:12])
