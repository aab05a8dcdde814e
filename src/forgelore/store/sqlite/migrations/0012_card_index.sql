-- Cards are documents that are found when cards are asked for. Their words and vectors lie apart, so that they change no
-- count, no rank and no distance of a search in what people wrote.
CREATE VIRTUAL TABLE IF NOT EXISTS cards_fts USING fts5 (
  title, text, terms, content = 'document_texts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
ALTER TABLE chunks ADD COLUMN is_card INTEGER NOT NULL DEFAULT 0; -- as its document's representation says
CREATE INDEX chunks_of_cards ON chunks (embedder_id) WHERE is_card;
