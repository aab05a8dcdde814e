"""Query terms: the words of an item that tell it from others, as a full-text query.

All words of a report, ANDed, find nothing; all of them, ORed, take long and drown the subject. So the words that are
rare in the project and frequent in the item are ORed. FTS5 adds up the phrases of an OR, so what stands there twice
counts twice: words of the title do, for a title is the summary that its author made, and so do neighbours in it.

    "Wallet crash", "It hangs"      "wallet" OR "wallet" OR "crash" OR "crash" OR "hangs" OR "wallet crash"

Words come from the cleaned text. Logs and templates stay findable, but as a question they only find other logs.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise

from forgelore.core.search.cleaning import clean
from forgelore.core.search.terms import has_unspaced, pairs_of

LIMIT = 40  # words; 60 found no more once vectors were added, and took 29 ms instead of 26 at 29,000 documents
TITLE_TIMES = 2  # beside the pairs; three times lowered MRR from .720 to .712 once vectors were added

_WORD = re.compile(r"[^\W_]+")  # cut like the index's tokenizer does
_LENGTHS = range(2, 41)  # one letter tells nothing, and what is longer than a word is a key
_READ = 8_000  # characters of clean text; counting the words of a megabyte would take longer than the search


def telling_terms(
    title: str, body: str, *, document_count: Callable[[list[str]], dict[str, int]], total: int, limit: int = LIMIT
) -> list[tuple[str, int]]:
    """Return the most telling terms and how often each counts, best first; every term is safe inside double quotes.

    `document_count` says how many of the `total` documents hold each word; a word that it leaves out is in none.
    """
    title_words = list(_words(title))
    in_title = Counter(title_words)
    in_body = Counter(_words(clean(body)[:_READ]))
    counts = document_count(list(in_title | in_body))
    known = [word for word in in_title | in_body if counts.get(word)]
    # To bm25() a word of every other document is worth nothing; it only takes time. In a tiny index all are like that.
    words = [word for word in known if 2 * counts[word] <= total] or known
    weights = {
        word: math.log1p(total / counts[word]) * math.log1p(in_body[word] + TITLE_TIMES * in_title[word])
        for word in words
    }
    best = sorted(words, key=lambda word: (-weights[word], word))[:limit]
    pairs = dict.fromkeys(f"{one} {next_}" for one, next_ in pairwise(title_words) if {one, next_} <= weights.keys())
    return [(word, TITLE_TIMES if word in in_title else 1) for word in best] + [
        (pair, 1) for pair in list(pairs)[:limit]
    ]


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text as the index has them; a run of a script without blanks as its pairs."""
    is_unspaced = has_unspaced(text)
    for word in _WORD.findall(text.lower()):
        if is_unspaced and has_unspaced(word):
            yield from pairs_of(word)
        elif len(word) in _LENGTHS:
            yield word
