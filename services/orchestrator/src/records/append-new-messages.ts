import { type RawBuilder, sql } from 'kysely';

/**
 * CTEs that append `message.new` for each row in `rows`, a CTE with `workspace_id`, `subject_id` and `n`, which orders
 * a workspace's events. The caller has locked the workspaces. The CTE `appended` has each event's `subject_id` and
 * `seq`.
 */
export const appendNewMessages = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  counted AS (
    UPDATE workspaces w SET last_seq = w.last_seq + added.count, rev = w.last_seq + added.count
    FROM (SELECT workspace_id, count(*) AS count FROM ${rows} GROUP BY workspace_id) added
    WHERE w.id = added.workspace_id
    RETURNING w.id, w.last_seq, w.last_seq - added.count AS seq_before
  ), waiting AS (
    INSERT INTO event_outbox (workspace_id, from_seq, upto_seq)
    SELECT id, seq_before + 1, last_seq FROM counted ORDER BY id
    ON CONFLICT (workspace_id) DO UPDATE SET upto_seq = EXCLUDED.upto_seq
  ), appended AS (
    INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
    SELECT w.id, w.seq_before + row_number() OVER (PARTITION BY w.id ORDER BY e.n), 'message.new', e.subject_id, now()
    FROM ${rows} e JOIN counted w ON w.id = e.workspace_id
    RETURNING subject_id, seq
  )`;
