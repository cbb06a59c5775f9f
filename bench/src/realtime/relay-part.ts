import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createRedisBus } from '@uswarm/event-bus';
import { migrate } from '@uswarm/orchestrator/migrate';
import { silentLogger } from '@uswarm/service-kit';
import pg from 'pg';
import { createSigner } from '../load/generate.js';
import { latencyOf, median } from '../load/percentiles.js';
import { atMost, type Goal } from '../report/goals.js';
import { BenchError } from '../settings.js';
import { signUp } from '../turns/users.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { createProcessorLimit } from '../world/processor-limit.js';
import { type Side, startOrchestrator } from '../world/processes.js';
import { startServers } from '../world/world.js';
import { startDelayingProxy } from './delaying-proxy.js';
import { ADD_EVENTS, ADD_WORKSPACES, MAKE_WAIT } from './backlog.js';
import type { PartContext, PartResult, RealtimePart } from './part.js';

/** Round trips to Valkey: milliseconds there and back, in addition to the proxy's. */
const DELAYS = [
  { name: '0.3 ms', delays: [0, 0] },
  { name: '5 ms', delays: [2, 3] },
] as const;
/**
 * Cores per replica when two are compared with one: with more, they compete with Postgres and Valkey for the machine's
 * cores.
 */
const LIMITED_CORES = 0.25;
const GOALS = { fast: 5_000, slow: 3_000, replicas: 1.7, quietMs: 500 };

/** Events per second by the number of replicas. */
interface Rates {
  one: number;
  two: number;
}

interface RelayFigures {
  rates: (Rates & {
    delay: string;
    /** With limited replicas; undefined if the system cannot limit them. */
    limited: Rates | undefined;
  })[];
  /** Milliseconds from a quiet workspace's request to its event on the bus. */
  quiet: number[];
}

async function startRelays({ folder, stack }: PartContext) {
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const signatureSecret = randomBytes(24).toString('hex');
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  stack.defer('connection', () => client.end());
  const start = (redisUrl: string, name: string) =>
    startOrchestrator(
      orchestratorEnvironment({
        databaseUrl,
        redisUrl,
        issuer: issuer.issuer,
        signatureSecret,
        directory: join(folder, 'files'),
        pool: 10,
      }),
      join(folder, `${name}.log`),
    );
  const headers = async () => {
    const token = await issuer.issueToken({ subject: 'quiet', email: 'quiet@example.com', name: 'Ada' });
    const sign = createSigner([token], signatureSecret);
    return { token, headers: () => sign(0) };
  };
  return { client, valkey, start, headers };
}

type Relays = Awaited<ReturnType<typeof startRelays>>;

const WITHIN_MS = 300_000;

const LEFT = 'SELECT coalesce(sum(upto_seq - from_seq + 1), 0)::int AS events FROM event_outbox';

interface Sample {
  at: number;
  left: number;
}

/**
 * Computes the events per second in the middle half of a backlog. Then all relays publish: one relay can find the
 * backlog a second later than another, and can finish later. Pure.
 *
 * @returns undefined if there are no two samples in the middle half
 */
export function middleRate(samples: readonly Sample[], events: number): number | undefined {
  const from = samples.find(({ left }) => left <= events * 0.75);
  const to = samples.find(({ left }) => left <= events * 0.25);
  if (from === undefined || to === undefined || from === to) return undefined;
  return (from.left - to.left) / ((to.at - from.at) / 1_000);
}

/** Publishes a backlog. @returns events per second */
async function drain({ client }: Relays, workspaces: number, events: number): Promise<number> {
  await client.query(ADD_EVENTS, [workspaces, events]);
  await client.query('VACUUM event_outbox');
  await client.query(MAKE_WAIT, [workspaces, events]);
  const total = workspaces * events;
  const begun = performance.now();
  const samples: Sample[] = [];
  for (;;) {
    const [row] = (await client.query<{ events: number }>(LEFT)).rows;
    const at = performance.now();
    if (row === undefined || at > begun + WITHIN_MS)
      throw new BenchError('The relay did not publish its events in time.');
    samples.push({ at, left: row.events });
    if (row.events === 0) return middleRate(samples, total) ?? total / ((at - begun) / 1_000);
    await sleep(5);
  }
}

/** Time until a relay that has just started knows the others. */
const SETTLE_MS = 4_000;
const ROUNDS = 3;
/** A limited process stops for most of each period, so that its rounds differ more. */
const LIMITED_ROUNDS = 7;

/** The median of some rounds. @param rounds after one that does not count */
async function drainRounds(relays: Relays, small: boolean, rounds: number): Promise<number> {
  const [workspaces, events] = small ? [20, 50] : [200, 400];
  await drain(relays, workspaces, events);
  const rates: number[] = [];
  for (let n = 0; n < (small ? 1 : rounds); n += 1) rates.push(await drain(relays, workspaces, events));
  return median(rates);
}

/** Renames a workspace while another one has 10,000 waiting events. */
async function measureQuiet(relays: Relays, url: string, small: boolean): Promise<number[]> {
  const bus = createRedisBus({ url: relays.valkey.url, logger: silentLogger });
  const credentials = await relays.headers();
  const user = await signUp(url, credentials, 1);
  let arrived = Promise.withResolvers<void>();
  await bus.subscribe(user.workspaceId, (envelope) => envelope.event === 'workspace.updated' && arrived.resolve());
  const times: number[] = [];
  const rounds = small ? 1 : 10;
  for (let round = 0; round < rounds; round += 1) {
    const draining = drain(relays, 1, small ? 500 : 10_000);
    for (let n = 0; n < 10; n += 1) {
      arrived = Promise.withResolvers();
      const from = performance.now();
      await user.rename(`Quiet ${round} ${n}`);
      await arrived.promise;
      times.push(performance.now() - from);
    }
    await draining;
  }
  await bus.close();
  return times;
}

async function measureRelay(context: PartContext): Promise<RelayFigures> {
  const { small, stack, say } = context;
  const relays = await startRelays(context);
  await relays.client.query(ADD_WORKSPACES, [small ? 20 : 200]);
  await relays.client.query('VACUUM ANALYZE');
  const limit = createProcessorLimit(stack);
  const rates: RelayFigures['rates'] = [];
  let quiet: number[] = [];
  for (const { name, delays } of DELAYS) {
    const redisUrl = await startDelayingProxy(relays.valkey.url, delays, stack);

    async function measureReplicas(replicas: readonly Side[]): Promise<{ rate: number; limited: number | undefined }> {
      const pids = replicas.map(({ pid }) => pid);
      await sleep(SETTLE_MS);
      const rate = await drainRounds(relays, small, ROUNDS);
      limit?.set(pids, LIMITED_CORES);
      const limited = limit && (await drainRounds(relays, small, LIMITED_ROUNDS));
      limit?.set(pids);
      const rest = limited === undefined ? '' : `, with ${LIMITED_CORES} cores each ${limited.toFixed(0)}`;
      say(`${name} to Valkey, replicas: ${replicas.length}, events/s: ${rate.toFixed(0)}${rest}`);
      return { rate, limited };
    }

    const first = await relays.start(redisUrl, 'first');
    const one = await measureReplicas([first]);
    if (quiet.length === 0) quiet = await measureQuiet(relays, first.url, small);
    const second = await relays.start(redisUrl, 'second');
    const two = await measureReplicas([first, second]);
    await Promise.all([first.close(), second.close()]);
    const [oneLimited, twoLimited] = [one.limited, two.limited];
    const limited =
      oneLimited === undefined || twoLimited === undefined ? undefined : { one: oneLimited, two: twoLimited };
    rates.push({ delay: name, one: one.rate, two: two.rate, limited });
  }
  return { rates, quiet };
}

const atLeast = (name: string, measured: number, limit: number, unit: string, digits = 0): Goal => [
  `${name} ≥ ${limit}${unit}`,
  `${measured.toFixed(digits)}${unit}`,
  measured >= limit,
];

export function relayResult(figures: RelayFigures): PartResult {
  const lag = latencyOf(figures.quiet);
  const [fast, slow] = figures.rates;
  const row = (place: string, { one, two }: Rates): string[] => [
    place,
    one.toFixed(0),
    two.toFixed(0),
    (two / one).toFixed(2),
  ];
  return {
    heads: ['Valkey', 'one replica, events/s', 'two replicas, events/s', 'ratio'],
    rows: figures.rates.flatMap(({ delay, limited, ...rates }) => [
      row(delay, rates),
      ...(limited === undefined ? [] : [row(`${delay}, ${LIMITED_CORES} cores per replica`, limited)]),
    ]),
    goals: [
      atLeast('relay at 0.3 ms to Valkey', fast?.one ?? Number.NaN, GOALS.fast, ' events/s'),
      atLeast('relay at 5 ms to Valkey', slow?.one ?? Number.NaN, GOALS.slow, ' events/s'),
      ...figures.rates.map(({ delay, limited }) =>
        atLeast(
          `two replicas, times one, with ${LIMITED_CORES} cores each at ${delay}`,
          limited === undefined ? Number.NaN : limited.two / limited.one,
          GOALS.replicas,
          ' ×',
          2,
        ),
      ),
      atMost('quiet workspace beside 10,000 waiting events, request → event, p99', lag.p99, GOALS.quietMs, 'ms'),
    ],
    figures: { rates: figures.rates, quiet: lag },
  };
}

export const relayPart: RealtimePart = {
  name: 'relay',
  title: 'Relay of events to Valkey',
  measure: async (context) => relayResult(await measureRelay(context)),
};
