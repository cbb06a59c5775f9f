-- Up Migration

ALTER TABLE usage_entries
  -- 'step' of a turn, or a 'summary' or 'title' that was written after the turn.
  ADD COLUMN kind text NOT NULL DEFAULT 'step' CHECK (kind IN ('step', 'summary', 'title'));

-- Down Migration

ALTER TABLE usage_entries DROP COLUMN kind;
