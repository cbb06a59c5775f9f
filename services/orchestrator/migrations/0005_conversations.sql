-- Up Migration

-- Local ids of deleted messages, which cannot be used again. The table has hashes, so that it contains no user data.
CREATE TABLE spent_local_ids (
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  sender_id uuid NOT NULL,
  local_id_hash bytea NOT NULL,
  PRIMARY KEY (workspace_id, sender_id, local_id_hash)
);

-- Normalizes text for the search: case, compatibility forms and the final sigma are folded.
CREATE FUNCTION search_fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN translate(lower(normalize(value, NFKC)), 'ς', 'σ');

-- The searchable text of a message; null if it has none.
CREATE FUNCTION search_text_of(content jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN nullif(search_fold(CASE content ->> 'type'
  WHEN 'text' THEN content ->> 'text'
  WHEN 'system' THEN content ->> 'text'
  WHEN 'action_card' THEN (content ->> 'title') || E'\n' || (content ->> 'description')
  WHEN 'artifact' THEN (content ->> 'title') || E'\n' || (content ->> 'content_preview')
  WHEN 'workflow' THEN content ->> 'workflow_name'
  WHEN 'delegation' THEN content ->> 'task_preview'
END), '');

-- Keys of the search index (see docs/adr/0013): the conversation as a negative number; every pair of characters with
-- four bits of the third; every single character beyond ASCII. With 25, 21 and 4 bits, no two pairs share a key.
CREATE FUNCTION search_conversation_key(conversation_id uuid) RETURNS bigint LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ('x' || right(conversation_id::text, 12))::bit(48)::bigint | (-9223372036854775808);

CREATE FUNCTION search_keys(conversation_id uuid, value text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY[search_conversation_key(conversation_id)]
  || ARRAY(
    SELECT (ascii(a)::bigint << 25) | (ascii(b)::bigint << 4) | (coalesce(ascii(c), 0) & 15)
    FROM (SELECT string_to_array(value, NULL) AS letters) split, unnest(letters, letters[2:], letters[3:]) p (a, b, c)
    WHERE ascii(a) > 32 AND ascii(b) > 32
  )
  || ARRAY(SELECT ascii(a)::bigint << 25 FROM unnest(string_to_array(value, NULL)) a WHERE ascii(a) > 127);

-- The keys that every message with this word has. A word has no blanks. The last pair has no key, because the character
-- after it is unknown.
CREATE FUNCTION search_keys_wanted(conversation_id uuid, word text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY[search_conversation_key(conversation_id)]
  || ARRAY(
    SELECT (ascii(a)::bigint << 25) | (ascii(b)::bigint << 4) | (ascii(c) & 15)
    FROM (SELECT string_to_array(word, NULL) AS letters) split, unnest(letters, letters[2:], letters[3:]) p (a, b, c)
    WHERE ascii(c) > 32
  )
  || ARRAY(SELECT ascii(a)::bigint << 25 FROM unnest(string_to_array(word, NULL)) a WHERE ascii(a) > 127);

-- Every message with this word of two characters has at least one of these keys.
CREATE FUNCTION search_keys_of_pair(word text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(
  SELECT (ascii(word)::bigint << 25) | (ascii(right(word, 1))::bigint << 4) | c FROM generate_series(0, 15) c
);

ALTER TABLE messages
  ADD COLUMN search_text text GENERATED ALWAYS AS (search_text_of(content)) STORED,
  -- For replies: the seq of the event with the complete text, which is later than the seq of the message.
  ADD COLUMN shown_seq bigint;
-- The status of a message changes at least twice: free space on its page avoids updates of the indexes.
ALTER TABLE messages SET (fillfactor = 85);

-- New keys are merged in bulk; the limit bounds the delay of the insertion that triggers the merge.
CREATE INDEX messages_search ON messages USING gin (search_keys(conversation_id, search_text))
  WITH (gin_pending_list_limit = 1024) WHERE search_text IS NOT NULL;
-- No query needs statistics of the keys, and ANALYZE would take minutes to collect them.
ALTER INDEX messages_search ALTER COLUMN 1 SET STATISTICS 0;

-- Index-only count of unread messages. conversations.store.ts has the same condition.
CREATE INDEX messages_unread ON messages (conversation_id, coalesce(shown_seq, seq))
  WHERE role = 'agent' AND content ->> 'type' IN ('text', 'action_card', 'artifact', 'workflow')
    AND coalesce(content ->> 'text', '-') <> '';

-- Also used for the newest message of a workspace.
CREATE INDEX messages_workspace_seq ON messages (workspace_id, seq);
DROP INDEX messages_workspace;

-- The user has requested a stop of the turn.
ALTER TABLE turns ADD COLUMN stop_requested boolean NOT NULL DEFAULT false;

-- For the pruning of old events.
CREATE INDEX workspace_events_age ON workspace_events (created_at);

-- Down Migration

DROP INDEX workspace_events_age;
ALTER TABLE turns DROP COLUMN stop_requested;
CREATE INDEX messages_workspace ON messages (workspace_id);
DROP INDEX messages_workspace_seq, messages_unread, messages_search;
ALTER TABLE messages DROP COLUMN shown_seq, DROP COLUMN search_text;
ALTER TABLE messages RESET (fillfactor);
DROP FUNCTION search_keys_of_pair, search_keys_wanted, search_keys, search_conversation_key, search_text_of, search_fold;
DROP TABLE spent_local_ids;
