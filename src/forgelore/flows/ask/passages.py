"""The best passages for a question, where no model is configured: what search finds, with the lines around it."""

from forgelore.core.ask.tool_calls import AskCall
from forgelore.core.ask.windows import TextPlace, open_window
from forgelore.flows.ask.answers import AskAnswer, BestPassage
from forgelore.flows.ask.library import Library

_AROUND = 4  # lines on both sides


def find_passages(library: Library, question: str, limit: int = 5) -> AskAnswer:
    """Return the passages that fit a question best. Nobody has read them, and nothing is concluded from them."""
    passages = []
    for found in library.search(AskCall("search", question), limit):
        opened = library.find(found.id)
        if opened is None:
            continue
        low, high = max(0, found.line - 1 - _AROUND), found.line + _AROUND
        window = open_window(opened.lines[low:high], TextPlace(found.line - low))
        text, first, last = "\n".join(part.text for part in window.parts), low + window.first, low + window.last
        passages.append(BestPassage(found.id, found.type, found.title, found.url, first, last, text, opened.text.hash))
    return AskAnswer(question, "", "no_model", is_partial=True, passages=tuple(passages))
