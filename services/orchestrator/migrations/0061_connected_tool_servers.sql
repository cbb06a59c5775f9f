-- Up Migration

-- Definitions per user for servers to which users connect an account; null for servers that all users share.
ALTER TABLE tool_definitions DROP CONSTRAINT tool_definitions_pkey;
ALTER TABLE tool_definitions ADD COLUMN owner_id uuid REFERENCES users (id) ON DELETE CASCADE;
ALTER TABLE tool_definitions ADD CONSTRAINT tool_definitions_key UNIQUE NULLS NOT DISTINCT (owner_id, server, name);

-- The OAuth client with which users connect accounts of a tool server, and what discovery found there. The secret is encrypted.
CREATE TABLE tool_server_clients (
  server text PRIMARY KEY,
  client jsonb NOT NULL,
  key_id text,
  secret bytea,
  updated_at timestamptz NOT NULL DEFAULT now(),
  CHECK ((key_id IS NULL) = (secret IS NULL))
);

-- Down Migration

DROP TABLE tool_server_clients;
DELETE FROM tool_definitions WHERE owner_id IS NOT NULL;
ALTER TABLE tool_definitions DROP CONSTRAINT tool_definitions_key;
ALTER TABLE tool_definitions DROP COLUMN owner_id;
ALTER TABLE tool_definitions ADD CONSTRAINT tool_definitions_pkey PRIMARY KEY (server, name);
