-- Up Migration

-- Files of users. The content is in the object store, under a key derived from the id.
CREATE TABLE uploads (
  id uuid PRIMARY KEY,
  -- Null after the user is deleted; the file is then deleted.
  user_id uuid REFERENCES users ON DELETE SET NULL,
  state text NOT NULL DEFAULT 'receiving' CHECK (state IN ('receiving', 'stored', 'removing')),
  -- Whether a message has ever had this attachment. It is deleted immediately after the last such message.
  attached boolean NOT NULL DEFAULT false,
  name text NOT NULL DEFAULT '',
  type text NOT NULL DEFAULT 'file' CHECK (type IN ('image', 'video', 'audio', 'file')),
  mime_type text NOT NULL DEFAULT '',
  size bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
-- Includes the size, so that the storage of a user is summed with an index-only scan.
CREATE INDEX uploads_user ON uploads (user_id) INCLUDE (size);

CREATE TABLE message_attachments (
  message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  upload_id uuid NOT NULL REFERENCES uploads,
  PRIMARY KEY (message_id, upload_id)
);
CREATE INDEX message_attachments_upload ON message_attachments (upload_id);

-- Messages are deleted individually or with a conversation, workspace or account, mostly by a cascade. Triggers make
-- the job of the upload due in the same transaction in all cases.
CREATE FUNCTION look_at_upload(upload_id uuid) RETURNS void LANGUAGE sql AS $$
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES ('upload', upload_id, upload_id, upload_id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0
$$;

CREATE FUNCTION upload_detached() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM look_at_upload(OLD.upload_id);
  RETURN NULL;
END
$$;
CREATE TRIGGER message_attachments_gone AFTER DELETE ON message_attachments
  FOR EACH ROW EXECUTE FUNCTION upload_detached();

-- A file name can identify a person: it is removed with the user, before the file.
CREATE FUNCTION upload_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name := '';
  PERFORM look_at_upload(NEW.id);
  RETURN NEW;
END
$$;
CREATE TRIGGER uploads_user_gone BEFORE UPDATE OF user_id ON uploads
  FOR EACH ROW WHEN (NEW.user_id IS NULL) EXECUTE FUNCTION upload_disowned();

-- Down Migration

DROP TABLE message_attachments, uploads;
DROP FUNCTION upload_detached, upload_disowned, look_at_upload;
DELETE FROM work WHERE kind = 'upload';
