"""Later syncs: only what is new is asked for and written, whatever happened meanwhile is noticed, and a crash loses no page."""

import json
from typing import NamedTuple

import pytest

from forgelore.errors import ForgeError, Stopped
from forgelore.store.sync import load_cursor, load_runs
from forgelore.sync import run as sync_flow
from forgelore.sync.pages import PageSaver
from servers.github import Token
from support import assert_unread, content_hash, raised

DAY_S = 86_400


def is_github(lab):
    return lab.server.kind == "github"


def edit(lab, number, **fields):
    lab.on_issue("edit", number, **fields)


def comment(lab, number, text):
    return lab.on_issue("comment", number, text)


def items_cursor(lab):
    return load_cursor(lab.app.store(), 1, lab.items_list)


# nothing new


def test_a_second_sync_with_nothing_new_asks_little_and_writes_nothing(lab):
    lab.populate(issues=30, changes=12, discussions=3)
    lab.sync()
    before, asked = content_hash(lab.app), len(lab.server.requests)
    lab.time.pass_by(600)
    result = lab.sync()
    assert (result.rows_written, result.written, result.deleted) == (0, {}, 0)
    assert content_hash(lab.app) == before
    assert per_kind(lab, asked) <= 3, lab.server.paths(asked)
    assert result.requests == len(lab.server.requests) - asked


def per_kind(lab, since):
    """The most requests that any resource took."""
    counts = {}
    for request in lab.server.requests[since:]:
        resource = (request["body"] or request["url"].partition("?")[0])[:60]
        counts[resource] = counts.get(resource, 0) + 1
    return max(counts.values())


def test_ten_syncs_with_nothing_new_leave_the_same_rows(lab):
    lab.populate(discussions=2)
    lab.sync()
    before = content_hash(lab.app)
    for _ in range(10):
        lab.time.pass_by(1800)
        lab.sync()
    assert content_hash(lab.app) == before


def test_a_day_later_the_wider_net_still_changes_no_content(lab):
    lab.populate(discussions=2)
    lab.sync()
    known = lab.stored()
    lab.time.pass_by(DAY_S + 1)
    assert lab.sync().rows_written == 0
    assert lab.stored() == known


# new and changed


def test_new_items_edits_labels_and_comments_are_noticed(lab):
    lab.populate()
    number = lab.project.add_issue("before", "old body", labels=["bug"])
    lab.sync()
    versions = dict(lab.rows("SELECT number, content_version FROM items WHERE kind = 'issue'"))
    lab.time.pass_by(3600)
    new = lab.project.add_issue("brand new")
    edit(lab, number, title="after", body="new body", labels=["docs", "p1"])
    lab.time.pass_by(61)
    comment(lab, number, "a remark")
    result = lab.sync()
    lab.assert_same()
    assert result.written["issue"] == 2
    now = dict(lab.rows("SELECT number, content_version FROM items WHERE kind = 'issue'"))
    assert now.pop(new) == 1
    assert {n: v - versions[n] for n, v in now.items() if v != versions[n]} == {number: 1}


def test_a_label_change_is_no_change_of_content(lab):
    number = lab.project.add_issue("same", labels=["bug"])
    lab.sync()
    lab.time.pass_by(600)
    edit(lab, number, labels=["docs"])
    lab.sync()
    lab.assert_same()
    assert lab.value("SELECT content_version FROM items") == 1


def test_states_are_followed(lab):
    lab.populate()
    number = lab.project.add_issue("goes")
    lab.sync()
    for _ in range(2):
        lab.time.pass_by(600)
        lab.on_issue("close", number)
        lab.sync()
        lab.assert_same()
        lab.time.pass_by(600)
        lab.on_issue("reopen", number)
        lab.sync()
        lab.assert_same()


def test_only_what_is_newer_than_the_cursor_is_asked_for(lab):
    lab.populate(issues=40, changes=5, end="2026-02-01T00:00:00Z")
    lab.sync()
    lab.time.pass_by(3600)
    lab.project.add_issue("new")
    asked = len(lab.server.requests)
    assert lab.sync().written.keys() <= {"issue", "note", "detail"}
    assert len(lab.server.requests) - asked < 15
    lab.assert_same()


def test_the_overlap_is_five_minutes_below_the_cursor(lab):
    """Rows that were committed late with an older time are met again."""
    lab.project.add_issue("first")
    lab.sync()
    lab.project.add_issue("late", created_at="2026-03-01T11:56:00Z")
    lab.time.pass_by(60)
    lab.sync()
    lab.assert_same()


def test_an_item_that_was_late_by_days_is_caught_by_the_wider_net_or_the_count(lab):
    lab.project.add_issue("first")
    lab.sync()
    lab.project.add_issue("very late", created_at="2026-01-01T00:00:00Z")
    for _ in range(2):  # the first may take it for something that was created while it ran
        lab.time.pass_by(60)
        lab.sync()
    lab.assert_same()


def test_many_items_of_one_instant_are_kept_apart_by_their_ids(lab):
    """Ties: equal times, more than a page of them, some on either side of a run's end."""
    for n in range(150):
        lab.project.add_issue(f"same instant {n}")
    lab.sync()
    cursor = items_cursor(lab)
    assert cursor.tie_id == max(
        item.id for item in (lab.project.items if lab.has_shared_numbers else lab.project.issues).values()
    )
    for n in range(120):
        lab.project.add_issue(f"same instant, later {n}")
    lab.sync()
    lab.assert_same()


# the cursor and its page


def test_the_cursor_moves_only_with_its_page(lab, monkeypatch):
    """A page that cannot be saved leaves the cursor where it was; the next run repeats it."""
    fill(lab, 130)
    real, calls = PageSaver.save, []

    def failing(self, page, resource, now_ms):
        rows = real(self, page, resource, now_ms)
        if resource in ("items", "issues"):
            calls.append(len(page.items))
            if len(calls) == 2:
                raise ForgeError("the disk went away in the middle of a page")
        return rows

    monkeypatch.setattr(PageSaver, "save", failing)
    with raised(ForgeError, says="middle of a page"):
        lab.sync()
    newest, cursor = lab.value("SELECT max(updated_at) FROM items"), items_cursor(lab)
    if lab.server.kind == "forgejo":  # pages of 50, read from the last to the first: the token knows the second is next
        assert (cursor.updated_at, json.loads(cursor.token)[2:4]) == (None, [2, newest])
    else:
        assert cursor.updated_at == newest
    assert not cursor.is_complete
    assert lab.value("SELECT count(*) FROM items") == calls[0] == (30 if lab.server.kind == "forgejo" else 100)
    monkeypatch.setattr(PageSaver, "save", real)
    lab.sync()
    lab.assert_same()


def fill(lab, count):
    lab.server.clock.advance(-count - 3600)
    for number in range(count):
        lab.project.add_issue(f"issue {number}")
        lab.server.clock.advance(1)
    lab.server.clock.advance(3600)


def test_the_cursor_is_never_beyond_the_newest_row(lab):
    lab.populate(discussions=2)
    lab.sync()
    for resource, updated_at in lab.rows("SELECT resource, updated_at FROM sync_cursors WHERE updated_at IS NOT NULL"):
        table = "notes" if "comments" in resource else "items"
        assert updated_at <= lab.value(f"SELECT max(updated_at) FROM {table}"), resource


@pytest.mark.parametrize("failing", range(1, 13, 2))
def test_a_run_that_dies_at_any_request_is_completed_by_the_next(lab, failing):
    """Each request in turn fails for good; the rerun reaches the truth."""
    lab.populate(issues=6, changes=4, discussions=2, comments_per_item=2)
    rule = lab.server.fail(skip=failing, status=418, body={"message": "no"})
    try:
        lab.sync()
    except ForgeError:
        assert failing == 0 or lab.value("SELECT status FROM sync_runs ORDER BY id DESC LIMIT 1") == "failed"
    lab.server.faults.remove(rule)
    lab.time.pass_by(20)
    lab.sync()
    lab.assert_same()
    assert lab.value("SELECT count(*) FROM jobs WHERE kind <> 'document'") == 0


@pytest.mark.parametrize("step", range(1, 12, 2))
def test_a_run_that_is_killed_between_two_transactions_is_completed_by_the_next(lab, step, monkeypatch):
    """What a power cut leaves behind: no farewell, no released lock."""
    lab.populate(issues=6, changes=4, discussions=2, comments_per_item=2)
    lab.app.store(create=True)
    killed = lab.same_file()
    store = killed.store()
    real, begun = store.transaction, []

    def dying():
        begun.append(1)
        if len(begun) > step:
            raise KeyboardInterrupt
        return real()

    monkeypatch.setattr(store, "transaction", dying)
    with pytest.raises(KeyboardInterrupt):
        lab.sync(killed)
    lab.rows("UPDATE locks SET pid = 999999999")
    lab.sync()
    lab.assert_same()
    statuses = [status for (status,) in lab.rows("SELECT status FROM sync_runs ORDER BY id")]
    assert statuses in (["succeeded"], ["interrupted", "succeeded"])


def test_an_incomplete_run_says_why_and_keeps_what_it_saved(lab):
    lab.populate()
    path = "/issues/comments" if lab.has_shared_numbers else "/merge_requests?"
    lab.server.fail(path=path.replace("?", r"\?"), status=400, body={"message": "no such thing"})
    lab.sync()
    (run,) = load_runs(lab.app.store(), 1, 3)
    assert run.status == "incomplete"
    assert "no such thing" in run.unread[0]
    assert run.finished_at
    assert lab.value("SELECT count(*) FROM items") >= 12
    assert lab.value("SELECT count(*) FROM locks") == 0


def test_ctrl_c_ends_a_run_that_can_be_continued(lab):
    lab.populate()
    stop = sync_flow.threading.Event()
    stop.set()
    with pytest.raises(Stopped):
        lab.sync(stop=stop)
    assert lab.value("SELECT status FROM sync_runs") == "interrupted"
    lab.sync()
    lab.assert_same()


# what leaves no trace in the lists


def test_deleted_comments_are_noticed(lab):
    """Deleting one moves no time on any forge. Counts, or GitLab's whole conversation, tell within a day."""
    lab.populate()
    number = lab.project.add_issue("talk")
    said = [comment(lab, number, f"remark {n}") for n in range(4)]
    lab.time.pass_by(3600)
    lab.sync()
    for one in said[:2]:
        lab.delete_comment(one)
        lab.time.pass_by(DAY_S + 1)
        lab.sync()
        lab.assert_same()


def test_full_notices_what_no_time_tells(lab):
    """`--full` distrusts everything: conversations are read again even where no item changed."""
    lab.populate(end="2025-06-01T00:00:00Z", start="2025-01-01T00:00:00Z")
    number = lab.project.add_issue("old", created_at="2025-06-02T00:00:00Z")
    if lab.has_shared_numbers:
        change = lab.project.add_change("old change", created_at="2025-06-02T00:00:00Z")
        root = lab.project.review_comment(change, "hm", at="2025-06-03T00:00:00Z")
        other = lab.project.review_comment(change, "hm hm", at="2025-06-03T00:00:00Z")
        lab.sync()
        lab.project.resolve_thread(root)
        lab.project.delete_comment(other)
    else:
        note = lab.project.comment("issue", number, "typo", at="2025-06-03T00:00:00Z")
        lab.sync()
        lab.project.edit_note(note, "mended", at="2025-06-04T00:00:00Z")
    lab.time.pass_by(600)
    lab.sync()
    lab.sync(full=True)
    lab.assert_same()
    if lab.has_shared_numbers:
        assert lab.value("SELECT is_resolved FROM threads WHERE key = ?", f"r{root}") == 1


def test_full_reads_everything_again_and_duplicates_nothing(lab):
    lab.populate(discussions=2, comments_per_item=1)  # lists of one page: within longer ones later pages have a time
    lab.sync()
    known, rows = lab.stored(), lab.value("SELECT count(*) FROM notes")
    asked = len(lab.server.requests)
    lab.time.pass_by(600)
    result = lab.sync(full=True, command="sync --full")
    assert result.rows_written == 0
    assert not [path for path in lab.server.paths(asked) if "since=" in path or "updated_after=" in path]
    assert (lab.stored(), lab.value("SELECT count(*) FROM notes")) == (known, rows)
    assert items_cursor(lab).is_complete
    assert lab.value("SELECT command FROM sync_runs ORDER BY id DESC LIMIT 1") == "sync --full"


def test_an_interrupted_full_run_goes_on_distrusting(gitlab):
    """The second half of its walk is done by the next run, with the same suspicion."""
    fill(gitlab, 130)
    notes = [gitlab.project.comment("issue", n, "typo", at="2026-03-01T11:00:00Z") for n in range(1, 131)]
    gitlab.sync()
    for note in notes:
        gitlab.project.edit_note(note, "mended")
    gitlab.time.pass_by(600)
    rule = gitlab.server.fail(path=r"/issues\?.*updated_after", status=400)
    assert_unread(gitlab.sync(full=True), part="issues")
    gitlab.server.faults.remove(rule)
    gitlab.sync()
    gitlab.assert_same()


def test_releases_that_were_edited_or_deleted_are_noticed(lab):
    lab.populate(releases=0)
    names = [lab.project.add_release(f"v{n}", name=f"Release {n}", body="text") for n in range(4)]
    lab.sync()
    lab.time.pass_by(600)
    lab.project.edit_release(names[1], body="better text")
    lab.project.delete_release(names[2])
    lab.project.add_release("v9")
    result = lab.sync()
    lab.assert_same()
    assert result.deleted == 1


def test_selected_kinds_leave_the_rest_alone(lab):
    lab.populate()
    lab.sync(kinds=("release",), command="ingest release")
    assert {kind for (kind,) in lab.rows("SELECT DISTINCT kind FROM items")} == {"release"}
    lab.sync()
    lab.assert_same()


# conversations with reviews, and GitHub's discussions


@pytest.fixture(params=["github", "forgejo"])
def hub(request):
    """A forge whose changes have reviews, and comments as a stream."""
    return request.getfixturevalue(request.param)


def test_review_threads_and_their_resolution_are_followed(hub):
    hub.populate(changes=2)
    change = hub.project.add_change("reviewed", files=[("modified", "a.py"), ("modified", "b.py")])
    first = hub.project.review_comment(change, "why?", path="a.py", line=3)
    second = hub.project.review_comment(change, "and here?", path="b.py", line=9)
    hub.sync()
    state = "SELECT key, is_resolved FROM threads WHERE is_resolvable AND key IN (?, ?)"
    assert dict(hub.rows(state, f"r{first}", f"r{second}")) == {f"r{first}": 0, f"r{second}": 0}
    hub.time.pass_by(600)
    hub.project.review_comment(change, "because", reply_to=first, author="ana")
    hub.project.resolve_thread(first)
    hub.sync()
    hub.assert_same()
    assert dict(hub.rows(state, f"r{first}", f"r{second}")) == {f"r{first}": 1, f"r{second}": 0}
    hub.project.resolve_thread(second)
    hub.time.pass_by(DAY_S)
    hub.sync()
    assert dict(hub.rows(state, f"r{first}", f"r{second}")) == {f"r{first}": 1, f"r{second}": 1}


def test_a_thread_whose_first_comment_was_deleted_is_still_followed(hub):
    """Answers go on naming the deleted one; the thread keeps its name here and its state there."""
    change = hub.project.add_change("reviewed")
    root = hub.project.review_comment(change, "why?")
    hub.project.review_comment(change, "because", reply_to=root)
    hub.sync()
    hub.time.pass_by(600)
    hub.project.delete_comment(root)
    hub.project.resolve_thread(max(hub.project.review_comments))
    hub.project.edit(change, title="touched")
    hub.sync()
    hub.assert_same()
    assert hub.rows("SELECT is_resolved FROM threads WHERE is_resolvable") == [(1,)]


def test_deleted_review_comments_and_edited_reviews_are_noticed(hub):
    change = hub.project.add_change("reviewed")
    kept = hub.project.review_comment(change, "keep")
    gone = hub.project.review_comment(change, "goes")
    review = hub.project.review(change, "fine")
    hub.sync()
    hub.project.delete_comment(gone)
    hub.project.edit_comment(kept, "kept and edited", at="2026-03-01T13:00:00Z")
    hub.server.world.by_id[review].body = "more than fine"
    hub.time.pass_by(DAY_S + 7200)
    hub.sync()
    hub.assert_same()


def test_edited_comments_arrive_though_their_issue_did_not_move(hub):
    number = hub.project.add_issue("talk")
    said = hub.project.comment(number, "typo")
    hub.sync()
    hub.time.pass_by(3600)
    hub.project.edit_comment(said, "mended")
    result = hub.sync()
    hub.assert_same()
    assert result.written == {"note": 1}


def test_discussion_replies_answers_and_deletions_are_followed(github):
    number = github.project.add_discussion("how?", category="Q&A")
    said = github.project.discussion_comment(number, "like this")
    github.project.discussion_reply(said, "thanks")
    github.sync()
    github.assert_same()
    github.time.pass_by(600)
    other = github.project.discussion_comment(number, "or like that")
    github.project.discussion_reply(said, "thanks again")
    github.project.answer(other)
    github.sync()
    github.assert_same()
    assert github.rows("SELECT key FROM notes WHERE is_answer") == [(f"d{other}",)]
    github.project.delete_comment(said)
    github.time.pass_by(DAY_S + 1)
    github.sync()
    github.assert_same()


def test_discussions_with_more_comments_and_replies_than_a_page_are_whole(github):
    number = github.project.add_discussion("long")
    for n in range(45):
        said = github.project.discussion_comment(number, f"comment {n:02}")
    for n in range(130):
        github.project.discussion_reply(said, f"reply {n:03}")
    github.sync()
    github.assert_same()


class Talk(NamedTuple):
    number: int
    comments: list[int]
    replies: list[int]


def add_long_discussions(lab, count):
    """Return the last one. Each has more comments than a page of the list, and a comment with more replies than one."""
    for n in range(count):
        number = lab.project.add_discussion(f"long {n}", created_at=f"2026-02-{n % 28 + 1:02}T00:00:00Z")
        at = f"2026-02-{n % 28 + 1:02}T01:00:00Z"
        said = [lab.project.discussion_comment(number, f"comment {k:03}", at=at) for k in range(105)]
        replies = [lab.project.discussion_reply(said[0], f"reply {k:02}", at=at) for k in range(25)]
    return Talk(number, said, replies)


def test_long_discussions_with_nothing_new_are_not_read_again(github):
    """Thirty of them took 162 requests in a quiet sync."""
    add_long_discussions(github, 30)
    github.sync()
    github.assert_same()
    before, asked = content_hash(github.app), len(github.server.requests)
    github.time.pass_by(600)
    result = github.sync()
    assert (result.rows_written, content_hash(github.app)) == (0, before)
    assert per_kind(github, asked) <= 3
    assert result.requests <= 12


@pytest.mark.parametrize(
    "change",
    [
        lambda project, talk: project.discussion_comment(talk.number, "the newest"),
        lambda project, talk: project.discussion_reply(talk.comments[-1], "an answer, far below"),
        lambda project, talk: project.edit_comment(talk.comments[-1], "mended"),
        lambda project, talk: project.edit_comment(talk.comments[1], "mended, no date moved", touch_parent=False),
        lambda project, talk: project.delete_comment(talk.comments[-1]),
        lambda project, talk: project.delete_comment(talk.comments[0]),
        lambda project, talk: project.delete_comment(talk.replies[-1]),
        lambda project, talk: project.edit(talk.number, title="another title"),
    ],
    ids=["comment", "reply", "edit", "silent edit", "deleted last", "deleted first", "deleted reply", "title"],
)
def test_what_happens_in_a_long_discussion_is_noticed(github, change):
    talk = add_long_discussions(github, 2)
    github.sync()
    github.time.pass_by(600)
    change(github.project, talk)
    github.sync()
    github.assert_same()
    before, asked = content_hash(github.app), len(github.server.requests)
    github.time.pass_by(600)
    github.sync()
    assert (content_hash(github.app), per_kind(github, asked)) == (before, 1)


def test_once_a_day_long_discussions_are_read_again(github):
    """Nothing in the list tells of an edit below its first page that moved no date."""
    talk = add_long_discussions(github, 1)
    github.project.edit(talk.number, title="touched")
    github.sync()
    github.project.edit_comment(talk.comments[-1], "mended", touch_parent=False)
    github.time.pass_by(DAY_S + 1)
    github.sync()
    github.assert_same()


def test_the_daily_look_at_long_discussions_compares_times_before_it_reads(github):
    """Six of them took eighteen requests. What differs is read to its end, and nothing else."""
    talk = add_long_discussions(github, 6)
    for n in range(1, 7):
        github.project.edit(n, title="touched")
    github.sync()
    github.time.pass_by(DAY_S + 1)
    asked = len(github.server.requests)
    assert github.sync().rows_written == 0
    assert count_discussion_requests(github, asked) == 3
    github.project.edit_comment(talk.replies[-1], "mended", touch_parent=False)
    github.time.pass_by(DAY_S + 1)
    asked = len(github.server.requests)
    github.sync()
    assert count_discussion_requests(github, asked) == 3 + 3
    github.assert_same()


def count_discussion_requests(lab, asked):
    words = ("Discussions", "NoteTimes", "MoreComments", "MoreReplies")
    return sum(any(f"query {word}(" in (one["body"] or "") for word in words) for one in lab.server.requests[asked:])


def test_the_daily_look_leaves_old_long_discussions_alone(github):
    """They come with the page of the list that it reads, and are older than its fourteen days."""
    add_long_discussions(github, 3)
    github.sync()
    github.time.pass_by(20 * DAY_S)
    asked = len(github.server.requests)
    github.sync()
    assert per_kind(github, asked) == 1


def test_more_discussions_than_a_page_survive_an_interruption(github):
    """The first walk resumes at GitHub's own position."""
    for n in range(60):
        github.project.add_discussion(f"talk {n}", created_at=f"2026-02-01T00:{n:02}:00Z")
    rule = github.server.fail(path="graphql", skip=2, status=400, body={"message": "no"})
    assert_unread(github.sync(), part="discussions")
    github.server.faults.remove(rule)
    saved = github.value("SELECT count(*) FROM items WHERE kind = 'discussion'")
    assert 0 < saved < 60
    github.sync()
    github.assert_same()


def test_a_push_changes_the_files(lab):
    lab.populate(changes=1)
    change = lab.project.add_change("work", files=[("modified", "a.py"), ("added", "b.py")])
    lab.sync()
    lab.time.pass_by(600)
    lab.project.push(change, [("renamed", "a.py", "c.py"), ("deleted", "d.py")])
    lab.sync()
    lab.assert_same()


# GitLab's own conversations


def test_replies_resolution_and_reopened_threads_are_followed(gitlab):
    change = gitlab.project.add_change("work")
    thread = gitlab.project.discuss("change", change, "why?", path="src/a.py", line=3)
    plain = gitlab.project.comment("change", change, "plain")
    gitlab.sync()
    gitlab.time.pass_by(600)
    gitlab.project.reply("change", change, thread, "because")
    gitlab.project.resolve(change, thread)
    single = gitlab.project.notes[plain].discussion.id
    gitlab.project.reply("change", change, single, "a plain comment becomes a thread")
    gitlab.sync()
    gitlab.assert_same()
    assert gitlab.value("SELECT is_resolved FROM threads WHERE key = ?", thread) == 1
    assert (
        gitlab.value("SELECT t.key FROM threads t JOIN notes n ON n.thread_id = t.id WHERE n.body = 'plain'") == single
    )
    gitlab.project.resolve(change, thread, resolved=False)
    gitlab.time.pass_by(DAY_S + 1)
    gitlab.sync()
    assert gitlab.value("SELECT is_resolved FROM threads WHERE key = ?", thread) == 0


def test_secrets_in_payloads_are_not_stored(lab):
    """GitLab shows maintainers a runners' token; neither it nor ours reaches the file."""
    lab.populate()
    if is_github(lab):
        lab.server.tokens["second"] = Token("ana")
    lab.sync()
    lab.app.store().run("VACUUM")
    with open(lab.app.config.db, "rb") as file:
        content = file.read()
    payloads = b"".join(loaded(lab))
    for secret in (lab.good_token.encode(), b"GR1348941local"):
        assert secret not in content
        assert secret not in payloads


def loaded(lab):
    from forgelore.store.payloads import load_payload

    store = lab.app.store()
    for project_id, digest in store.rows("SELECT project_id, hash FROM raw_payloads"):
        yield load_payload(store, project_id, digest)


def test_every_row_has_its_payload_and_no_payload_is_orphaned(lab):
    lab.populate(discussions=2)
    lab.sync()
    lab.time.pass_by(600)
    edit(lab, lab.project.add_issue("x"), title="y")
    lab.sync()
    kept = {digest for (digest,) in lab.rows("SELECT hash FROM raw_payloads")}
    wanted = set()
    for sql in (
        "SELECT row_hash FROM items",
        "SELECT detail_hash FROM items",
        "SELECT row_hash FROM notes",
        "SELECT row_hash FROM projects",
    ):
        wanted |= {digest for (digest,) in lab.rows(sql) if digest}
    assert kept == wanted


def test_a_deletion_is_noticed_within_a_week_where_the_forge_does_not_count(gitlab):
    """GitLab keeps totals above 10,000 rows to itself; issues have statistics, merge requests nothing."""
    gitlab.server.total_cutoff = 3
    gitlab.populate(issues=6, changes=6)
    gitlab.sync()
    gitlab.project.delete("issue", 2)
    gitlab.project.delete("change", 2)
    gitlab.time.pass_by(3600)
    gitlab.sync()
    assert gitlab.value("SELECT group_concat(kind) FROM items WHERE deleted_at IS NOT NULL") == "issue"
    gitlab.time.pass_by(8 * 86_400)
    gitlab.sync()
    gitlab.assert_same()


def test_a_change_that_only_the_sweep_finds_brings_its_review_comments(github):
    change = github.project.add_change("hidden", files=[("modified", "a.py")])
    github.project.review_comment(change, "look here", author="tom", path="a.py", line=3)
    github.sync()
    github.rows("DELETE FROM items WHERE kind = 'change'")  # as if both lists had never shown it
    github.time.pass_by(3600)
    github.sync()
    github.assert_same()


def test_a_draft_that_a_weaker_reader_cannot_see_is_kept(github):
    from servers.github import Token

    github.project.add_release("v1", draft=True)
    github.project.add_collaborator("ana", "admin")
    github.sync()
    drafts = github.value("SELECT count(*) FROM items WHERE kind = 'release' AND is_draft")
    github.server.tokens["weak"] = Token("stranger", "Stranger")
    github.sync(app=github.same_file("weak"))
    assert github.value("SELECT count(*) FROM items WHERE kind = 'release' AND deleted_at IS NULL") == drafts == 1
