-- Up Migration

-- A card can ask what a tool's server wants to know during a call, instead of an approval. The answer is deleted when the call has read it.
ALTER TABLE tool_approvals ADD COLUMN question jsonb, ADD COLUMN answer jsonb;
-- A call has one approval, and can have several questions.
ALTER TABLE tool_approvals DROP CONSTRAINT tool_approvals_turn_id_call_id_key;
CREATE UNIQUE INDEX tool_approvals_call ON tool_approvals (turn_id, call_id) WHERE question IS NULL;
CREATE INDEX tool_approvals_turn ON tool_approvals (turn_id);

-- Down Migration

DELETE FROM tool_approvals WHERE question IS NOT NULL;
DROP INDEX tool_approvals_turn;
DROP INDEX tool_approvals_call;
ALTER TABLE tool_approvals ADD CONSTRAINT tool_approvals_turn_id_call_id_key UNIQUE (turn_id, call_id);
ALTER TABLE tool_approvals DROP COLUMN question, DROP COLUMN answer;
