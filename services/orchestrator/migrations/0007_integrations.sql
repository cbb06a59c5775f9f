-- Up Migration

-- A connection of a user to an app: what its provider gave us, encrypted for this user and provider alone.
CREATE TABLE integrations (
  -- A new one whenever the user connects, so that work on an older connection finds nothing.
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  provider text NOT NULL,
  -- Which of our keys the tokens are encrypted with.
  key_id text NOT NULL,
  tokens bytea NOT NULL,
  -- Of the authorization code: a callback that is sent again is told apart from another one.
  code_hash bytea NOT NULL,
  -- Null: the access token does not expire.
  expires_at timestamptz,
  -- Null: nothing is there to renew it with.
  refresh_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (user_id, provider)
);
CREATE INDEX integrations_key ON integrations (key_id);

-- Tokens that nobody uses any more and that the provider has to be told of. No reference to users: the
-- row outlives the account until the provider knows.
CREATE TABLE integration_revocations (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL,
  provider text NOT NULL,
  key_id text NOT NULL,
  tokens bytea NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX integration_revocations_key ON integration_revocations (key_id);

-- Down Migration

DROP TABLE integration_revocations, integrations;
DELETE FROM work WHERE kind IN ('integration-refresh', 'integration-revocation', 'integration-rekey');
