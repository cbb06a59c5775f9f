-- Up Migration

-- For tool lines: the seq of the reply before which the line is listed. Other messages are listed by their own seq.
ALTER TABLE messages ADD COLUMN before_seq bigint;
UPDATE messages m SET before_seq = reply.seq
FROM turns t JOIN messages reply ON reply.id = t.reply_message_id
WHERE m.turn_id = t.id AND m.turn_key IS NOT NULL AND m.content ->> 'type' = 'tool_status';

-- The order of a conversation. The same expressions are in features/messages/position.ts.
CREATE INDEX messages_place ON messages (conversation_id, coalesce(before_seq, seq), (before_seq IS NULL), seq);

-- Down Migration

DROP INDEX messages_place;
ALTER TABLE messages DROP COLUMN before_seq;
