-- Up Migration

ALTER TABLE agent_memories
  ADD COLUMN created_by text NOT NULL DEFAULT 'user' CHECK (created_by IN ('user', 'agent')),
  -- Who wrote the present text. An agent replaces a text of the user only if it knows it.
  ADD COLUMN written_by text NOT NULL DEFAULT 'user' CHECK (written_by IN ('user', 'agent')),
  -- Where an agent saved it: the turn, and the message of the user. A memory outlives both.
  ADD COLUMN turn_id uuid REFERENCES turns ON DELETE SET NULL,
  ADD COLUMN message_id uuid REFERENCES messages ON DELETE SET NULL;
CREATE INDEX agent_memories_turn ON agent_memories (turn_id);
CREATE INDEX agent_memories_message ON agent_memories (message_id);

-- Down Migration

ALTER TABLE agent_memories
  DROP COLUMN created_by, DROP COLUMN written_by, DROP COLUMN turn_id, DROP COLUMN message_id;
