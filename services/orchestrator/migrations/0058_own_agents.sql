-- Up Migration

-- Deleted agents stay, because messages, usage and receipts name them.
ALTER TABLE agents ADD COLUMN deleted_at timestamptz;
CREATE INDEX agents_present ON agents (workspace_id, sort_order) WHERE deleted_at IS NULL;
-- The seq at which the list of agents last changed.
ALTER TABLE workspaces ADD COLUMN agents_rev bigint NOT NULL DEFAULT 0;

-- Down Migration

ALTER TABLE workspaces DROP COLUMN agents_rev;
DROP INDEX agents_present;
ALTER TABLE agents DROP COLUMN deleted_at;
