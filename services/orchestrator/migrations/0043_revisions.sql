-- Up Migration

-- The seq of the last event that changed what clients see of the row, set in the same transaction. A message shows at least its
-- `seq`, so existing messages need no value; an update of this table would rewrite it.
ALTER TABLE messages ADD COLUMN rev bigint NOT NULL DEFAULT 0;
ALTER TABLE conversations ADD COLUMN rev bigint NOT NULL DEFAULT 0;
ALTER TABLE workspaces ADD COLUMN rev bigint NOT NULL DEFAULT 0;
UPDATE workspaces SET rev = last_seq WHERE last_seq > 0;
UPDATE conversations c SET rev = w.last_seq FROM workspaces w WHERE w.id = c.workspace_id AND w.last_seq > 0;

-- Part of the epoch, which clients compare. An operator increments it after a restore that Postgres does not show.
CREATE TABLE event_epoch (
  id boolean PRIMARY KEY DEFAULT true CHECK (id),
  bumps integer NOT NULL DEFAULT 0
);
INSERT INTO event_epoch DEFAULT VALUES;

-- Down Migration

DROP TABLE event_epoch;
ALTER TABLE workspaces DROP COLUMN rev;
ALTER TABLE conversations DROP COLUMN rev;
ALTER TABLE messages DROP COLUMN rev;
