"""Models behind a scripted server, for tests of judges: what they are asked is read as a person would read it."""

import contextlib
import json
import re

from forgelore.dedupe.llm import LlmJudge, TokenBudget
from forgelore.llm.chat import ServedChatModel
from forgelore.llm_settings import LlmProfile
from forgelore.net.model_server import HttpOptions
from servers.chat import ChatServer, prompt_of

VERDICT = {
    "is_duplicate": True, "target": None, "confidence": 0.97, "relation": "same_instance", "root_cause": "same",
    "scope": "same_scope", "path": "same", "certainty": "sure", "reasoning": "they say the same",
    "facts": ["empties the list of folders", "no folder left to sync"],
}  # fmt: skip


def numbers_in(asked):
    """(source, candidates) of a question."""
    prompt = prompt_of(asked)
    (source,) = re.findall(r"^<forge-text-\w+ source \w+ (\d+)>$", prompt, re.MULTILINE)
    return int(source), [
        int(one) for one in re.findall(r"^<forge-text-\w+ candidate \w+ (\d+)>$", prompt, re.MULTILINE)
    ]


def data_in(asked, number):
    """The fenced text of one item."""
    found = re.search(
        rf"^<(forge-text-\w+) \w+ \w+ {number}>\n(.*?)\n</\1>$", prompt_of(asked), re.MULTILINE | re.DOTALL
    )
    return found[2]


def verdict(**more):
    return json.dumps(VERDICT | more)


def none_of_them():
    return verdict(is_duplicate=False, relation="different", confidence=0.1)


def copies_of(pairs, **more):
    """A model that finds what `pairs` (source -> target) has, and nothing else."""

    def reply(asked):
        source, _ = numbers_in(asked)
        return verdict(target=pairs[source], **more) if source in pairs else none_of_them()

    return reply


@contextlib.contextmanager
def llm_judge(replies, *, budget=None, fetch_patch=None, **settings):
    """A judge that asks a scripted server, which is `judge.server`. Waits take no time."""
    with ChatServer(replies) as server:
        profile = LlmProfile("cheap", **{"base_url": server.v1, "model": "scripted-model", "timeout": 5.0, **settings})
        chat = ServedChatModel(profile, options=HttpOptions(sleep=lambda _: None))
        judge = LlmJudge(chat, budget=TokenBudget(budget), fetch_patch=fetch_patch)
        judge.server = server
        yield judge
        chat.close()
