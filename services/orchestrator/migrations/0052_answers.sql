-- Up Migration

-- The answer that a message belongs to: the first of the turns that continue each other, and the message of the user that they answer.
-- Set once. Without foreign keys, because copies of clients keep both when the turn or the message is deleted. Null in messages of users
-- and of earlier releases.
ALTER TABLE messages ADD COLUMN answer_turn_id uuid, ADD COLUMN in_reply_to uuid;

-- For the turns that answer a message.
CREATE INDEX turns_repeats ON turns (repeats_from_message_id) WHERE repeats_from_message_id IS NOT NULL;

-- Down Migration

DROP INDEX turns_repeats;
ALTER TABLE messages DROP COLUMN answer_turn_id, DROP COLUMN in_reply_to;
