-- Up Migration

ALTER TABLE runtimes
  -- Since when a Ready runtime does not answer; null while it does.
  ADD COLUMN silent_since timestamptz,
  -- Release 0.2 shows a runtime as offline that was not identified for a minute. Until then, runtimes that exist now are
  -- identified as often as 0.2 does it, so that its replicas show them correctly during the roll-out.
  ADD COLUMN polled_until timestamptz DEFAULT now() + interval '15 minutes';
ALTER TABLE runtimes ALTER COLUMN polled_until DROP DEFAULT;

-- The serving role may not delete from the audit log. This function removes old sign-ins and logouts for it, with the
-- rights of its owner, and nothing that is younger than 30 days, whatever it is asked.
CREATE INDEX audit_log_sessions ON audit_log (at) WHERE action IN ('account.sign_in', 'account.logout');
CREATE FUNCTION prune_sessions_in_audit(before timestamptz, most integer) RETURNS bigint
  LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  WITH removed AS (
    DELETE FROM audit_log WHERE id IN (
      SELECT id FROM audit_log
      WHERE action IN ('account.sign_in', 'account.logout') AND at < least(before, now() - interval '30 days')
      ORDER BY at LIMIT most
    ) AND actor = 'user' RETURNING 1
  )
  SELECT count(*) FROM removed
$$;
REVOKE ALL ON FUNCTION prune_sessions_in_audit(timestamptz, integer) FROM PUBLIC;

-- Down Migration

DROP FUNCTION prune_sessions_in_audit;
DROP INDEX audit_log_sessions;
ALTER TABLE runtimes DROP COLUMN silent_since, DROP COLUMN polled_until;
-- Release 0.2 polls all runtimes.
UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'runtime';
