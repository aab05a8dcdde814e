"""The marker: the first line of a comment of the bot, by which it is known.

Not by its author: the bot posts as an app, as a project's token or as a person. Somebody who quotes a report writes
`>` before it and keeps their words; somebody who begins a comment with the marker hides it from search, and from
nothing else.
"""

MARKER = "<!-- forgelore:triage:v1 -->"


def is_report(body: str | None) -> bool:
    """True for the text of a comment that the bot wrote. It is shown and exported, and belongs to no document."""
    return body is not None and MARKER in body and body.partition("\n")[0].strip() == MARKER
