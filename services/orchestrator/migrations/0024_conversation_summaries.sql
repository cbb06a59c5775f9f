-- Up Migration

-- Written by a model; it replaces the older messages in prompts of later turns.
CREATE TABLE conversation_summaries (
  conversation_id uuid PRIMARY KEY REFERENCES conversations ON DELETE CASCADE,
  -- The summary covers the messages up to this seq.
  through_seq bigint NOT NULL,
  text text NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- For titles by a model: the seq of the last message that the model read.
ALTER TABLE conversations ADD COLUMN title_seq bigint;

-- Down Migration

ALTER TABLE conversations DROP COLUMN title_seq;
DROP TABLE conversation_summaries;
DELETE FROM work WHERE kind IN ('summary', 'title');
