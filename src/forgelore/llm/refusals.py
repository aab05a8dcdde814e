"""Refusals of a chat server: which part of a request it does not know, and how the request goes without it.

    response_format, a schema      json_mode one step down: schema -> object -> none
    reasoning_effort               left out
    max_tokens                     called max_completion_tokens, as OpenAI's newer models want it; left out where it
                                   does not fit beside the prompt (vLLM refuses what llama.cpp cuts)
    temperature                    left out: models that think take none but their own
    stream, stream_options         left out: the answer comes in one piece, or without a count
    tools                          nothing we could leave out: who asks must know

Servers say so with 400, 404, 422, 500 and 501, each in other words, most of them with the name of the part.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

from forgelore.llm_settings import JSON_MODES
from forgelore.net.client import HttpAnswer

_STATUSES = (400, 404, 422, 500, 501)
_FORMAT = re.compile(
    rb"response_format|response format|json_schema|json_object|grammar|structured output", re.IGNORECASE
)
_REASONING = re.compile(rb"reasoning_effort|reasoning effort|think", re.IGNORECASE)
_TOO_LARGE = re.compile(rb"max_(?:completion_)?tokens[^\"]{0,80}too large|\d+ in the completion", re.IGNORECASE)
_OTHER_NAME = re.compile(rb"max_completion_tokens", re.IGNORECASE)
_STREAM_USAGE = re.compile(rb"stream_options|include_usage", re.IGNORECASE)
_STREAM = re.compile(rb"\bstream", re.IGNORECASE)
_TEMPERATURE = re.compile(rb"temperature", re.IGNORECASE)
_TOOLS = re.compile(rb"support[^\"]{0,40}tool|tools? (?:param|are not|is not|call)|tool_choice|--jinja", re.IGNORECASE)


class Dialect(NamedTuple):
    """How this server wants to be asked: what it has refused is not sent again."""

    json_mode: str
    has_reasoning: bool
    has_stream: bool = True
    has_stream_usage: bool = True
    limit_name: str = "max_tokens"  # empty: no limit is sent
    has_temperature: bool = True


def _ask_for_less(dialect: Dialect) -> Dialect:
    return dialect._replace(json_mode=JSON_MODES[JSON_MODES.index(dialect.json_mode) + 1])


# A part of the request, what is said of it, and how to ask from then on; the first that fits counts.
_REFUSALS: tuple[tuple[str, re.Pattern[bytes], Callable[[Dialect], Dialect]], ...] = (
    ("response_format", _FORMAT, _ask_for_less),
    ("reasoning_effort", _REASONING, lambda dialect: dialect._replace(has_reasoning=False)),
    ("max_tokens", _TOO_LARGE, lambda dialect: dialect._replace(limit_name="")),
    ("max_completion_tokens", _TOO_LARGE, lambda dialect: dialect._replace(limit_name="")),
    ("max_tokens", _OTHER_NAME, lambda dialect: dialect._replace(limit_name="max_completion_tokens")),
    ("stream_options", _STREAM_USAGE, lambda dialect: dialect._replace(has_stream_usage=False)),
    ("stream", _STREAM, lambda dialect: dialect._replace(has_stream=False)),
    ("temperature", _TEMPERATURE, lambda dialect: dialect._replace(has_temperature=False)),
)


def learn(dialect: Dialect, answer: HttpAnswer, payload: Mapping[str, object]) -> Dialect | None:
    """Return how to ask after a refusal; None when nothing that was sent explains it."""
    if answer.status not in _STATUSES:
        return None
    said = answer.body[:4000]
    fitting = (
        change
        for part, words, change in _REFUSALS
        if payload.get(part) is not None and payload[part] is not False and words.search(said)
    )
    change = next(fitting, None)
    return change(dialect) if change else None


def is_about_tools(answer: HttpAnswer) -> bool:
    return answer.status in _STATUSES and bool(_TOOLS.search(answer.body[:4000]))
