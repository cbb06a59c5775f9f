-- Up Migration

-- Used states of OAuth flows, until they expire: each is valid for one code.
CREATE TABLE integration_states (
  nonce text PRIMARY KEY,
  code_hash bytea NOT NULL,
  expires_at timestamptz NOT NULL
);
CREATE INDEX integration_states_expiry ON integration_states (expires_at);

-- Down Migration

DROP TABLE integration_states;
