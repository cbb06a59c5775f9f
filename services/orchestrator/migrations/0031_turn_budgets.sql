-- Up Migration

ALTER TABLE turns
  -- The first turn of those that continue each other. Usage of all of them is recorded under its id. Null: this turn.
  ADD COLUMN first_turn_id uuid,
  -- Tokens that the turn, together with those that it continues, may use. Null: only the limits of the plan apply.
  ADD COLUMN tokens_budget bigint CHECK (tokens_budget > 0);

-- A model call that was reserved and not settled: its estimate counts.
ALTER TABLE usage_entries ADD COLUMN reserved boolean NOT NULL DEFAULT false;

-- The card of a turn that has used its budget: the tokens that the user can add. Null: the card of a call.
ALTER TABLE tool_approvals ADD COLUMN granted_tokens bigint CHECK (granted_tokens > 0);

-- Down Migration

-- Turns that wait for tokens cannot continue without the column.
UPDATE tool_approvals SET status = 'superseded', decided_at = now() WHERE granted_tokens IS NOT NULL AND status = 'open';
ALTER TABLE tool_approvals DROP COLUMN granted_tokens;
ALTER TABLE usage_entries DROP COLUMN reserved;
ALTER TABLE turns DROP COLUMN first_turn_id, DROP COLUMN tokens_budget;
