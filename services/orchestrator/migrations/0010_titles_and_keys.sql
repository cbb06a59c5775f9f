-- Up Migration

-- Where the title of a conversation comes from; null while it has none.
ALTER TABLE conversations
  ADD COLUMN title_source text CHECK (title_source IN ('user', 'first_message', 'model'));

-- Keys of requests that created something, for a day: a request that is sent again has the first result. Hashes:
-- nothing that a client wrote is kept.
CREATE TABLE idempotency_keys (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  key_hash bytea NOT NULL,
  request_hash bytea NOT NULL,
  -- What was created.
  subject_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, key_hash)
);
-- Finds what is too old to be kept.
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- Down Migration

DROP TABLE idempotency_keys;
DELETE FROM work WHERE kind = 'idempotency-pruning';
ALTER TABLE conversations DROP COLUMN title_source;
