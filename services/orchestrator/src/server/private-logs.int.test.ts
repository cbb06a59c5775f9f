import { createHmac, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL_PATHS, type MessagePage, ROUTES } from '@uswarm/contract';
import { parseSigningKey, signInternalToken } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { sql } from 'kysely';
import { request } from 'undici';
import { ADMIN_KEY, createTestAdmin } from '../../test/admin-client.js';
import { operationsOf, readDocument, sendExample } from '../../test/api-document.js';
import { createResourcePool } from '../../test/resource-fixtures.js';
import { CLIENT_SECRET, type ProviderServers, startProviderServers } from '../../test/integrations.js';
import { E2E_TOKEN, startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';
import { formOf } from '../../test/uploads.js';

/** A unique text that represents private content or a credential. */
const canary = (kind: string): string => `${kind} ${randomUUID()}`;

describe('the log at level debug', () => {
  const lines: string[] = [];
  const planted: string[] = [];
  let folder: string;
  let server: ProviderServers;
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-logs-'));
    server = await startProviderServers();
    uswarm = await startTestOrchestrator({
      logTo: lines,
      bypass: true,
      environment: {
        ...server.environment,
        ADMIN_API_KEY: ADMIN_KEY,
      },
    });
    for (const secret of [E2E_TOKEN, ADMIN_KEY, CLIENT_SECRET]) plant(secret);
  });
  afterAll(async () => {
    await uswarm.close();
    await server.close();
    await rm(folder, { recursive: true });
  });

  function plant(text: string): string {
    planted.push(text);
    return text;
  }
  async function readLogs(): Promise<string> {
    const files = await readdir(folder, { recursive: true, withFileTypes: true });
    const texts = files
      .filter((file) => file.isFile())
      .map((file) => readFile(join(file.parentPath, file.name), 'utf8'));
    return [...lines, ...(await Promise.all(texts))].join('\n');
  }

  it('the log contains a line for every route', async () => {
    const resourcesFor = createResourcePool(uswarm, server);
    for (const operation of operationsOf(await readDocument(uswarm.url))) {
      const { user, values } = await resourcesFor(operation);
      for (const body of operation.bodies)
        await sendExample({ url: uswarm.url, client: user, operation, values, body });
      plant(user.token);
      plant(user.email);
      Object.entries(values).forEach(([example, value]) => {
        if (/code|sig/i.test(example)) plant(value);
      });
    }
    plant('what is on my list?');
    plant('marmalade');
    plant('Darjeeling');
    plant('Lovelace');
    const log = await readLogs();
    for (const { operationId } of ROUTES) expect(log).toContain(`"route":"${operationId}"`);
  });

  it('the log covers requests with credentials in every header', async () => {
    const user = await uswarm.user();
    const timestamp = String(Math.floor(Date.now() / 1000));
    const signature = plant(
      createHmac('sha256', plant(canary('key')))
        .update(`${plant(user.token)}:${timestamp}`)
        .digest('hex'),
    );
    const headers = [
      { 'x-token': user.token, 'x-signature': signature, 'x-timestamp': timestamp },
      { authorization: `Bearer ${user.token}`, cookie: `session=${plant(canary('cookie').replace(' ', '-'))}` },
      { authorization: `Basic ${plant(Buffer.from(canary('password')).toString('base64'))}` },
      { 'x-token': plant(`${user.token.split('.').slice(0, 2).join('.')}.${'A'.repeat(86)}`) },
      { 'x-token': plant(canary('garbage').replace(' ', '.')) },
      {
        'x-e2e-token': E2E_TOKEN,
        'x-e2e-uid': plant(canary('uid')),
        'x-e2e-email': plant('eve@example.com'),
        'x-e2e-name': plant(canary('name')),
      },
      { 'x-e2e-token': plant(canary('wrong bypass')) },
      {
        'x-token': user.token,
        'x-device-id': plant(canary('device')),
        'x-device-info': plant(`${canary("Ada's")} iPhone`),
      },
    ];
    const outcomes = [];
    for (const each of headers) {
      outcomes.push((await uswarm.anonymous.with(each).raw({ method: 'GET', path: '/v1/users/profile' })).status);
    }
    expect(outcomes).toEqual([200, 200, 401, 401, 401, 200, 401, 200]);
    const service = plant(await signInternalToken(parseSigningKey(uswarm.internalKey), 'realtime-gateway'));
    const answer = await request(`${uswarm.internalUrl}${INTERNAL_PATHS.authenticate}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${service}` },
      body: JSON.stringify({ credentials: { 'x-token': user.token } }),
    });
    await answer.body.dump();
    expect(answer.statusCode).toBe(200);
    await createTestAdmin(uswarm).refusal('users/show', { user: plant(canary('unknown user')) });
  });

  it('the log covers rejected requests with private texts', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const agent = `/v1/agents/${home.agents[1]?.id}`;
    const json = { 'content-type': 'application/json' };
    const text = (): string => plant(canary('dear diary'));
    const post = (path: string, body: string) => user.raw({ method: 'POST', path, headers: json, body });
    const message = (content: unknown, more: object = {}): string => JSON.stringify({ content, ...more });
    const statuses = [
      await post(home.messages, `{"content": ${text()}`),
      await post(home.messages, message({ type: 'system', text: text() })),
      await post(home.messages, message({ type: 'text', text: text() }, { mentions: [{ agent_id: text() }] })),
      await post(home.messages, message({ type: 'text', text: `${text()}\u0000` })),
      await post(home.messages, message({ type: 'text', text: text().repeat(2_000) })),
      await post(`${agent}/memories`, JSON.stringify({ key: text(), content: text().repeat(1_000) })),
      await user.raw({ method: 'DELETE', path: `${agent}/memories/${encodeURIComponent(text())}` }),
      await user.raw({ method: 'GET', path: `${home.messages}/search?q=${encodeURIComponent(text())}&limit=none` }),
      await user.raw({ method: 'GET', path: `${home.messages}?scrollId=${encodeURIComponent(text())}` }),
      await user.raw({ method: 'GET', path: `/v1/uploads/${randomUUID()}?sig=${encodeURIComponent(text())}` }),
      await post(
        '/v1/integrations/callback',
        JSON.stringify({
          provider: 'gmail',
          authorization_code: text(),
          code_verifier: plant('v'.repeat(43)),
          redirect_url: 'https://app.example.com/callback',
        }),
      ),
      await user.raw({
        method: 'POST',
        path: '/v1/uploads',
        ...(await formOf({ content: text(), name: text(), part: 'other' })),
      }),
    ].map(({ status }) => status);
    expect(statuses.filter((status) => status < 400)).toEqual([]);
  });

  it('the log covers internal errors with private texts', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const say = () =>
      user.raw({
        method: 'POST',
        path: home.messages,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ content: { type: 'text', text: plant(canary('dear diary')) } }),
      });
    // Postgres quotes the row in a failed check's error, and the value in a failed cast's error.
    const broken = [
      sql`ALTER TABLE messages ADD CONSTRAINT broken CHECK (content->>'text' IS NULL) NOT VALID`,
      sql`ALTER TABLE messages DROP CONSTRAINT broken`,
      sql`CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM (NEW.content->>'text')::uuid; RETURN NEW; END $$`,
      sql`CREATE TRIGGER broken BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION broken()`,
    ];
    const statuses = [];
    for (const statement of broken) {
      await statement.execute(uswarm.database);
      statuses.push((await say()).status);
    }
    await sql`DROP TRIGGER broken ON messages`.execute(uswarm.database);
    expect(statuses).toEqual([500, 201, 201, 500]);
  });

  it('the log covers a turn and the log of its runtime', async () => {
    const talking = await startTestOrchestrator({
      logTo: lines,
      environment: { TURN_WORKERS: '1', RUNTIME_WORKERS: '1', RUNTIME_LOG_DIRECTORY: folder, LOG_LEVEL: 'debug' },
    });
    const user = await talking.user();
    const home = await talking.home(user);
    plant(user.token);
    const question = plant(canary('what did I write'));
    await user.post(home.messages, { content: { type: 'text', text: question } }, 201);
    const reply = async () =>
      (await user.get<MessagePage>(home.messages)).body.data.find(({ role }) => role === 'agent');
    const done = await eventually(reply, { until: (message) => message?.extended_status === 'delivered' });
    expect(done?.content).toMatchObject({ type: 'text', text: expect.stringContaining(question) });
    await talking.close();
    expect(await readLogs()).toContain(home.workspaceId);
  });

  it('the log contains none of the private texts and credentials of these requests', async () => {
    expect(planted.length).toBeGreaterThan(150);
    const log = await readLogs();
    expect(log.split('\n').length).toBeGreaterThan(300);
    expect(planted.filter((text) => log.includes(JSON.stringify(text).slice(1, -1)))).toEqual([]);
  });
});
