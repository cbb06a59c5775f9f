-- Up Migration

ALTER TABLE runtimes
  -- Time since which a Ready runtime does not respond; null if it responds.
  ADD COLUMN silent_since timestamptz,
  -- Release 0.2 reports a runtime as offline if it was not identified for a minute. Until this time, existing runtimes
  -- are identified as often as 0.2 does, so that replicas of 0.2 report them correctly during the rollout.
  ADD COLUMN polled_until timestamptz DEFAULT now() + interval '15 minutes';
ALTER TABLE runtimes ALTER COLUMN polled_until DROP DEFAULT;

-- The serving role cannot delete from the audit log. This function deletes old sign-ins and logouts, with the rights of
-- its owner. It never deletes entries of the last 30 days.
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
