-- Up Migration

-- Another turn answers the message, too: a later queued turn of the agent, or the turn that the message steers. Without a foreign key, which
-- would need an index with a row per turn: the other turn may no longer exist.
ALTER TABLE turns ADD COLUMN merged_into_turn_id uuid;
CREATE INDEX turns_merged ON turns (merged_into_turn_id) WHERE merged_into_turn_id IS NOT NULL;
-- The message whose answer answers this one, too. Without a foreign key for the same reason.
ALTER TABLE messages ADD COLUMN answered_with uuid;
-- While it is queued, its message steers a running turn of the agent in the conversation.
ALTER TABLE turns ADD COLUMN steers boolean NOT NULL DEFAULT false;

-- Not validated, because the rows satisfied a stricter constraint.
ALTER TABLE turn_entries DROP CONSTRAINT turn_entries_kind_check;
ALTER TABLE turn_entries ADD CONSTRAINT turn_entries_kind_check CHECK (kind IN ('step', 'result', 'steering')) NOT VALID;

-- Down Migration

-- A turn without its whole journal would repeat calls: such turns can no longer continue.
DELETE FROM turn_entries WHERE kind = 'steering';
ALTER TABLE turn_entries DROP CONSTRAINT turn_entries_kind_check;
ALTER TABLE turn_entries ADD CONSTRAINT turn_entries_kind_check CHECK (kind IN ('step', 'result')) NOT VALID;
ALTER TABLE turns DROP COLUMN steers;
ALTER TABLE messages DROP COLUMN answered_with;
DROP INDEX turns_merged;
ALTER TABLE turns DROP COLUMN merged_into_turn_id;
