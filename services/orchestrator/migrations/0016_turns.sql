-- Up Migration

-- The error of a failed message: a code of packages/contract/src/resources/message-error.ts.
ALTER TABLE messages ADD COLUMN error_code text;
UPDATE messages m
SET error_code = CASE t.status WHEN 'stopped' THEN 'stopped' ELSE coalesce(t.error_code, 'internal_error') END
FROM turns t
WHERE (t.reply_message_id = m.id OR t.user_message_id = m.id)
  AND t.status IN ('failed', 'stopped') AND m.status IN ('failed', 'incomplete');

-- Jobs of a type share the workers by this key. Null, in rows of the previous release, means the workspace.
ALTER TABLE work ADD COLUMN fair_key uuid;
CREATE INDEX work_fair ON work (kind, coalesce(fair_key, workspace_id), run_at);
CREATE INDEX work_leased ON work (kind, coalesce(fair_key, workspace_id)) WHERE lease_id IS NOT NULL;

-- For the number of running turns of a workspace.
CREATE INDEX turns_running ON turns (workspace_id) WHERE status = 'running';

-- Down Migration

DROP INDEX turns_running, work_leased, work_fair;
ALTER TABLE work DROP COLUMN fair_key;
ALTER TABLE messages DROP COLUMN error_code;
