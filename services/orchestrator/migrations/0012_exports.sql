-- Up Migration

-- A copy of all data of a user, as an archive in the object store under `object_id`.
CREATE TABLE exports (
  id uuid PRIMARY KEY,
  -- Null after the user is deleted; the archive is then deleted.
  user_id uuid REFERENCES users ON DELETE SET NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'ready', 'failed')),
  -- Changes with each attempt, so that two holders of the job never write the same object.
  object_id uuid,
  size bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX exports_user ON exports (user_id, created_at);
-- At most one unfinished export per user, also under concurrent requests.
CREATE UNIQUE INDEX exports_unfinished ON exports (user_id) WHERE status IN ('pending', 'running');

-- A job of type `export` deletes the archive; the transaction that deletes the user enqueues it.
CREATE FUNCTION export_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES ('export', NEW.id, NEW.id, NEW.id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0;
  RETURN NEW;
END
$$;
CREATE TRIGGER exports_user_gone BEFORE UPDATE OF user_id ON exports
  FOR EACH ROW WHEN (NEW.user_id IS NULL) EXECUTE FUNCTION export_disowned();

-- Down Migration

DROP TABLE exports;
DROP FUNCTION export_disowned;
DELETE FROM work WHERE kind = 'export';
