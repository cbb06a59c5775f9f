-- Up Migration

-- A turn that waits for several approvals cannot continue without one of them: the others are closed. Approvals that the user
-- decided on, or that were closed, are not needed by a turn that has ended.
CREATE OR REPLACE FUNCTION tool_approval_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF OLD.status = 'open'
    AND EXISTS (SELECT FROM turns WHERE id = OLD.turn_id AND status NOT IN ('queued', 'running')) THEN
    UPDATE tool_approvals SET status = 'superseded', decided_at = now() WHERE turn_id = OLD.turn_id AND status = 'open';
    DELETE FROM turn_entries WHERE turn_id = OLD.turn_id;
    DELETE FROM turn_contexts WHERE turn_id = OLD.turn_id;
    DELETE FROM tool_calls WHERE turn_id = OLD.turn_id;
  END IF;
  RETURN NULL;
END
$$;

-- Later turns of a conversation are told what was sent in it.
CREATE INDEX receipts_conversation ON receipts (conversation_id, sent_at, id);

-- Down Migration

DROP INDEX receipts_conversation;

CREATE OR REPLACE FUNCTION tool_approval_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM turns WHERE id = OLD.turn_id AND status NOT IN ('queued', 'running')) THEN
    DELETE FROM turn_entries WHERE turn_id = OLD.turn_id;
    DELETE FROM turn_contexts WHERE turn_id = OLD.turn_id;
    DELETE FROM tool_calls WHERE turn_id = OLD.turn_id;
  END IF;
  RETURN NULL;
END
$$;
