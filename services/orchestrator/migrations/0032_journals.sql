-- Up Migration

-- Journals of finished turns are kept. The bodies of large entries are in the object store.
ALTER TABLE turn_entries
  ALTER COLUMN body DROP NOT NULL,
  -- The key of the body in the object store, its SHA-256 and its size in bytes; null if the row has the body.
  ADD COLUMN object_id uuid,
  ADD COLUMN hash bytea CHECK (octet_length(hash) = 32),
  ADD COLUMN size integer,
  -- What later turns of the conversation are told about the call of a result: tool, arguments and sources.
  ADD COLUMN call jsonb CHECK (octet_length(call::text) <= 16384),
  ADD CHECK (num_nulls(body, object_id) = 1 AND num_nulls(object_id, hash, size) IN (0, 3));
CREATE INDEX turn_entries_object ON turn_entries (object_id) WHERE object_id IS NOT NULL;
-- For the deletion of old journals.
CREATE INDEX turn_entries_created ON turn_entries (created_at);

-- Entries are deleted with their turn, conversation, workspace or account, or because they are old. A job deletes the body.
CREATE FUNCTION turn_entry_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO work (kind, subject_id, workspace_id, serial_key)
  VALUES ('journal-object', OLD.object_id, OLD.object_id, OLD.object_id)
  ON CONFLICT (kind, subject_id) DO UPDATE SET run_at = now(), attempts = 0;
  RETURN NULL;
END
$$;
CREATE TRIGGER turn_entries_deleted AFTER DELETE ON turn_entries
  FOR EACH ROW WHEN (OLD.object_id IS NOT NULL) EXECUTE FUNCTION turn_entry_deleted();

-- Down Migration

DROP TRIGGER turn_entries_deleted ON turn_entries;
DROP FUNCTION turn_entry_deleted;
DELETE FROM turn_entries;
DROP INDEX turn_entries_created;
ALTER TABLE turn_entries
  DROP COLUMN object_id, DROP COLUMN hash, DROP COLUMN size, DROP COLUMN call,
  ALTER COLUMN body SET NOT NULL;
DELETE FROM work WHERE kind IN ('journal-object', 'journal-pruning');
