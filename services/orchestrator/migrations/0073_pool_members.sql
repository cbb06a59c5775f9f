-- Up Migration

-- The process's name in the pool of started runtimes, if it comes from there: its environment names no workspace.
ALTER TABLE runtime_processes ADD COLUMN pool_member text;

-- Down Migration

ALTER TABLE runtime_processes DROP COLUMN pool_member;
