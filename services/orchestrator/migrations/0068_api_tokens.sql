-- Up Migration

-- Tokens that users create for programs.
CREATE TABLE api_tokens (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- SHA-256 of the secret, which nothing stores.
  token_hash bytea NOT NULL UNIQUE,
  name text NOT NULL,
  scopes text[] NOT NULL,
  -- Null: all workspaces of the user. Ids of deleted workspaces stay: a token must not reach more when its last one is deleted.
  workspace_ids uuid[],
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  -- To within ten minutes, because most requests do not write it.
  last_used_at timestamptz
);
CREATE INDEX api_tokens_user ON api_tokens (user_id, id);

-- Down Migration

DROP TABLE api_tokens;
