-- Up Migration

-- Local ids of messages that are gone stay used for ever. Hashes: nothing that a client wrote is kept.
CREATE TABLE spent_local_ids (
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  sender_id uuid NOT NULL,
  local_id_hash bytea NOT NULL,
  PRIMARY KEY (workspace_id, sender_id, local_id_hash)
);

-- Text as search compares it: letter case, compatibility forms and the final sigma make no difference.
CREATE FUNCTION search_fold(value text) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN translate(lower(normalize(value, NFKC)), 'ς', 'σ');

-- What can be found of a message; null where there is nothing.
CREATE FUNCTION search_text_of(content jsonb) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN nullif(search_fold(CASE content ->> 'type'
  WHEN 'text' THEN content ->> 'text'
  WHEN 'system' THEN content ->> 'text'
  WHEN 'action_card' THEN (content ->> 'title') || E'\n' || (content ->> 'description')
  WHEN 'artifact' THEN (content ->> 'title') || E'\n' || (content ->> 'content_preview')
  WHEN 'workflow' THEN content ->> 'workflow_name'
  WHEN 'delegation' THEN content ->> 'task_preview'
END), '');

-- Keys of the search index (see docs/adr/0013): the conversation, below zero; every pair of characters with four bits
-- of the third, and every character beyond ASCII alone. 25, 21 and 4 bits: no two pairs share a key.
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

-- Keys that a message with this word must have; a word has no blanks. The last pair tells nothing: what follows it is
-- not known.
CREATE FUNCTION search_keys_wanted(conversation_id uuid, word text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY[search_conversation_key(conversation_id)]
  || ARRAY(
    SELECT (ascii(a)::bigint << 25) | (ascii(b)::bigint << 4) | (ascii(c) & 15)
    FROM (SELECT string_to_array(word, NULL) AS letters) split, unnest(letters, letters[2:], letters[3:]) p (a, b, c)
    WHERE ascii(c) > 32
  )
  || ARRAY(SELECT ascii(a)::bigint << 25 FROM unnest(string_to_array(word, NULL)) a WHERE ascii(a) > 127);

-- Keys of which a message with this word of two characters must have one.
CREATE FUNCTION search_keys_of_pair(word text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(
  SELECT (ascii(word)::bigint << 25) | (ascii(right(word, 1))::bigint << 4) | c FROM generate_series(0, 15) c
);

ALTER TABLE messages
  ADD COLUMN search_text text GENERATED ALWAYS AS (search_text_of(content)) STORED,
  -- Of a reply: the seq of the event that showed it in full, long after its own.
  ADD COLUMN shown_seq bigint;
-- A message changes its status twice at least: room for that on its page spares the indices.
ALTER TABLE messages SET (fillfactor = 85);

-- New keys are sorted in by bulk, but never so many at once that somebody's message waits long for it.
CREATE INDEX messages_search ON messages USING gin (search_keys(conversation_id, search_text))
  WITH (gin_pending_list_limit = 1024) WHERE search_text IS NOT NULL;
-- Nobody needs statistics of the keys, and reading them for it would take minutes.
ALTER INDEX messages_search ALTER COLUMN 1 SET STATISTICS 0;

-- What counts as unread, so that counting reads no message. The condition stands in conversations.store.ts too.
CREATE INDEX messages_unread ON messages (conversation_id, coalesce(shown_seq, seq))
  WHERE role = 'agent' AND content ->> 'type' IN ('text', 'action_card', 'artifact', 'workflow')
    AND coalesce(content ->> 'text', '-') <> '';

-- Also finds the newest message of a workspace.
CREATE INDEX messages_workspace_seq ON messages (workspace_id, seq);
DROP INDEX messages_workspace;

-- Somebody wants the reply to end.
ALTER TABLE turns ADD COLUMN stop_requested boolean NOT NULL DEFAULT false;

-- Finds what is too old to be kept.
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
