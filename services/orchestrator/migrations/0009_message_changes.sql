-- Up Migration

-- Of message.deleted: the conversation that the message was in, which cannot be looked up any more.
ALTER TABLE workspace_events ADD COLUMN conversation_id uuid;

-- When the user last changed the message.
ALTER TABLE messages ADD COLUMN edited_at timestamptz;

-- A turn outlives its deleted reply: agents that wait for one of its cards are found by it.
ALTER TABLE turns DROP CONSTRAINT turns_reply_message_id_fkey;
ALTER TABLE turns ADD CONSTRAINT turns_reply_message_id_fkey
  FOREIGN KEY (reply_message_id) REFERENCES messages ON DELETE SET NULL NOT VALID;
ALTER TABLE turns VALIDATE CONSTRAINT turns_reply_message_id_fkey;

-- Down Migration

ALTER TABLE turns DROP CONSTRAINT turns_reply_message_id_fkey;
ALTER TABLE turns ADD CONSTRAINT turns_reply_message_id_fkey
  FOREIGN KEY (reply_message_id) REFERENCES messages ON DELETE CASCADE;
ALTER TABLE messages DROP COLUMN edited_at;
ALTER TABLE workspace_events DROP COLUMN conversation_id;
