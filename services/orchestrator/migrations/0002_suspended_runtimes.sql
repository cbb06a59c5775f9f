-- Up Migration

-- Adds the desired state `suspended`. The new constraint only allows more values than the old one.
ALTER TABLE runtimes
  DROP CONSTRAINT runtimes_desired_check,
  ADD CONSTRAINT runtimes_desired_check CHECK (desired IN ('running', 'suspended', 'deleted')),
  -- Time since which the runtime is requested and not suspended; the time to ready counts from here.
  ADD COLUMN wanted_at timestamptz NOT NULL DEFAULT now();

-- Down Migration

UPDATE runtimes SET desired = 'running' WHERE desired = 'suspended';
ALTER TABLE runtimes
  DROP CONSTRAINT runtimes_desired_check,
  ADD CONSTRAINT runtimes_desired_check CHECK (desired IN ('running', 'deleted')),
  DROP COLUMN wanted_at;
