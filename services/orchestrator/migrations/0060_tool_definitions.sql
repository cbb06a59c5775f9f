-- Up Migration

-- Tools of tool servers, as accepted. A tool whose definition differs from it is disabled until the change is accepted. A tool that its
-- server no longer lists is kept, so that it cannot return with another definition.
CREATE TABLE tool_definitions (
  server text NOT NULL,
  name text NOT NULL,
  definition jsonb NOT NULL,
  hash bytea NOT NULL,
  changed jsonb,
  changed_hash bytea,
  is_listed boolean NOT NULL DEFAULT true,
  updated_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (server, name),
  CHECK ((changed IS NULL) = (changed_hash IS NULL))
);

-- Down Migration

DROP TABLE tool_definitions;
