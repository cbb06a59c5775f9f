-- Up Migration

-- A turn that works on a task in the background. It does not answer a message of the user: its message shows the task.
CREATE TABLE turn_tasks (
  turn_id uuid PRIMARY KEY REFERENCES turns ON DELETE CASCADE,
  -- 1: given by a reply or a workflow, 2: given by a turn with depth 1.
  depth integer NOT NULL CHECK (depth > 0),
  -- The only message of the history of the turn.
  prompt text NOT NULL
);

-- Tasks that agents gave to other agents with a tool call.
CREATE TABLE delegations (
  -- The turn that works on the task, or the one that continues it after an approval.
  turn_id uuid PRIMARY KEY REFERENCES turns ON DELETE CASCADE,
  -- The turn that waits for the result.
  parent_turn_id uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
  call_id text NOT NULL,
  message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'failed')),
  created_at timestamptz NOT NULL DEFAULT now(),
  ended_at timestamptz,
  UNIQUE (parent_turn_id, call_id)
);
CREATE INDEX delegations_message ON delegations (message_id);

-- The tokens of a task come from the budget of the turn that gives it, which can become 0, or less if a step used more.
ALTER TABLE turns DROP CONSTRAINT turns_tokens_budget_check;

-- Down Migration

ALTER TABLE turns ADD CONSTRAINT turns_tokens_budget_check CHECK (tokens_budget > 0) NOT VALID;
DROP TABLE delegations;
DROP TABLE turn_tasks;
