"""Lists of Forgejo move while they are read and know no order by update: whatever happens between two answers, a walk and
the next one together have seen everything, and a walk alone everything that stood still.
"""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from forgelore.model import Cursor
from servers.forgejo import ForgejoServer
from support import ForgejoLab, assert_unread

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    with ForgejoLab(tmp_path_factory.mktemp("windows")) as lab:
        lab.server.most_rows = 3
        yield lab


class Story:
    """A project of its own, a walk over it, and what happens after each answer."""

    def __init__(self, lab: ForgejoLab, count: int, events: list):
        self.server, self.events = lab.server, list(events)
        path = f"acme/p{next(_numbers)}"
        self.project = lab.server.add_project(path)
        for number in range(count):
            self.server.clock.advance(number % 3)
            self.project.add_issue(f"issue {number}")
        self.server.clock.advance(3600)
        name = lab.app.parse_project(f"forgejo:{path}")
        self.forge = lab.app.forge(name)
        self.told = self.forge.fetch_project(name)
        self.moved: set[int] = set()

    def live_on(self) -> None:
        for event, which in self.events.pop(0) if self.events else ():
            numbers = sorted(self.project.items)
            self.server.clock.advance(1)
            if event == "add":
                self.moved.add(self.project.add_issue("new"))
            elif numbers:
                number = numbers[which % len(numbers)]
                self.moved.add(number)
                if event == "edit":
                    self.project.edit(number, title=f"edited {which}")
                else:
                    self.project.delete(number)

    def walk(self, cursor: Cursor, *, most: int = 1000) -> tuple[dict[int, str], Cursor]:
        """Titles by number, and the cursor behind the last page that was taken."""
        handle, seen = self.server.handle, {}

        def living(request):
            response = handle(request)
            response.body = response.payload()
            self.live_on()
            return response

        self.server.handle = living
        try:
            now_ms = int(self.server.clock.now().timestamp() * 1000)
            for page in itertools.islice(self.forge.pages(self.told, "items", cursor, None, now_ms), most):
                seen |= {item.key.number: item.title for item in page.items}
                cursor = page.cursor
        finally:
            self.server.handle = handle
        return seen, cursor

    def titles(self) -> dict[int, str]:
        return {number: item.title for number, item in self.project.items.items()}


EVENTS = st.lists(
    st.lists(st.tuples(st.sampled_from(["edit", "delete", "add"]), st.integers(0, 40)), max_size=3), max_size=12
)


@settings(max_examples=150, deadline=None)
@given(count=st.integers(0, 25), events=EVENTS)
def test_nothing_is_lost_while_the_list_moves(place, count, events):
    story = Story(place, count, events)
    seen, cursor = story.walk(Cursor())
    assert cursor.is_complete
    assert cursor.token is None
    for number, title in story.titles().items():
        if number not in story.moved:
            assert seen.get(number) == title
    story.events.clear()
    story.server.clock.advance(60)
    later, _ = story.walk(cursor)
    known = seen | later
    assert {number: known.get(number) for number in story.titles()} == story.titles()


@settings(max_examples=100, deadline=None)
@given(count=st.integers(4, 25), events=EVENTS, stops=st.lists(st.integers(1, 4), max_size=6))
def test_nothing_is_lost_by_a_walk_that_is_interrupted_again_and_again(place, count, events, stops):
    story = Story(place, count, events)
    known, cursor = {}, Cursor()
    for most in [*stops, 1000]:
        if not cursor.is_complete:
            seen, cursor = story.walk(cursor, most=most)
            known |= seen
            story.server.clock.advance(600)
    story.events.clear()
    seen, _ = story.walk(cursor)
    known |= seen
    assert {number: known.get(number) for number in story.titles()} == story.titles()


@pytest.mark.parametrize("dropped", [["link"], ["x-total-count"], ["link", "x-total-count"]])
def test_pages_are_found_whatever_header_is_missing(forgejo, dropped):
    forgejo.server.most_rows = 7
    forgejo.populate(issues=30, changes=4)
    forgejo.server.fail(drop_headers=dropped)
    forgejo.sync()
    forgejo.assert_same()


@pytest.mark.parametrize("most_rows", [1, 7, 50, 200])
def test_a_server_that_cuts_pages_short_without_a_word_is_read_whole(forgejo, most_rows):
    forgejo.server.most_rows = most_rows
    forgejo.populate(issues=14, changes=5, releases=4)
    for number in range(8):
        forgejo.project.add_label(f"label {number}")
    forgejo.project.add_change("wide", files=[("added", f"{number}.py") for number in range(60)])
    forgejo.sync()
    forgejo.assert_same()
    assert forgejo.value("SELECT count(*) FROM labels") == len(forgejo.project.labels)


def test_an_interrupted_walk_goes_on_where_it_was(forgejo):
    """Pages that were saved are not asked for again, and what was updated meanwhile comes behind them."""
    forgejo.server.most_rows = 10
    for number in range(95):
        forgejo.project.add_issue(f"issue {number}")
    forgejo.time.pass_by(3600)
    rule = forgejo.server.fail(path=r"/issues\?.*before=.*page=4", status=400, body={"message": "no"})
    assert_unread(forgejo.sync(), part="items")
    assert forgejo.value("SELECT count(*) FROM items") == 55
    forgejo.server.faults.remove(rule)
    forgejo.project.edit(3, title="edited meanwhile")
    forgejo.project.delete(50)
    forgejo.time.pass_by(3600)
    asked = len(forgejo.server.requests)
    forgejo.sync(kinds=("issue",))  # without the totals, which would mend it
    pages = [path for path in forgejo.server.paths(asked) if "/issues?" in path and "before=" in path]
    assert [path.partition("page=")[2].partition("&")[0] for path in pages] == ["4", "3", "2", "1"]
    titles = dict(forgejo.rows("SELECT number, title FROM items"))
    titles.pop(50, None)
    assert titles == {number: item.title for number, item in forgejo.project.items.items()}


def test_a_token_of_another_version_begins_the_walk_anew(place):
    story = Story(place, 9, [])
    seen, cursor = story.walk(Cursor(token="somewhere"))
    assert seen == story.titles()
    assert cursor.is_complete


def test_the_local_forgejo_cuts_and_orders_as_the_real_one(tmp_path):
    """Else the laws above would prove less: newest first by creation, `since` and `before` inclusive, by update."""
    with ForgejoLab(tmp_path) as lab:
        assert isinstance(lab.server, ForgejoServer)
        lab.server.most_rows = 2
        for number in range(1, 5):
            lab.project.add_issue(f"issue {number}")
            lab.server.clock.advance(10)
        lab.project.edit(1, title="edited")
        client = lab.app.forge(lab.app.parse_project(lab.name_text))._client
        first = client.get("/repos/acme/web/issues", {"state": "all", "limit": 50})
        assert [row["number"] for row in _rows(first)] == [4, 3]
        assert first.headers["x-total-count"] == "4"
        span = {"since": "2026-03-01T12:00:10Z", "before": "2026-03-01T14:00:20+02:00", "state": "all"}
        assert [row["number"] for row in _rows(client.get("/repos/acme/web/issues", span))] == [3, 2]


def _rows(answer):
    import json

    return json.loads(answer.body)
