"""The search engine of the store: tokenizer, full text and vectors, in SQLite's FTS5 and packed rows.

Only this folder knows how words and vectors are kept and searched. Another engine is a second folder whose modules give
the same functions:

    words      make_stemmer, make_stems            text -> the words that full text would keep of it
               load_document_counts                word -> how many documents hold it
               count_documents, has_documents,     what full text holds
               estimate_documents
               refresh_common_words,               counts that are kept because counting is slow
               forget_common_words
    fulltext   add_text, remove_text               the words of one document
               search_words                        documents for an expression, ranked, within what filters allow
               raw_query_errors                    complaints about an expression that a person wrote
               compact_words, overwrite_words      forgetting for good what was removed
    vectors    save_chunks                         the vectors of one document
               load_vector, load_starts            what is stored of a document, of chunks
               VectorCache                         the nearest documents, within ids that filters allow
    fulltext_check, vector_check                   whether all this is still what the texts say

Expressions are those of `core/search/ftsquery`. `store/filters` says what is allowed as a condition on
`documents_fts.rowid`, and the tables are in the migrations.
"""
