import type { RealtimeWorld } from './realtime-world.js';

const EVENTS = `
  WITH chosen AS (
    SELECT w.id, (SELECT id FROM messages m WHERE m.workspace_id = w.id LIMIT 1) AS message
    FROM workspaces w JOIN users u ON u.id = w.owner_id
    WHERE w.name = 'Workspace' AND substr(u.subject, 6)::int % $1 = $2 ORDER BY w.id FOR NO KEY UPDATE OF w
  ), counted AS (
    UPDATE workspaces w SET last_seq = w.last_seq + 1 FROM chosen c WHERE w.id = c.id RETURNING w.id, w.last_seq, c.message
  ), waiting AS (
    INSERT INTO event_outbox (workspace_id, from_seq, upto_seq, due_at)
    SELECT id, last_seq, last_seq, now() FROM counted ORDER BY id
    ON CONFLICT (workspace_id) DO UPDATE SET upto_seq = EXCLUDED.upto_seq
  )
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
  SELECT id, last_seq, 'message.updated', message, now() FROM counted`;

/** Adds an event to the first workspace of each user whose number, divided by `shares`, has this remainder. The relay publishes them. */
export async function addEvents(world: RealtimeWorld, shares: number, remainder: number): Promise<void> {
  await world.client.query(EVENTS, [shares, remainder]);
}
