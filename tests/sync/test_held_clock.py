"""One clock for everything: what a held clock of the app leaves in the file is one moment."""

from forgelore.compare.calibrate import learn_boilerplate
from forgelore.index.update import update_index
from forgelore.store.projects import list_projects
from forgelore.sync.replay import replay_project
from forgelore.sync.run import SyncOptions, sync_project
from index.embedder import DIMENSION, Hashed

OURS = {  # columns with times of this machine; the others hold times of the forge
    "schema_version": ["applied_at"],
    "projects": ["added_at"],
    "sync_runs": ["started_at", "finished_at"],
    "embedders": ["added_at"],
    "boilerplate_runs": ["learned_at"],
    "jobs": ["last_attempt_at"],
    "items": ["deleted_at"],
}
NOW_MS = 1_800_000_000_000


def test_a_held_clock_is_the_only_time_that_a_file_gets_to_know(lab):
    app = lab.app
    app.wall_clock = lambda: NOW_MS / 1000
    for at in range(60):
        lab.project.add_issue(f"Report {at}", f"Steps to reproduce\n\nPart {at} does not answer")
    name = app.parse_project(lab.name_text)
    store = app.store(create=True)
    how = {"now_ms": app.now_ms}
    sync_project(store, app.forge(name), name, SyncOptions(), **how)
    lab.project.delete(*((3,) if lab.path == "acme/web" else ("issue", 3)))
    sync_project(store, app.forge(name), name, SyncOptions(), **how)
    (project,) = list_projects(store)
    replay_project(store, app.payload_reader(name), project, now=app.now_ms)
    spoiled = Hashed(spoil={"Part 7": [0.0] * DIMENSION})
    assert update_index(store, [project.id], lambda: spoiled, **how).vectors.failed == 1
    learn_boilerplate(store, project.id, is_forced=True, **how)
    for table, columns in OURS.items():
        for column in columns:
            times = {time for (time,) in store.rows(f"SELECT DISTINCT {column} FROM {table}") if time is not None}
            assert times == {NOW_MS}, (table, column)
    due = store.value("SELECT next_attempt_at FROM jobs WHERE kind = 'embed'")
    assert NOW_MS < due < NOW_MS + 86_400_000
