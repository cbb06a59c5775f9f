import { type RawBuilder, sql } from 'kysely';
import { takeSeqsOfRows } from './workspace-rows.js';

/** All statements that write `workspace_events` and `event_outbox`. Lock order: workspace, outbox. */

/** @param rows a query with the columns in this order */
export const insertEvents = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, conversation_id, published_at) ${rows}`;

/**
 * Makes the relay publish events that their process cannot publish. The relay locks only the outbox, and skips locked rows.
 *
 * @param rows a query for workspace, first seq and last seq
 */
const queueEvents = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  INSERT INTO event_outbox (workspace_id, from_seq, upto_seq) ${rows}
  ON CONFLICT (workspace_id) DO UPDATE SET upto_seq = EXCLUDED.upto_seq`;

/** As `queueEvents`, for the last `count` seqs that the CTE `counter` took. */
export const queueTaken = (workspaceId: string, count: number): RawBuilder<unknown> =>
  queueEvents(sql`SELECT ${workspaceId}::uuid, last_seq - ${sql.lit(count)} + 1, last_seq FROM counter`);

/** Of the rows in the CTE `held` that are `done`. */
export const deletePublished = sql`
  DELETE FROM event_outbox o USING held h WHERE o.workspace_id = h.workspace_id AND h.done`;

/** Of the other rows in the CTE `held`, up to `next_seq`. The rest of events that are not due is published by their own process. */
export const advancePublished = sql`
  UPDATE event_outbox o SET from_seq = h.next_seq, since = greatest(o.since, h.at),
    due_at = CASE WHEN o.due_at > now() THEN now() + interval '1 second' ELSE now() END
  FROM held h WHERE o.workspace_id = h.workspace_id AND NOT h.done`;

/**
 * CTEs that append `message.new` for each row in `rows`, a CTE with `workspace_id`, `subject_id` and `n`, which orders
 * a workspace's events. The caller has locked the workspaces. The CTE `appended` has each event's `subject_id` and
 * `seq`.
 */
export const appendNewMessages = (rows: RawBuilder<unknown>): RawBuilder<unknown> => sql`
  counted AS (${takeSeqsOfRows(rows)}), waiting AS (
    ${queueEvents(sql`SELECT id, seq_before + 1, last_seq FROM counted ORDER BY id`)}
  ), appended AS (
    ${insertEvents(sql`
      SELECT w.id, w.seq_before + row_number() OVER (PARTITION BY w.id ORDER BY e.n), 'message.new', e.subject_id,
        NULL::uuid, now()
      FROM ${rows} e JOIN counted w ON w.id = e.workspace_id`)}
    RETURNING subject_id, seq
  )`;
