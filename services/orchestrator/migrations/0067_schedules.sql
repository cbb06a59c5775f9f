-- Up Migration

-- What users want later or regularly. Times are local: a start, a rule and a zone.
CREATE TABLE schedules (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
  agent_id uuid NOT NULL REFERENCES agents (id) ON DELETE CASCADE,
  -- Null before the first run, and after the user deleted it.
  conversation_id uuid REFERENCES conversations (id) ON DELETE SET NULL,
  title text NOT NULL,
  prompt text NOT NULL,
  start_time text NOT NULL,
  rrule text,
  time_zone text NOT NULL,
  status text NOT NULL CHECK (status IN ('active', 'paused', 'finished')),
  paused_by text CHECK (paused_by IN ('user', 'failures')),
  next_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  token_limit bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((status = 'active') = (next_at IS NOT NULL)),
  CHECK ((status = 'paused') = (paused_by IS NOT NULL))
);
CREATE INDEX schedules_workspace ON schedules (workspace_id, created_at, id);
CREATE INDEX schedules_agent ON schedules (agent_id);
CREATE INDEX schedules_conversation ON schedules (conversation_id);

CREATE TABLE schedule_runs (
  id uuid PRIMARY KEY,
  schedule_id uuid NOT NULL REFERENCES schedules (id) ON DELETE CASCADE,
  due_at timestamptz NOT NULL,
  is_manual boolean NOT NULL DEFAULT false,
  status text NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'stopped', 'skipped')),
  message_id uuid REFERENCES messages (id) ON DELETE SET NULL,
  error_code text,
  total_tokens bigint NOT NULL DEFAULT 0,
  cost_micros bigint NOT NULL DEFAULT 0,
  started_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz,
  -- A time runs once.
  UNIQUE (schedule_id, due_at)
);
CREATE INDEX schedule_runs_message ON schedule_runs (message_id);

-- Without foreign keys, which would need an index with a row per turn and per message: the schedule may no longer exist.
ALTER TABLE turns ADD COLUMN schedule_run_id uuid;
CREATE INDEX turns_schedule_run ON turns (schedule_run_id) WHERE schedule_run_id IS NOT NULL;
ALTER TABLE messages ADD COLUMN schedule_id uuid;

-- Down Migration

ALTER TABLE messages DROP COLUMN schedule_id;
DROP INDEX turns_schedule_run;
ALTER TABLE turns DROP COLUMN schedule_run_id;
DROP TABLE schedule_runs;
DROP TABLE schedules;
