-- Up Migration

-- The user message of a decision for which a turn did not have to be continued, because it was still running.
ALTER TABLE tool_approvals ADD COLUMN decision_message_id uuid REFERENCES messages ON DELETE SET NULL;
CREATE INDEX tool_approvals_decision ON tool_approvals (decision_message_id);

-- Down Migration

ALTER TABLE tool_approvals DROP COLUMN decision_message_id;
