-- Up Migration

-- Tool servers that users have added. Their tokens are rows of integrations, with the provider `mcp:<id>`.
CREATE TABLE user_tool_servers (
  -- Unique among all users: clients in tool_server_clients are stored by server only.
  id text PRIMARY KEY,
  user_id uuid NOT NULL REFERENCES users ON DELETE CASCADE,
  name text NOT NULL,
  url text NOT NULL,
  auth text NOT NULL CHECK (auth IN ('none', 'bearer', 'oauth')),
  -- The OAuth client that the user has registered there. Null: the server registers one.
  client_id text,
  -- Why the tools could not be listed the last time.
  failure text,
  created_at timestamptz NOT NULL DEFAULT now(),
  UNIQUE (user_id, url)
);

-- Down Migration

DELETE FROM tool_definitions WHERE server IN (SELECT id FROM user_tool_servers);
DELETE FROM tool_server_clients WHERE server IN (SELECT id FROM user_tool_servers);
DELETE FROM integrations WHERE provider IN (SELECT 'mcp:' || id FROM user_tool_servers);
DROP TABLE user_tool_servers;
