-- Up Migration

-- Leases due jobs of a kind fairly: keys with the fewest leases first, and at most `per_key` concurrent leases per key. Reads one row
-- per waiting key, and only as many rows of a key as can be claimed. A function, so that a claim is one request: the statement must
-- see the leases that were committed before it got the lock.
CREATE FUNCTION claim_fairly(job_kind text, most integer, lease_ms double precision, per_key integer)
RETURNS TABLE (
  subject_id uuid, workspace_id uuid, lease_id uuid, attempts integer, failures integer, taken_over boolean
)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
  -- Serializes the claims of a kind, so that each counts the leases of the others.
  PERFORM pg_advisory_xact_lock(hashtextextended(job_kind, 3));
  RETURN QUERY
  WITH RECURSIVE keys (key) AS (
    (SELECT coalesce(w.fair_key, w.workspace_id) FROM work w
      WHERE w.kind = job_kind ORDER BY coalesce(w.fair_key, w.workspace_id) LIMIT 1)
    UNION ALL
    SELECT (SELECT coalesce(w.fair_key, w.workspace_id) FROM work w
      WHERE w.kind = job_kind AND coalesce(w.fair_key, w.workspace_id) > keys.key
      ORDER BY coalesce(w.fair_key, w.workspace_id) LIMIT 1)
    FROM keys WHERE keys.key IS NOT NULL
  ), picked AS MATERIALIZED (
    SELECT due.subject_id, due.run_at, leased.count + due.place AS turn
    FROM keys
    CROSS JOIN LATERAL (
      SELECT count(*) AS count FROM work w
      WHERE w.kind = job_kind AND coalesce(w.fair_key, w.workspace_id) = keys.key
        AND w.lease_id IS NOT NULL AND w.lease_expires_at >= now()
    ) leased
    CROSS JOIN LATERAL (
      SELECT w.subject_id, w.run_at, row_number() OVER (ORDER BY w.run_at) AS place
      FROM work w
      WHERE w.kind = job_kind AND coalesce(w.fair_key, w.workspace_id) = keys.key
        AND w.run_at <= now() AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())
        -- No other job with the same serial key comes before it.
        AND NOT EXISTS (
          SELECT FROM work earlier
          WHERE earlier.kind = w.kind AND earlier.serial_key = w.serial_key
            AND (earlier.ordinal, earlier.subject_id) < (w.ordinal, w.subject_id)
        )
      ORDER BY w.run_at
      LIMIT greatest(0, per_key - leased.count)
    ) due
    WHERE keys.key IS NOT NULL
    ORDER BY turn, due.run_at
    LIMIT most
  ), due AS MATERIALIZED (
    SELECT w.subject_id, w.lease_id
    FROM picked JOIN work w ON w.kind = job_kind AND w.subject_id = picked.subject_id
    WHERE w.run_at <= now() AND (w.lease_expires_at IS NULL OR w.lease_expires_at < now())
    FOR UPDATE OF w SKIP LOCKED
  )
  UPDATE work w
  SET lease_id = gen_random_uuid(), lease_expires_at = now() + lease_ms * interval '1 millisecond', attempts = w.attempts + 1
  FROM due
  WHERE w.kind = job_kind AND w.subject_id = due.subject_id
  RETURNING w.subject_id, w.workspace_id, w.lease_id, w.attempts, w.failures, due.lease_id IS NOT NULL;
END $$;

-- Down Migration

DROP FUNCTION claim_fairly;
