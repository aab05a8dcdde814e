"""A second sync with nothing new: which requests it makes, and whether it writes anything."""

import hashlib
import pathlib
import tempfile

import apsw

from common import forge, forgelore, report, table, verdict

NOT_HISTORY = ("sync_runs", "locks")


def main(_arguments: list[str]) -> None:
    rows, parts = [], []
    for kind in ("github", "gitlab"):
        requests, change = second_sync(kind)
        most = max(requests.values())
        rows.append(
            [
                kind,
                sum(requests.values()),
                most,
                verdict(most, 3, at_most=True),
                change["rows"],
                change["pages"],
                change["size"],
            ]
        )
        parts += [f"## {kind}", table(["request", "times"], sorted(map(list, requests.items())))]
    head = [
        "forge",
        "requests",
        "most of one kind",
        "target <= 3",
        "tables changed (sync_runs and locks aside)",
        "4 KB blocks changed",
        "bytes grown",
    ]
    note = "300 issues, 150 changes and (GitHub) 30 discussions; nothing happened on the forge between the two runs."
    report("quiet", "A sync with nothing new", [table(head, rows), note, *parts])


def second_sync(kind: str) -> tuple[dict[str, int], dict[str, object]]:
    sizes = {"issues": 300, "changes": 150, "discussions": 30}
    with tempfile.TemporaryDirectory() as text, forge(kind, **sizes) as there:
        folder = pathlib.Path(text)
        db, environ = folder / "lore.db", there.environ(folder)
        order = ["sync", there.project, "--db", str(db)]
        forgelore(*order, environ=environ)
        before, tables = db.read_bytes(), hashes(db)
        there.ask("requests")
        forgelore(*order, environ=environ)
        after = db.read_bytes()
        changed = [name for name, digest in hashes(db).items() if tables.get(name) != digest]
        pages = sum(before[at : at + 4096] != after[at : at + 4096] for at in range(0, len(after), 4096))
        return there.ask("requests"), {
            "rows": ", ".join(changed) or "none",
            "pages": pages,
            "size": len(after) - len(before),
        }


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
