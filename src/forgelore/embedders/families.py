"""How each family of models wants its text: what stands before a passage, what before a query, and how much fits.

The prefixes and contexts are those of the models' own pages (huggingface.co, ollama.com/library). A model that is in
no row gets no prefix, and chunks that the smallest usual context (512 tokens) holds.
"""

import re
from typing import NamedTuple

from forgelore.words import Passage

RULES_VERSION = 1  # grows when the text of a passage or query is put together in another way
MOST_CHARS = 4_000  # beyond this one vector stands for too many things, whatever fits
SEARCHING = "Represent this sentence for searching relevant passages: "
INSTRUCTION = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: "


class Family(NamedTuple):
    name: str
    pattern: str
    context: int = 512  # tokens
    passage: str = ""
    query: str = ""


# The first pattern found in the model's name counts, so the special ones stand before the general ones.
FAMILIES = (
    Family("nomic-embed-text-v2", r"nomic-embed-text-v2", 512, "search_document: ", "search_query: "),
    Family("nomic-embed-text", r"nomic-embed-text", 2_048, "search_document: ", "search_query: "),
    Family("mxbai-embed-large", r"mxbai-embed", 512, "", SEARCHING),
    Family("snowflake-arctic-embed2", r"arctic-embed(2|.*v2\.0)", 8_192, "", "query: "),
    Family("snowflake-arctic-embed", r"arctic-embed", 512, "", SEARCHING),
    Family("bge-m3", r"bge-m3", 8_192),
    Family("bge", r"\bbge-(small|base|large)(?!-zh)", 512, "", SEARCHING),
    Family("e5-instruct", r"\be5-.*instruct", 512, "", INSTRUCTION),
    Family("e5", r"\be5-", 512, "passage: ", "query: "),
    Family("qwen3-embedding", r"qwen3-embedding", 8_192, "", INSTRUCTION.replace("Query: ", "Query:")),
    Family("embeddinggemma", r"embeddinggemma", 2_048, "title: none | text: ", "task: search result | query: "),
    Family("all-minilm", r"all-minilm", 256),
    Family("text-embedding", r"\btext-embedding-(3|ada)", 8_191),
)
UNKNOWN = Family("", "")


def family_of(model: str) -> Family:
    """Return the row of a model: "hf.co/CompendiumLabs/bge-large-en-v1.5-gguf:Q8_0" -> bge."""
    name = model.lower().rpartition("/")[2].partition(":")[0]
    return next((family for family in FAMILIES if re.search(family.pattern, name)), UNKNOWN)


def chunk_chars(family: Family) -> int:
    """Return how many characters one vector may stand for.

    Two characters a token is what logs and code come to, prose has four; the title and the prefix need room too.
    """
    return min(MOST_CHARS, 2 * family.context - 24)


def has_words(passage: Passage) -> bool:
    return bool(passage.title.strip() or passage.text.strip())


def passage_text(family: Family, passage: Passage) -> str:
    return family.passage + "\n\n".join(part for part in (passage.title.strip(), passage.text.strip()) if part)


def query_text(family: Family, text: str) -> str:
    return family.query + text.strip()


def rules(family: Family) -> str:
    """Return what the fingerprint says of the text around a passage and a query."""
    return f"{family.passage!r} {family.query!r} v{RULES_VERSION}"
