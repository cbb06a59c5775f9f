-- Up Migration

-- For message.deleted: the conversation of the message, which can no longer be looked up.
ALTER TABLE workspace_events ADD COLUMN conversation_id uuid;

-- Time of the last edit by the user.
ALTER TABLE messages ADD COLUMN edited_at timestamptz;

-- A turn outlives its deleted reply, because agents that wait for one of its cards are found through it.
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
