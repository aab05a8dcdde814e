"""Every forged citation is refused, and every honest one holds: on a real store, through a whole run."""

import json
import os

import pytest

from ask.citation_cases import FILES, FORGED, HONEST, ITEMS, MESSAGE
from ask.conftest import answer, cite
from clones.repositories import commit_files, make_repository
from forgelore.api import make_history
from forgelore.api.asking import open_sources
from servers.chat import ChatServer


@pytest.fixture(scope="module")
def statuses(tmp_path_factory):
    """Return case -> what became of its citation."""
    place = tmp_path_factory.mktemp("cases")
    (place / "tracker.jsonl").write_text("".join(json.dumps(item) + "\n" for item in ITEMS))
    folder = make_repository(place / "coins", FILES)
    commit_files(folder, {"src/extra.py": "pass\n"}, MESSAGE)
    with ChatServer() as server:
        environ = {"HOME": str(place), "PATH": os.environ["PATH"], "FORGELORE_EMBEDDER": "none",
                   "FORGELORE_LLM_BASE_URL": server.v1, "FORGELORE_LLM_MODEL": "scripted-model"}  # fmt: skip
        history = make_history(environ, cwd=str(place), db=str(place / "lore.db"))
        history.sync.import_file(place / "tracker.jsonl", project="acme/coins")
        history.index.code(str(folder), project="acme/coins")
        ((commit,),) = history.app.store().rows("SELECT id FROM commits WHERE message LIKE 'Keep dust%'")
        sources = open_sources(history.app, history.retriever(), {}, include_internal=False)
        found = {}
        for cases in (FORGED, HONEST):
            made = []
            for _, name, part, quote in cases:
                id_ = f"commit:{commit}" if name == "commit" else name
                (line, *_) = [at for at, text in enumerate(sources.open(id_).lines, 1) if part in text]
                made.append(cite(id_, line, line, quote.replace("LINE", str(line))))
            server.replies = [answer("So it is.", *made)]
            done = history.ask("why?").citations
            assert len(done) == len(cases)
            found |= dict(zip(cases, done, strict=True))
        history.close()
    return found


@pytest.mark.parametrize("case", FORGED, ids=lambda case: f"{case[0]}: {case[3][:30]}")
def test_a_forged_citation_does_not_hold(statuses, case):
    assert not statuses[case].is_good


@pytest.mark.parametrize("case", HONEST, ids=lambda case: f"{case[0]}: {case[3][:30]}")
def test_an_honest_citation_holds(statuses, case):
    assert statuses[case].is_good, statuses[case]


def test_there_are_enough_cases_of_both_kinds():
    assert min(len(set(FORGED)), len(set(HONEST))) >= 44
