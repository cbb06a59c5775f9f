import { randomUUID } from 'node:crypto';
import { createMemoryBus } from '@uswarm/event-bus';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createOrchestrator, type Orchestrator } from '@uswarm/orchestrator';
import { readConfig } from '@uswarm/orchestrator/config';
import { migrate } from '@uswarm/orchestrator/migrate';
import { createMetrics, listen, type RunningServer, silentLogger } from '@uswarm/service-kit';
import { type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase, type TestDatabase } from '@uswarm/testkit';
import type pg from 'pg';
import { request } from 'undici';
import { createFloorApp, openPool, pathOf } from '../floor/floor-app.js';
import { bodyOf, createSigner } from '../load/generate.js';
import { type Recorder, startRecorder } from '../replay/record.js';
import type { Place } from '../replay/script.js';
import { LONG_CONVERSATIONS, readCommand } from '../settings.js';
import { orchestratorEnvironment } from './environment.js';
import { readPlaces } from './places.js';
import { type Ask, scriptReads, scriptSend } from './script-requests.js';
import { seed } from './seed.js';

const SECRET = 'signature-secret-of-this-test';
const COUNTS = `
  SELECT (SELECT count(*) FROM messages) AS messages, (SELECT count(*) FROM workspace_events) AS events,
    (SELECT count(*) FROM turns WHERE status = 'queued') AS turns, (SELECT count(*) FROM work WHERE kind = 'turn') AS work,
    (SELECT sum(last_seq)::int8 FROM workspaces) AS seqs`;

type Page = { data: { id: string; content: { text: string } }[] };

describe('the floor', () => {
  let database: TestDatabase;
  let issuer: OidcIssuer;
  let orchestrator: Orchestrator;
  let recorder: Recorder;
  let pool: pg.Pool;
  let floor: RunningServer;
  let places: Place[];
  let paths: string[];
  /** Orchestrator responses by path. */
  const answers = new Map<string, Page>();
  beforeAll(async () => {
    database = await createTestDatabase();
    await migrate(database.url, silentLogger);
    const command = readCommand(['--messages', '1500', '--conversation', '300', '--workspaces', '5']);
    if (command.do !== 'run') throw new Error('no run');
    await seed(database.url, command.settings);
    issuer = await startOidcIssuer();
    const environment = orchestratorEnvironment({
      databaseUrl: database.url,
      redisUrl: '',
      issuer: issuer.issuer,
      signatureSecret: SECRET,
      directory: '/nowhere',
      pool: 5,
    });
    orchestrator = await createOrchestrator({
      config: readConfig(environment),
      bus: createMemoryBus({ logger: silentLogger }),
      logger: silentLogger,
      metrics: createMetrics('test'),
      version: 'test',
      environment,
    });
    recorder = await startRecorder(orchestrator.app);
    places = await readPlaces(database.url);
    const tokens = await Promise.all(
      [1, 2, 3, 4, 5].map((n) =>
        issuer.issueToken({ subject: `user-${n}`, email: `user-${n}@example.com`, name: 'User' }),
      ),
    );
    const credentials = createSigner(tokens, SECRET);
    const ask: Ask = async ({ method, path, user, text }, localId = '') => {
      const headers = { ...credentials(user), 'content-type': 'application/json' };
      const body = text === undefined ? null : bodyOf(text, localId);
      const answer = await request(`${recorder.url}${path}`, { method, headers, body });
      expect(answer.statusCode).toBeLessThan(300);
      const said = await answer.body.json();
      answers.set(path, said as Page);
      return said;
    };
    const {
      history,
      search,
      statements: reads,
    } = await scriptReads(recorder, ask, places.slice(0, LONG_CONVERSATIONS));
    paths = [...history, ...search].map(({ path }) => path);
    const send = await scriptSend(recorder, ask, places.slice(LONG_CONVERSATIONS));
    pool = openPool({ databaseUrl: database.url, pool: 5 });
    const script = JSON.parse(JSON.stringify({ databaseUrl: database.url, pool: 5, reads, send, places }));
    floor = await listen(createFloorApp(script, pool), { host: '127.0.0.1', port: 0 });
  });
  afterAll(async () => {
    await floor?.close();
    await pool?.end();
    await recorder?.close();
    await orchestrator?.close();
    await issuer?.close();
    await database?.drop();
  });

  it('reads the same pages and search results as the orchestrator', async () => {
    const ids = ({ data }: Page) => data.map(({ id }) => id);
    for (const path of paths) {
      const { body } = await request(`${floor.url}${path}`);
      const page = (await body.json()) as Page;
      const expected = ids(answers.get(path)!);
      // The query reads one more row to detect a next page; the orchestrator does not return it.
      expect([path, ids(page).slice(0, expected.length)]).toEqual([path, expected]);
    }
    expect(paths.filter((path) => answers.get(path)!.data.length > 0).length).toBeGreaterThan(7);
  });

  it('stores each message with its related rows, also for concurrent requests', async () => {
    const before = (await pool.query(COUNTS)).rows[0];
    const sent = await Promise.all(
      Array.from({ length: 20 }, async (_, n) => {
        const path = pathOf(places[LONG_CONVERSATIONS + (n % 4)]!);
        const headers = { 'content-type': 'application/json' };
        const answer = await request(`${floor.url}${path}`, {
          method: 'POST',
          headers,
          body: bodyOf(`Number ${n}`, randomUUID()),
        });
        return { status: answer.statusCode, said: ((await answer.body.json()) as { data: Page['data'][0] }).data };
      }),
    );
    expect(sent.map(({ status, said }) => [status, said.content.text])).toEqual(
      sent.map((_, n) => [201, `Number ${n}`]),
    );
    const after = (await pool.query(COUNTS)).rows[0];
    const added = Object.fromEntries(
      Object.entries(after).map(([name, count]) => [name, Number(count) - before[name]]),
    );
    expect(added).toEqual({ messages: 20, events: 20, turns: 20, work: 20, seqs: 20 });
  });
});
