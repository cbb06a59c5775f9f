-- Up Migration

-- Null: the export of an account. Without a foreign key: the file is a backup, and outlives the workspace.
ALTER TABLE exports ADD COLUMN workspace_id uuid;
DROP INDEX exports_unfinished;
-- Several deleted users may have unfinished exports, so only the null of a workspace equals another.
CREATE UNIQUE INDEX exports_unfinished
  ON exports (user_id, coalesce(workspace_id, '00000000-0000-0000-0000-000000000000'))
  WHERE status IN ('pending', 'running');

-- A replica of the previous release would build the archive of the account: it does not know this job type.
CREATE OR REPLACE FUNCTION export_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES (CASE WHEN NEW.workspace_id IS NULL THEN 'export' ELSE 'workspace-export' END, NEW.id, NEW.id, NEW.id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0;
  RETURN NEW;
END
$$;

-- Down Migration

DELETE FROM work WHERE kind = 'workspace-export';
DELETE FROM exports WHERE workspace_id IS NOT NULL;
CREATE OR REPLACE FUNCTION export_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES ('export', NEW.id, NEW.id, NEW.id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0;
  RETURN NEW;
END
$$;
DROP INDEX exports_unfinished;
CREATE UNIQUE INDEX exports_unfinished ON exports (user_id) WHERE status IN ('pending', 'running');
ALTER TABLE exports DROP COLUMN workspace_id;
