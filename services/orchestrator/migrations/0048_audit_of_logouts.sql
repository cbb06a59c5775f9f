-- Up Migration

-- The pruning deletes old logouts on all devices, too. The index is dropped first: a lock that gets stronger can deadlock with sign-ins.
DROP INDEX audit_log_sessions;
CREATE INDEX audit_log_sessions ON audit_log (at)
  WHERE action IN ('account.sign_in', 'account.logout', 'account.logout_all');
CREATE OR REPLACE FUNCTION prune_sessions_in_audit(before timestamptz, most integer) RETURNS bigint
  LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  WITH removed AS (
    DELETE FROM audit_log WHERE id IN (
      SELECT id FROM audit_log
      WHERE action IN ('account.sign_in', 'account.logout', 'account.logout_all')
        AND at < least(before, now() - interval '30 days')
      ORDER BY at LIMIT most
    ) AND actor = 'user' RETURNING 1
  )
  SELECT count(*) FROM removed
$$;

-- Down Migration

CREATE OR REPLACE FUNCTION prune_sessions_in_audit(before timestamptz, most integer) RETURNS bigint
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
DROP INDEX audit_log_sessions;
CREATE INDEX audit_log_sessions ON audit_log (at) WHERE action IN ('account.sign_in', 'account.logout');
