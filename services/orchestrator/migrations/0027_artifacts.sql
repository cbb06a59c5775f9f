-- Up Migration

-- Documents that agents write.
CREATE TABLE artifacts (
  id uuid PRIMARY KEY,
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  -- Where it was created.
  conversation_id uuid REFERENCES conversations ON DELETE SET NULL,
  -- The number of the latest version. Versions have numbers from 1 without gaps.
  version integer NOT NULL DEFAULT 1,
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX artifacts_updated ON artifacts (workspace_id, updated_at, id);
CREATE INDEX artifacts_conversation ON artifacts (conversation_id);

-- The content of a version is in the object store, under a key derived from turn, call and content.
CREATE TABLE artifact_versions (
  artifact_id uuid NOT NULL REFERENCES artifacts ON DELETE CASCADE,
  version integer NOT NULL CHECK (version > 0),
  title text NOT NULL,
  status text NOT NULL CHECK (status IN ('draft', 'final')),
  agent_slug text NOT NULL,
  preview text NOT NULL,
  -- In bytes of UTF-8.
  size integer NOT NULL,
  object_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (artifact_id, version)
);
CREATE INDEX artifact_versions_object ON artifact_versions (object_id);

-- Versions are deleted with their artifact, workspace or account. A job deletes the content.
CREATE FUNCTION artifact_version_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES ('artifact-object', OLD.object_id, OLD.object_id, OLD.object_id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0;
  RETURN NULL;
END
$$;
CREATE TRIGGER artifact_versions_deleted AFTER DELETE ON artifact_versions
  FOR EACH ROW EXECUTE FUNCTION artifact_version_deleted();

-- Down Migration

DROP TABLE artifact_versions, artifacts;
DROP FUNCTION artifact_version_deleted;
DELETE FROM work WHERE kind = 'artifact-object';
