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

-- The import of a .uswarm file to a new workspace.
CREATE TABLE imports (
  id uuid PRIMARY KEY,
  -- Null after the user is deleted; the file is then deleted.
  user_id uuid REFERENCES users ON DELETE SET NULL,
  status text NOT NULL DEFAULT 'receiving' CHECK (status IN ('receiving', 'pending', 'running', 'done', 'failed')),
  problem text CHECK ((problem IS NOT NULL) = (status = 'failed')),
  -- The file's object key; null after the end.
  object_id uuid,
  size bigint NOT NULL DEFAULT 0,
  -- Without a foreign key: the user can delete the workspace.
  workspace_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX imports_user ON imports (user_id);
CREATE UNIQUE INDEX imports_unfinished ON imports (user_id) WHERE status IN ('receiving', 'pending', 'running');

CREATE FUNCTION import_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES ('workspace-import', NEW.id, NEW.id, NEW.id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0;
  RETURN NEW;
END
$$;
CREATE TRIGGER imports_user_gone BEFORE UPDATE OF user_id ON imports
  FOR EACH ROW WHEN (NEW.user_id IS NULL) EXECUTE FUNCTION import_disowned();

-- Receipts that another installation signed, with the key that the imported file carried. They are separate from
-- receipts, because this installation does not vouch for them.
CREATE TABLE imported_receipts (
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  -- In the file's order.
  number integer NOT NULL,
  jws text NOT NULL,
  kid text NOT NULL,
  x text NOT NULL,
  PRIMARY KEY (workspace_id, number)
);

-- The texts came in a file, and the user has not saved the prompts since.
ALTER TABLE agents ADD COLUMN untrusted boolean NOT NULL DEFAULT false;

-- Down Migration

ALTER TABLE agents DROP COLUMN untrusted;
DROP TABLE imported_receipts;
DROP TABLE imports;
DROP FUNCTION import_disowned;
DELETE FROM work WHERE kind = 'workspace-import';

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
