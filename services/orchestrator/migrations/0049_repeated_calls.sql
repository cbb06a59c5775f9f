-- Up Migration

-- The message since which a turn can repeat calls that were sent, if it is earlier than the answered one: the turn replaces
-- one that continued others after decisions of the user.
ALTER TABLE turns ADD COLUMN repeats_from_message_id uuid;

-- Down Migration

ALTER TABLE turns DROP COLUMN repeats_from_message_id;
