-- Up Migration

-- Whether calls of an enabled tool need the approval of the user; null: the default of the tool.
ALTER TABLE agent_tools ADD COLUMN permission text CHECK (permission IN ('allow', 'ask'));

-- A turn that continues another one after the approval of a call. It takes over the journal of that turn.
ALTER TABLE turns
  -- The user message of the first turn. The history of the prompt ends with it.
  ADD COLUMN resumes_message_id uuid REFERENCES messages ON DELETE SET NULL,
  -- The entries of the journal whose text earlier replies show.
  ADD COLUMN shown_entries integer NOT NULL DEFAULT 0;
CREATE INDEX turns_resumes ON turns (resumes_message_id);

-- Calls of tools that need the approval of the user. The user decides with an action of the card.
CREATE TABLE tool_approvals (
  card_message_id uuid PRIMARY KEY REFERENCES messages ON DELETE CASCADE,
  -- The turn that executes the call: the one that asked, or the one that continues it.
  turn_id uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
  conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
  call_id text NOT NULL,
  tool text NOT NULL,
  -- SHA-256 of the arguments that the card shows. The call is not executed with others.
  arguments_hash bytea NOT NULL CHECK (octet_length(arguments_hash) = 32),
  -- superseded: the user sent another message, or the turn ended.
  status text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'approved', 'denied', 'expired', 'superseded')),
  created_at timestamptz NOT NULL DEFAULT now(),
  expires_at timestamptz NOT NULL,
  decided_at timestamptz,
  UNIQUE (turn_id, call_id)
);
CREATE INDEX tool_approvals_conversation ON tool_approvals (conversation_id);
CREATE INDEX tool_approvals_expiry ON tool_approvals (expires_at) WHERE status = 'open';

-- The card of a suspended turn can be deleted like any message. The turn can then not continue.
CREATE FUNCTION tool_approval_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT FROM turns WHERE id = OLD.turn_id AND status NOT IN ('queued', 'running')) THEN
    DELETE FROM turn_entries WHERE turn_id = OLD.turn_id;
    DELETE FROM turn_contexts WHERE turn_id = OLD.turn_id;
    DELETE FROM tool_calls WHERE turn_id = OLD.turn_id;
  END IF;
  RETURN NULL;
END
$$;
CREATE TRIGGER tool_approvals_deleted AFTER DELETE ON tool_approvals
  FOR EACH ROW EXECUTE FUNCTION tool_approval_deleted();

-- Down Migration

DROP TABLE tool_approvals;
DROP FUNCTION tool_approval_deleted;
DROP INDEX turns_resumes;
ALTER TABLE turns DROP COLUMN resumes_message_id, DROP COLUMN shown_entries;
ALTER TABLE agent_tools DROP COLUMN permission;
