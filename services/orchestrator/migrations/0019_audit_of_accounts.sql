-- Up Migration

-- The keyed hash of the identity of an account, which remains after the account is deleted.
ALTER TABLE audit_log ADD COLUMN identity_hash bytea;

-- The serving role can only append to the audit log. This function removes the data of a deleted user, with the rights
-- of its owner. It does nothing if the user exists.
CREATE FUNCTION forget_user_in_audit(forgotten uuid) RETURNS void
  LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, public, pg_temp AS $$
  UPDATE audit_log SET user_id = NULL, subject_id = NULL, details = '{}'
  WHERE user_id = forgotten AND NOT EXISTS (SELECT FROM users WHERE id = forgotten)
$$;
REVOKE ALL ON FUNCTION forget_user_in_audit(uuid) FROM PUBLIC;

-- Down Migration

DROP FUNCTION forget_user_in_audit;
ALTER TABLE audit_log DROP COLUMN identity_hash;
