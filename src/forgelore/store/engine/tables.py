"""Names of the engine's own tables, and what a repair of the file must know of them.

They are made by the migrations. Outside this folder nobody names them: schema, checks and repairs go by these lists.
"""

FULL_TEXT = "documents_fts"
CARD_TEXT = "cards_fts"  # that of cards, which count for nothing in the other
VOCABULARY = "documents_vocab"  # its words, as a table
SHADOWS = ("data", "idx", "docsize", "config")  # tables that FTS5 keeps for each, behind an underscore
VECTORS = "chunks"
SECOND_VECTORS = "second_vectors"

CODE_TEXTS = ("code_fts", "commits_fts")  # of files and commits
CODE_REMADE = (*CODE_TEXTS, "code_vocab", "commits_vocab")  # the same with their words, made again as one

TABLES = frozenset(
    [FULL_TEXT, CARD_TEXT, VOCABULARY, "common_words", "index_facts", VECTORS, SECOND_VECTORS, *CODE_REMADE]
)
REMADE = (FULL_TEXT, CARD_TEXT, VOCABULARY)  # made again as one, by `remake_full_text`, and no other way
OF_DOCUMENTS = (
    (VECTORS, "document_id"),
    (SECOND_VECTORS, "document_id"),
)  # rows that hang on a document, by a column, and say its project
COUNTED = (VECTORS,)  # never use an id twice


def find_owner(name: str) -> str:
    """Return the table that a table of the file is a part of: itself, or the full text that it is a shadow of."""
    return next((owner for owner in (FULL_TEXT, CARD_TEXT, *CODE_TEXTS) if name.startswith(f"{owner}_")), name)


def texts_of(full_text: str) -> str:
    """Return the query for the texts that a full-text table holds: (id, title, text, terms)."""
    sign = "IS" if full_text == CARD_TEXT else "IS NOT"
    return f"""
        SELECT t.id, t.title, t.text, t.terms
        FROM main.document_texts t
        LEFT JOIN main.documents d ON d.id = t.id
        WHERE d.representation {sign} 'intent'
    """


def is_own_complaint(message: str) -> bool:
    """Whether SQLite speaks of full text: `fulltext_check` looks at it more closely, and it can be made again."""
    return "fts5" in message.lower()
