-- Up Migration

ALTER TABLE usage_entries
  -- Parts of prompt_tokens and completion_tokens.
  ADD COLUMN cached_tokens bigint NOT NULL DEFAULT 0,
  ADD COLUMN reasoning_tokens bigint NOT NULL DEFAULT 0,
  -- The provider did not report the tokens.
  ADD COLUMN estimated boolean NOT NULL DEFAULT false,
  -- The call of the model gateway; null if the runtime reported the usage.
  ADD COLUMN call_id uuid;
CREATE UNIQUE INDEX usage_entries_call ON usage_entries (call_id) WHERE call_id IS NOT NULL;

-- Down Migration

ALTER TABLE usage_entries
  DROP COLUMN cached_tokens, DROP COLUMN reasoning_tokens, DROP COLUMN estimated, DROP COLUMN call_id;
