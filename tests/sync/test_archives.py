"""Archives of GitHub: what others recorded becomes rows as if GitHub had answered, and the next sync reads what is missing."""

import gzip
import json

import httpx
import pytest

from support import GITHUB_TOKEN


@pytest.fixture
def busy(github):
    """A project with conversations, and everything GitHub's REST says of it."""
    github.populate(issues=30, changes=15, discussions=0)
    github.said = {name: listed(github, path) for name, path in LISTS.items()}
    return github


LISTS = {
    "issues": "issues?state=all", "pulls": "pulls?state=all", "comments": "issues/comments?", "remarks": "pulls/comments?",
}  # fmt: skip


def listed(lab, path: str) -> list[dict]:
    rows, url = [], f"{lab.server.api_url}/repos/acme/web/{path}&per_page=100"
    while url:
        answer = httpx.get(url, headers={"Authorization": f"Bearer {GITHUB_TOKEN}"})
        rows += answer.json()
        url = answer.links.get("next", {}).get("url")
    return rows


def number_of(row: dict) -> int:
    return int((row.get("issue_url") or row.get("pull_request_url")).rpartition("/")[2])


def event(kind: str, payload: dict, project: str = "acme/web") -> str:
    return json.dumps({"type": kind, "repo": {"id": 1, "name": project}, "payload": payload})


def write_events(lab, folder, *, trimmed=False, more=()) -> str:
    issues = {row["number"]: row for row in lab.said["issues"]}
    pulls = {row["number"]: row for row in lab.said["pulls"]}
    if trimmed:
        pulls = {number: {"id": row["id"], "number": number, "url": row["url"]} for number, row in pulls.items()}
    lines = [event("PushEvent", {"size": 1}), *more]
    old = {**next(iter(issues.values())), "title": "as it was", "updated_at": "2020-01-01T00:00:00Z"}
    lines += [event("IssuesEvent", {"action": "opened", "issue": issues[n]}) for n in issues if n not in pulls]
    lines += [event("IssuesEvent", {"action": "edited", "issue": old}), '{broken "acme/web"', event("IssuesEvent", {})]
    lines += [event("IssuesEvent", {"action": "opened", "issue": old}, "acme/website")]
    lines += [event("PullRequestEvent", {"action": "opened", "pull_request": row}) for row in pulls.values()]
    for row in lab.said["comments"]:
        payload = {"action": "created", "issue": issues[number_of(row)], "comment": row}
        lines.append(event("IssueCommentEvent", payload))
    for row in lab.said["remarks"]:
        payload = {"action": "created", "pull_request": pulls[number_of(row)], "comment": row}
        lines.append(event("PullRequestReviewCommentEvent", payload))
    path = folder / "2026-03-01-12.json.gz"
    path.write_bytes(gzip.compress("\n".join(lines).encode()))
    return str(path)


def write_backup(lab, folder) -> str:
    """As python-github-backup lays it out."""
    for row in lab.said["issues"]:
        if "pull_request" not in row:
            comments = [one for one in lab.said["comments"] if number_of(one) == row["number"]]
            write(folder / "issues" / f"{row['number']}.json", {**row, "comment_data": comments, "event_data": []})
    for row in lab.said["pulls"]:
        plain = [one for one in lab.said["comments"] if number_of(one) == row["number"]]
        remarks = [one for one in lab.said["remarks"] if number_of(one) == row["number"]]
        found = {**row, "comment_regular_data": plain, "comment_data": remarks, "commit_data": []}
        write(folder / "pulls" / f"{row['number']}.json", found)
    write(folder / "labels" / "labels.json", [{"id": 1, "name": "bug", "color": "ffffff"}])
    return str(folder)


def write_dump(lab, folder) -> str:
    """As `gh api --paginate` prints it: lists, one behind the other."""
    for name, rows in lab.said.items():
        pages = [rows[at : at + 20] for at in range(0, len(rows), 20)]
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_text("".join(json.dumps(page) for page in pages))
    return str(folder)


def write(path, value) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def history_of(lab):
    from forgelore.api.history import History

    return History(lab.app)


def take(lab, kind: str, *paths: str):
    return history_of(lab).sync.import_archive(list(paths), project="acme/web", kind=kind, index="none").result


def listed_facts(lab) -> tuple:
    """What lists and streams tell; details come with the next sync."""
    items = lab.rows("SELECT kind, number, title, body, state, author, updated_at FROM items ORDER BY kind, number")
    notes = lab.rows("SELECT n.key, n.body, t.key, i.number FROM notes n JOIN threads t ON t.id = n.thread_id"
                     " JOIN items i ON i.id = n.item_id WHERE n.key NOT LIKE 'v%' ORDER BY 1")  # fmt: skip
    return [row for row in items if row[0] != "release"], notes


@pytest.mark.parametrize(
    ("kind", "make"), [("gharchive", write_events), ("github-backup", write_backup), ("github-backup", write_dump)]
)
def test_an_archive_becomes_what_a_sync_brings_and_a_sync_completes_it(busy, tmp_path, kind, make):
    done = take(busy, kind, make(busy, tmp_path / "archive" if kind != "gharchive" else tmp_path))
    assert done.items == 45
    imported, other = listed_facts(busy), busy.new_app()
    busy.sync(other)
    synced, busy.app = busy.app, other
    assert listed_facts(busy) == imported
    busy.app = synced
    before = len(busy.server.requests)
    busy.sync()
    asked = [path for path in busy.server.paths(before) if "/issues?" in path or "/issues/comments?" in path]
    assert all("since=" in path for path in asked), "only what is newer"
    busy.assert_same()


def test_bad_lines_are_counted_and_named_and_the_rest_is_read(busy, tmp_path):
    path = write_events(busy, tmp_path)
    done = take(busy, "gharchive", path)
    assert [(bad.number > 1, path in bad.reason) for bad in done.bad] == [(True, True)] * len(done.bad)
    assert len(done.bad) == 2, done.bad
    assert busy.value("SELECT count(*) FROM items WHERE title = 'as it was'") == 0, "the newest state counts"


def test_a_file_that_breaks_off_keeps_what_came_before(busy, tmp_path):
    path = tmp_path / "2026-03-01-12.json.gz"
    write_events(busy, tmp_path)
    path.write_bytes(path.read_bytes()[:-2000])
    done = take(busy, "gharchive", str(path))
    assert "ends unexpectedly" in done.bad[-1].reason
    assert done.items > 0


def test_pull_requests_without_words_wait_for_the_next_sync(busy, tmp_path):
    take(busy, "gharchive", write_events(busy, tmp_path, trimmed=True))
    waiting = busy.value("SELECT count(*) FROM jobs WHERE kind = 'item'")
    without = busy.value("SELECT count(*) FROM items WHERE kind = 'change'")
    assert waiting + without == 15
    busy.sync()
    busy.assert_same()


def test_an_archive_may_be_read_twice_and_never_over_a_sync(busy, tmp_path):
    path = write_events(busy, tmp_path)
    take(busy, "gharchive", path)
    again = take(busy, "gharchive", path)
    assert (again.written, again.notes) == (0, 0)
    busy.sync()
    with pytest.raises(Exception, match="is synced already"):
        take(busy, "gharchive", path)


def test_the_command_says_what_it_read_and_what_to_do_next(busy, tmp_path):
    path = write_events(busy, tmp_path)
    done = busy.command("import", "--from", "gharchive", path, "--project", "acme/web", "--no-embed")
    assert done.returncode == 0, done.stderr
    assert "45 items" in done.stdout
    assert "forgelore sync acme/web reads what the archive lacks" in done.stdout
    assert "skipped" in done.stderr
    assert busy.command("import", "--from", "gharchive", path, "--project", "gitlab:a/b").returncode == 2
    empty = busy.command("import", "--from", "github-backup", str(tmp_path / "nowhere"), "--project", "acme/other")
    assert "no such folder" in empty.stderr


ISSUE = {
    "id": 1, "number": 1, "title": "a", "body": "b", "user": {"login": "ana"}, "state": "open",
    "created_at": "2026-01-01T00:00:00Z", "updated_at": "2026-01-01T00:00:00Z",
}  # fmt: skip
GOOD = {**ISSUE, "number": 99}


def opened(**more) -> str:
    return event("IssuesEvent", {"action": "opened", "issue": {**ISSUE, **more}})


HOSTILE = {
    "a million brackets": ('{"repo": {"name": "acme/web"}, "type": ' + "[" * 1_000_000, "nested too deeply"),
    "no number": (opened(number=3).replace('"number": 3', '"number": 1e999'), "its number is not one"),
    "a number beyond SQLite's": (opened(number=10**30), "its number is not one"),
    "a number below all": (opened(number=-4), "its number is not one"),
    "another shape": (event("IssuesEvent", {"issue": [1]}), "another shape"),
    "a part that is missing": (event("IssuesEvent", {"action": "opened"}), "'issue' is missing"),
    "an author of another shape": (opened(user=["ana"]), "unexpected shape"),
    "a time that is none": (opened(updated_at="yesterday"), "not a time"),
    "a line without an end": (opened(body="x" * 32_000_000), "longer than 32 MB"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_line_is_named_and_the_next_one_is_read(github, tmp_path, name):
    line, reason = HOSTILE[name]
    path = tmp_path / "2026-03-01-12.json"
    path.write_text("\n".join([line, opened(number=99)]))
    done = take(github, "gharchive", str(path))
    assert github.rows("SELECT number FROM items") == [(99,)]
    (bad,) = done.bad
    assert (bad.number, reason in bad.reason) == (1, True), bad


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("[" * 1_000_000, "nested too deeply"),
        (json.dumps({**ISSUE, "number": 10**30}), "its number is not one"),
        (json.dumps([{"id": "x", "body": "y", "issue_url": "https://api.github.com/repos/a/b/issues/99"}]), "`$.id`"),
        (json.dumps([{"id": 7, "body": "y", "issue_url": "https://api.github.com/repos/a/b/issues/?"}]), "literal"),
    ],
)
def test_a_hostile_file_of_a_backup_is_named_and_the_others_are_read(github, tmp_path, row, reason):
    (tmp_path / "1.json").write_text(row)
    write(tmp_path / "99.json", GOOD)
    done = take(github, "github-backup", str(tmp_path))
    assert github.rows("SELECT number FROM items") == [(99,)]
    (bad,) = done.bad
    assert (bad.number, reason in bad.reason) == (1, True), bad


def test_half_a_character_costs_no_item(github, tmp_path):
    path = tmp_path / "2026-03-01-12.json"
    path.write_text(opened(title="cut \ud83d", body="a\x00b"))
    assert take(github, "gharchive", str(path)).bad == []
    assert github.rows("SELECT title FROM items") == [("cut \ufffd",)]


def test_damage_inside_a_zipped_file_is_named(github, tmp_path):
    lines = [opened(number=number, body=f"{number * 7919}" * 50) for number in range(1, 2000)]
    raw = bytearray(gzip.compress("\n".join(lines).encode()))
    raw[len(raw) // 2 : len(raw) // 2 + 2000] = b"\xff" * 2000
    path = tmp_path / "2026-03-01-12.json.gz"
    path.write_bytes(raw)
    done = take(github, "gharchive", str(path))
    assert done.items > 100
    assert "damaged" in done.bad[-1].reason
    assert "complete copy" in done.bad[-1].reason
    again = take(github, "github-backup", str(path))
    assert "not JSON" in again.bad[-1].reason
