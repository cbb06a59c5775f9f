import { setTimeout as sleep } from 'node:timers/promises';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { latencyOf } from '../load/percentiles.js';
import { BenchError } from '../settings.js';
import { monotonicMs } from '../turns/observations.js';
import { type ClientProcess, connectAll, startClients } from './clients/client-process.js';
import { type ClientSpec, PROBE } from './clients/commands.js';
import { collectedKiB } from './measure-idle-sockets.js';
import { type Peer, startPeer } from './peers.js';
import { createPeerPublisher, createProbes, type PublishProbe } from './publish-probes.js';
import type { RealtimeWorld } from './realtime-world.js';

export interface StalledSocket {
  server: 'uswarm' | Peer;
  /** MiB that the server has more after the events if one socket does not read. */
  moreMiB: number;
  /** Probe latency in ms for the other sockets, with and without the stalled socket. */
  p99: number;
  usualP99: number;
}

export interface StalledSettings {
  sockets: number;
  /** For events in the stalled socket's workspace. */
  megabytes: number;
  seconds: number;
}

const PROBES_PER_S = 200;
/** Reading sockets in the stalled one's workspace. */
const READERS = 3;
/** A text of 32 kB; the event also has the message's fields. */
const TEXT_BYTES = 32_000;
const DISTINCT = 50;
/** Until the last events have arrived. */
const SETTLE_MS = 2_000;

/** Messages with a large text in the workspace. */
const LARGE_MESSAGES = `
  INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
  SELECT gen_random_uuid(), c.workspace_id, c.id, w.last_seq + n, 'user',
    jsonb_build_object('type', 'text', 'text', repeat('large ', $3::int / 6)), 'sent'
  FROM conversations c JOIN workspaces w ON w.id = c.workspace_id CROSS JOIN generate_series(1, $2::int) n
  WHERE c.workspace_id = $1 AND c.type = 'swarm' RETURNING id`;

/** An event of each of these messages, for the relay. */
const EVENTS = `
  WITH counted AS (
    UPDATE workspaces SET last_seq = last_seq + cardinality($2::uuid[]) WHERE id = $1 RETURNING last_seq
  ), waiting AS (
    INSERT INTO event_outbox (workspace_id, from_seq, upto_seq, due_at)
    SELECT $1, last_seq - cardinality($2::uuid[]) + 1, last_seq, now() FROM counted
    ON CONFLICT (workspace_id) DO UPDATE SET upto_seq = EXCLUDED.upto_seq
  )
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
  SELECT $1, last_seq - cardinality($2::uuid[]) + n, 'message.updated', id, now()
  FROM counted, unnest($2::uuid[]) WITH ORDINALITY AS m (id, n)`;

interface Publishing {
  /** Publishes a share of all events in the stalled socket's workspace. */
  large(count: number): Promise<void>;
  probe: PublishProbe;
  /** @throws BenchError if the readers do not have all events */
  check?(clients: ClientProcess): Promise<void>;
}

async function publishToPeer(redisUrl: string, stalledRoom: string, stack: CloseStack): Promise<Publishing> {
  const publish = await createPeerPublisher(redisUrl, stack);
  const text = 'large '.repeat(TEXT_BYTES / 6);
  return {
    async large(count) {
      for (let n = 0; n < count; n += 1) await publish(stalledRoom, 'message.updated', { message: { text } });
    },
    probe: (room) => void publish(room, PROBE, { query: String(monotonicMs()) }),
  };
}

async function publishToUswarm(world: RealtimeWorld, workspaceId: string, stack: CloseStack): Promise<Publishing> {
  const { rows } = await world.client.query<{ id: string }>(LARGE_MESSAGES, [workspaceId, DISTINCT, TEXT_BYTES]);
  const ids = rows.map(({ id }) => id);
  return {
    async large(count) {
      await world.client.query(EVENTS, [workspaceId, ids.slice(0, count)]);
    },
    async check(clients) {
      const head = await world.client.query<{ last_seq: string }>('SELECT last_seq FROM workspaces WHERE id = $1', [
        workspaceId,
      ]);
      const seqs = (await clients.ask<'states'>({ do: 'states' })).flatMap(({ applied }) => applied[workspaceId] ?? []);
      if (seqs.length < READERS || seqs.some((seq) => seq !== Number(head.rows[0]?.last_seq))) {
        throw new BenchError(`The events did not arrive: ${seqs.join(', ')} of ${head.rows[0]?.last_seq ?? 0}.`);
      }
    },
    probe: createProbes(world, stack),
  };
}

/** Events and probes. @returns the probe latencies */
async function pass(
  publishing: Publishing,
  others: ClientProcess,
  workspaceIds: readonly string[],
  settings: StalledSettings,
): Promise<number[]> {
  const events = (settings.megabytes * 1_000_000) / TEXT_BYTES;
  const batch = Math.min(DISTINCT, Math.ceil(events / settings.seconds / 4));
  const from = performance.now();
  let [published, probes] = [0, 0];
  for (;;) {
    const passed = (performance.now() - from) / 1_000;
    if (passed >= settings.seconds) break;
    if (published < (events * passed) / settings.seconds) {
      published += batch;
      await publishing.large(batch);
    }
    for (; probes < passed * PROBES_PER_S; probes += 1)
      publishing.probe(workspaceIds[probes % workspaceIds.length] ?? '');
    await sleep(4);
  }
  await sleep(SETTLE_MS);
  const seen = await others.ask<'probes'>({ do: 'probes' });
  await publishing.check?.(others);
  if (seen.length < probes * 0.99) throw new BenchError(`Only ${seen.length} of ${probes} probes arrived.`);
  return seen;
}

/** The same events twice on a new server: all sockets read, then one does not. */
export async function measureStalledSocket(
  world: RealtimeWorld,
  server: 'uswarm' | Peer,
  settings: StalledSettings,
): Promise<StalledSocket> {
  const stack = new CloseStack(silentLogger);
  try {
    const { url, pid } =
      server === 'uswarm'
        ? await world.startGateway('gateway', stack)
        : await startPeer(server, world.valkey.url, stack);
    const spec = (user: number): ClientSpec => ({ ...world.spec(url, user, 1), kind: server });
    const [others, stalled] = [startClients(stack), startClients(stack)];
    await connectAll(
      [others],
      Array.from({ length: settings.sockets - 1 - READERS }, (_, n) => spec(n + 1)),
    );
    await connectAll(
      [others],
      Array.from({ length: READERS }, () => spec(0)),
    );
    await connectAll([stalled], [spec(0)]);
    const workspaceIds = Array.from(
      { length: settings.sockets - 1 - READERS },
      (_, n) => spec(n + 1).workspaceIds[0] ?? '',
    );
    const room = spec(0).workspaceIds[0] ?? '';
    const publishing =
      server === 'uswarm'
        ? await publishToUswarm(world, room, stack)
        : await publishToPeer(world.valkey.url, room, stack);
    await pass(publishing, others, workspaceIds, {
      ...settings,
      megabytes: settings.megabytes / 4,
      seconds: settings.seconds / 4,
    });
    const usual = await pass(publishing, others, workspaceIds, settings);
    const before = await collectedKiB(pid);
    stalled.pause();
    const seen = await pass(publishing, others, workspaceIds, settings);
    const after = await collectedKiB(pid);
    stalled.resume();
    return {
      server,
      moreMiB: (after - before) / 1_024,
      p99: latencyOf(seen).p99,
      usualP99: latencyOf(usual).p99,
    };
  } finally {
    await stack.close();
  }
}
