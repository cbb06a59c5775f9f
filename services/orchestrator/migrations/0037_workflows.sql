-- Up Migration

-- Plans of steps that agents work on in the background.
CREATE TABLE workflows (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
  -- The agent that started it, and that reports the results.
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  -- The turn that started it.
  turn_id uuid REFERENCES turns ON DELETE SET NULL,
  -- The message of the user that led to it.
  user_message_id uuid REFERENCES messages ON DELETE SET NULL,
  -- The message that shows it. A workflow is deleted with it.
  message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  -- The message that tells its end. The agent answers it with a report.
  report_message_id uuid REFERENCES messages ON DELETE SET NULL,
  name text NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed', 'cancelled')),
  created_at timestamptz NOT NULL,
  finished_at timestamptz,
  CHECK ((status = 'running') = (finished_at IS NULL))
);
CREATE INDEX workflows_created ON workflows (workspace_id, created_at, id);
CREATE INDEX workflows_running ON workflows (workspace_id) WHERE status = 'running';
CREATE INDEX workflows_conversation ON workflows (conversation_id);
CREATE INDEX workflows_agent ON workflows (agent_id);
CREATE INDEX workflows_turn ON workflows (turn_id);
CREATE INDEX workflows_user_message ON workflows (user_message_id);
CREATE INDEX workflows_message ON workflows (message_id);
CREATE INDEX workflows_report ON workflows (report_message_id);

CREATE TABLE workflow_steps (
  workflow_id uuid NOT NULL REFERENCES workflows ON DELETE CASCADE,
  step_id text NOT NULL,
  -- The position in the plan, from 0.
  number integer NOT NULL,
  name text NOT NULL,
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  task text NOT NULL,
  -- The ids of the steps that must be completed first.
  after text[] NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'completed', 'failed')),
  -- The first of the turns that work on it and continue each other.
  turn_id uuid,
  result text CHECK (octet_length(result) <= 16384),
  started_at timestamptz,
  finished_at timestamptz,
  PRIMARY KEY (workflow_id, step_id),
  UNIQUE (workflow_id, number)
);
CREATE INDEX workflow_steps_agent ON workflow_steps (agent_id);
CREATE INDEX workflow_steps_turn ON workflow_steps (turn_id);

-- Down Migration

DROP TABLE workflow_steps, workflows;
