"""Requests for a first sync of 10,000 items with 100,000 comments, beside those of a client that asks item by item."""

import pathlib
import tempfile

from lib.common import forge, forgelore, report, table

HALF = 5000
NOTE = """Of GitHub's requests, `issues/comments`, `pulls/comments` and `issues` are full pages of a hundred rows.
`pulls/0/files` tells the old path of a renamed file, one change in a request: GraphQL names renamed files without it,
and a quarter of the made-up changes rename one. `pulls/0` is the diff of each open change that moved in the last year;
where its files were asked for, they bring the lines, and it is not."""


def main(arguments: list[str]) -> None:
    half = int(arguments[0]) if arguments else HALF
    rows, parts = [], []
    for kind in ("github", "gitlab"):
        about, requests, needed = first_sync(kind, half)
        ours, theirs = sum(requests.values()), sum(needed.values())
        rows.append(
            [kind, about["items"], about["notes"], ours, theirs, f"{theirs / ours:.1f}", minutes(ours), minutes(theirs)]
        )
        parts += [f"## {kind}: what was asked", table(["request", "times"], sorted(map(list, requests.items())))]
        formula = " + ".join(f"{name} ({number:,})" for name, number in needed.items())
        parts.append(
            f"One call per item: {formula} = {theirs:,}. A list is counted as one request per 100 rows, at least one."
        )
    head = [
        "forge",
        "items",
        "notes",
        "requests",
        "one call per item",
        "times fewer",
        "minutes at 10 / s",
        "minutes, one call per item",
    ]
    title = f"Requests for a first sync of {2 * half:,} issues and changes"
    report("economy", title, [table(head, rows), NOTE, *parts], " ".join(arguments))


def first_sync(kind: str, half: int) -> tuple[dict, dict[str, int], dict[str, int]]:
    with tempfile.TemporaryDirectory() as text, forge(kind, issues=half, changes=half, comments_per_item=10) as there:
        folder = pathlib.Path(text)
        forgelore("sync", there.project, "--db", str(folder / "lore.db"), environ=there.environ(folder))
        return there.about, there.ask("requests"), there.ask("needs")


def minutes(requests: int) -> str:
    """At the pace that is set by default; limits of the forge (5,000 an hour on GitHub) come on top."""
    return f"{requests / 600:.0f}"
