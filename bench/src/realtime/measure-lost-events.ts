import { setTimeout as sleep } from 'node:timers/promises';
import { CloseStack, silentLogger } from '@uswarm/service-kit';
import { startBusProxy } from '@uswarm/testkit/bus-proxy';
import { BenchError } from '../settings.js';
import { monotonicMs } from '../turns/observations.js';
import { addEvents } from './add-events.js';
import { UswarmClient } from './clients/uswarm-client.js';
import type { RealtimeWorld } from './realtime-world.js';

export interface LostEvents {
  /** Milliseconds from a commit until a client has the event that the bus lost: the last one of its workspace. */
  last: number[];
  /** Milliseconds from the next event's commit until a client has both. */
  followed: number[];
}

const WITHIN_MS = 60_000;
/** Until the relay has published, and the proxy has dropped, the events. */
const DROPPED_MS = 1_000;

/** Last sequence by workspace id. */
async function headsOf(world: RealtimeWorld): Promise<Map<string, number>> {
  const { rows } = await world.client.query<{ id: string; last_seq: string }>('SELECT id, last_seq FROM workspaces');
  return new Map(rows.map(({ id, last_seq }) => [id, Number(last_seq)]));
}

/** @returns the milliseconds from `from` at which each client had the last event of its workspace */
async function caughtUp(world: RealtimeWorld, clients: readonly UswarmClient[], from: number): Promise<number[]> {
  const heads = await headsOf(world);
  const times: number[] = [];
  let behind = [...clients];
  while (behind.length > 0) {
    const now = monotonicMs() - from;
    if (now > WITHIN_MS) throw new BenchError(`${behind.length} clients did not get a lost event.`);
    const still = behind.filter((client) =>
      Object.entries(client.state().applied).some(([id, seq]) => seq < (heads.get(id) ?? 0)),
    );
    for (let n = still.length; n < behind.length; n += 1) times.push(now);
    behind = still;
    if (behind.length > 0) await sleep(5);
  }
  return times;
}

/** Drops bus messages to a gateway while all workspaces get an event. */
export async function measureLostEvents(world: RealtimeWorld, users: number, rounds: number): Promise<LostEvents> {
  const stack = new CloseStack(silentLogger);
  try {
    const proxy = await startBusProxy(world.valkey.url, Math.random);
    stack.defer('bus proxy', () => proxy.close());
    const gateway = await world.startGateway('gateway', stack, proxy.url);
    const clients = Array.from(
      { length: users },
      (_, n) => new UswarmClient(world.spec(gateway.url, n, 1), () => undefined),
    );
    stack.defer('clients', async () => clients.forEach((client) => client.close()));
    for (const client of clients) await client.open();
    const lose = async (): Promise<number> => {
      proxy.drop(1);
      const from = monotonicMs();
      await addEvents(world, 1, 0);
      await sleep(DROPPED_MS);
      proxy.heal();
      return from;
    };
    const result: LostEvents = { last: [], followed: [] };
    for (let round = 0; round < rounds; round += 1) {
      result.last.push(...(await caughtUp(world, clients, await lose())));
      await lose();
      const from = monotonicMs();
      await addEvents(world, 1, 0);
      result.followed.push(...(await caughtUp(world, clients, from)));
    }
    return result;
  } finally {
    await stack.close();
  }
}
