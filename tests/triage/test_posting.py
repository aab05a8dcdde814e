"""One comment per item, ours alone, and the same thing never twice: on every local forge."""

import re

import pytest

from forgelore.compare.evidence import Quote
from forgelore.errors import AuthError, ForgeError, InvalidValue, NotFound, RateLimited
from forgelore.model import ItemKey
from forgelore.ports.forge import ConversationLocked, LostWrite
from forgelore.triage.posting import REMOVED, post_report, write_patiently
from forgelore.triage.report import MARKER, Report, ReportRow, build_report
from support import raised

BODY = f"{MARKER}\nLooks similar."
NEWER = f"{MARKER}\nLooks even more similar."
COMMENTS = r"/(comments|notes)(\?|\Z)"


class Post:
    """A forge with one issue, and the bot that posts on it. `said()` is what the forge shows of all comments."""

    def __init__(self, lab):
        self.lab, self.server = lab, lab.server
        self.sign_in("bot")
        self.project = self.forge.fetch_project(self.app.parse_project(lab.name_text))
        self.key = ItemKey("issue", lab.project.add_issue("Crash", "It crashes."))

    def sign_in(self, login, **rights):
        """Talk to the forge as somebody else from now on."""
        usual = {"scopes": ("api",)} if self.server.kind == "gitlab" else {}
        self.server.tokens[f"t0ken-of-{login}"] = self.lab.token_type(login, **(usual | rights))
        self.app = self.lab.new_app(f"t0ken-of-{login}")
        self.forge = self.app.forge(self.app.parse_project(self.lab.name_text))

    def post(self, body=BODY, **how):
        return post_report(self.forge, self.project, how.pop("key", self.key), body, **how)

    def comment(self, body, author):
        return self.lab.on_issue("comment", self.key.number, body, author=author)

    def delete(self, comment_id):
        self.lab.delete_comment(comment_id)

    def said(self, key=None):
        """(author, text) of each comment."""
        key = key or self.key
        if self.lab.has_shared_numbers:
            notes = self.lab.project.items[key.number].comments
        else:
            notes = [note for note in self.lab.project.item(key.kind, key.number).notes() if not note.system]
        return [(note.author, note.body) for note in notes]

    def ids(self):
        return [comment.id for comment in self.forge.list_comments(self.project, self.key)]

    def writes(self, since=0):
        return [line for line in self.server.paths(since) if not line.startswith("GET")]


@pytest.fixture(params=["github", "gitlab", "forgejo"])
def post(request):
    return Post(request.getfixturevalue(request.param))


@pytest.fixture(params=["github", "gitlab"])
def metered(request):
    """A forge that says how many requests are left."""
    return Post(request.getfixturevalue(request.param))


@pytest.fixture(params=["github", "forgejo"])
def on_hub(request):
    """A forge where issues and changes are numbered together, and whoever writes an archived project is told so."""
    return Post(request.getfixturevalue(request.param))


@pytest.fixture
def on_github(github):
    return Post(github)


@pytest.fixture
def on_gitlab(gitlab):
    return Post(gitlab)


@pytest.fixture
def on_forgejo(forgejo):
    return Post(forgejo)


def test_a_first_report_is_created(post):
    posted = post.post()
    assert posted.action == "created"
    assert post.said() == [("bot", BODY)]
    assert re.search(rf"#(issuecomment-|note_){post.ids()[0]}\Z", posted.url)


def test_an_unchanged_report_is_not_written_again(post):
    url = post.post().url
    before = len(post.server.requests)
    assert post.post() == ("unchanged", url, "")
    assert post.writes(before) == []


def test_a_new_report_replaces_the_old_one(post):
    first = post.post()
    assert post.post(NEWER) == ("updated", first.url, "")
    assert post.said() == [("bot", NEWER)]


def test_an_empty_report_takes_ours_away(post):
    post.post()
    assert post.post("").action == "deleted"
    assert post.said() == []
    assert post.post("") == ("nothing", None, "nothing to say")


def test_a_changes_conversation_works_the_same(post):
    key = ItemKey("change", post.lab.project.add_change("Fix the crash", "Fixes it."))
    assert post.post(key=key).action == "created"
    assert post.post(NEWER, key=key).action == "updated"
    assert post.said(key) == [("bot", NEWER)]
    assert post.post("", key=key).action == "deleted"


def test_a_persons_comment_that_quotes_the_marker_is_never_touched(post):
    """Neither one that begins with the marker, nor one of ours that has it further down."""
    theirs = [
        ("eve", BODY),
        ("eve", f"> {MARKER}\n> Looks similar.\n\nNo, it does not."),
        ("bot", f"I wrote this by hand:\n{MARKER}"),
    ]
    for author, body in theirs:
        post.comment(body, author)
    assert post.post().action == "created"
    assert post.post(NEWER).action == "updated"
    assert post.post("").action == "deleted"
    assert post.said() == theirs


def test_of_several_of_ours_the_oldest_stays(post):
    for _ in range(3):
        post.comment(BODY, "bot")
    kept = post.ids()[0]
    assert post.post(NEWER).action == "updated"
    assert post.said() == [("bot", NEWER)]
    assert post.ids() == [kept]


def test_ours_is_found_behind_a_hundred_other_comments(post):
    for number in range(120):
        post.comment(f"me too {number}", "eve")
    post.post()
    assert post.post(NEWER).action == "updated"
    assert len(post.said()) == 121


def test_a_comment_that_was_answered_is_still_ours(on_gitlab):
    """An answer turns a note into a thread."""
    on_gitlab.post()
    thread = on_gitlab.lab.project.item("issue", on_gitlab.key.number).discussions[0]
    on_gitlab.lab.project.reply("issue", on_gitlab.key.number, thread.id, "Thanks!", author="eve")
    assert on_gitlab.post(NEWER).action == "updated"
    assert on_gitlab.said() == [("bot", NEWER), ("eve", "Thanks!")]


def test_what_a_person_removed_is_not_posted_again(post):
    post.post()
    post.delete(post.ids()[0])
    assert post.post(NEWER, posted_before=True) == ("nothing", None, REMOVED)
    assert post.said() == []


def test_a_warning_that_is_new_is_posted_even_so(post):
    assert post.post(posted_before=True, is_new_warning=True).action == "created"


def test_one_that_goes_away_while_it_is_updated_is_created_once_more(post):
    post.post()
    mine = post.ids()[0]
    post.lab.on_request(rf"GET \S*{post.key.number}/(comments|notes)", lambda: post.delete(mine))
    assert post.post(NEWER, posted_before=True).action == "created"
    assert post.said() == [("bot", NEWER)]


LOST = [{"drop_after": True}, {"status": 502}, {"status": 504, "body": "<html>"}, {"truncate": 0.5}]


@pytest.mark.parametrize("fault", LOST, ids=["silence", "502", "504", "half an answer"])
def test_a_post_whose_answer_is_lost_is_looked_for_before_it_is_sent_again(post, fault):
    arrived = "status" not in fault
    post.server.fail(method="POST", path=COMMENTS, times=1, **fault)
    assert post.post().action == "created"
    assert post.said() == [("bot", BODY)]
    assert len(post.writes()) == (1 if arrived else 2)


def test_a_post_that_keeps_getting_lost_is_an_error_after_the_second(post):
    post.server.fail(method="POST", path=COMMENTS, status=502)
    with raised(LostWrite, says="did not confirm whether", hint="checks first"):
        post.post()
    assert len(post.writes()) == 2


@pytest.mark.parametrize("fault", [{"drop_after": True}, {"status": 502}], ids=["silence", "502"])
def test_changing_and_deleting_are_repeated(post, fault):
    post.post()
    for body, action, method in ((NEWER, "updated", "PATCH|PUT"), ("", "deleted", "DELETE")):
        method = next(
            name for name in method.split("|") if name != ("PATCH" if post.server.kind == "gitlab" else "PUT")
        )
        post.server.fail(method=method, times=1, **fault)
        assert post.post(body).action == action
    assert post.said() == []


def test_a_limit_is_waited_for_and_the_comment_posted_once(post):
    post.server.fail(method="POST", path=COMMENTS, status=429, headers={"Retry-After": "30"}, times=2)
    assert post.post().action == "created"
    assert len(post.said()) == 1
    assert post.lab.time.waits.count(30) == 2


def test_writes_keep_a_second_between_them(post):
    for _ in range(3):
        post.comment(BODY, "bot")
    before = post.lab.time.clock()
    post.post(NEWER)  # two deletions and an update
    assert post.lab.time.clock() - before >= 2


@pytest.mark.parametrize("kind", ["issue", "change"])
def test_a_token_that_may_not_write_is_told_which_permission_it_needs(on_github, kind):
    number = on_github.key.number if kind == "issue" else on_github.lab.project.add_change("Fix")
    on_github.sign_in(
        "github-actions[bot]", kind="integration", permissions={"issues": "read", "pull_requests": "read"}
    )
    wanted = {"issue": "issues: write", "change": "pull-requests: write"}[kind]
    with raised(AuthError, says="Resource not accessible by integration", hint=wanted):
        on_github.post(key=ItemKey(kind, number))


def test_the_token_of_a_workflow_need_not_know_who_it_is(on_github):
    on_github.sign_in("github-actions[bot]", kind="integration", permissions={"issues": "write"})
    on_github.post()
    assert on_github.post(NEWER).action == "updated"
    assert on_github.said() == [("github-actions[bot]", NEWER)]
    assert on_github.post(NEWER, own="GitHub-Actions[bot]").action == "unchanged"


def test_without_a_token_nothing_is_posted(post):
    post.app = post.lab.new_app("")
    post.forge = post.app.forge(post.app.parse_project(post.lab.name_text))
    with raised(AuthError):
        post.post()


def test_a_token_that_may_only_read_is_told_the_scope_it_needs(on_gitlab):
    on_gitlab.sign_in("reader", scopes=("read_api",))
    with raised(AuthError, says="HTTP 403", hint="the scope api"):
        on_gitlab.post()


def test_a_token_of_forgejo_that_may_only_read_is_told_the_scope_it_needs(on_forgejo):
    on_forgejo.sign_in("reader", scopes=("read:issue",))
    with raised(AuthError, says="write:issue", hint="the scope write:issue"):
        on_forgejo.post()


def test_a_locked_conversation_is_a_clear_error(post):
    if post.lab.has_shared_numbers:
        post.lab.project.items[post.key.number].locked = True
    else:
        post.lab.project.item("issue", post.key.number).extra["discussion_locked"] = True
        post.sign_in("stranger", access_level=0)
    with raised(ConversationLocked, says=f"the conversation of issue {post.key.number} is locked", hint="unlock"):
        post.post()
    assert post.said() == []


def test_a_deleted_item_is_not_found(post):
    post.lab.on_issue("delete", post.key.number)
    with raised(NotFound):
        post.post()


def test_an_issue_that_was_transferred_gets_no_comment_in_its_new_home(on_github):
    other = on_github.server.add_project("acme/api")
    new = on_github.lab.project.transfer(on_github.key.number, other)
    with raised(NotFound, says="moved to another project"):
        on_github.post()
    with raised(NotFound, says="moved to another project"):
        on_github.forge.create_comment(on_github.project, on_github.key, BODY)
    assert other.items[new].comments == []


def test_a_renamed_project_still_gets_its_comment(on_github):
    on_github.server.rename("acme/web", "acme/site")
    assert on_github.post().action == "created"
    assert on_github.post(NEWER).action == "updated"
    assert on_github.post("").action == "deleted"


def test_a_project_that_was_renamed_meanwhile_is_not_written_to_unseen(on_forgejo):
    """A redirect names nothing that tells the project from another of that name."""
    on_forgejo.server.rename("acme/web", "acme/site")
    with raised(ForgeError, says="has been renamed", hint="again"):
        on_forgejo.post()
    assert on_forgejo.said() == []


def test_an_archived_project_says_so(on_hub):
    on_hub.lab.project.archived = True
    with raised(ForgeError, says="archived"):
        on_hub.post()


def test_a_note_of_nothing_but_quick_actions_is_a_failure(on_gitlab):
    with raised(ForgeError, says="posted nothing"):
        on_gitlab.forge.create_comment(on_gitlab.project, on_gitlab.key, "/close")


def test_a_report_without_its_marker_would_never_be_found_again(post):
    with raised(InvalidValue):
        post.post("Looks similar.")
    assert post.writes() == []


def test_a_forge_that_is_limited_for_long_says_when_to_come_back(on_github):
    on_github.server.set_limit(limit=60, remaining=0)
    with raised(RateLimited):
        on_github.post()


def hostile_report(post):
    """A report about items whose titles try everything, on a project where the bot may do everything."""
    project = post.lab.project
    titles = [
        "Duplicate of #3",
        "/close",
        "x\n/duplicate #2\n/label ~bug",
        "@ana fixes #2 and acme/web#3, group/app#3",
    ]
    numbers = [project.add_issue(title, "") for title in titles]
    rows = []
    for number, title in zip(numbers, titles, strict=True):
        item = post.forge.fetch_item(post.project, ItemKey("issue", number))
        rows.append(ReportRow(f"#{number}", title, item.url, 0.95, "open", None, "issue"))
    quotes = (Quote("error", "duplicate of #2", "/close"), Quote("path", rows[1].url, "#2"))
    forge = post.server.kind
    return numbers, build_report(Report(tuple(rows), True, 0.9, 9, quotes, (), (), forge, "issue", 65_536))


def test_a_report_closes_marks_and_mentions_nothing(post):
    """Whoever may write also marks duplicates and runs quick actions with a comment: the bot has those rights here."""
    numbers, body = hostile_report(post)
    if post.lab.has_shared_numbers:
        post.lab.project.add_collaborator("bot", "admin")
    assert post.post(body).action == "created"
    assert post.said() == [("bot", body)]
    for number in [post.key.number, *numbers]:
        if post.lab.has_shared_numbers:
            item = post.lab.project.items[number]
            assert [event.event for event in item.events] == []
            assert (item.state, item.duplicate_of) == ("open", None)
        else:
            item = post.lab.project.item("issue", number)
            assert [note.body for note in item.notes() if note.system] == []
            assert (item.state, item.duplicate_of, item.labels) == ("opened", None, set())


def test_labels_are_added_and_none_is_taken_away(post):
    project = post.lab.project
    key = ItemKey("issue", project.add_issue("Crash", "", labels=["old"]))
    is_hub = post.lab.has_shared_numbers
    post.server.fail(method="POST" if is_hub else "PUT", path=r"/issues/\d+" + "/labels" * is_hub, times=1, status=502)
    if is_hub:
        project.add_collaborator("bot", "push")
    write_patiently(lambda: post.forge.add_labels(post.project, key, ["bug", "area: ui", "old"]))
    assert post.forge.fetch_item(post.project, key).labels == ["area: ui", "bug", "old"]


def test_the_paths_of_a_change_are_listed_on_all_their_pages(post):
    files = [("modified", f"src/file_{number}.py") for number in range(130)] + [("renamed", "a.py", "b.py")]
    key = ItemKey("change", post.lab.project.add_change("Big", "", files=files))
    found = post.forge.fetch_files(post.project, key)
    assert len(found) == 131
    assert (found[-1].old_path, found[-1].new_path, found[-1].status) == ("a.py", "b.py", "renamed")
    assert post.forge.fetch_files(post.project, post.key) == []


def changed(post, *files):
    return ItemKey("change", post.lab.project.add_change("Change", "", files=files))


def test_a_diff_names_its_files_and_shows_their_lines(post):
    key = changed(post, ("modified", "src/a.py"), ("added", "src/b.py"), ("deleted", "src/c.py"))
    diff = post.forge.fetch_diff(post.project, key, max_chars=4_000)
    for line in ("diff --git a/src/a.py b/src/a.py", "--- /dev/null\n+++ b/src/b.py", "--- a/src/c.py\n+++ /dev/null"):
        assert line in diff
    assert "\n@@ -" in diff
    assert post.forge.fetch_diff(post.project, key, max_chars=50) == diff[:50]


def test_an_issue_has_no_diff(post):
    assert post.forge.fetch_diff(post.project, post.key, max_chars=100) == ""


@pytest.mark.parametrize("status", [404, 406, 422, 500, 502, 503])
def test_a_diff_that_the_forge_does_not_show_is_none(post, status):
    key = changed(post, ("modified", "src/a.py"))
    post.server.fail(path=rf"/(pulls/{key.number}|diffs)(\.diff)?(\?|\Z)", status=status)
    assert post.forge.fetch_diff(post.project, key, max_chars=100) is None


def test_a_diff_of_too_many_files_is_none(on_github):
    key = changed(on_github, *[("modified", f"src/{number}.py") for number in range(301)])
    assert on_github.forge.fetch_diff(on_github.project, key, max_chars=100) is None
    assert len(on_github.forge.fetch_files(on_github.project, key)) == 301


def test_a_diff_of_binary_files_is_empty(on_github):
    assert on_github.forge.fetch_diff(on_github.project, changed(on_github, ("added", "logo.png")), max_chars=99) == ""


def test_files_without_lines_are_left_out_of_a_diff(on_gitlab):
    key = changed(
        on_gitlab, ("modified", "big.js", {"too_large": True}), ("modified", "far.js", {"collapsed": True}),
        ("renamed", "a.py", "b.py"), ("modified", "src/seen.py"),
    )  # fmt: skip
    diff = on_gitlab.forge.fetch_diff(on_gitlab.project, key, max_chars=4_000)
    assert re.findall(r"^diff --git (.*)", diff, re.MULTILINE) == ["a/src/seen.py b/src/seen.py"]
    renamed = changed(on_gitlab, ("renamed", "a.py", "b.py"))
    assert on_gitlab.forge.fetch_diff(on_gitlab.project, renamed, max_chars=4_000) == ""


def test_a_diff_is_read_over_pages_and_no_further_than_needed(on_gitlab):
    key = changed(on_gitlab, *[("modified", f"src/{number}.py") for number in range(70)])
    before = len(on_gitlab.server.requests)
    diff = on_gitlab.forge.fetch_diff(on_gitlab.project, key, max_chars=4_000)
    assert len(diff) == 4_000
    asked = len(on_gitlab.server.requests) - before
    assert 2 <= asked <= 3
    assert "b/src/30.py" in diff


HUGE = 10_000_000


def test_a_huge_diff_is_not_read_to_its_end(post):
    """The forge promises ten megabytes and breaks off after one: who wanted all of it would have failed."""
    key = changed(post, ("modified", "src/a.py"))
    lines = "+x = '<é𝔘>'\n" * (HUGE // 16)
    if post.lab.has_shared_numbers:
        body = f"diff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n{lines}"
        more = {"headers": {"Content-Type": "application/vnd.github.diff; charset=utf-8"}}
    else:
        body, more = [{"diff": f"@@ -1 +1 @@\n{lines}", "old_path": "src/a.py", "new_path": "src/a.py"}] * 3, {}
    post.server.fail(path=rf"/(pulls/{key.number}|diffs)(\.diff)?(\?|\Z)", status=200, body=body, truncate=0.1, **more)
    diff = post.forge.fetch_diff(post.project, key, max_chars=4_000)
    if post.lab.has_shared_numbers:
        assert len(diff) == 4_000
    assert "@@ -1 +1 @@\n+x = '<é𝔘>'\n+x" in diff
    assert "\ufffd" not in diff


def test_how_many_requests_are_left_is_known_once_the_forge_has_said_so(metered):
    fresh = metered.lab.new_app()
    forge = fresh.forge(fresh.parse_project(metered.lab.name_text))
    assert forge.requests_left() is None
    metered.server.set_limit(100, 40)
    forge.fetch_project(fresh.parse_project(metered.lab.name_text))
    left = forge.requests_left()
    assert 38 <= left <= 40
    forge.fetch_item(metered.project, metered.key)
    assert forge.requests_left() == left - 1
    metered.lab.time.pass_by(7_200)
    assert forge.requests_left() is None  # that window is over
