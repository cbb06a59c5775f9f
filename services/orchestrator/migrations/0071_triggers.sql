-- Up Migration

-- A trigger is a schedule without times: requests to its URL start its runs.
ALTER TABLE schedules
  ALTER COLUMN start_time DROP NOT NULL,
  ALTER COLUMN time_zone DROP NOT NULL,
  -- SHA-256 of the secret in the URL.
  ADD COLUMN secret_hash bytea UNIQUE,
  DROP CONSTRAINT schedules_check,
  ADD CONSTRAINT schedules_next CHECK ((status = 'active' AND secret_hash IS NULL) = (next_at IS NOT NULL)),
  ADD CONSTRAINT schedules_start CHECK (
    (secret_hash IS NULL) = (start_time IS NOT NULL) AND (secret_hash IS NULL) = (time_zone IS NOT NULL)
  );

ALTER TABLE schedule_runs
  DROP CONSTRAINT schedule_runs_status_check,
  ADD CONSTRAINT schedule_runs_status_check
    CHECK (status IN ('queued', 'running', 'completed', 'failed', 'stopped', 'skipped')),
  -- What the request to a trigger contained, until the run begins. It then is a file of the message.
  ADD COLUMN body bytea,
  ADD COLUMN body_name text;

-- Encrypted like the tokens of integrations: the same job encrypts them with a new key.
CREATE TABLE trigger_secrets (
  id uuid PRIMARY KEY REFERENCES schedules ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- `trigger:<id>`: the ciphertext is bound to it.
  provider text NOT NULL,
  key_id text NOT NULL,
  tokens bytea NOT NULL
);
CREATE INDEX trigger_secrets_by_user ON trigger_secrets (user_id);

-- Without a foreign key, like schedule_id.
ALTER TABLE messages ADD COLUMN trigger_id uuid;

-- Down Migration

DELETE FROM work WHERE kind = 'trigger';
ALTER TABLE messages DROP COLUMN trigger_id;
DROP TABLE trigger_secrets;
DELETE FROM schedules WHERE secret_hash IS NOT NULL;
ALTER TABLE schedule_runs
  DROP COLUMN body,
  DROP COLUMN body_name,
  DROP CONSTRAINT schedule_runs_status_check,
  ADD CONSTRAINT schedule_runs_status_check CHECK (status IN ('running', 'completed', 'failed', 'stopped', 'skipped'));
ALTER TABLE schedules
  DROP CONSTRAINT schedules_start,
  DROP CONSTRAINT schedules_next,
  DROP COLUMN secret_hash,
  ALTER COLUMN start_time SET NOT NULL,
  ALTER COLUMN time_zone SET NOT NULL,
  ADD CONSTRAINT schedules_check CHECK ((status = 'active') = (next_at IS NOT NULL));
