import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createClient } from '@uswarm/client';
import type { MessageData, MessagePage } from '@uswarm/contract';
import { type RunningPostgres, type RunningStandby, startPostgres, startStandby } from '@uswarm/dev-servers';
import { eventually } from '@uswarm/testkit/eventually';
import pg from 'pg';
import {
  type Home,
  startTestOrchestrator,
  type TestOrchestrator,
  type TestUser,
} from '../../../test/test-orchestrator.js';

/** Searches that a user may send in this test. */
const SEARCHES = 6;

type Outcome = 'standby' | 'behind' | 'unavailable';

describe('message lists and searches with a standby', () => {
  const server = process.env['TEST_POSTGRES_URL'];
  let folder: string;
  let primary: RunningPostgres;
  let standby: RunningStandby;
  let uswarm: TestOrchestrator;
  let user: TestUser;
  let home: Home;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-standby-'));
    // Postgres runs as another user if we are root.
    await chmod(folder, 0o755);
    primary = await startPostgres({ directory: join(folder, 'primary'), durable: false });
    standby = await startStandby({ primary, directory: join(folder, 'standby') });
    process.env['TEST_POSTGRES_URL'] = primary.url;
    const environment: Record<string, string> = { RATE_SEARCH_PER_S: String(1 / 64), RATE_SEARCH_BURST: `${SEARCHES}` };
    uswarm = await startTestOrchestrator({
      environment,
      reachDatabaseBy(url) {
        const read = new URL(url);
        read.port = new URL(standby.url).port;
        environment['DATABASE_READ_URL'] = read.href;
        return url;
      },
    });
  });
  beforeEach(async () => {
    user = await uswarm.user();
    home = await uswarm.home(user);
  });
  afterAll(async () => {
    process.env['TEST_POSTGRES_URL'] = server;
    await uswarm?.close();
    await standby?.close();
    await primary?.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function onStandby(sql: string): Promise<void> {
    const client = new pg.Client(standby.url);
    await client.connect();
    await client.query(sql).finally(() => client.end());
  }
  const count = async (outcome: Outcome): Promise<number> => {
    const text = await uswarm.metrics.metrics();
    return Number(new RegExp(`^uswarm_standby_reads_total\\{.*outcome="${outcome}".*\\} (\\d+)$`, 'm').exec(text)?.[1]);
  };
  const counts = async () => ({
    standby: await count('standby'),
    behind: await count('behind'),
    unavailable: await count('unavailable'),
  });
  /** The outcomes that `run` adds. */
  async function outcomesOf<T>(
    run: () => Promise<T>,
  ): Promise<{ outcomes: Partial<Record<Outcome, number>>; result: T }> {
    const before = await counts();
    const result = await run();
    const added = Object.entries(await counts()).map(([name, n]) => [name, n - before[name as Outcome]] as const);
    return { outcomes: Object.fromEntries(added.filter(([, n]) => n > 0)), result };
  }
  const say = async (text: string): Promise<string> =>
    (await user.post<{ data: MessageData }>(home.messages, { content: { type: 'text', text } }, 201)).body.data.id;
  const read = async (path: string, seen?: string) => {
    const headers = seen === undefined ? {} : { 'x-workspace-position': seen };
    const answer = await user.raw<MessagePage>({ method: 'GET', path, headers });
    expect(answer.status).toBe(200);
    const texts = answer.body.data.map(({ content }) => (content.type === 'text' ? content.text : content.type));
    return { texts, position: String(answer.headers['x-workspace-position']) };
  };
  const list = (seen?: string) => read(home.messages, seen);
  const search = (seen?: string) => read(`${home.messages}/search?q=hello`, seen);
  const position = async (): Promise<string> => (await list()).position;
  /** Until the standby serves this position. */
  async function replayed(seen: string): Promise<void> {
    const reads = async () => (await outcomesOf(() => list(seen))).outcomes;
    expect(await eventually(reads, { until: ({ standby: some }) => some === 1 })).toEqual({ standby: 1 });
  }

  it('come from the standby once it has the position that the client has seen', async () => {
    await say('hello');
    const seen = await position();
    await replayed(seen);
    expect(await outcomesOf(() => list(seen))).toEqual({ outcomes: { standby: 1 }, result: await list() });
    expect(await outcomesOf(() => search(seen))).toEqual({ outcomes: { standby: 1 }, result: await search() });
  });

  it('come from the primary for a client that does not send a position', async () => {
    await say('hello');
    const { outcomes, result } = await outcomesOf(() => list());
    expect({ outcomes, texts: result.texts }).toEqual({ outcomes: {}, texts: ['hello'] });
  });

  it('never lack what the client has seen while the standby is behind', async () => {
    await say('hello early');
    const early = await position();
    await replayed(early);
    await onStandby('SELECT pg_wal_replay_pause()');
    try {
      await say('hello late');
      const late = await position();
      for (const ask of [list, search]) {
        const { outcomes, result } = await outcomesOf(() => ask(late));
        expect({ outcomes, result }).toEqual({
          outcomes: { behind: 1 },
          result: { texts: ['hello late', 'hello early'], position: late },
        });
        // A client that has not seen the second message gets a page and a position without it.
        const old = await outcomesOf(() => ask(early));
        expect(old).toEqual({ outcomes: { standby: 1 }, result: { texts: ['hello early'], position: early } });
      }
    } finally {
      await onStandby('SELECT pg_wal_replay_resume()');
    }
  });

  it('come from the standby for @uswarm/client, and never lack what it has seen and sent', async () => {
    const client = createClient({ url: uswarm.url, token: () => user.token });
    const route = '/v1/workspaces/{workspaceId}/conversations/{id}/messages';
    const path = { workspaceId: home.workspaceId, id: home.conversationId };
    const send = (text: string) => client.api.post(route, { path, body: { content: { type: 'text', text } } });
    const shown = ({ data }: { data: { content: object }[] }) =>
      data.map(({ content }) => ('text' in content ? content.text : undefined));
    const listed = async () => shown(await client.api.get(route, { path }));
    const found = async () => shown(await client.api.get(`${route}/search`, { path, query: { q: 'hello' } }));
    await send('hello early');
    expect(await outcomesOf(listed)).toEqual({ outcomes: {}, result: ['hello early'] });
    const outcomes = async () => (await outcomesOf(listed)).outcomes;
    expect(await eventually(outcomes, { until: ({ standby: some }) => some === 1 })).toEqual({ standby: 1 });
    await onStandby('SELECT pg_wal_replay_pause()');
    try {
      await send('hello late');
      for (const ask of [listed, found])
        expect(await outcomesOf(ask)).toEqual({ outcomes: { behind: 1 }, result: ['hello late', 'hello early'] });
    } finally {
      await onStandby('SELECT pg_wal_replay_resume()');
      await client.close();
    }
  });

  it('come from the primary if they start at a message that the standby lacks', async () => {
    await say('hello early');
    const early = await position();
    await replayed(early);
    await onStandby('SELECT pg_wal_replay_pause()');
    try {
      const id = await say('hello late');
      const { outcomes, result } = await outcomesOf(() => read(`${home.messages}?around=${id}`, early));
      expect({ outcomes, texts: result.texts.includes('hello late') }).toEqual({
        outcomes: { behind: 1 },
        texts: true,
      });
    } finally {
      await onStandby('SELECT pg_wal_replay_resume()');
    }
  });

  it('count once and fail once if the answer is not about what the standby lacks', async () => {
    await say('hello');
    const seen = await position();
    await replayed(seen);
    const ask = (path: string) => user.raw({ method: 'GET', path, headers: { 'x-workspace-position': seen } });
    // Found neither here nor there: one search of the user's rate, although both were asked.
    const unknown = home.messages.replace(/conversations\/[^/]+/, `conversations/${crypto.randomUUID()}`);
    const { outcomes } = await outcomesOf(async () => {
      for (let n = 0; n < SEARCHES - 1; n += 1) expect((await ask(`${unknown}/search?q=hello`)).status).toBe(404);
    });
    expect(outcomes).toEqual({ behind: SEARCHES - 1 });
    expect((await ask(`${home.messages}/search?q=%20`)).status).toBe(400);
    const refused = await outcomesOf(() => ask(`${home.messages}/search?q=hello`));
    expect({ outcomes: refused.outcomes, status: refused.result.status }).toEqual({ outcomes: {}, status: 429 });
  });

  it('come from the primary while the standby hangs or is down, and from the standby again afterwards', async () => {
    await say('hello');
    const seen = await position();
    await replayed(seen);
    process.kill(standby.pid, 'SIGSTOP');
    try {
      const { result } = await outcomesOf(() => list(seen));
      expect(result.texts).toEqual(['hello']);
    } finally {
      process.kill(standby.pid, 'SIGCONT');
    }
    await standby.close();
    const down = async () => (await outcomesOf(() => list(seen))).outcomes;
    expect(await eventually(down, { until: ({ unavailable }) => unavailable === 1 })).toEqual({ unavailable: 1 });
    const { port } = new URL(standby.url);
    const again = await startPostgres({ directory: join(folder, 'standby'), port: Number(port), durable: false });
    standby = { ...again, promote: standby.promote };
    await replayed(seen);
  });

  it('come from the primary after the standby was promoted, because its history is another one', async () => {
    await say('hello');
    const seen = await position();
    await replayed(seen);
    await standby.promote();
    await onStandby('CHECKPOINT');
    const outcomes = async () => (await outcomesOf(() => list(seen))).outcomes;
    expect(await eventually(outcomes, { until: ({ behind }) => behind === 1 })).toEqual({ behind: 1 });
  });
});
