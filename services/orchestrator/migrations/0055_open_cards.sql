-- Up Migration

-- The cards that wait for a user. Withdrawn cards have an error. Without the status, whose updates need not touch the index then.
-- open-cards.store.ts has the same condition.
CREATE INDEX messages_open_cards ON messages (workspace_id, created_at, id)
  WHERE content ->> 'type' = 'action_card' AND content ->> 'selected_action_id' IS NULL AND error_code IS NULL;

-- Down Migration

DROP INDEX messages_open_cards;
