-- Up Migration

-- When the usage of a model call was counted: the end of the call. Null until then, and in rows of earlier releases.
ALTER TABLE usage_entries ADD COLUMN finished_at timestamptz;

-- For the turns that continue each other.
CREATE INDEX turns_first ON turns (first_turn_id) WHERE first_turn_id IS NOT NULL;

-- Down Migration

DROP INDEX turns_first;
ALTER TABLE usage_entries DROP COLUMN finished_at;
