-- Up Migration

-- Integrations: the tokens of a provider, encrypted for this user and provider.
CREATE TABLE integrations (
  -- Changes whenever the user connects, so that jobs of an older connection find no row.
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  provider text NOT NULL,
  -- The key that encrypts the tokens.
  key_id text NOT NULL,
  tokens bytea NOT NULL,
  -- Hash of the authorization code, which identifies a retried callback.
  code_hash bytea NOT NULL,
  -- Null: the access token does not expire.
  expires_at timestamptz,
  -- Null: there is no refresh token.
  refresh_at timestamptz,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (user_id, provider)
);
CREATE INDEX integrations_key ON integrations (key_id);

-- Tokens to revoke at the provider. Without a foreign key to users: the row exists until the provider has revoked the
-- tokens, even after the deletion of the account.
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
