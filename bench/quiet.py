"""A second sync with nothing new: which requests it makes, and whether it writes anything."""

import hashlib
import pathlib
import tempfile

import apsw

from lib.common import forge, forgelore, report, table, verdict

NOT_HISTORY = ("sync_runs", "locks")


HEAD = [
    "forge",
    "requests",
    "most of one kind",
    "target <= 3",
    "tables changed (sync_runs and locks aside)",
    "4 KB blocks changed",
    "bytes grown",
]
NOTE = (
    "300 issues, 150 changes and (GitHub) 30 discussions of 120 comments and 50 replies each, all of them of today;"
    " nothing happened on the forge between the runs. Once a day the conversations of the last fourteen days are read"
    " again, whatever their dates say: that is the line `a day later`. Of a long discussion the times of its"
    " comments are compared first (NoteTimes), and it is read again where one differs."
)


def main(_arguments: list[str]) -> None:
    rows, parts = [], []
    for kind in ("github", "gitlab"):
        for name, (requests, change) in quiet_syncs(kind).items():
            most = max(requests.values())
            judged = verdict(most, 3, at_most=True) if name == kind else ""
            rows.append([name, sum(requests.values()), most, judged, *change])
            parts += [f"## {name}", table(["request", "times"], sorted(map(list, requests.items())))]
    report("quiet", "A sync with nothing new", [table(HEAD, rows), NOTE, *parts])


def quiet_syncs(kind: str) -> dict[str, tuple[dict[str, int], list[object]]]:
    """The second sync, and the first one of the next day: the requests of each, and what it wrote."""
    sizes = {"issues": 300, "changes": 150} | ({"long_discussions": 30} if kind == "github" else {})
    with tempfile.TemporaryDirectory() as text, forge(kind, **sizes) as there:
        folder = pathlib.Path(text)
        db, environ = folder / "lore.db", there.environ(folder)
        order = ["sync", there.project, "--db", str(db)]
        forgelore(*order, environ=environ)
        found = {}
        for name in (kind, f"{kind}, a day later"):
            if name != kind:
                let_a_day_pass(db)
            before, tables = db.read_bytes(), hashes(db)
            there.ask("requests")
            forgelore(*order, environ=environ)
            found[name] = there.ask("requests"), written(db, before, tables)
        return found


def let_a_day_pass(db: pathlib.Path) -> None:
    connection = apsw.Connection(str(db))
    connection.execute("UPDATE sync_cursors SET swept_at = swept_at - 90000000")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    connection.close()


def written(db: pathlib.Path, before: bytes, tables: dict[str, str]) -> list[object]:
    """Tables, blocks and bytes that the sync changed."""
    after = db.read_bytes()
    changed = [name for name, digest in hashes(db).items() if tables.get(name) != digest]
    blocks = sum(before[at : at + 4096] != after[at : at + 4096] for at in range(0, len(after), 4096))
    return [", ".join(changed) or "none", blocks, len(after) - len(before)]


def hashes(db: pathlib.Path) -> dict[str, str]:
    """A hash over the rows of every table that holds history."""
    connection = apsw.Connection(str(db))
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    found = {}
    for name in names:
        if name not in NOT_HISTORY and not name.startswith("sqlite_"):
            digest = hashlib.sha256()
            for row in connection.execute(f"SELECT * FROM {name}"):
                digest.update(repr(row).encode())
            found[name] = digest.hexdigest()
    connection.close()
    return found
