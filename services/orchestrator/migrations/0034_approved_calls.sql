-- Up Migration

ALTER TABLE tool_approvals
  -- What identifies the request in the other system, as it was when the card was shown; null for calls that stay in our database.
  ADD COLUMN key text,
  -- The connection that the call uses. The call is not sent with another account.
  ADD COLUMN integration_id uuid;
ALTER TABLE receipts ADD COLUMN integration_id uuid;

-- Down Migration

ALTER TABLE receipts DROP COLUMN integration_id;
ALTER TABLE tool_approvals DROP COLUMN key, DROP COLUMN integration_id;
