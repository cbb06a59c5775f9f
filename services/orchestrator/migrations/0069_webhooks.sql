-- Up Migration

-- Addresses that receive the events of a workspace.
CREATE TABLE webhooks (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  url text NOT NULL,
  description text NOT NULL,
  -- Empty: all events.
  events text[] NOT NULL,
  state text NOT NULL DEFAULT 'enabled' CHECK (state IN ('enabled', 'paused', 'disabled')),
  disabled_reason text CHECK (disabled_reason IN ('failing', 'gone')),
  -- The events up to this one have a delivery, or are not for this webhook.
  queued_seq bigint NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX webhooks_by_workspace ON webhooks (workspace_id);

-- Encrypted like the tokens of integrations: the same job encrypts them with a new key.
CREATE TABLE webhook_secrets (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  -- `webhook:<id>`: the ciphertext is bound to it.
  provider text NOT NULL,
  key_id text NOT NULL,
  tokens bytea NOT NULL,
  -- Null: the current secret.
  expires_at timestamptz
);
CREATE INDEX webhook_secrets_by_webhook ON webhook_secrets (webhook_id);
CREATE INDEX webhook_secrets_by_user ON webhook_secrets (user_id);

-- Bodies are rendered for each attempt, so that a deleted message is not kept here.
CREATE TABLE webhook_deliveries (
  id uuid PRIMARY KEY,
  webhook_id uuid NOT NULL REFERENCES webhooks ON DELETE CASCADE,
  seq bigint NOT NULL,
  type text NOT NULL,
  subject_id uuid NOT NULL,
  conversation_id uuid,
  occurred_at timestamptz NOT NULL,
  state text NOT NULL DEFAULT 'pending' CHECK (state IN ('pending', 'delivered')),
  attempts integer NOT NULL DEFAULT 0,
  -- Of the attempts since the webhook was last enabled.
  failing_since timestamptz,
  -- Null: when the events before it are delivered.
  next_attempt_at timestamptz,
  last_attempt_at timestamptz,
  duration_ms integer,
  status integer,
  response text NOT NULL DEFAULT '',
  failure text CHECK (failure IN ('status', 'timeout', 'unreachable', 'private_address', 'secret_unreadable')),
  UNIQUE (webhook_id, seq)
);
CREATE INDEX webhook_deliveries_pending ON webhook_deliveries (webhook_id, seq) WHERE state = 'pending';
CREATE INDEX webhook_deliveries_by_time ON webhook_deliveries (occurred_at);

-- Down Migration

DELETE FROM work WHERE kind IN ('webhook', 'webhook-pruning');
DROP TABLE webhook_deliveries;
DROP TABLE webhook_secrets;
DROP TABLE webhooks;
