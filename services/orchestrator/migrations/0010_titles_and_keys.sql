-- Up Migration

-- The source of the title of a conversation; null if it has none.
ALTER TABLE conversations
  ADD COLUMN title_source text CHECK (title_source IN ('user', 'first_message', 'model'));

-- Idempotency keys of the last day: a retried request returns the first result. The table has hashes, so that it
-- contains no user data.
CREATE TABLE idempotency_keys (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  key_hash bytea NOT NULL,
  request_hash bytea NOT NULL,
  -- The created resource.
  subject_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, key_hash)
);
-- For the pruning of old keys.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Down Migration

DROP TABLE idempotency_keys;
DELETE FROM work WHERE kind = 'idempotency-pruning';
ALTER TABLE conversations DROP COLUMN title_source;
