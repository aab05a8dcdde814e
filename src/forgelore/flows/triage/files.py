"""The files of the changes in the bot's index: read in bulk, the newest changes first, within what a run may spend.

An event brings the paths of its own change; its history must have them too, or only one side of a pair would. What a
run leaves waits as jobs in the index, and the next one goes on.
"""

from collections.abc import Callable, Collection

from forgelore.errors import LoreError, NotFound, in_words
from forgelore.flows.progress import Watcher
from forgelore.flows.sync.jobs import ends_the_run
from forgelore.flows.sync.page import cut_lists, job_key, parse_job_key, tell_cut
from forgelore.flows.sync.stored import KnownStore
from forgelore.flows.triage.intake import Budget
from forgelore.model import ItemKey, Project
from forgelore.ports import Forge, Page
from forgelore.store.db import Store
from forgelore.store.items import load_ids, save_files
from forgelore.store.jobs import (
    Job,
    count_jobs,
    drop_jobs,
    excuse_job,
    fail_job,
    finish_job,
    queue_documents,
    queue_jobs,
    ready_jobs,
)
from forgelore.words import JobKind

# Requests of a run for files; one is 50 changes on GitHub and a single one on GitLab. The author of an event waits.
MOST_REQUESTS, FEW_REQUESTS = 500, 40


def read_files(
    store: Store, forge: Forge, project: Project, project_id: int, *, budget: Budget, now_ms: Callable[[], int],
    most: int = MOST_REQUESTS, known: Collection[ItemKey] = (), watcher: Watcher | None = None,
) -> list[str]:  # fmt: skip
    """Read the files of changes that wait for it, but for those of `known`, which this run has read already.

    Returns what should be told: lists that the forge cuts, and why reading ended if something went wrong.
    """
    _queue(store, project_id, known, now_ms())
    watcher = watcher or Watcher()
    watcher.begin("files", "files of changes", count_jobs(store, project_id).get(JobKind.FILES, (0, 0))[0])
    last, size = forge.requests() + most, forge.batch_size(JobKind.FILES)
    cut: dict[ItemKey, tuple[int, int]] = {}
    tried: set[str] = set()
    problems: list[str] = []
    while forge.requests() < last and not budget.spent():
        jobs = _next_jobs(store, project_id, tried, size, now_ms())
        if not jobs:
            break
        tried.update(job.key for job in jobs)
        try:
            page = _fetch(forge, project, jobs, KnownStore(store, project_id))
        except LoreError as error:
            problems.append(f"files of changes: {in_words(error)}")
            if len(jobs) > 1 or ends_the_run(error):  # the others would meet the same
                break
            with store.transaction():
                fail_job(store, project_id, jobs[0], in_words(error), now_ms())
            continue
        _save(store, project_id, page, jobs, now_ms())
        cut |= cut_lists(page)
        watcher.saved("files", len(jobs))
    watcher.done("files")
    return [*problems, *tell_cut(cut)]


def _queue(store: Store, project_id: int, known: Collection[ItemKey], now_ms: int) -> None:
    """Queue what no run has read yet: all changes of an index that an older version made."""
    with store.transaction():
        drop_jobs(store, project_id, JobKind.FILES, map(job_key, known))
        queue_jobs(store, project_id, JobKind.FILES, KnownStore(store, project_id).without_files(), now_ms)


def _next_jobs(store: Store, project_id: int, tried: set[str], size: int, now_ms: int) -> list[Job]:
    found = ready_jobs(store, project_id, JobKind.FILES, now_ms, size + len(tried), is_newest_first=True)
    return [job for job in found if job.key not in tried][:size]


def _fetch(forge: Forge, project: Project, jobs: list[Job], known: KnownStore) -> Page:
    try:
        return forge.fetch_jobs(project, JobKind.FILES, [parse_job_key(job.key) for job in jobs], known)
    except NotFound:
        if len(jobs) > 1:
            raise
        return Page()  # it is gone; the list of numbers will say so too


def _save(store: Store, project_id: int, page: Page, jobs: list[Job], now_ms: int) -> None:
    with store.transaction():
        ids = load_ids(store, project_id, [detail.key for detail in page.details])
        for detail in page.details:
            if detail.key in ids and detail.files is not None:
                save_files(store, project_id, ids[detail.key], detail.files, detail.head_sha)
        queue_documents(store, project_id, ids.values())
        for job in jobs:
            missing = page.missing.get(parse_job_key(job.key))
            if missing is None:
                finish_job(store, project_id, job)
            elif missing.is_asked:
                fail_job(store, project_id, job, missing.reason, now_ms)
            else:
                excuse_job(store, project_id, job, missing.reason)
