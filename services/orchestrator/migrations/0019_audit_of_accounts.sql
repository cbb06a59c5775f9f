-- Up Migration

-- Whom an entry about an account is about, also when the account is gone: the keyed hash that stays of it.
ALTER TABLE audit_log ADD COLUMN identity_hash bytea;

-- The serving role may add to the audit log and not change it. What a deletion has to remove is removed by this
-- function, with the rights of its owner, and only for a user that is gone.
CREATE FUNCTION forget_user_in_audit(forgotten uuid) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE audit_log SET user_id = NULL, subject_id = NULL, details = '{}'
  WHERE user_id = forgotten AND NOT EXISTS (SELECT FROM users WHERE id = forgotten)
$$;
REVOKE ALL ON FUNCTION forget_user_in_audit(uuid) FROM PUBLIC;

-- Down Migration

DROP FUNCTION forget_user_in_audit;
ALTER TABLE audit_log DROP COLUMN identity_hash;
