-- Up Migration

-- Calls of tools that the orchestrator executed for a running turn. A call is inserted in the transaction of its effect, so it
-- is executed once, whichever generation of the turn requests it. Deleted when the turn ends.
CREATE TABLE tool_calls (
  turn_id uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
  call_id text NOT NULL,
  tool text NOT NULL,
  -- The outcome: what the model reads, whether the call failed, and whether it showed a message in addition to the reply.
  text text NOT NULL,
  failed boolean NOT NULL,
  shows_message boolean NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (turn_id, call_id)
);

-- What a running turn was started with: time, user, settings, tools and memories. Later generations of the turn use it, so that
-- the model reads the same prompt. Deleted when the turn ends.
CREATE TABLE turn_contexts (
  turn_id uuid PRIMARY KEY REFERENCES turns ON DELETE CASCADE,
  context jsonb NOT NULL
);

-- Memories that users deleted, which agents may not store again. Hashes of the key and of the content, without the texts.
CREATE TABLE deleted_memories (
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  deleted_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, hash)
);

-- Down Migration

DROP TABLE deleted_memories;
DROP TABLE turn_contexts;
DROP TABLE tool_calls;
