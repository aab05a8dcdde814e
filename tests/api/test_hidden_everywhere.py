"""Every method of `History` and every tool for agents, asked of a store with secrets, for a reader who may not see them.

The same calls are made on a store that never had the secrets. No answer, and no error, may name a secret, and what a
reader can learn must be the same on both: a count that is one higher tells that there is something to hide.

A new method or tool has no row here, and the test fails: add what to call to `METHODS` or `TOOLS`, with arguments that
would find the secrets (`zanzibar` and `mallory` are in hidden items, `eve` wrote an internal note). A method that says
nothing about items goes to `SILENT`; one that works on the whole file, and refuses where some of it is hidden, to
`MEMBERS_ONLY`.
"""

import io
import json
import math
import os
import re
from functools import cached_property

import pytest

from forgelore.api import History, Inputs, make_history
from forgelore.errors import LoreError, UsageError
from forgelore.store.ask import begin_session, end_session
from forgelore.store.change_lines import save_lines
from forgelore.surfaces.mcp.resources import list_resources, read_resource
from forgelore.surfaces.mcp.tools import ServerOptions, list_tools
from forgelore.surfaces.present.data import as_data
from forgelore.text.patches import read_diff
from forgelore.viewer import EVERYTHING
from servers.chat import ChatServer, call

WORD = "zanzibar"
SECRETS = (WORD, "mallory", "oscar", "eve-internal", "zed-hidden")
ISSUE = {"kind": "issue", "state": "open", "author": "ana", "created_at": "2026-03-01T10:00:00Z"}
CHANGE = {"kind": "change", "files": ["src/cache.py", "src/folders.py"], "created_at": "2026-03-08T10:00:00Z"}
PUBLIC = [
    {**ISSUE, "number": 3, "title": "The cache forgets folders", "body": "Like files.", "labels": ["bug"]},
    {**ISSUE, "number": 4, "title": "Another thing about the cache", "body": "Unrelated.", "state": "closed"},
    {
        "kind": "change", "number": 60, "title": "Keep the cache in src/cache.py", "state": "merged", "author": "tom",
        "body": "We decided to keep it, because it is faster. Closes #4.", "files": ["src/cache.py"],
        "created_at": "2026-03-02T10:00:00Z", "merged_at": "2026-03-03T10:00:00Z",
    },
    *({**ISSUE, "number": n, "title": title, "body": body} for n, title, body in [
        # Two and two resemble each other, and only what is hidden names both of a pair.
        (10, "Saving a picture shows a blank window", "The window stays blank after saving."),
        (11, "After saving pictures the window is blank", "A blank window, whatever picture is saved."),
        (12, "Importing old mail stops halfway", "Half of the mailbox is imported."),
        (13, "Importing old mail stops halfway through", "Only half of the mailbox is imported."),
        (14, "The clock shows the wrong zone in winter", "An hour too late. Is it like #2?"),
        (15, "Wrong zone on the clock in winter", "It is an hour late. Maybe as in #2."),
    ]),
    {
        **CHANGE, "number": 62, "title": "Look up folders of the cache once", "author": "kim", "state": "open",
        "body": "Closes #3. Closes #2.",
    },
    *({**ISSUE, "number": n, "title": f"Matter {n} of the cache", "body": f"Else {n}."} for n in range(16, 29)),
    {
        **ISSUE, "number": 1, "title": "The cache forgets files", "body": "It forgets them.", "labels": ["bug"],
        "notes": [{"author": "tom", "body": "Seen here too.", "created_at": "2026-03-02T10:00:00Z"}],
    },
]  # fmt: skip
INTERNAL = {
    "author": "eve-internal", "body": f"Internal: {WORD}, see #3. Duplicate of #4. @ana, please look?", "is_internal": True,
    "created_at": "2026-03-05T10:00:00Z", "thread": "t9",
}  # fmt: skip
HIDDEN = [
    {
        **ISSUE, "number": 2, "title": f"The cache forgets files of {WORD}",
        "body": f"Same as #1, {WORD}. @ana? Duplicate of #10, see #11.",
        "author": "mallory", "labels": [f"leak-{WORD}"], "is_confidential": True, "assignees": ["ana", "zed-hidden"],
        "url": f"https://forge.test/{WORD}/2", "milestone": f"{WORD} 1.0",
        "notes": [{"author": "oscar", "body": f"We decided to hide {WORD}.", "created_at": "2026-03-04T10:00:00Z"}],
    },
    {
        "kind": "change", "number": 61, "title": f"Hide {WORD} in src/cache.py", "state": "merged", "author": "mallory",
        "body": f"We decided to hide {WORD}, because of #3. Closes #1. Closes #12. Closes #13.", "is_confidential": True,
        "files": ["src/cache.py", f"src/{WORD}.py"], "created_at": "2026-03-06T10:00:00Z",
        "merged_at": "2026-03-07T10:00:00Z",
    },
    {
        **CHANGE, "number": 63, "title": f"Look up {WORD} once", "author": "mallory", "state": "open",
        "body": f"For {WORD}. Closes #3. Closes #1.", "is_confidential": True,
    },
]  # fmt: skip
DIFF = """diff --git a/src/cache.py b/src/cache.py
--- a/src/cache.py
+++ b/src/cache.py
@@ -1,3 +1,3 @@
 import os
-folders = read_folders(path)
-files = read_files(path)
+folders = once(read_folders, path)
+files = once(read_files, path)
"""


def everything(answer):
    """Return an answer as data, or what it refuses."""
    if isinstance(answer, (list, tuple)) and not hasattr(answer, "_fields"):
        return [everything(one) for one in answer]
    return as_data(answer) if hasattr(answer, "_fields") or hasattr(answer, "__struct_fields__") else answer


def lines_of(history, **more):
    stream = io.BytesIO()
    done = history.sync.export_to(stream, project="acme/web", **more)
    return (
        done,
        stream.getvalue().decode(),
        [line.decode() for line in history.sync.export_lines(project="acme/web", **more)],
    )


QUERIES = (
    "commenter:eve-internal",
    "commenter:oscar",
    "mentions:ana",
    "involves:mallory",
    "-involves:eve-internal cache",
    "cache",
    WORD,
    "#2",
    "label:leak-zanzibar",
    "author:mallory",
    "author:oscar",
    "label:leak-zanzibr",
)
FILTERS = (
    "",
    "commenter:eve-internal",
    "-commenter:eve-internal",
    "mentions:ana",
    "involves:zed-hidden",
    "label:leak-zanzibar",
    "author:mallory",
    "assignee:zed-hidden",
    "assignee:ana",
)


def count_mentions(answer):
    """Return item -> how many others name it, and say that they repeat it: counts, though they are told as numbers of a
    pair, which `outcome` leaves out.
    """
    numbers = {one.hit.row.number: one.match.features for one in answer.hits if one.match}
    return {
        number: [round(math.expm1(features.get(name, 0))) for name in ("mentions", "duplicates", "marked")]
        for number, features in sorted(numbers.items())
    }


def find_pairs(history):
    """Let somebody who sees everything find the candidates of a reader's store."""
    with make_history(history.app.environ, cwd=history.app.cwd, db=history.path, viewer=EVERYTHING) as owner:
        return owner.dedupe.find_candidates(min_score=0.0, states="all")


METHODS = {
    "search": [lambda h, q=q: h.search(q) for q in QUERIES] + [lambda h: h.search("cache", raw=True)],
    "similar": [lambda h: h.similar("#1"), lambda h: h.similar("#2"), lambda h: h.similar("#3", earlier=True),
                *(lambda h, r=r: count_mentions(h.similar(r)) for r in ("#11", "#3"))],
    "list_items": [lambda h, q=q, k=k: h.list_items(k, q) for q in FILTERS for k in ("issues", "changes", "discussions")],
    "items": [lambda h, q=q: h.items(q, limit=100) for q in FILTERS],
    "facets": [lambda h, q=q: h.facets(q) for q in FILTERS],
    "count": [lambda h, q=q, k=k: h.count(k, q) for q in FILTERS for k in ("issues", "items", "threads", "notes")],
    "get": [lambda h: h.get("#1"), lambda h: h.get(2)],
    "show": [lambda h, r=r: h.show(r, with_document=True) for r in ("#1", "#2", "#3", "#4", "!61", "acme/web#2")],
    "read": [lambda h, r=r: h.read(r) for r in ("#1", "#2", "item:25", "item:26")] + [lambda h: h.read("#1", find=WORD)],
    "read_text": [lambda h, k=k: h.read_text(k) for k in ("item:1", "item:24", "item:25", "item:26")],
    "find_page": [lambda h: h.find_page("#1"), lambda h: h.find_page("#2")],
    "triage.run": [lambda h, r=r: h.triage.run(r, Inputs()) for r in ("#1", "#2", "#3", "!61")],
    "paths.history": [lambda h, p=p: h.paths.history(p) for p in ("src/cache.py", "src/", f"src/{WORD}.py", "src/zanziba.py")],
    "paths.decisions_in": [lambda h, r=r: h.paths.decisions_in(r) for r in ("#1", "#2", "!60", "!61", "#4")],
    "paths.extract_decisions": [lambda h: h.paths.extract_decisions("src/cache.py"),
                          lambda h: h.paths.extract_decisions("src/", include_internal=True)],
    "people.who": [lambda h, p=p: h.people.who(p) for p in ("ana", "tom", "mallory", "mallori", "oscar", "eve-internal", "zed-hidden")],
    "people.who_knows": [lambda h, p=p: h.people.who_knows(p) for p in ("src/cache.py", "src/", f"src/{WORD}.py", "src/zanziba.py")],
    "people.who_or_path": [lambda h, p=p: h.people.who_or_path(p) for p in ("src/cache.py", "mallory", f"src/{WORD}.py", "cache.py")],
    "labels": [lambda h: h.labels(), lambda h: h.labels("acme/web")],
    "tree": [lambda h: h.tree(), lambda h: h.tree("src")],
    "people.me": [lambda h: h.people.me("ana"), lambda h: h.people.me("zed-hidden"), lambda h: h.people.me("tom")],
    "people.waiting": [lambda h: h.people.waiting(limit=100)]
    + [lambda h, n=n: h.people.waiting(only=n, limit=100) for n in ("answer", "newcomers", "reviews", "untriaged")]
    + [lambda h, q=q: h.people.waiting(q, only="answer", limit=100) for q in FILTERS],
    "people.month": [lambda h, m=m: h.people.month(m) for m in (None, "2026-03", "2026-04")],
    "triage.replay": [lambda h: h.triage.replay("2026-01-01", until="2026-06-01"), lambda h: h.triage.replay("2026-01-01", until="2026-06-01", kind="change")],
    "ask": [
        lambda h: h.ask(f"what of {WORD}?", without_model=True), lambda h: h.ask("What does the cache forget?"),
        lambda h: h.ask("What does the cache forget?", include_internal=True),
    ],
    "questions.list": [lambda h: h.questions.list()],
    "questions.replay": [lambda h: h.questions.replay(1), lambda h: h.questions.replay(99)],
    "sync.export_lines": [lambda h: list(h.sync.export_lines(project="acme/web")), lines_of,
                     lambda h: list(h.sync.export_lines(project="acme/web", include_internal=True))],
    "sync.export_to": [lambda h: lines_of(h, include_internal=True)],
    "sync.export_file": [lambda h: h.sync.export_file(os.devnull, project="acme/web"),
                    lambda h: h.sync.export_file(os.devnull, project="acme/web", include_internal=True)],
    "sync.load_public": [lambda h: h.sync.load_public("acme/web"),
                         lambda h: h.sync.load_public("acme/web", for_members=True)],
    "sync.status": [lambda h: h.sync.status(), lambda h: h.sync.status("acme/web")],
    "index.stats": [lambda h: h.index.stats()],
    "index.count_waiting": [lambda h: h.index.count_waiting()],
    "count_replays": [lambda h: h.count_replays()],
    "projects.list": [lambda h: h.projects.list()],
    "projects.name": [lambda h: h.projects.name()],
    "projects.are_several": [lambda h: h.projects.are_several],
    "sync.names": [lambda h: h.sync.names()],
    "dedupe.list_maintainers": [lambda h: h.dedupe.list_maintainers()],
    "dedupe.list_runs": [lambda h: h.dedupe.list_runs()],
    "audit.list_blind_pairs": [lambda h: h.audit.list_blind_pairs()],
    "dedupe.detect": [lambda h, r=r: h.dedupe.detect(r) for r in ("#1", "#2", "!61")],
    "dedupe.override": [lambda h: h.dedupe.override("accept", "#2", "#1"),
                           lambda h: h.dedupe.override("accept", "#1", "#2")],
    "audit.label": [lambda h: h.audit.label(_pair(1, 2)), lambda h: h.audit.label(_pair(2, 1))],
    "dedupe.find_candidates": [lambda h: h.dedupe.find_candidates()],
    "dedupe.judge": [lambda h: h.dedupe.judge()],
    "dedupe.make_cards": [lambda h: h.dedupe.make_cards()],
    "dedupe.queue": [find_pairs, lambda h: h.dedupe.queue(limit=100, closed_since="2020-01-01", reviewer="jo"),
                     lambda h: h.dedupe.queue(kind="change", reviewer="jo"),
                     lambda h: h.dedupe.queue(second_opinion=True, reviewer="jo")],
    "dedupe.answer": [lambda h, p=p: h.dedupe.answer(*p, "not", reviewer="jo") for p in (("#3", "#1"), ("#2", "#1"), (1, 2), ("!62", "!63"))],
    "dedupe.take_back": [lambda h, r=r: h.dedupe.take_back(reviewer=r) for r in ("rae", "rae", "kit")],
    "dedupe.clusters": [lambda h: h.dedupe.clusters()],
    "dedupe.magnets": [lambda h: h.dedupe.magnets()],
    "dedupe.list_announced": [lambda h: h.dedupe.list_announced()],
    "dedupe.list_answers": [lambda h: h.dedupe.list_answers(), lambda h: h.dedupe.list_answers(kind="change")],
    "changes.overlap": [lambda h, r=r: h.changes.overlap(r) for r in (None, "!60", "!61", "!62", "!63", "#2", 62)]
                       + [lambda h, p=p: h.changes.overlap(paths=[p]) for p in ("src/cache.py", f"src/{WORD}.py")]
                       + [lambda h, n=n: h.changes.overlap(closes=[n]) for n in (1, 2, 3)]
                       + [lambda h: h.changes.overlap(diff=DIFF)],
    "setup.check": [lambda h: [one[:4] for one in h.setup.check(offline=True)]],
}  # fmt: skip
# What works on the whole file: it says what it did, and shows no item; how much there was to do it counts.
WORKING = {
    "calibrate": lambda h: h.calibrate(project="acme/web", dry_run=True),
    "index.build_documents": lambda h: h.index.build_documents(full=True),
    "index.embed": lambda h: h.index.embed(full=True),
    "index.update": lambda h: h.index.update(),
    "sync.replay": lambda h: h.sync.replay("acme/web"),
    "sync.import_file": lambda h: h.sync.import_file(_more(h), project="acme/web"),
    "index.code": lambda h: h.index.code(os.path.dirname(h.path)),
    "sync.refresh": lambda h: h.sync.refresh(),
    "sync.run": lambda h: h.sync.run("acme/web"),
    "sync.import_archive": lambda h: h.sync.import_archive([_more(h)], project="acme/web", kind="gharchive"),
    "sync.estimate": lambda h: h.sync.estimate("acme/web"),
}
MEMBERS_ONLY = {
    "index.check": lambda h: h.index.check(), "index.repair": lambda h: h.index.repair(), "dedupe.cluster": lambda h: h.dedupe.cluster(),
    "dedupe.plan": lambda h: h.dedupe.plan(), "dedupe.load_plan": lambda h: h.dedupe.load_plan(1), "dedupe.apply": lambda h: h.dedupe.apply(1),
    "dedupe.link": lambda h: h.dedupe.link(), "dedupe.roll_back": lambda h: h.dedupe.roll_back(1), "dedupe.run": lambda h: h.dedupe.run(),
    "audit.compare_judges": lambda h: h.audit.compare_judges(cheap="builtin", strong="statements"),
    "audit.by_history": lambda h: h.audit.by_history(), "audit.by_people": lambda h: h.audit.by_people(),
    "audit.analyse": lambda h: h.audit.analyse(), "dedupe.load_overview": lambda h: h.dedupe.load_overview(),
    "evaluate": lambda h: h.evaluate("queries.jsonl"),
}  # fmt: skip
# They say nothing about items: settings, the machine, the parts that a history is made of. `handle_event` has an index
# of its own, which holds what every reader of its branch may read (tests/triage), as do `report` and `open_index`.
SILENT = {
    "app", "setup.add_host", "close", "setup.find_token_owner", "triage.handle_event", "has_model", "interrupt", "is_writing", "now_ms", "path",
    "audit.read_labels", "setup.open_index", "triage.report", "reopen_replaced", "retriever", "run", "setup.write", "stop", "setup.suggest_project", "warnings",
}  # fmt: skip
REFS = ("#1", "#2", "acme/web#2", "!61", "item:25", f"https://forge.test/{WORD}/2")
TOOLS = {
    "search": [{"query": query} for query in QUERIES]
    + [{"query": "cache", "label": [f"leak-{WORD}"]}, {"query": "cache", "author": ["mallory"]}],
    "read": [{"ref": ref} for ref in REFS] + [{"ref": "#1", "find": WORD}, {"ref": f"src/{WORD}.py"}],
    "show": [{"ref": ref} for ref in REFS],
    "similar": [{"ref": ref} for ref in REFS],
    "history": [{"path": path} for path in ("src/cache.py", "src/", f"src/{WORD}.py")],
    "who": [
        {"who": who} for who in ("ana", "mallory", "oscar", "eve-internal", "src/", f"src/{WORD}.py", "src/zanziba.py")
    ],
    "me": [{"login": login} for login in ("ana", "tom", "zed-hidden")],
    "list": [{"query": query, "kind": kind} for query in FILTERS for kind in ("items", "issues", "changes")],
    "count": [{"query": query, "what": what} for query in FILTERS for what in ("items", "threads", "notes")],
    "labels": [{}, {"project": "acme/web"}],
    "tree": [{}, {"folder": "src"}],
    "possible_duplicates": [{}, {"limit": 20}],
    "overlap": [{}, {"diff": DIFF}, {"paths": ["src/cache.py"]}]
    + [{"ref": ref} for ref in REFS]
    + [{"closes": [number]} for number in (1, 2, 3)],
    "sync_status": [{}, {"project": "acme/web"}],
    "ask": [{"question": f"What of {WORD}?"}],
    "sync": [{"project": "acme/web"}],
}


def _pair(number, target):
    from forgelore.dedupe.audit_rules import PairLabel

    return [PairLabel("issue", number, target, "duplicate")]


def _more(history):
    path = os.path.join(os.path.dirname(history.path), "again.jsonl")
    with open(path, "w") as file:
        file.write(json.dumps(PUBLIC[0]) + "\n")
    return path


@pytest.fixture(scope="module")
def model():
    """A model that looks for what is hidden, and answers with whatever it was shown."""

    def reply(asked):
        turn = sum(message["role"] == "assistant" for message in asked["messages"])
        steps = [call("search", keywords=WORD), call("read", id="#2"), call("get", id="#1"), call("read", id="#1")]
        said = " ".join(str(one["content"]) for one in asked["messages"] if one["role"] != "user")
        leaked = " ".join(word for word in SECRETS if f"{word}," in said or f"of {word}" in said)
        return steps[turn] if turn < len(steps) else call("answer", text=f"Nothing. {leaked}", citations=[])

    with ChatServer(reply) as server:
        yield server


def keep_lines(store):
    """Keep which lines the open changes remove and add, as a sync does: those of the same diff."""
    with store.transaction():
        for item_id, project_id in store.rows(
            "SELECT id, project_id FROM items WHERE kind = 'change' AND state = 'open'"
        ):
            save_lines(store, project_id, item_id, read_diff(DIFF), None)


def make_store(folder, model, *, is_secret):
    folder.mkdir()
    lines = [*PUBLIC[:-1], {**PUBLIC[-1], "notes": [*PUBLIC[-1]["notes"], INTERNAL]}, *HIDDEN] if is_secret else PUBLIC
    source = folder / "lines.jsonl"
    source.write_text("\n".join(map(json.dumps, lines)))
    environ = {
        "HOME": str(folder), "PATH": os.environ["PATH"], "FORGELORE_EMBEDDER": "lore",
        "GITHUB_API_URL": model.url,
        "FORGELORE_LLM_BASE_URL": model.v1, "FORGELORE_LLM_MODEL": "scripted-model",
    }  # fmt: skip
    path = str(folder / "store.db")
    with make_history(environ, cwd=str(folder), db=path, viewer=EVERYTHING) as owner:
        owner.sync.import_file(source, project="acme/web")
        store = owner.app.store()
        keep_lines(store)
        owner.dedupe.answer("#17", "#16", "related", reviewer="rae")
        if is_secret:  # what members answered and asked, a job that failed, a run that complained
            owner.dedupe.answer("#1", "#2", "same", reviewer="rae")
            owner.dedupe.answer("!61", "!63", "not", reviewer="kit")
            with store.transaction():
                session = begin_session(store, f"Why {WORD}?", "m", {"project": None, "include_internal": True}, 1)
                end_session(store, session, "answer", f"Because of {WORD}.", (1, 1), 2)
                for kind, key in (("threads", "issue:2"), ("document", "25"), ("replay", "25")):
                    store.run(
                        "INSERT INTO jobs (project_id, kind, key, queued_at, attempt_count, last_error)"
                        " VALUES (1, ?, ?, 0, 3, ?)", kind, key, f"{WORD} failed",
                    )  # fmt: skip
                store.run("UPDATE sync_runs SET summary = ?", json.dumps({"warnings": [f"issue 2 of {WORD} is odd"]}))
    return environ, path


@pytest.fixture
def stores(tmp_path, model):
    """A history of the store with secrets, and of the one without, both for a reader who may not see them."""
    opened = []
    for name, is_secret in (("secret", True), ("clean", False)):
        environ, path = make_store(tmp_path / name, model, is_secret=is_secret)
        opened.append(make_history(environ, cwd=str(tmp_path / name), db=path))
    yield opened
    for history in opened:
        history.close()


NOUNS = {name for name, one in vars(History).items() if isinstance(one, cached_property)}


def public_names():
    history = History(None)
    own = {name for name in (*dir(History), "app") if not name.startswith("_")} - NOUNS
    return own | {
        f"{noun}.{name}" for noun in NOUNS for name in dir(getattr(history, noun)) if not name.startswith("_")
    }


def outcome(history, ask):
    """Return what a reader is told, without times, sizes and places."""
    try:
        said = json.dumps(everything(ask(history)), default=repr, sort_keys=True)
    except LoreError as error:
        said = f"{type(error).__name__}: {error.message} ({error.hint})"
    folder = os.path.dirname(history.path)
    said = said.replace(folder, "FOLDER").replace(history.app.environ["FORGELORE_LLM_BASE_URL"], "MODEL")
    # How rare a word is counts every document, and so do scores; a page's mark and dates tell when the file was written.
    varying = r'"(?:bytes|content_hash|hash|\w+_at|made_ms|session|document_id)": (?:"[^"]*"|\d+|null)|-?\d+\.\d+(?:e-\d+)?|\d+%|\d+ MB|session \d+|\d+ s ago|Against it: [^.]*'
    return re.sub(r"(\d+):[0-9a-f]{10}\b", r"\1", re.sub(varying, "", said))


def secrets_in(said, asked=""):
    return [word for word in SECRETS if word in said and word not in asked]


def test_every_method_has_a_row():
    rows = set(METHODS) | set(WORKING) | set(MEMBERS_ONLY) | SILENT
    assert public_names() - rows == set(), "say in this file how these are asked for secrets (see its first lines)"
    assert rows - public_names() == set(), "these methods are gone: remove their rows"
    assert {tool.name for tool in list_tools(ServerOptions(can_write=True, has_model=True))} == set(TOOLS)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_tells_the_same_with_and_without_secrets(stores, name):
    for number, ask in enumerate(METHODS[name]):
        secret, clean = (outcome(history, ask) for history in stores)
        assert secret == clean, (name, number)


@pytest.mark.parametrize("name", WORKING)
def test_work_on_the_whole_file_names_no_secret(stores, name):
    assert secrets_in(outcome(stores[0], WORKING[name])) == []


@pytest.mark.parametrize("name", MEMBERS_ONLY)
def test_work_that_shows_hidden_items_is_refused_with_what_to_do(stores, name):
    with pytest.raises(UsageError) as refused:
        MEMBERS_ONLY[name](stores[0])
    assert "viewer=EVERYTHING" in refused.value.hint


@pytest.mark.parametrize("name", TOOLS)
def test_a_tool_tells_the_same_with_and_without_secrets(stores, name):
    tools = {tool.name: tool for tool in list_tools(ServerOptions(can_write=True, has_model=True))}
    if name == "possible_duplicates":
        assert [find_pairs(history)[0].members_written > 0 for history in stores] == [True, True]
    for given in TOOLS[name]:
        secret, clean = (outcome(history, lambda h, given=given: tools[name].call(h, given)) for history in stores)
        assert secret == clean, (name, given)


def test_resources_are_the_same_with_and_without_secrets(stores):
    uris = [f"forgelore://item/acme%2Fweb/{what}" for what in ("issue/1", "issue/2", "change/61")]
    for ask in (list_resources, *(lambda h, uri=uri: read_resource(h, uri) for uri in uris)):
        secret, clean = (outcome(history, ask) for history in stores)
        assert secret == clean


def test_whoever_opens_it_with_everything_sees_the_secrets(stores):
    """Otherwise the tests above would hold on a store without any."""
    environ, path = stores[0].app.environ, stores[0].path
    with make_history(environ, cwd=os.path.dirname(path), db=path, viewer=EVERYTHING) as owner:
        assert owner.triage.run("#2", Inputs()).result.author == "mallory"
        assert WORD in "".join(lines_of(owner, include_internal=True)[1])
        assert WORD not in "".join(lines_of(owner)[1])
        assert owner.sync.status()[0].items == {"change": 4, "issue": 23}
        assert {one.change.number for one in owner.changes.overlap("!62").overlaps} == {63}
        assert {who for one in owner.dedupe.list_answers() for who in one.by} == {"rae", "kit"}
        assert owner.index.stats().documents.total > stores[0].index.stats().documents.total
        assert [session.answer for session in owner.questions.list()] == [f"Because of {WORD}."]
        assert owner.read_text("item:25").text.count(WORD) >= 2
        assert owner.people.who("mallory").login == "mallory"
        assert owner.dedupe.load_overview().clusters == []
