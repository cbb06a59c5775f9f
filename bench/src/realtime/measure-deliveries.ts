import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { io, type Socket } from 'socket.io-client';
import { createSigner } from '../load/generate.js';
import { type Latency, latencyOf } from '../load/percentiles.js';
import { BenchError } from '../settings.js';
import { cpuSeconds } from '../world/processes.js';
import type { DeliveryWorld } from './delivery-world.js';

export interface DeliverySettings {
  perSecond: number;
  seconds: number;
  warmUpSeconds: number;
}

/** Milliseconds from the time at which a message was due. */
export interface Deliveries {
  /** Until `message.send.ack` on the sending socket. */
  ack: Latency;
  /** Until `message.new` on the socket at the other gateway. */
  delivered: Latency;
  /** Processor time in milliseconds per message. */
  cpuMs: Record<keyof DeliveryWorld['pids'], number>;
}

const CONCURRENT_HANDSHAKES = 20;
const REST_MS = 5_000;

/**
 * Each user has a socket at both gateways. Messages become due at fixed times and are sent through the first gateway; the
 * sockets at the second one receive them.
 *
 * @throws BenchError if a message was refused, or not delivered
 */
export async function measureDeliveries(world: DeliveryWorld, settings: DeliverySettings): Promise<Deliveries> {
  const [sending, receiving] = world.gateways;
  const workspaces = world.tokens.map(
    (_, user) => world.places.find((place) => place.user === user)?.workspaceId ?? '',
  );
  const senders = await connectAll(world, sending);
  const receivers = await connectAll(world, receiving);
  for (const [user, socket] of receivers.entries()) {
    await socket.emitWithAck('workspace.subscribe', { workspace_ids: [workspaces[user]] });
  }

  const due = new Map<string, number>();
  const samples: Record<'ack' | 'delivered', number[]> = { ack: [], delivered: [] };
  let refused = 0;
  const measured = (what: keyof typeof samples, localId: string | null): void => {
    const from = localId === null ? undefined : due.get(localId);
    if (from !== undefined) samples[what].push(performance.now() - from);
  };
  for (const socket of senders) socket.on('message.send.ack', ({ local_id }) => measured('ack', local_id));
  for (const socket of senders) socket.on('message.send.error', () => (refused += 1));
  for (const socket of receivers) socket.on('message.new', ({ message }) => measured('delivered', message.local_id));

  const { perSecond, seconds, warmUpSeconds } = settings;
  const cpu = cpuOf(world);
  const start = performance.now();
  for (let n = 0; n < perSecond * (seconds + warmUpSeconds); n += 1) {
    const time = start + (n * 1_000) / perSecond;
    const early = time - performance.now();
    if (early > 0) await sleep(early);
    const place = world.places[n % world.places.length];
    if (place === undefined) break;
    const local_id = randomUUID();
    if (n >= perSecond * warmUpSeconds) due.set(local_id, time);
    senders[place.user]?.emit('message.send', {
      workspace_id: place.workspaceId,
      conversation_id: place.conversationId,
      local_id,
      content: { type: 'text', text: `Message ${n}` },
    });
  }
  const complete = () => samples.delivered.length === due.size && samples.ack.length === due.size;
  for (const end = performance.now() + REST_MS; !complete() && performance.now() < end;) await sleep(20);
  for (const socket of [...senders, ...receivers]) socket.close();
  if (!complete()) {
    const { ack, delivered } = samples;
    throw new BenchError(
      `Of ${due.size} messages ${ack.length} were acknowledged (${refused} refused), ${delivered.length} delivered.`,
    );
  }
  const after = cpuOf(world);
  const messages = perSecond * (seconds + warmUpSeconds);
  const perMessage = (name: keyof typeof after): number => ((after[name] - cpu[name]) * 1_000) / messages;
  return {
    ack: latencyOf(samples.ack),
    delivered: latencyOf(samples.delivered),
    cpuMs: {
      orchestrator: perMessage('orchestrator'),
      sending: perMessage('sending'),
      receiving: perMessage('receiving'),
    },
  };
}

function cpuOf({ pids }: DeliveryWorld): Deliveries['cpuMs'] {
  const of = (pid: number): number => cpuSeconds(pid) ?? Number.NaN;
  return { orchestrator: of(pids.orchestrator), sending: of(pids.sending), receiving: of(pids.receiving) };
}

async function connectAll({ tokens, signatureSecret }: DeliveryWorld, url: string): Promise<Socket[]> {
  const credentials = createSigner(tokens, signatureSecret);
  const sockets: Socket[] = [];
  for (let user = 0; user < tokens.length; user += CONCURRENT_HANDSHAKES) {
    const some = tokens.slice(user, user + CONCURRENT_HANDSHAKES).map(async (token, index) => {
      const { authorization: _, ...signed } = credentials(user + index);
      const auth = { ...signed, 'x-token': token };
      const socket = io(`${url}/v1`, { auth, forceNew: true, transports: ['websocket'] });
      await new Promise<void>((resolve, reject) => {
        socket.once('connect', resolve);
        socket.once('connect_error', reject);
      });
      return socket;
    });
    sockets.push(...(await Promise.all(some)));
  }
  return sockets;
}
