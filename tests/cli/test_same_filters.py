"""A filter means the same in `list`, `count` and `search`: hundreds of combinations, each against a loop over the rows.

The store holds both forges and an imported tracker with all that is odd: people stored with their @, items without times,
renamed files, a deleted item.
"""

import datetime as dt
import json
import random

import pytest

from forgelore.api.find import search_filters
from forgelore.index.update import index_items
from forgelore.store.filters import build_allowed, load_allowed
from forgelore.store.projects import list_projects
from forgelore.surfaces.cli.command import Context, build_parser
from forgelore.surfaces.cli.filtering import read_filters
from forgelore.sync.archive import import_lines
from support import GitHubLab, GitLabLab

KINDS = ("issue", "change", "discussion", "release")
ODD = [
    {"kind": "issue", "number": 1, "title": "by somebody with an @", "author": "@ana", "labels": ["Bug"]},
    {"kind": "issue", "number": 2, "title": "no times at all", "author": "ana"},
    {"kind": "issue", "number": 3, "title": "never updated", "author": "Ana", "created_at": "2025-01-01T00:00:00Z"},
    {
        "kind": "change", "number": 4, "title": "moves a file", "author": "ben", "labels": ["bug", "core"],
        "created_at": "2024-03-01T00:00:00Z", "updated_at": "2024-09-01T00:00:00Z",
        "files": [{"new_path": "new/place.py", "old_path": "old/place.py", "status": "renamed"}],
        "notes": [{"author": "ana", "body": "why?", "path": "new/place.py", "line": 3, "created_at": "2024-03-02T00:00:00Z"}],
    },
]  # fmt: skip


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    """A context on a store with three projects."""
    folder = tmp_path_factory.mktemp("world")
    path = str(folder / "both.db")
    with GitHubLab(folder) as github, GitLabLab(folder) as gitlab:
        for lab in (github, gitlab):
            lab.populate(issues=40, changes=25)
            lab.app = lab.new_app(db=path)
            lab.sync()
        store = github.app.store()
        lines = folder / "old.jsonl"
        lines.write_text("".join(json.dumps(line) + "\n" for line in ODD), encoding="utf-8")
        with lines.open("rb") as source:
            import_lines(store, github.app.parse_project("old"), source, 0)
        store.run("UPDATE items SET deleted_at = 1 WHERE kind = 'issue' AND number = 7")
        store.run("UPDATE notes SET path = NULL WHERE id % 3 = 0")  # then the thread's own counts
        index_items(store, [id_ for (id_,) in store.rows("SELECT id FROM projects")])
    context = Context(db=path, output="--json", started=0, cwd=str(folder))
    yield context
    context.close()


def grouped(store, sql):
    found = {}
    for key, *values in store.rows(sql):
        found.setdefault(key, set()).update(value for value in values if value)
    return found


def read(store, table, *names):
    return [dict(zip(names, row, strict=True)) for row in store.rows(f"SELECT {', '.join(names)} FROM {table}")]


def all_rows(store):
    """Every item, thread and note with all that filters ask for, read without any of the filters' code."""
    names = {project.id: str(project.name) for project in list_projects(store)}
    labels = grouped(store, "SELECT item_id, name FROM item_labels")
    paths = grouped(store, "SELECT item_id, new_path, old_path FROM item_files")
    items = read(store, "items", "id", "project_id", "kind", "number", "state", "author", "created_at", "updated_at",
                 "deleted_at")  # fmt: skip
    for item in items:
        item |= {"project": names[item["project_id"]], "paths": paths.get(item["id"], set())}
        item["labels"] = {name.lower() for name in labels.get(item["id"], ())}
    by_id = {item["id"]: item for item in items}
    of_item = ("project", "labels", "state", "kind")
    place = dict(store.rows("SELECT id, path FROM threads"))
    notes = read(store, "notes", "id", "item_id", "thread_id", "key", "author", "body", "created_at", "updated_at", "path",
                 "is_system", "is_internal")  # fmt: skip
    for note in notes:
        where = note["path"] or place[note["thread_id"]]
        note |= {name: by_id[note["item_id"]][name] for name in of_item} | {"paths": {where} if where else set()}
    threads = [_thread(one, by_id[one["item_id"]], notes) for one in read(store, "threads", "id", "item_id")]
    for thread in threads:
        thread |= {name: by_id[thread["item_id"]][name] for name in of_item}
        thread["forge"] = store.value("SELECT forge FROM projects WHERE id = ?", by_id[thread["item_id"]]["project_id"])
    return {"items": [item for item in items if item["deleted_at"] is None], "notes": notes, "threads": threads}


def _thread(thread, item, notes):
    mine = [note for note in notes if note["thread_id"] == thread["id"]]
    said = [note for note in mine if not note["is_system"] and not note["is_internal"] and note["body"]]
    said.sort(key=lambda note: (note["created_at"] or -1, len(note["key"]), note["key"]))
    times = [note["created_at"] for note in said if note["created_at"] is not None]
    return {
        **thread, "is_said": bool(said) and item["deleted_at"] is None, "author": said[0]["author"] if said else None,
        "paths": set().union(*(note["paths"] for note in mine)),
        "created_at": min(times) if times else item["created_at"],
        "updated_at": max(times) if times else item["updated_at"],
    }  # fmt: skip


def draw(rng, rows):
    """Return a combination of filters: option -> values, in spellings that people use."""
    items = rows["items"]
    people = sorted({row["author"] for row in [*items, *rows["notes"]] if row["author"]})
    labels = sorted({label for item in items for label in item["labels"]})
    paths = sorted({path for item in items for path in item["paths"]})
    days = sorted({(item["created_at"] or item["updated_at"]) for item in items if item["created_at"]})
    files = [*paths, *(path.rpartition("/")[0] + "/" for path in paths if "/" in path), "no/where/"]
    spell = [str, str.upper, "@{}".format]
    choices = {
        "--state": (["open", "opened", "Closed", "closed", "merged"], 3),
        "--author": ([rng.choice(spell)(name.removeprefix("@")) for name in [*people, "nobody"]], 3),
        "--label": ([*(rng.choice(spell[:2])(label) for label in labels), ",".join(labels[:3]), f'nobody,"{labels[-1]}"'], 2),
        "--path": (files, 2), "--project": (sorted({item["project"] for item in items}), 1),
        "--after": ([day(one) for one in days], 1), "--updated-after": ([day(one) for one in days], 1),
    }  # fmt: skip
    given = {
        name: rng.sample(values, rng.randint(1, most))
        for name, (values, most) in choices.items()
        if rng.random() < 0.28
    }
    if rng.random() < 0.3:
        first = moment(given["--after"][0]) if "--after" in given else 0
        if later := [day(one) for one in days if moment(day(one)) > first]:
            given["--before"] = [rng.choice(later)]
    return given


def day(ms):
    return dt.datetime.fromtimestamp(ms / 1000, dt.UTC).strftime("%Y-%m-%d")


def moment(text):
    return int(dt.datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=dt.UTC).timestamp() * 1000)


def is_kept(row, given):
    def login(name):
        return (name or "").lower().removeprefix("@")

    states = {state.lower().replace("opened", "open") for state in given.get("--state", ())}
    created, updated = row["created_at"], row["updated_at"] if row["updated_at"] is not None else row["created_at"]
    return (
        (not states or row["state"] in states)
        and ("--author" not in given or login(row["author"]) in {login(name) for name in given["--author"]})
        and all(
            any(name.strip('"') in row["labels"] for name in label.lower().split(","))
            for label in given.get("--label", ()))
        and ("--path" not in given or any(
            path.startswith(wanted) if wanted.endswith("/") else path == wanted
            for path in row["paths"] for wanted in given["--path"]))
        and ("--project" not in given or row["project"] in given["--project"])
        and ("--after" not in given or (created is not None and created >= moment(given["--after"][0])))
        and ("--before" not in given or (created is not None and created < moment(given["--before"][0])))
        and ("--updated-after" not in given or (updated is not None and updated >= moment(given["--updated-after"][0])))
    )  # fmt: skip


def words(given):
    return [word for name, values in given.items() for value in values for word in (name, value)]


def ask(context, name, *arguments):
    parser, command = build_parser(name)
    return command.run(context, parser.parse_args(list(arguments)))


def filters_of(context, *arguments):
    """The filters of a search with these options."""
    typed = read_filters(context, build_parser("search")[0].parse_args(["x", *arguments]))
    app, project = context.history.app, typed.get("project")
    return search_filters(app, typed, app.find_project(project) if project else None)


def searched(context, kind, given):
    """The items whose own document a search with these filters may return."""
    store = context.history.app.store()
    filters = filters_of(context, "--type", kind, *words(given))
    ids = load_allowed(store, build_allowed(store, filters))
    rows = store.rows(f"SELECT item_id FROM documents WHERE id IN ({ids}) AND representation = 'item'")
    return {item_id for (item_id,) in rows}


@pytest.mark.parametrize("seed", range(8))
def test_list_count_and_search_keep_what_a_loop_over_all_rows_would_keep(world, seed):
    rng, store = random.Random(seed), world.history.app.store()
    rows = all_rows(store)
    ids = {(item["project"], item["kind"], item["number"]): item["id"] for item in rows["items"]}
    found = 0
    for _ in range(50):
        given, kind = draw(rng, rows), rng.choice(KINDS)
        expected = {one["id"] for one in rows["items"] if one["kind"] == kind and is_kept(one, given)}
        said = f"{kind} {words(given)}"
        listed = ask(world, "list", kind, "--limit", "1000", *words(given))
        items = [one for one in listed if one.kind != "thread"]
        assert {ids[one.project, one.kind, one.number] for one in items} == expected, said
        assert len(items) == len(expected), said
        called = [] if kind != "discussion" else [one for one in rows["threads"] if one["forge"] == "gitlab"]
        threads = sum(is_kept(one, given) for one in called if one["is_said"])
        assert len(listed) == len(items) + threads, said
        assert ask(world, "count", kind, *words(given)).total == len(expected) + threads, said
        assert searched(world, kind, given) == expected, said
        for what, every in rows.items():
            assert ask(world, "count", what, *words(given)).total == sum(is_kept(one, given) for one in every), said
        found += bool(expected)
    assert found > 10, "too many combinations match nothing to prove anything"


def test_a_discussion_is_an_item_on_github_and_a_thread_on_gitlab(world):
    store = world.history.app.store()
    threads = store.value("""
        SELECT count(*)
        FROM threads t
        JOIN projects p ON p.id = t.project_id
        JOIN items i ON i.id = t.item_id
        WHERE p.forge = 'gitlab' AND i.deleted_at IS NULL
          AND t.id IN (SELECT thread_id FROM notes WHERE is_system = 0 AND is_internal = 0 AND body <> '')
    """)
    items = store.value("SELECT count(*) FROM items WHERE kind = 'discussion' AND deleted_at IS NULL")
    assert threads > 10
    counted = world.history.count("discussions")
    assert (counted.total, counted.by["threads"]) == (items + threads, threads)
    allowed = build_allowed(store, filters_of(world, "--type", "discussion"))
    forges = dict(store.rows(f"""
        SELECT p.forge, count(*)
        FROM documents d
        JOIN projects p ON p.id = d.project_id
        WHERE d.representation = 'thread' AND d.id IN ({load_allowed(store, allowed)})
        GROUP BY 1
    """))  # fmt: skip
    assert set(forges) == {"gitlab"}, "threads below GitHub's issues are no discussions"
    gitlab = next(str(project.name) for project in list_projects(store) if project.name.forge == "gitlab")
    of_gitlab = world.history.list_items("discussions", project=gitlab, limit=1000)
    assert (len(of_gitlab), {one.kind for one in of_gitlab}) == (threads, {"thread"})
    assert not of_gitlab.warnings


def test_each_filter_by_itself_keeps_some_rows_and_not_all(world):
    """What the loop above relies on: its values occur."""
    rows = all_rows(world.history.app.store())
    assert len({item["project"] for item in rows["items"]}) == 3
    for given in (
        {"--state": ["merged", "open"]}, {"--author": ["@ana", "ben"]}, {"--label": ["bug"]}, {"--path": ["new/"]},
        {"--path": ["old/place.py"]}, {"--after": ["2024-06-01"]}, {"--updated-after": ["2024-06-01"]},
    ):  # fmt: skip
        for what, every in rows.items():
            if "old/place.py" not in given.get("--path", ()) or what == "items":
                total = ask(world, "count", what, *words(given)).total
                assert 0 < total < len(every), (what, given)


def test_counts_by_state_add_up_under_a_filter(world):
    counted = ask(world, "count", "items", "--author", "@ana")
    assert counted.kind == "items"
    assert sum(counted.by.values()) == counted.total > 0
    for state in ("open", "closed", "merged"):
        assert ask(world, "count", "items", "--author", "ana", "--state", state).total == counted.by.get(state, 0)


def plan(store, sql, bindings):
    return " | ".join(row[3] for row in store.rows(f"EXPLAIN QUERY PLAN {sql}", *bindings))


def test_people_and_labels_are_found_by_an_index(world):
    """An author, as a set of two spellings, is still looked up and not scanned for."""
    store = world.history.app.store()
    for option, value, index in (
        ("--author", "@ana", "documents_by_author"), ("--label", "bug", "document_labels_by_name"),
    ):  # fmt: skip
        filters = filters_of(world, option, value)
        allowed = build_allowed(store, filters._replace(project_ids=()))
        assert index in plan(store, allowed.sql, allowed.bindings)
        assert "SCAN" not in plan(store, allowed.sql, allowed.bindings)
