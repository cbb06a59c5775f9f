-- Up Migration

ALTER TABLE turns
  -- Until when a running turn waits without a worker, because the model provider limits requests.
  ADD COLUMN waits_until timestamptz,
  -- The last generation that ended with such a wait. It was not lost, so it does not count as a failed attempt.
  ADD COLUMN waited_generation integer NOT NULL DEFAULT 0;

-- Down Migration

ALTER TABLE turns DROP COLUMN waits_until, DROP COLUMN waited_generation;
