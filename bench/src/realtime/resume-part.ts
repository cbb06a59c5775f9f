import { type Latency, latencyOf } from '../load/percentiles.js';
import { atMost } from '../report/goals.js';
import { LONG_CONVERSATIONS } from '../settings.js';
import { connectAll, startClients } from './clients/client-process.js';
import type { PartResult, RealtimePart } from './part.js';
import { startRealtimeWorld } from './realtime-world.js';

const FULL = [
  { events: 100, resumes: 200 },
  { events: 2_000, resumes: 40 },
];
const SMALL = [
  { events: 100, resumes: 4 },
  { events: 2_000, resumes: 4 },
];
const GOALS = [150, 1_000];

/** Message events in the long conversations, without gaps. */
const EVENTS = `
  WITH logged AS (
    SELECT m.id, m.workspace_id, w.last_seq + row_number() OVER (PARTITION BY w.id ORDER BY m.seq) AS seq
    FROM messages m JOIN workspaces w ON w.id = m.workspace_id JOIN users u ON u.id = w.owner_id
    WHERE substr(u.subject, 6)::int <= $1
  ), counted AS (
    UPDATE workspaces w SET last_seq = s.seq FROM (SELECT workspace_id, max(seq) AS seq FROM logged GROUP BY 1) s
    WHERE w.id = s.workspace_id
  )
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
  SELECT workspace_id, seq, 'message.new', id, now() FROM logged`;

export interface Resumes {
  /** The events that a client has missed. */
  events: number;
  /** Milliseconds from the client's connect, with its resume token, to the last missed event. */
  latency: Latency;
}

export function resumeResult(resumes: readonly Resumes[]): PartResult {
  return {
    heads: ['missed events', 'p50', 'p95', 'p99', 'max'],
    rows: resumes.map(({ events, latency: { p50, p95, p99, max } }) => [
      String(events),
      ...[p50, p95, p99, max].map((ms) => `${ms.toFixed(1)} ms`),
    ]),
    goals: resumes.map(({ events, latency }, n) =>
      atMost(`connect → last of ${events} missed events, p99`, latency.p99, GOALS[n] ?? Number.NaN, 'ms'),
    ),
    figures: resumes,
  };
}

/** Clients reconnect one by one. No other socket on the workspace keeps its events in the gateway. */
export const resumePart: RealtimePart = {
  name: 'resume',
  title: 'Reconnects of clients that missed events',
  async measure({ folder, small, stack, say }) {
    const options = { folder, users: LONG_CONVERSATIONS + 1, longEvents: 2_500, workspacesPerUser: 1 };
    const world = await startRealtimeWorld(options, stack);
    await world.client.query(EVENTS, [LONG_CONVERSATIONS]);
    await world.client.query('VACUUM ANALYZE');
    const gateway = await world.startGateway('gateway', stack);
    const clients = startClients(stack);
    const users = Array.from({ length: LONG_CONVERSATIONS }, (_, user) => world.spec(gateway.url, user, 1));
    await connectAll([clients], users);
    const measured: Resumes[] = [];
    for (const { events, resumes } of small ? SMALL : FULL) {
      const times: number[] = [];
      for (let n = -LONG_CONVERSATIONS; n < resumes; n += 1) {
        const client = (n + LONG_CONVERSATIONS) % LONG_CONVERSATIONS;
        const ms = await clients.ask<'resume'>({ do: 'resume', client, missing: events });
        // The first of each client warms up.
        if (n >= 0) times.push(ms);
      }
      measured.push({ events, latency: latencyOf(times) });
      say(`${events} events: p99 ${latencyOf(times).p99.toFixed(1)} ms`);
    }
    return resumeResult(measured);
  },
};
