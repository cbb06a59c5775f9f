-- Up Migration

-- Scopes that a tool server needs for a call beyond those of the connection, by tool; and those that the user was asked for, when
-- connecting again.
ALTER TABLE integrations ADD COLUMN needed_scopes jsonb NOT NULL DEFAULT '{}';
ALTER TABLE integrations ADD COLUMN asked_scopes text[] NOT NULL DEFAULT '{}';

-- Down Migration

ALTER TABLE integrations DROP COLUMN asked_scopes;
ALTER TABLE integrations DROP COLUMN needed_scopes;
