-- Up Migration

CREATE TABLE users (
  id uuid PRIMARY KEY,
  issuer text NOT NULL,
  subject text NOT NULL,
  email text NOT NULL DEFAULT '',
  nickname text NOT NULL DEFAULT '',
  name text NOT NULL DEFAULT '',
  surname text NOT NULL DEFAULT '',
  avatar_url text NOT NULL DEFAULT '',
  country_code text NOT NULL DEFAULT '',
  date_of_birth timestamptz,
  platform_theme text NOT NULL DEFAULT 'system',
  platform_language text NOT NULL DEFAULT 'en',
  currency_code text NOT NULL DEFAULT 'USD',
  plan_code text NOT NULL DEFAULT 'free',
  plan_expires_at timestamptz,
  accepted_terms_version text,
  accepted_privacy_version text,
  is_banned boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (issuer, subject)
);

-- The remains of a deleted account: a keyed hash of the identity, and the reason for the deletion.
CREATE TABLE deleted_identities (
  identity_hash bytea PRIMARY KEY,
  reason text NOT NULL,
  description text NOT NULL,
  deleted_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE workspaces (
  id uuid PRIMARY KEY,
  owner_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL,
  -- The sequence of the last durable event. The lock of this row makes sequences gapless.
  last_seq bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX workspaces_owner ON workspaces (owner_id, created_at);

-- Without a foreign key to workspaces: the row exists until the runtime is deleted, after its workspace.
CREATE TABLE runtimes (
  workspace_id uuid PRIMARY KEY,
  user_id uuid NOT NULL,
  desired text NOT NULL CHECK (desired IN ('running', 'deleted')),
  phase text NOT NULL DEFAULT 'Pending'
    CHECK (phase IN ('Pending', 'Progressing', 'Ready', 'Suspended', 'Error', 'Deleting')),
  reason text NOT NULL DEFAULT '',
  verified boolean NOT NULL DEFAULT false,
  address text,
  instance_id text,
  identified_at timestamptz,
  failures integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);

-- Runtimes that process drivers of this machine have started.
CREATE TABLE runtime_processes (
  workspace_id uuid PRIMARY KEY,
  pid integer NOT NULL,
  port integer NOT NULL,
  started_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE agents (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  slug text NOT NULL,
  name text NOT NULL,
  role text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('manager', 'sub-agent')),
  description text NOT NULL,
  avatar_url text NOT NULL,
  skills text[] NOT NULL,
  sort_order integer NOT NULL,
  -- The activity of the agent while its runtime is ready. The status in the API also depends on the runtime.
  activity text NOT NULL DEFAULT 'online'
    CHECK (activity IN ('online', 'reading', 'thinking', 'writing', 'pending', 'error')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz,
  UNIQUE (workspace_id, slug)
);

CREATE TABLE conversations (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  type text NOT NULL CHECK (type IN ('swarm', 'agent')),
  agent_id uuid REFERENCES agents ON DELETE CASCADE,
  title text,
  -- The user has read the messages up to this seq.
  read_seq bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((type = 'agent') = (agent_id IS NOT NULL))
);
CREATE INDEX conversations_workspace ON conversations (workspace_id, updated_at DESC);
CREATE INDEX conversations_agent ON conversations (agent_id);

CREATE TABLE messages (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
  -- The seq of its message.new event. It orders messages reliably under concurrent commits.
  seq bigint NOT NULL,
  role text NOT NULL CHECK (role IN ('user', 'agent', 'system')),
  sender_id uuid,
  agent_id uuid REFERENCES agents ON DELETE SET NULL,
  content jsonb NOT NULL,
  status text NOT NULL
    CHECK (status IN ('pending', 'sent', 'delivered', 'read', 'failed', 'incomplete', 'silent', 'delegated')),
  local_id text,
  body_hash bytea,
  mentions jsonb NOT NULL DEFAULT '[]',
  attachments jsonb NOT NULL DEFAULT '[]',
  -- Identifies a message that a turn writes in addition to its reply, so that a retry updates it.
  turn_id uuid,
  turn_key text,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX messages_conversation ON messages (conversation_id, seq);
CREATE UNIQUE INDEX messages_local_id ON messages (workspace_id, sender_id, local_id) WHERE local_id IS NOT NULL;
-- Foreign keys need an index: otherwise each cascaded deletion scans the whole table.
CREATE INDEX messages_workspace ON messages (workspace_id);
CREATE INDEX messages_agent ON messages (agent_id);
CREATE UNIQUE INDEX messages_turn_key ON messages (turn_id, turn_key) WHERE turn_key IS NOT NULL;

CREATE TABLE turns (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
  agent_id uuid NOT NULL REFERENCES agents ON DELETE CASCADE,
  user_message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  reply_message_id uuid REFERENCES messages ON DELETE CASCADE,
  status text NOT NULL DEFAULT 'queued'
    CHECK (status IN ('queued', 'running', 'done', 'failed', 'stopped')),
  generation integer NOT NULL DEFAULT 1,
  -- The instance of the runtime that executes this generation.
  runtime_instance text,
  error_code text,
  created_at timestamptz NOT NULL DEFAULT now(),
  started_at timestamptz,
  finished_at timestamptz
);
CREATE INDEX turns_conversation ON turns (conversation_id, status);
CREATE INDEX turns_workspace ON turns (workspace_id);
CREATE INDEX turns_agent ON turns (agent_id, status);
CREATE INDEX turns_user_message ON turns (user_message_id);
CREATE INDEX turns_reply_message ON turns (reply_message_id);

-- Usage that a model provider reported, one row per model call.
CREATE TABLE usage_entries (
  turn_id uuid NOT NULL,
  step integer NOT NULL,
  user_id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  provider text NOT NULL,
  model text NOT NULL,
  prompt_tokens bigint NOT NULL,
  completion_tokens bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (turn_id, step)
);
CREATE INDEX usage_entries_user ON usage_entries (user_id, created_at);
CREATE INDEX usage_entries_workspace ON usage_entries (workspace_id, created_at);

-- Outbox and event log. Payloads are read when an event is sent.
CREATE TABLE workspace_events (
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  seq bigint NOT NULL,
  type text NOT NULL,
  subject_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz,
  PRIMARY KEY (workspace_id, seq)
);
CREATE INDEX workspace_events_unpublished ON workspace_events (workspace_id, seq) WHERE published_at IS NULL;

-- Jobs. Any replica leases due rows, and takes over rows with an expired lease.
CREATE TABLE work (
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  workspace_id uuid NOT NULL,
  -- Jobs with the same serial key run one at a time, lowest ordinal first.
  serial_key uuid NOT NULL,
  ordinal bigint NOT NULL DEFAULT 0,
  run_at timestamptz NOT NULL DEFAULT now(),
  lease_id uuid,
  lease_expires_at timestamptz,
  -- Claims since the job was last made due.
  attempts integer NOT NULL DEFAULT 0,
  -- Number of failed attempts.
  failures integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (kind, subject_id)
) WITH (fillfactor = 70);
CREATE INDEX work_due ON work (kind, run_at);
CREATE INDEX work_serial ON work (kind, serial_key, ordinal);
CREATE INDEX work_workspace ON work (workspace_id, kind);

-- Down Migration

DROP TABLE work, workspace_events, usage_entries, turns, messages, conversations, agents,
  runtime_processes, runtimes, workspaces, deleted_identities, users;
