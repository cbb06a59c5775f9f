import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { json } from 'node:stream/consumers';
import { createRedisBus } from '@uswarm/event-bus';
import { migrate } from '@uswarm/orchestrator/migrate';
import { type CloseStack, silentLogger } from '@uswarm/service-kit';
import pg from 'pg';
import { createSigner } from '../load/generate.js';
import { type Latency, latencyOf } from '../load/percentiles.js';
import { atMost } from '../report/goals.js';
import { type BenchUser, signUp } from '../turns/users.js';
import { orchestratorEnvironment } from '../world/environment.js';
import { startOrchestrator } from '../world/processes.js';
import { startServers } from '../world/world.js';
import { ADD_EVENTS, ADD_WORKSPACES, MAKE_WAIT } from './backlog.js';
import type { PartContext, PartResult, RealtimePart } from './part.js';

const FULL = { users: 20, renames: 400, background: 200 };
const SMALL = { users: 2, renames: 4, background: 10 };
/** Renames per second, each by another user. */
const PER_SECOND = 20;
/** Each adds one event to each background workspace: 1,000 events per second. */
const BACKGROUND_MS = 200;
const SETTLE_MS = 2_000;
const GOALS = { webhookMs: 1_000, relayTimes: 1.1 };

export interface WebhookFigures {
  /** From the request to the bus. */
  without: Latency;
  with: Latency;
  /** From the request to the receiver. */
  webhook: Latency;
  /** Events in other workspaces. */
  backgroundPerS: number;
}

/** Resolves when a workspace's rename has arrived, or a later one: an event has the current name. */
function createArrivals() {
  const waiting = new Set<{ workspaceId: string; number: number; resolve: () => void }>();
  return {
    async of(workspaceId: string, number: number): Promise<void> {
      await new Promise<void>((resolve) => void waiting.add({ workspaceId, number, resolve }));
    },
    arrived(payload: unknown): void {
      const { workspace_id: id, workspace } = payload as { workspace_id: string; workspace: { name: string } };
      const number = Number(workspace.name);
      for (const one of [...waiting].filter((each) => each.workspaceId === id && each.number <= number)) {
        waiting.delete(one);
        one.resolve();
      }
    },
  };
}

type Arrivals = ReturnType<typeof createArrivals>;

async function startReceiver(stack: CloseStack, arrivals: Arrivals): Promise<string> {
  const server = createServer(async (request, response) => {
    arrivals.arrived(((await json(request)) as { data: unknown }).data);
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  stack.defer('receiver', async () => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

/** Users who rename their workspaces, while other workspaces have events without a pause. */
async function startUsers({ folder, small, stack }: PartContext, onBus: Arrivals) {
  const { postgres, valkey, issuer } = await startServers(folder, stack);
  const databaseUrl = await postgres.createDatabase('orchestrator');
  await migrate(databaseUrl, silentLogger);
  const signatureSecret = randomBytes(24).toString('hex');
  const orchestrator = await startOrchestrator(
    {
      ...orchestratorEnvironment({
        databaseUrl,
        redisUrl: valkey.url,
        issuer: issuer.issuer,
        signatureSecret,
        directory: join(folder, 'files'),
        pool: 20,
      }),
      USER_WEBHOOKS: 'true',
      USER_WEBHOOKS_PRIVATE_HOSTS: '127.0.0.1',
      INTEGRATION_TOKEN_KEYS: `bench:${randomBytes(32).toString('base64')}`,
    },
    join(folder, 'orchestrator.log'),
  );
  stack.defer('orchestrator', orchestrator.close);
  const bus = createRedisBus({ url: valkey.url, logger: silentLogger });
  stack.defer('bus', () => bus.close());
  const users: BenchUser[] = [];
  for (let n = 0; n < (small ? SMALL : FULL).users; n += 1) {
    const name = `user-${n}`;
    const token = await issuer.issueToken({ subject: name, email: `${name}@example.com`, name });
    const sign = createSigner([token], signatureSecret);
    const user = await signUp(orchestrator.url, { token, headers: () => sign(0) }, 0);
    await bus.subscribe(user.workspaceId, ({ event, payload }) => {
      if (event === 'workspace.updated') onBus.arrived(payload);
    });
    users.push(user);
  }
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  stack.defer('connection', () => client.end());
  return { users, client };
}

function startBackground(client: pg.Client, workspaces: number): { stop: () => Promise<number> } {
  let isStopped = false;
  let events = 0;
  const begun = performance.now();
  const running = (async () => {
    while (!isStopped) {
      await client.query(ADD_EVENTS, [workspaces, 1]);
      await client.query(MAKE_WAIT, [workspaces, 1]);
      events += workspaces;
      await sleep(Math.max(0, (events / workspaces) * BACKGROUND_MS - (performance.now() - begun)));
    }
  })();
  return {
    /** @returns events per second */
    async stop() {
      isStopped = true;
      await running;
      return events / ((performance.now() - begun) / 1_000);
    },
  };
}

/** @param first number of the first name @returns milliseconds from each request to its arrival at each place */
async function rename(users: readonly BenchUser[], count: number, first: number, places: readonly Arrivals[]) {
  const times: number[][] = places.map(() => []);
  const renames = Array.from({ length: count }, async (_, n) => {
    await sleep((n * 1_000) / PER_SECOND);
    const user = users[n % users.length];
    if (user === undefined) return;
    const number = first + n;
    const from = performance.now();
    const arrivals = places.map((place, index) =>
      place.of(user.workspaceId, number).then(() => void times[index]?.push(performance.now() - from)),
    );
    await user.rename(String(number));
    await Promise.all(arrivals);
  });
  await Promise.all(renames);
  return times.map(latencyOf);
}

async function measureWebhooks(context: PartContext): Promise<WebhookFigures> {
  const { renames, background } = context.small ? SMALL : FULL;
  const [onBus, received] = [createArrivals(), createArrivals()];
  const url = await startReceiver(context.stack, received);
  const { users, client } = await startUsers(context, onBus);
  await client.query(ADD_WORKSPACES, [background]);
  await client.query('VACUUM ANALYZE');
  const load = startBackground(client, background);
  await sleep(SETTLE_MS);
  const [without = latencyOf([])] = await rename(users, renames, 1, [onBus]);
  for (const user of users) await user.addWebhook(url);
  await sleep(SETTLE_MS);
  const [relayed = latencyOf([]), webhook = latencyOf([])] = await rename(users, renames, renames + 1, [
    onBus,
    received,
  ]);
  return { without, with: relayed, webhook, backgroundPerS: await load.stop() };
}

export function webhooksResult(figures: WebhookFigures): PartResult {
  const { without, with: relayed, webhook, backgroundPerS } = figures;
  const row = (name: string, { p50, p95, p99, max }: Latency): string[] => [
    name,
    ...[p50, p95, p99, max].map((ms) => `${ms.toFixed(0)} ms`),
  ];
  return {
    heads: ['from a request', 'p50', 'p95', 'p99', 'max'],
    rows: [
      row('to the bus, without webhooks', without),
      row('to the bus, with a webhook per workspace', relayed),
      row('to the receiver', webhook),
      ['events per second in other workspaces', backgroundPerS.toFixed(0), '', '', ''],
    ],
    goals: [
      atMost('request → receiver, p99', webhook.p99, GOALS.webhookMs, 'ms'),
      atMost('request → bus, p50 with webhooks, times without', relayed.p50 / without.p50, GOALS.relayTimes, '×'),
    ],
    figures,
  };
}

/** Webhook deliveries beside other workspaces' events. */
export const webhooksPart: RealtimePart = {
  name: 'webhooks',
  title: `Webhooks of ${FULL.users} workspaces, beside 1,000 events per second`,
  measure: async (context) => webhooksResult(await measureWebhooks(context)),
};
