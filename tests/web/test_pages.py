"""What people see on the pages, and what programs get from the same addresses."""

import hashlib
import json
import re
import subprocess
import sys

import pytest

from forgelore.api import FilterWords
from meta.test_journeys import environ

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
