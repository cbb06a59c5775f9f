-- Up Migration

-- A copy of all data of a user, as an archive in the object store under `object_id`.
CREATE TABLE exports (
  id uuid PRIMARY KEY,
  -- Null once the user is gone; the archive is then removed.
  user_id uuid REFERENCES users ON DELETE SET NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'running', 'ready', 'failed')),
  -- A new one for each attempt: two holders of the work never write the same object.
  object_id uuid,
  size bigint,
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz
);
CREATE INDEX exports_user ON exports (user_id, created_at);
-- However many requests come concurrently.
CREATE UNIQUE INDEX exports_unfinished ON exports (user_id) WHERE status IN ('pending', 'running');

-- Work of kind `export` removes the archive, from the transaction that removed its user.
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
