-- Up Migration

-- A file of a user. The bytes are in the object store, under a key made from the id.
CREATE TABLE uploads (
  id uuid PRIMARY KEY,
  -- Null once the user is gone; the file is then removed.
  user_id uuid REFERENCES users ON DELETE SET NULL,
  state text NOT NULL DEFAULT 'receiving' CHECK (state IN ('receiving', 'stored', 'removing')),
  -- Whether a message had it at some time: what no message has any more is removed at once.
  attached boolean NOT NULL DEFAULT false,
  name text NOT NULL DEFAULT '',
  type text NOT NULL DEFAULT 'file' CHECK (type IN ('image', 'video', 'audio', 'file')),
  mime_type text NOT NULL DEFAULT '',
  size bigint NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
-- With the size, so that what a user has stored is added up from the index alone.
CREATE INDEX uploads_user ON uploads (user_id) INCLUDE (size);

CREATE TABLE message_attachments (
  message_id uuid NOT NULL REFERENCES messages ON DELETE CASCADE,
  upload_id uuid NOT NULL REFERENCES uploads,
  PRIMARY KEY (message_id, upload_id)
);
CREATE INDEX message_attachments_upload ON message_attachments (upload_id);

-- Messages go in many ways (alone, with a conversation, a workspace, an account), mostly by a cascade that
-- no code sees. Whichever it is, the upload is looked at again, from the transaction that removed them.
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

-- The name may say who somebody is: it goes with the user, the file a little later.
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
