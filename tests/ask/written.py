"""Transcripts written by hand, played as the replies of a scripted server.

Nobody decides anything here: what is searched, read and answered stands in the transcript. But ids and lines come from
what the tools showed, as a model would take them, and nothing may be quoted that was not shown.

    {"note": "…", "search": {"keywords": "event loop", "path": "asyncio/**.py"}}
    {"note": "…", "read": "asyncio/base_events.py"}      the hit with this title, at its line; or a ref: "#45"
    {"note": "…", "within": "def run_forever"}   {"scroll": "down"}   {"get": "#45"}
    {"answer": "It does so [1].", "cite": [["asyncio/base_events.py", "def run_forever(self):"]]}
"""

import re

from servers.chat import call

_HIT = re.compile(r"id: (\S+)\n +type: .*\n +title: (.*)\n +url: .*\n +line: (\d+)")
_NAMES = {"within": "search_within_item", "scroll": "scroll", "get": "get"}
_FIRST = {"within": "keywords", "scroll": "direction", "get": "ref"}


class WrittenTranscript:
    """The replies of one transcript. `problems`: what it quotes or reads without having been shown it."""

    def __init__(self, turns):
        self.turns, self.problems = list(turns), []
        self.hits, self.shown, self.open = {}, {}, ""
        self.prompts = []  # characters of each request's messages

    def __call__(self, asked):
        self.prompts.append(sum(len(str(one.get("content") or "")) for one in asked["messages"]))
        self._look(str(asked["messages"][-1]["content"]))
        turn = self.turns.pop(0) if len(self.turns) > 1 else self.turns[0]
        name, arguments = self._make(turn)
        return call(name, call_id=f"call_{len(self.prompts)}", observations=turn.get("note", ""), **arguments)

    def _look(self, result):
        for id_, title, line in _HIT.findall(result):
            self.hits.setdefault(title, (id_, int(line)))
        self.shown.setdefault(self.open, []).append(result)

    def _make(self, turn):
        if "search" in turn:
            self.open = ""
            return "search", turn["search"]
        if "read" in turn:
            id_, line = self._find(turn["read"])
            self.open = turn["read"]
            return "read", {"id": id_} | ({"line": line} if line and turn.get("at") != "top" else {})
        if "answer" in turn:
            return "answer", {"text": turn["answer"], "citations": [self._cite(*one) for one in turn["cite"]]}
        ((kind, value),) = ((kind, turn[kind]) for kind in _NAMES if kind in turn)
        return _NAMES[kind], {_FIRST[kind]: value}

    def _find(self, title):
        if title.startswith(("#", "!")):
            return title, 0
        if title not in self.hits:
            self.problems.append(f"no search has found {title}")
        return self.hits.get(title, (title, 0))

    def _cite(self, title, quote):
        seen = re.search(rf"^(\d+): .*{re.escape(quote)}", "\n".join(self.shown.get(title, [])), re.MULTILINE)
        if not seen:
            self.problems.append(f"{title} was not seen to say {quote!r}")
        line = int(seen[1]) if seen else 1
        return {"id": self._find(title)[0], "first_line": line, "last_line": line, "quote": quote}
