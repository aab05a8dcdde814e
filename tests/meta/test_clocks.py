"""All clocks go through the app's: a test that holds that one still holds everything still."""

import ast
import pathlib

import pytest

SOURCE = pathlib.Path(__file__).parents[2] / "src" / "forgelore"
CLOCKS = {"time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns", "perf_counter_ns"}
MOMENTS = {"now", "utcnow", "today"}
ALLOWED = {
    "app.py": "the app's own clock, for tests to replace",
    "text/dates.py": "the default of callers without an app",
    "net/client.py": "defaults of arguments: the app hands in its clocks",
    "net/model_server.py": "defaults of arguments: the app hands in its clocks",
    "api/pool.py": "how long questions that end are waited for, in real time",
    "sync/pages.py": "how long threads that hang are waited for, in real time",
    "surfaces/web/syncing.py": "when a sync is due, in real time",
    "store/sqlite/connection.py": "how long a busy file is waited for, in real time",
}
JOBS = ("ask", "browse", "compare", "dedupe", "history", "index", "search", "sync", "triage")
ROOMS = tuple(f"{job}/" for job in (*JOBS, "store"))
DISPLAY = "surfaces/cli/"  # progress, rates and the milliseconds that a command took


def modules():
    return {path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text("utf-8")) for path in SOURCE.rglob("*.py")}


def reads_clock(node: ast.AST) -> bool:
    if isinstance(node, ast.ImportFrom):
        return node.module == "time" and bool(CLOCKS & {alias.name for alias in node.names})
    if not isinstance(node, ast.Attribute):
        return False
    owner = node.value
    name = owner.id if isinstance(owner, ast.Name) else owner.attr if isinstance(owner, ast.Attribute) else ""
    return (name == "time" and node.attr in CLOCKS) or (name in ("datetime", "date") and node.attr in MOMENTS)


def clocks_in(tree: ast.Module) -> list[int]:
    return [node.lineno for node in ast.walk(tree) if reads_clock(node)]


def test_nobody_reads_a_clock_of_their_own():
    own = {name: lines for name, tree in modules().items() if (lines := clocks_in(tree)) and name not in ALLOWED}
    assert {name: lines for name, lines in own.items() if not name.startswith(DISPLAY)} == {}


def test_every_exception_is_still_one():
    trees = modules()
    assert [name for name in ALLOWED if not clocks_in(trees[name])] == []


@pytest.mark.parametrize(
    "code",
    ["time.time()", "started = time.monotonic", "from time import monotonic", "datetime.now(UTC)", "datetime.date.today()",
     "def wait(clock=time.perf_counter): ..."],
)  # fmt: skip
def test_a_clock_is_seen(code):
    assert clocks_in(ast.parse(code)) == [1]


@pytest.mark.parametrize("code", ["time.sleep(1)", "app.now_ms()", "from time import sleep", "self.now()", "row.time"])
def test_what_only_looks_like_a_clock_is_not(code):
    assert clocks_in(ast.parse(code)) == []


def clock_arguments(node: ast.AST) -> list[str]:
    """The arguments of a function that are the machine's clock unless somebody hands in another."""
    if not isinstance(node, ast.FunctionDef):
        return []
    given = zip([argument.arg for argument in node.args.kwonlyargs], node.args.kw_defaults, strict=True)
    return [name for name, default in given if isinstance(default, ast.Name) and default.id == "machine_ms"]


def ours(name: str, tree: ast.Module) -> dict[str, str]:
    """How a module calls the functions of jobs and the store, and what each is named there: what it imports, and its
    own there.
    """
    imported = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    rooms = tuple(f"forgelore.{job}." for job in (*JOBS, "store"))
    named = [alias for node in imported if (node.module or "").startswith(rooms) for alias in node.names]
    own = [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and name.startswith(ROOMS)]
    return {alias.asname or alias.name: alias.name for alias in named} | dict(zip(own, own, strict=True))


def test_nobody_forgets_to_hand_on_the_clock():
    """A default is for whoever has no app; a flow in between that forgets the clock would let time pass again."""
    trees = modules()
    takers = {
        node.name: names[0]
        for name, tree in trees.items() if name.startswith(ROOMS)
        for node in ast.walk(tree) if (names := clock_arguments(node))
    }  # fmt: skip
    assert {"index_items", "update_index", "sync_project", "calibrate", "open_store"} <= takers.keys()
    forgetful = []
    for name, tree in trees.items():
        called = {name: takers[one] for name, one in ours(name, tree).items() if one in takers}
        calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
        forgetful += [
            f"{name}:{call.lineno} {call.func.id}"
            for call in calls
            if call.func.id in called and called[call.func.id] not in {keyword.arg for keyword in call.keywords}
        ]
    assert forgetful == []
