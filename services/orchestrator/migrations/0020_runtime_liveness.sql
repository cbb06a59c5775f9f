-- Up Migration

ALTER TABLE runtimes
  -- Since when a Ready runtime does not answer; null while it does.
  ADD COLUMN silent_since timestamptz,
  -- Release 0.2 shows a runtime as offline that was not identified for a minute. Until then, runtimes that exist now are
  -- identified as often as 0.2 does it, so that its replicas show them correctly during the roll-out.
  ADD COLUMN polled_until timestamptz DEFAULT now() + interval '15 minutes';
ALTER TABLE runtimes ALTER COLUMN polled_until DROP DEFAULT;

-- Down Migration

ALTER TABLE runtimes DROP COLUMN silent_since, DROP COLUMN polled_until;
-- Release 0.2 polls all runtimes.
UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'runtime';
