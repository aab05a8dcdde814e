"""The search engine of the store: tokenizer, full text and vectors, in SQLite's FTS5 and packed rows.

Only this folder knows how words and vectors are kept and searched. Another engine takes its place,
with modules that give the same names; a test compares this list with what others import:

    connection       SqliteStore, APPLICATION_ID            a `Store` in one file
                     translated_errors
                     check_quickly, vacuum, flush_log,      what is done to the file as a whole
                     overwrite_deleted, measure_megabytes
                     pack_list, one_of, each_of, elements,  lists, JSON and globs inside a statement
                     json_field, json_list, joined_ids,
                     glob_condition
                     source_of                              which of its two lists keeps a document
    fulltext         make_stemmer (Stemmer), make_stems     text -> the words that full text would keep of it
                     load_document_counts                   word -> how many documents hold it
                     count_documents, count_cards,          what full text holds
                     has_documents, estimate_documents
                     refresh_common_words,                  counts that are kept because counting is slow
                     forget_common_words
                     add_text, remove_text                  the words of one document
                     search_words -> Found                  documents for an expression, ranked, within what filters
                                                            allow
                     quote                                  an expression for a term as it is written
                     list_with_words                        the newest of them, unranked
                     count_items                            how many items have such documents
                     has_words, lacks_words                 the same as conditions, for any list of documents
                     raw_query_errors                       complaints about an expression that a person wrote
                     compact_words, overwrite_words         forgetting for good what was removed
                     sqlite_version, has_full_text          what the library here can do
                     add_code_words, remove_code_words      the words of files and commits (CodeWords, WordRow), in
                     search_code_words -> Found             full text of their own, with ColumnWeights
                     count_code_words, load_code_counts,    how many there are, of all or of one project, and how
                     count_project_code                     many hold a word
                     find_code_gaps, find_code_damage       rows without words and words without rows; what is broken
    word_scores      make_word_scores -> WordScores         the same for weighted terms, of those who ask about item
                                                            after item; None where nothing is kept
    vectors          save_chunks                            the vectors of one document
                     load_vectors, load_starts              what is stored of a document, of chunks
                     load_unembedded                        the texts of documents that have no vectors
                     make_vector_cache,
                     VectorCache -> Near                    the nearest documents, within Ids that filters allow
                     NearestSearch                          the same, shared by several threads
    vector_memory    Ids                                    ids of documents, as an array of numpy
                     refresh_file, drop_file,               the same vectors in a file beside a large store, for
                     is_file_true                           processes that come and go
    vector_rows      count_vectors                          how many documents have vectors
                     queue_unembedded, mark_stale,          which documents wait for vectors, or for new ones
                     has_stale
                     drop_document_vectors,                 vectors that go: of a text that changed, of other
                     drop_other_vectors,                    embedders, of an embedder that is gone, wrong ones
                     drop_unowned_vectors,
                     drop_wrong_vectors,
                     forget_unused_dimensions
                     save_second_vectors,                   the vectors of a second embedder, one per item
                     load_second_vectors,
                     has_second_vectors,
                     count_second_vectors (SecondVectors),
                     NOTHING, packed_size
                     load_waiting_texts,                    the texts of items that have none
                     count_waiting_texts
                     drop_second_vectors,                   those that go: of other embedders, wrong ones
                     drop_wrong_seconds
                     find_malformed_seconds,                whether they can be those of their texts
                     sample_second_vectors
    check            WORD_CHECKS, VECTOR_CHECKS,            rows that contradict the documents they stand for (Fault)
                     UNEMBEDDED
                     find_word_damage, compare_words,       whether full text finds what the texts say
                     find_unmatched, is_found
                     measure_vectors, sample_vectors        whether vectors can be those of their texts
                     (SampledDocument)
                     has_no_job                             a condition that such statements share
    repair           find_wrong, find_rows,                 rows of any table that contradict others, what the library
                     find_damage, find_unreadable,          says of the file itself
                     find_broken_references
                     fill_gaps, rebuild_indexes,            the writes that make both good again
                     blank_unreadable, drop_orphans,
                     drop_nonsense, place_rows,
                     set_id_counters, load_owned,
                     forget_document_lists
    fulltext         remake_full_text,                      full text made anew, whatever state it is in; that of code
                     remake_code_words                      is empty then
    connection       TABLES, REMADE, CODE_REMADE,           its tables, for those who check and repair the file
                     OF_DOCUMENTS, COUNTED,
                     find_owner, is_own_complaint
                     stamp_of                               seeing that another file took its place
    unlocked         read_only                              the error for a file that cannot be written
    schema           open_store, load_version,              the numbered migrations, and opening a file by them
                     newest_version, measure_file
                     load_schema, expected_schema,          the tables a file has beside those it should have
                     find_gaps, SOURCES, DERIVED

Intent cards are documents of which both keep a list of their own (`Source`): no search in what people
wrote finds one, and none of its counts and distances depends on them.

Nobody outside names one of its tables, which are made by the migrations. Expressions are those of
`search/ftsquery`; `store/filters` says which documents are allowed, for any column that holds a document's id.
"""
