import { randomUUID } from 'node:crypto';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ErrorBody, ERRORS, type Health, type MessagePage } from '@uswarm/contract';
import { type RunningPostgres, startPostgres } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../test/test-orchestrator.js';

const OUTAGE_MS = 10_000;
/** Client timeout, well above any response time during the outage. */
const CLIENT_TIMEOUT_MS = 8_000;

describe('an outage of Postgres', () => {
  let folder: string;
  let postgres: RunningPostgres;
  let proxy: FaultInjectionProxy;
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;
  const serverOfTheRun = process.env['TEST_POSTGRES_URL'];
  const start = (port?: number): Promise<RunningPostgres> =>
    startPostgres({ directory: join(folder, 'postgres'), durable: false, ...(port === undefined ? {} : { port }) });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-away-'));
    // As root, Postgres runs as another user, which must be able to enter the folder.
    await chmod(folder, 0o755);
    postgres = await start();
    process.env['TEST_POSTGRES_URL'] = postgres.url;
    proxy = await startFaultInjectionProxy(postgres.url);
    uswarm = await startTestOrchestrator({
      reachDatabaseBy: (url) => proxy.redirect(url),
      environment: { TURN_WORKERS: '2', UPKEEP_WORKERS: '2' },
    });
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(async () => {
    await uswarm.close();
    await proxy.close();
    await postgres.close({ remove: true });
    await rm(folder, { recursive: true, force: true });
    process.env['TEST_POSTGRES_URL'] = serverOfTheRun;
  });

  interface Seen {
    status: number;
    body: Partial<ErrorBody>;
    retryAfter: unknown;
  }
  /** @throws Error if the response does not arrive in time */
  async function ask(method: 'GET' | 'POST', path: string, body?: unknown): Promise<Seen> {
    const answer = await request(`${uswarm.url}${path}`, {
      method,
      headers: { ...user.headers, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(CLIENT_TIMEOUT_MS),
    });
    const text = await answer.body.text();
    return {
      status: answer.statusCode,
      body: text === '' ? {} : (JSON.parse(text) as Partial<ErrorBody>),
      retryAfter: answer.headers['retry-after'],
    };
  }
  const profile = (): Promise<Seen> => ask('GET', '/v1/users/profile');
  const works = ({ status }: Seen): boolean => status === 200;

  /** Sends messages and reads workspaces concurrently until `stop` is called. */
  function load() {
    const seen: Seen[] = [];
    const tried: string[] = [];
    const acknowledged: string[] = [];
    let running = true;
    const sender = async (): Promise<void> => {
      while (running) {
        const localId = randomUUID();
        tried.push(localId);
        const sent = await ask('POST', home.messages, message(localId));
        if (sent.status === 201) acknowledged.push(localId);
        seen.push(sent, await ask('GET', '/v1/workspaces'));
        await sleep(20);
      }
    };
    const senders = Array.from({ length: 8 }, sender);
    return {
      seen,
      async stop() {
        running = false;
        await Promise.all(senders);
        return { tried, acknowledged };
      },
    };
  }
  const message = (localId: string) => ({ local_id: localId, content: { type: 'text', text: `message ${localId}` } });

  async function listed(): Promise<string[]> {
    const found: string[] = [];
    let scroll = '';
    for (;;) {
      const { data, pagination } = (await user.get<MessagePage>(`${home.messages}?limit=100${scroll}`)).body;
      found.push(...data.flatMap(({ local_id: id }) => (id === null ? [] : [id])));
      if (pagination.next_scroll_id === null) return found;
      scroll = `&scrollId=${encodeURIComponent(pagination.next_scroll_id)}`;
    }
  }

  it('requests fail immediately with a retryable error, and no acknowledged message is lost', async () => {
    const online = async () => (await user.get<{ data: Health }>('/v1/health')).body.data.online;
    const { seen, stop } = load();
    await eventually(() => seen.length, { until: (count) => count > 20 });
    await postgres.close();
    const during = seen.length;
    expect(await profile()).toMatchObject({
      status: 503,
      retryAfter: '1',
      body: { code: 'service_unavailable', extra: { retry_after_ms: 1_000, request_id: expect.any(String) } },
    });
    expect(ERRORS.service_unavailable.retryable).toBe(true);
    expect(await eventually(online, { until: (now) => !now })).toBe(false);
    await sleep(OUTAGE_MS);
    expect(seen.length).toBeGreaterThan(during + 20);
    postgres = await start(postgres.port);
    expect((await eventually(profile, { until: works })).status).toBe(200);
    expect(await eventually(online, { until: (now) => now })).toBe(true);
    const { tried, acknowledged } = await stop();
    const unexpected = seen.filter(({ status, body }) => status >= 400 && !RETRYABLE.has(body.code ?? ''));
    expect(unexpected).toEqual([]);
    // Acknowledged messages are stored; retries store no duplicates.
    const kept = new Set(await listed());
    expect(acknowledged.filter((id) => !kept.has(id))).toEqual([]);
    expect(acknowledged.length).toBeGreaterThan(0);
    for (const localId of tried.slice(-20)) {
      const { status, body } = await ask('POST', home.messages, message(localId));
      expect(status === 201 || body.code === 'turn_queue_full').toBe(true);
    }
    const all = await listed();
    expect(all).toHaveLength(new Set(all).size);
  });

  it('requests fail while Postgres hangs, and later requests use new connections', async () => {
    proxy.freeze();
    const waiting = Array.from({ length: 30 }, () => user.raw<ErrorBody>({ method: 'GET', path: '/v1/users/profile' }));
    const answers = await Promise.all(waiting);
    expect(answers.map(({ body }) => body.code)).toEqual(answers.map(() => 'service_unavailable'));
    // Closes the frozen connections; new ones work.
    await proxy.disconnect();
    await proxy.restore();
    proxy.thaw();
    expect((await eventually(profile, { until: works })).status).toBe(200);
  });

  it('background work continues after the outage', async () => {
    const unpublished = async () => {
      const { count } = await uswarm.database
        .selectFrom('event_outbox')
        .select(({ fn }) => fn.countAll<number>().as('count'))
        .executeTakeFirstOrThrow();
      return count;
    };
    await ask('POST', `${home.workspace}/conversations`, { type: 'swarm' });
    expect(await eventually(unpublished, { until: (count) => count === 0 })).toBe(0);
  });
});

/** Expected errors: the outage itself, and full queues because no turn worker runs. */
const RETRYABLE = new Set(['service_unavailable', 'turn_queue_full']);
