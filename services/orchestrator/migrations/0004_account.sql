-- Up Migration

-- Revoked tokens until they expire. The table has hashes, so that it contains no credentials.
CREATE TABLE revoked_tokens (
  token_hash bytea PRIMARY KEY,
  expires_at timestamptz NOT NULL
);
CREATE INDEX revoked_tokens_expiry ON revoked_tokens (expires_at);

-- App installations of a user. The id '' is used for clients that send none.
CREATE TABLE devices (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  device_id text NOT NULL,
  info text NOT NULL DEFAULT '',
  app_version text NOT NULL DEFAULT '',
  timezone text NOT NULL DEFAULT '',
  push_token text,
  -- A push token belongs to one installation: the last user who signs in there gets it.
  push_token_hash bytea UNIQUE,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_seen_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, device_id),
  CHECK ((push_token IS NULL) = (push_token_hash IS NULL))
);

-- All versions of legal documents, from files or from an operator. The last published version is in force.
CREATE TABLE legal_documents (
  document text NOT NULL CHECK (document IN ('terms_of_service', 'privacy_policy')),
  version text NOT NULL,
  content text NOT NULL,
  published_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (document, version)
);

-- The first acceptance of each version by each user. users.accepted_* has the last one.
CREATE TABLE legal_acceptances (
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  document text NOT NULL,
  version text NOT NULL,
  accepted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (user_id, document, version)
);

-- Sums of usage_entries by month in UTC. They still count after the deletion of the workspace.
CREATE TABLE usage_periods (
  user_id uuid NOT NULL,
  period text NOT NULL,
  workspace_id uuid NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (user_id, period, workspace_id)
) WITH (fillfactor = 70);

CREATE FUNCTION add_usage_to_period() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO usage_periods AS p (user_id, period, workspace_id, prompt_tokens, completion_tokens, requests)
  VALUES (
    NEW.user_id, to_char(NEW.created_at AT TIME ZONE 'UTC', 'YYYY-MM'), NEW.workspace_id,
    NEW.prompt_tokens, NEW.completion_tokens, 1
  )
  ON CONFLICT (user_id, period, workspace_id) DO UPDATE SET
    prompt_tokens = p.prompt_tokens + excluded.prompt_tokens,
    completion_tokens = p.completion_tokens + excluded.completion_tokens,
    requests = p.requests + 1;
  RETURN NULL;
END $$;

-- A trigger, so that usage from replicas of the previous version counts during a rollout. It blocks writers until the
-- sums below are inserted.
CREATE TRIGGER usage_entries_period AFTER INSERT ON usage_entries
  FOR EACH ROW EXECUTE FUNCTION add_usage_to_period();
INSERT INTO usage_periods (user_id, period, workspace_id, prompt_tokens, completion_tokens, requests)
  SELECT user_id, to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM'), workspace_id,
    sum(prompt_tokens), sum(completion_tokens), count(*)
  FROM usage_entries GROUP BY 1, 2, 3;

-- Actions of operators. After the deletion of an account, the entry remains without the user.
CREATE TABLE audit_log (
  id uuid PRIMARY KEY,
  at timestamptz NOT NULL DEFAULT now(),
  actor text NOT NULL,
  action text NOT NULL,
  -- The user whom the action concerns.
  user_id uuid,
  subject_id uuid,
  details jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_user ON audit_log (user_id, id) WHERE user_id IS NOT NULL;

-- For lookups by operators.
CREATE INDEX users_email ON users (lower(email));
CREATE INDEX turns_failed ON turns (finished_at) WHERE status = 'failed';

-- Down Migration

DROP INDEX turns_failed, users_email;
DROP TRIGGER usage_entries_period ON usage_entries;
DROP FUNCTION add_usage_to_period;
DROP TABLE audit_log, usage_periods, legal_acceptances, legal_documents, devices, revoked_tokens;
