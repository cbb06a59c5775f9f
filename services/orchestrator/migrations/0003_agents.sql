-- Up Migration

ALTER TABLE agents
  -- Null: the default model of the runtime.
  ADD COLUMN model text CHECK (model IN ('flash', 'sonnet', 'opus')),
  ADD COLUMN response_length text NOT NULL DEFAULT 'auto'
    CHECK (response_length IN ('auto', 'short', 'medium', 'long')),
  ADD COLUMN prompts jsonb NOT NULL DEFAULT '[]';

-- Tool settings that a user changed. A tool without a row has the default of the catalogue.
CREATE TABLE agent_tools (
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  name text NOT NULL,
  enabled boolean NOT NULL,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, name)
);

CREATE TABLE agent_memories (
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  -- Compared byte by byte: keys are equal only if their bytes are.
  key text COLLATE "C" NOT NULL,
  content text NOT NULL,
  category text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (agent_id, key)
);

-- Down Migration

DROP TABLE agent_memories, agent_tools;
ALTER TABLE agents DROP COLUMN model, DROP COLUMN response_length, DROP COLUMN prompts;
