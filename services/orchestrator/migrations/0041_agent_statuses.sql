-- Up Migration

-- What a running turn does, and until when that counts without a renewal. Without a valid activity the turn waits.
ALTER TABLE turns
  ADD COLUMN activity text CHECK (activity IN ('reading', 'thinking', 'writing', 'pending')),
  ADD COLUMN activity_until timestamptz;

-- `agents.activity` is derived from the turns of the agent. It counts until `activity_until`; then, and without this time, the agent
-- is online. The activities of the previous release are derived again.
ALTER TABLE agents ADD COLUMN activity_until timestamptz;
UPDATE agents SET activity_until = now() WHERE activity <> 'online';
CREATE INDEX agents_activity_end ON agents (activity_until) WHERE activity_until IS NOT NULL;

-- The agent of the turn: a suspended turn is found by its agent. Null if the previous release stored the context.
ALTER TABLE turn_contexts ADD COLUMN agent_id uuid;
UPDATE turn_contexts c SET agent_id = t.agent_id FROM turns t WHERE t.id = c.turn_id;
CREATE INDEX turn_contexts_agent ON turn_contexts (agent_id);

-- The last turns of an agent.
CREATE INDEX turns_agent_ended ON turns (agent_id, finished_at) WHERE finished_at IS NOT NULL;

-- Down Migration

DROP INDEX turns_agent_ended;
ALTER TABLE turn_contexts DROP COLUMN agent_id;
ALTER TABLE agents DROP COLUMN activity_until;
ALTER TABLE turns DROP COLUMN activity, DROP COLUMN activity_until;
