-- Up Migration

-- A runtime can be wanted and yet asleep. The new rule only allows more than the old one.
ALTER TABLE runtimes
  DROP CONSTRAINT runtimes_desired_check,
  ADD CONSTRAINT runtimes_desired_check CHECK (desired IN ('running', 'suspended', 'deleted')),
  -- Since when it is to run and nothing holds it; what it then takes to become ready counts from here.
  ADD COLUMN wanted_at timestamptz NOT NULL DEFAULT now();

-- Down Migration

UPDATE runtimes SET desired = 'running' WHERE desired = 'suspended';
ALTER TABLE runtimes
  DROP CONSTRAINT runtimes_desired_check,
  ADD CONSTRAINT runtimes_desired_check CHECK (desired IN ('running', 'deleted')),
  DROP COLUMN wanted_at;
