-- Up Migration

-- Calls of agents that changed something in another system, or may have. A row is inserted before the request is sent. It stays
-- until the account is deleted, also if the conversation or the workspace is deleted before.
CREATE TABLE receipts (
  id uuid PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  workspace_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  -- The turn that executes the call: the one that sent it, or the one that continues it.
  turn_id uuid NOT NULL,
  call_id text NOT NULL,
  tool text NOT NULL,
  -- keyed: the other system recognizes the key, so the request can be repeated. once: it is never repeated.
  effect text NOT NULL CHECK (effect IN ('keyed', 'once')),
  arguments jsonb NOT NULL,
  -- SHA-256 of tool and arguments. The call is not repeated with others.
  arguments_hash bytea NOT NULL CHECK (octet_length(arguments_hash) = 32),
  -- What identifies the request in the other system.
  key text NOT NULL,
  -- The card that the user approved, and when; null if the call needed no approval.
  approval jsonb,
  -- unknown: the request was sent, and neither an answer nor a lookup shows whether it changed anything.
  status text NOT NULL DEFAULT 'sent' CHECK (status IN ('sent', 'succeeded', 'failed', 'unknown')),
  -- What the model was told.
  outcome text CHECK ((outcome IS NULL) = (status = 'sent')),
  sent_at timestamptz NOT NULL DEFAULT now(),
  finished_at timestamptz CHECK ((finished_at IS NULL) = (status = 'sent')),
  UNIQUE (turn_id, call_id)
);
CREATE INDEX receipts_user ON receipts (user_id, id);
CREATE INDEX receipts_unfinished ON receipts (sent_at) WHERE status = 'sent';

-- Down Migration

DROP TABLE receipts;
