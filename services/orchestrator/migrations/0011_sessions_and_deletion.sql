-- Up Migration

-- Tokens issued before this time are rejected: the user logged out everywhere. The value outlives the account, so that
-- a sign-up after a deletion does not make these tokens valid again.
ALTER TABLE users ADD COLUMN sessions_valid_after timestamptz;
ALTER TABLE deleted_identities
  ADD COLUMN sessions_valid_after timestamptz,
  -- Times of the sign-ups after a deletion within the last day.
  ADD COLUMN returns timestamptz[] NOT NULL DEFAULT '{}',
  ALTER COLUMN reason SET DEFAULT '',
  ALTER COLUMN description SET DEFAULT '';

-- Usage of deleted accounts in the current period. It moves to the account of a later sign-up.
CREATE TABLE deleted_usage (
  identity_hash bytea NOT NULL,
  period text NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  requests bigint NOT NULL,
  PRIMARY KEY (identity_hash, period)
);
CREATE INDEX deleted_usage_period ON deleted_usage (period);

-- Reasons of account deletions. The rows are anonymous: no hash, a random id, and only the month.
CREATE TABLE deletion_feedback (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  month text NOT NULL,
  reason text NOT NULL,
  description text NOT NULL
);

CREATE FUNCTION detach_deletion_feedback() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO deletion_feedback (month, reason, description)
    VALUES (to_char(now() AT TIME ZONE 'UTC', 'YYYY-MM'), NEW.reason, NEW.description);
  NEW.reason := '';
  NEW.description := '';
  RETURN NEW;
END $$;

-- A trigger, so that texts from replicas of the previous version are also made anonymous.
CREATE TRIGGER deleted_identities_feedback BEFORE INSERT OR UPDATE ON deleted_identities
  FOR EACH ROW WHEN (NEW.reason <> '' OR NEW.description <> '') EXECUTE FUNCTION detach_deletion_feedback();

INSERT INTO deletion_feedback (month, reason, description)
  SELECT to_char(deleted_at AT TIME ZONE 'UTC', 'YYYY-MM'), reason, description
  FROM deleted_identities WHERE reason <> '' OR description <> '' ORDER BY random();
UPDATE deleted_identities SET reason = '', description = '' WHERE reason <> '' OR description <> '';

-- Down Migration

DROP TRIGGER deleted_identities_feedback ON deleted_identities;
DROP FUNCTION detach_deletion_feedback;
DROP TABLE deletion_feedback, deleted_usage;
ALTER TABLE deleted_identities DROP COLUMN sessions_valid_after, DROP COLUMN returns;
ALTER TABLE users DROP COLUMN sessions_valid_after;
