"""Sync's page loop by the bot's policy: what is kept of a page, what is asked for, and when reading stops."""

import pytest

from forgelore.store.triage import forget_for_good
from forgelore.triage.intake import PATIENCE_MS, Budget, cover, drop_missing, open_project, read_files


@pytest.fixture(params=["github", "gitlab"])
def intake(request):
    """Each claim holds on both forges."""
    return Intake(request.getfixturevalue(request.param))


class Intake:
    """intake.cover() reads as the bot does; intake.asked are the lists it asked for meanwhile."""

    def __init__(self, lab):
        self.lab, self.project = lab, lab.project
        name = lab.app.parse_project(lab.name_text)
        self.store, self.forge = lab.app.store(create=True), lab.app.forge(name)
        forget_for_good(self.store)
        self.told = self.forge.fetch_project(name)
        self.project_id = open_project(self.store, self.told, lab.time.now_ms())
        self.asked, self.requests = [], 0

    def fill(self, count):
        for at in range(count):
            number = self.project.add_issue(f"Report {at}", f"Part {at} does not answer.")
            self.project.comment(*self.place(number), "Same here")
            self.lab.time.pass_by(61)

    def place(self, number):
        """An issue as the forge's server names it: GitLab numbers issues and changes apart."""
        return (number,) if self.lists == 1 else ("issue", number)

    def cover(self, *, is_late=lambda: False, **how):
        since = len(self.lab.server.requests)
        budget = Budget(self.forge, is_late)
        done = cover(
            self.store, self.forge, self.told, self.project_id, budget=budget, now_ms=self.lab.time.now_ms, **how
        )
        self._ask(since)
        return done

    def drop_missing(self):
        since = len(self.lab.server.requests)
        done = drop_missing(
            self.store, self.forge, self.told, self.project_id, budget=Budget(self.forge, lambda: False)
        )
        self._ask(since)
        return done

    def _ask(self, since):
        paths = self.lab.server.paths(since)
        self.requests = len(paths)
        self.asked = [path for path in paths if "per_page=100" in path]  # pages; a total is asked for with one row

    @property
    def lists(self):
        return 1 if self.lab.path == "acme/web" else 2  # GitHub has one list of issues and changes

    def value(self, sql):
        return self.store.value(sql)


def test_items_are_kept_without_conversations_payloads_and_jobs(intake):
    intake.fill(5)
    done = intake.cover()
    assert (done.known, done.is_complete, done.stopped, done.refused) == (5, True, "", ())
    assert intake.value("SELECT count(*) FROM items") == 5
    assert [intake.value(f"SELECT count(*) FROM {name}") for name in ("notes", "raw_payloads", "labels")] == [0, 0, 0]
    assert intake.value("SELECT group_concat(DISTINCT kind) FROM jobs") == "document"


def test_a_quiet_read_asks_for_one_page_of_each_list(intake):
    intake.fill(5)
    intake.cover()
    done = intake.cover()
    assert (done.total, done.is_complete) == (None, True)
    assert (len(intake.asked), intake.requests) == (intake.lists, intake.lists)


def test_no_page_is_fetched_ahead_of_a_budget_that_is_spent(intake):
    intake.fill(250)
    done = intake.cover(is_late=lambda: True)
    assert (done.pages, done.is_complete, done.stopped) == (1, False, "this run's time is up")
    assert len(intake.asked) == 1
    assert intake.value("SELECT count(*) FROM items") == done.known == 100
    assert intake.cover().is_complete
    assert intake.value("SELECT count(*) FROM items") == 250


def test_a_limit_of_the_forge_stops_the_reading_and_keeps_what_was_read(github):
    intake = Intake(github)
    intake.fill(250)
    github.on_request(r"/issues\?.*page=", lambda: github.server.set_limit(1000, 0))
    done = intake.cover()
    assert done.stopped
    assert (done.known, done.is_complete) == (100, False)


def test_what_is_made_confidential_leaves_the_store(gitlab):
    intake = Intake(gitlab)
    intake.fill(3)
    hidden = intake.project.add_issue("A secret", "Only for some", confidential=True)
    intake.cover()
    assert intake.value("SELECT count(*) FROM items") == 3
    intake.project.issues[1].confidential = True
    intake.project.edit("issue", 1, title="Now secret")
    intake.cover()
    assert intake.store.rows("SELECT number FROM items ORDER BY 1") == [(2,), (3,)]
    assert hidden == 4


def test_items_of_kinds_that_are_not_held_are_left_out(intake):
    intake.fill(2)
    intake.project.add_change("Mend it", "See #1")
    done = intake.cover(kinds=("change",))
    assert (done.known, intake.value("SELECT group_concat(kind) FROM items")) == (1, "change")
    assert len(intake.asked) == 1


def test_a_list_that_is_refused_is_told_and_the_other_is_read(gitlab):
    intake = Intake(gitlab)
    intake.fill(2)
    intake.project.add_change("Mend it", "See #1")
    gitlab.server.fail(path=r"/issues\?", status=403)
    done = intake.cover()
    assert [told.partition(":")[0] for told in done.refused] == ["issues"]
    assert intake.value("SELECT group_concat(kind) FROM items") == "change"


def test_what_the_forge_lost_is_forgotten_after_a_second_look(intake):
    intake.fill(6)
    intake.cover()
    intake.project.delete(*intake.place(2))
    done = intake.drop_missing()
    assert done == (1, [])
    assert intake.store.rows("SELECT number FROM items ORDER BY 1") == [(1,), (3,), (4,), (5,), (6,)]
    intake.drop_missing()
    assert intake.asked == []  # the totals agree: no number is compared


def test_a_lost_permission_forgets_nothing(intake):
    intake.fill(10)
    intake.cover()
    for number in range(1, 9):
        intake.project.delete(*intake.place(number))
    done = intake.drop_missing()
    assert done[1] == ["8 of 10 issues are no longer visible to this token; they are kept"]
    assert intake.value("SELECT count(*) FROM items") == 10


def test_the_author_of_an_event_waits_five_seconds_for_the_files_of_other_changes(intake):
    """On a forge that takes four seconds for each answer; what is left is read by the next run."""
    for at in range(120):
        intake.project.add_change(f"Change {at}", "Words", files=[("modified", f"src/part_{at}.py")])
    intake.cover(queues_files=True)

    def now_ms():
        intake.seconds += 4
        return intake.lab.time.now_ms() + intake.seconds * 1_000

    def read(**how):
        intake.seconds, before = 0, intake.forge.requests()
        read_files(
            intake.store, intake.forge, intake.told, intake.project_id,
            budget=Budget(intake.forge, lambda: False), now_ms=now_ms, **how,
        )  # fmt: skip
        return intake.forge.requests() - before

    assert PATIENCE_MS == 5_000
    assert 1 <= read(patience_ms=PATIENCE_MS) <= 2
    assert read() >= 1, "something was left"
