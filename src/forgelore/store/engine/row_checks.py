"""Rows of full text and of vectors that contradict the documents they stand for, each kind found by one statement.

Whether the words and the numbers in them are right is `fulltext_check` and `vector_check`.
"""

from forgelore.store.sql_check import SqlCheck, has_no_job

WORD_CHECKS = (
    SqlCheck(
        "words_missing",
        """
        SELECT 'document ' || t.id, t.id
        FROM document_texts t
        WHERE t.id NOT IN (SELECT id FROM documents_fts_docsize)
          AND t.id NOT IN (SELECT id FROM cards_fts_docsize)
        """,
    ),
    SqlCheck(
        "words_extra",
        """
        SELECT 'document ' || f.id, f.id
        FROM (
            SELECT id
            FROM documents_fts_docsize
            UNION ALL
            SELECT id
            FROM cards_fts_docsize
        ) f
        WHERE f.id NOT IN (SELECT id FROM document_texts)
        """,
    ),
)
VECTOR_CHECKS = (
    SqlCheck(
        "vector_of_other_text",
        f"""
        SELECT 'document ' || d.id || ', chunk ' || c.position, c.id
        FROM chunks c
        JOIN documents d ON d.id = c.document_id
        WHERE (c.text_hash <> substr(d.content_hash, 1, 8) OR c.is_card <> (d.representation = 'intent'))
          AND {has_no_job("embed", "d")}
        """,
    ),
    SqlCheck(
        "vector_incomplete",
        """
        SELECT 'document ' || document_id, min(id)
        FROM chunks
        GROUP BY document_id, embedder_id
        HAVING count(*) <> max(position) + 1
        """,
    ),
)
# The same for one embedder, whose id is bound.
UNEMBEDDED = SqlCheck(
    "document_without_vectors",
    f"""
    SELECT 'document ' || d.id, d.id
    FROM documents d
    WHERE NOT EXISTS (SELECT 1 FROM chunks c WHERE c.document_id = d.id AND c.embedder_id = ?)
      AND {has_no_job("embed", "d")}
    """,
)
