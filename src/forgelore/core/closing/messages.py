"""Messages of closings: the comment that names the other item, with a marker by which it is known as ours.

The words are a setting, and a setting may hold anything: a line of it never begins with a slash, so that no forge takes
it for a quick action. `{target}` stands for the other item, `{hours}` for the days of grace in hours.
"""

CLOSED = "Closing as duplicate of {target}. If this is incorrect, please contact us."
GRACE = (
    "This seems to repeat {target}. It will be closed in {hours} hours, unless somebody comments here, reacts"
    " to this comment, or takes part in any other way."
)
GRACE_LABEL = "possible-duplicate"
_MARKER = "<!-- forgelore:closing:v1 run={run} item={item} -->"


def closing_marker(run_id: int, item_id: int) -> str:
    """Return the first line of a comment of one run on one item."""
    return _MARKER.format(run=run_id, item=item_id)


def build_message(words: str, *, marker: str, target: str, hours: int = 0) -> str:
    """Return the comment. Braces that name nothing of ours stay as they are."""
    text = words.replace("{target}", target).replace("{hours}", str(hours))
    lines = [f"\u200b{line}" if line.lstrip().startswith("/") else line for line in text.splitlines()]
    return "\n".join([marker, *lines])


def has_marker(body: str, marker: str) -> bool:
    """Tell whether a comment is the one of this run: the marker is its first line."""
    return body.partition("\n")[0].strip() == marker
