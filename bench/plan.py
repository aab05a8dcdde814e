"""How well `sync --plan` foretells a first sync: requests and megabytes, said and come, on real and made-up texts."""

import json
import os
import pathlib
import tempfile

from lib.common import SHARED, Skipped, forge, forgelore, report, table

ITEMS = 1500
NOTE = """Said by `forgelore sync --plan`, and what the sync then took; the requests of the plan itself are not counted.
Megabytes are those of the finished file, with its index and both sets of vectors. The texts of three trackers are
served by a local forge, which makes requests and pages as the real ones do; the made-up projects have short texts. A
share of 1.00 is a plan that came true."""
HEAD = ["forge", "project", "items", "notes", "requests said", "came", "share", "MB said", "came", "share"]


def main(arguments: list[str]) -> None:
    items = int(arguments[0]) if arguments else ITEMS
    if not (SHARED / "corpora").is_dir():
        raise Skipped("the corpora (../shared/corpora) are not on this machine")
    shapes = [
        ("github", name, {"corpus": name, "issues": items, "changes": 0}) for name in ("bitcoin", "rust", "hadoop")
    ]
    shapes += [("gitlab", "bitcoin", {"corpus": "bitcoin", "issues": items, "changes": 0})]
    for kind in ("github", "gitlab"):
        shapes += [
            (kind, "made up, few comments", {"issues": items // 2, "changes": items // 2, "comments_per_item": 1}),
            (kind, "made up, many comments", {"issues": items // 4, "changes": items // 8, "comments_per_item": 15}),
        ]
    rows = [compare(kind, name, sizes) for kind, name, sizes in shapes]
    worst = max(max(abs(row[6] - 1), abs(row[9] - 1)) for row in rows)
    told = f"The worst of {2 * len(rows)} shares is off by {worst:.0%} (target: at most 25 %)."
    report("plan", "What a plan says and what a sync takes", [table(HEAD, rows), told, NOTE], " ".join(arguments))


def compare(kind: str, name: str, sizes: dict) -> list:
    with tempfile.TemporaryDirectory() as text, forge(kind, **sizes) as there:
        folder = pathlib.Path(text)
        db, environ = folder / "lore.db", there.environ(folder)
        order = ["sync", there.project, "--db", str(db)]
        (plan,) = json.loads(forgelore(*order, "--plan", "--json", environ=environ).out)["data"]
        there.ask("requests")
        forgelore(*order, environ=environ)
        came, size = sum(there.ask("requests").values()), os.path.getsize(db) / 1e6
        said, about = (plan["requests"], plan["megabytes"]), there.about
        row = [kind, name, about["items"], about["notes"], said[0], came, said[0] / came, said[1], size, said[1] / size]
        print(row, flush=True)
        return row
