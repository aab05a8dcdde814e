"""Reading lists that move: whatever happens to them between two pages, every row that was there all the time is seen."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.json import Decoder

from forgelore.errors import ForgeError, LostPage
from forgelore.net.client import Client
from forgelore.net.pages import WalkedRow, read, read_rows, split_rows, walk, walk_links
from forgelore.text.dates import format_ms, parse_ms
from servers.base import ForgeServer, Response
from support import FakeTime

PER_PAGE = 4
START_MS = 1_772_366_400_000
STEP_MS = 1000


class ListServer(ForgeServer):
    """One list of rows (id, time, version), sorted by time; offset pages, as the worst of forges have them."""

    kind = "list"
    record_to = None  # no forge: its traffic keeps no contract

    def __init__(self):
        super().__init__()
        self.reset()

    def reset(self):
        self.rows: dict[int, list[int]] = {}  # id -> [time, version]
        self.now = 0
        self.between = lambda: None
        self.has_links, self.ignores_since, self.ignores_page, self.cap = True, False, False, 1000
        self.requests.clear()

    def put(self, number: int) -> None:
        self.now += STEP_MS
        self.rows[number] = [self.now, self.rows.get(number, [0, -1])[1] + 1]

    def handle(self, request) -> Response:
        since = parse_ms(request.arg("since")) if request.arg("since") and not self.ignores_since else 0
        size = min(int(request.arg("per_page", "20")), self.cap)
        page = 1 if self.ignores_page else int(request.arg("page", "1"))
        ordered = sorted(
            (at, number, version) for number, (at, version) in self.rows.items() if START_MS + at >= (since or 0)
        )
        shown = ordered[(page - 1) * size : page * size]
        headers = {}
        if page * size < len(ordered) and self.has_links:
            asked = {k: v[-1] for k, v in request.query.items()} | {"page": page + 1}
            query = "&".join(f"{k}={v}" for k, v in asked.items())
            headers["Link"] = f'<{request.base}{request.path}?{query}>; rel="next"'
        body = [{"id": n, "updated_at": format_ms(START_MS + at), "version": v} for at, n, v in shown]
        self.between()
        return Response(200, body, headers)


class Entry(Struct):
    id: int
    updated_at: str
    version: int


_entry = Decoder(Entry)


@pytest.fixture(scope="module")
def server():
    with ListServer() as running:
        yield running


@pytest.fixture(scope="module")
def client(server):
    time = FakeTime()
    made = Client(server.url, {}, rate=100, sleep=time.sleep, clock=time.clock, wall_clock=time.wall_clock)
    yield made
    made.close()


@pytest.fixture(autouse=True)
def empty(server):
    server.reset()


def parse(answer):
    def row_of(raw):
        row = read(raw, _entry)[0]
        return WalkedRow(parse_ms(row.updated_at), row.id, row)

    return read_rows(answer.body, row_of, "rows")


def walk_all(client, since_ms=None, per_page=PER_PAGE):
    """id -> newest version seen; and the slices, for assertions about the way."""
    seen, slices = {}, []
    for part in itertools.islice(
        walk(client, "/rows", {}, since_name="since", since_ms=since_ms, parse=parse, per_page=per_page), 500
    ):
        slices.append(part)
        for entry in part.values:
            seen[entry.id] = max(seen.get(entry.id, -1), entry.version)
    assert slices[-1].is_last
    assert not any(part.is_last for part in slices[:-1])
    return seen, slices


def test_an_empty_list_is_one_request(client, server):
    seen, slices = walk_all(client)
    assert (seen, slices[0].updated_at, slices[0].tie_id, len(server.requests)) == ({}, None, None, 1)


@pytest.mark.parametrize("count", [1, 3, 4, 5, 8, 9, 40])
@pytest.mark.parametrize("has_links", [True, False])
def test_every_row_is_seen_with_and_without_links(client, server, count, has_links):
    server.has_links = has_links
    for number in range(count):
        server.put(number)
    seen, _ = walk_all(client)
    assert seen == dict.fromkeys(range(count), 0)


@pytest.mark.parametrize("has_links", [True, False])
def test_rows_of_one_instant_that_fill_pages_are_followed(client, server, has_links):
    """By links, or by counting pages from the instant on."""
    server.has_links = has_links
    server.rows = {n: [5 * STEP_MS, 0] for n in range(11)} | {n: [n * STEP_MS, 0] for n in range(11, 30)}
    seen, _ = walk_all(client)
    assert len(seen) == 30


def test_a_server_that_ignores_page_numbers_is_read_behind_the_instant(client, server):
    """What it hides cannot be had; the walk ends, and goes on with the rest."""
    server.has_links, server.ignores_page = False, True
    server.rows = {n: [5 * STEP_MS, 0] for n in range(11)} | {n: [n * STEP_MS, 0] for n in range(11, 30)}
    seen, _ = walk_all(client)
    assert set(range(11, 30)) <= seen.keys()


@pytest.mark.parametrize("has_links", [True, False])
def test_a_server_that_ignores_since_is_followed_page_by_page(client, server, has_links):
    server.ignores_since, server.has_links = True, has_links
    for number in range(22):
        server.put(number)
    seen, _ = walk_all(client)
    assert len(seen) == 22


def test_a_server_with_smaller_pages_is_followed_by_its_links(client, server):
    server.cap = 3
    for number in range(22):
        server.put(number)
    seen, _ = walk_all(client, per_page=100)
    assert len(seen) == 22


def test_reading_from_a_moment_includes_that_moment(client, server):
    for number in range(10):
        server.put(number)
    seen, _ = walk_all(client, since_ms=START_MS + 7 * STEP_MS)
    assert set(seen) == {6, 7, 8, 9}


def test_following_links_alone_would_lose_the_row_at_the_seam(client, server):
    """Why pages are anchored in time: one update between two pages moves everybody behind it up by one."""
    for number in range(150):
        server.put(number)
    moves = iter([[0]])
    server.between = lambda: [server.put(number) for number in next(moves, [])]
    answers = list(walk_links(client, "/rows", {}))
    followed = {read(raw, _entry)[0].id for answer in answers for raw in split_rows(answer.body)}
    assert set(range(150)) - followed == {100}
    moves = iter([[1]])
    seen, _ = walk_all(client)
    assert set(seen) == set(range(150))


def test_no_page_number_is_ever_built_for_a_list_that_moves_in_time(client, server):
    for number in range(40):
        server.put(number)
    walk_all(client)
    assert not [path for path in server.paths() if "page=" in path.replace("per_page=", "")]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    count=st.integers(0, 25),
    history=st.lists(st.lists(st.integers(0, 35), max_size=6), max_size=8),
    has_links=st.booleans(),
)
def test_a_list_that_moves_between_pages_loses_nothing(client, server, count, history, has_links):
    """After each answer some rows are updated (and move to the end) or added; at the end every row was seen in its newest state."""
    server.reset()
    server.has_links = has_links
    for number in range(count):
        server.put(number)
    moves = iter(history)
    server.between = lambda: [server.put(number) for number in next(moves, [])]
    seen, _ = walk_all(client)
    server.between = lambda: None
    wanted = {number: version for number, (_, version) in server.rows.items()}
    late = set(itertools.chain.from_iterable(history[len(server.requests) - 1 :]))  # moved after the last answer
    assert {n: v for n, v in seen.items() if n not in late} == {n: v for n, v in wanted.items() if n not in late}


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(count=st.integers(0, 25), gone=st.sets(st.integers(0, 24), max_size=12), when=st.integers(1, 4))
def test_rows_that_vanish_between_pages_take_no_neighbour_along(client, server, count, gone, when):
    """Deleting shifts offset pages as well."""
    server.reset()
    for number in range(count):
        server.put(number)
    ticks = itertools.count(1)
    server.between = lambda: [server.rows.pop(n, None) for n in gone] if next(ticks) == when else None
    seen, _ = walk_all(client)
    assert set(range(count)) - gone <= seen.keys()


def test_a_plain_list_ends_where_its_links_end(client, server):
    server.rows = {n: [n, 0] for n in range(250)}
    answers = list(walk_links(client, "/rows", {}))
    assert [len(split_rows(answer.body)) for answer in answers] == [100, 100, 50]


@pytest.mark.parametrize("count", [100, 199, 200, 230])
def test_a_plain_list_without_links_is_looked_behind(client, server, count):
    server.has_links = False
    server.rows = {n: [n, 0] for n in range(count)}
    found = [read(raw, _entry)[0].id for answer in walk_links(client, "/rows", {}) for raw in split_rows(answer.body)]
    assert found == list(range(count))


def test_a_plain_list_of_a_server_that_ignores_page_numbers_ends(client, server):
    server.has_links, server.ignores_page = False, True
    server.rows = {n: [n, 0] for n in range(150)}
    answers = list(itertools.islice(walk_links(client, "/rows", {}), 10))
    assert [len(split_rows(answer.body)) for answer in answers] == [100]


def test_a_position_of_the_forges_own_is_never_mixed_with_numbers(client, server):
    """A full page that was reached by an opaque cursor and has no Link is the end."""
    server.rows = {n: [n, 0] for n in range(100)}
    server.fail(path="rows", set_headers={"Link": f'<{server.url}/rows?per_page=100&after=xyz>; rel="next"'}, times=1)
    try:
        assert len(list(walk_links(client, "/rows", {}))) == 2
    finally:
        server.faults.clear()


HARD = [
    b'[{"a": "\\ud800"}, {"b": 1}]',
    b'[{"a": "\xff\xfe"}]',
    b"[]",
    b' [ 1 ,\n{"a":[1,2]} ] ',
    b'\xef\xbb\xbf [{"a": "\\ud800"}]',
]


@pytest.mark.parametrize(("body", "count"), list(zip(HARD, [2, 1, 0, 2, 1], strict=True)))
def test_rows_are_split_even_where_strict_readers_give_up(body, count):
    assert len(split_rows(body)) == count


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[1, 2",
        b'{"message": "no list"}',
        b'{"errors": []}',
        b'{"data": [{"id": 1}]}',
        b"null",
        b'[{"a": 1} {"b": 2}',
    ],
)
def test_what_is_no_list_is_said_to_be_none(body):
    with pytest.raises(LostPage):
        split_rows(body)


@settings(deadline=None)
@given(st.lists(st.dictionaries(st.text(max_size=5), st.text(max_size=20), max_size=3), max_size=5))
def test_rows_survive_splitting(rows):
    import json

    text = json.dumps(rows)  # escapes lone surrogates, as forges do
    assert [json.loads(row) for row in split_rows(text.encode())] == rows


def test_a_link_that_is_no_address_is_a_clear_error(client, server):
    server.rows = {n: [0, 0] for n in range(10)}
    server.fail(path="rows", set_headers={"Link": '<http://[bad>; rel="next"'})
    try:
        with pytest.raises(ForgeError):
            walk_all(client)
    finally:
        server.faults.clear()
