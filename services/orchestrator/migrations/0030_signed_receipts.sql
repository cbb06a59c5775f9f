-- Up Migration

-- Public keys of all receipts, also keys that no longer sign.
CREATE TABLE receipt_keys (
  -- The thumbprint of the key (RFC 7638).
  kid text PRIMARY KEY,
  -- 32 bytes as base64url.
  x text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);

ALTER TABLE receipts
  ADD COLUMN kid text REFERENCES receipt_keys,
  -- What was signed, with its signature: a compact JWS. Null until the call has ended.
  ADD COLUMN jws text,
  ADD CONSTRAINT receipts_signed CHECK ((jws IS NULL) = (kid IS NULL)),
  ADD CONSTRAINT receipts_final CHECK (jws IS NULL OR status <> 'sent');

DROP INDEX receipts_user;
CREATE INDEX receipts_user ON receipts (user_id, sent_at, id);
CREATE INDEX receipts_key ON receipts (kid);
DROP INDEX receipts_unfinished;
CREATE INDEX receipts_unsigned ON receipts (sent_at) WHERE jws IS NULL;

-- Down Migration

DROP INDEX receipts_unsigned;
CREATE INDEX receipts_unfinished ON receipts (sent_at) WHERE status = 'sent';
DROP INDEX receipts_user;
CREATE INDEX receipts_user ON receipts (user_id, id);
ALTER TABLE receipts DROP COLUMN jws, DROP COLUMN kid;
DROP TABLE receipt_keys;
