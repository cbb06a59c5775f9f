-- Up Migration

-- A memory with a workspace belongs to all agents of the workspace; `agent_id` is then the agent through which it was saved. Releases
-- without the column read and change it as a memory of that agent.
ALTER TABLE agent_memories ADD COLUMN workspace_id uuid REFERENCES workspaces ON DELETE CASCADE;
CREATE UNIQUE INDEX agent_memories_workspace ON agent_memories (workspace_id, key);

-- What every turn of an agent receives, every agent should know. A key that another agent uses too stays with its agents, so that no
-- text is lost.
UPDATE agent_memories m SET workspace_id = a.workspace_id
FROM agents a
WHERE a.id = m.agent_id AND lower(m.category) IN ('core', 'user', 'profile', 'preferences', 'pinned') AND NOT EXISTS (
  SELECT FROM agents b JOIN agent_memories o ON o.agent_id = b.id
  WHERE b.workspace_id = a.workspace_id AND b.id <> a.id AND o.key = m.key
);

-- Down Migration

ALTER TABLE agent_memories DROP COLUMN workspace_id;
