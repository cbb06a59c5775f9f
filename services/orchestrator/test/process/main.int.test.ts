import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { freePort, type OidcIssuer, startOidcIssuer } from '@uswarm/dev-servers';
import { createTestDatabase, describeWith, type TestDatabase, undocumented } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { type FaultInjectionProxy, startFaultInjectionProxy } from '@uswarm/testkit/fault-injection-proxy';
import { createApiClient } from '../api-client.js';
import { type EntryPoint, startEntryPoint } from '../entry-point.js';
import { E2E_TOKEN, testEnvironment } from '../test-orchestrator.js';

const PROFILE = '/v1/users/profile';
const ROBOT = { 'x-e2e-token': E2E_TOKEN, 'x-e2e-uid': 'robot', 'x-e2e-email': 'r@example.com', 'x-e2e-name': 'Robot' };

describe('entry points', () => {
  let issuer: OidcIssuer;
  let testDatabase: TestDatabase;
  let environment: Record<string, string>;
  let running: EntryPoint | undefined;
  beforeAll(async () => {
    issuer = await startOidcIssuer();
    testDatabase = await createTestDatabase();
    environment = testEnvironment(testDatabase.url, issuer);
  });
  afterEach(async () => {
    await running?.stop();
    running = undefined;
  });
  afterAll(async () => {
    await issuer.close();
    await testDatabase.drop();
  });

  const start = (name: Parameters<typeof startEntryPoint>[0], more: Record<string, string> = {}): EntryPoint => {
    running = startEntryPoint(name, { ...environment, ...more });
    return running;
  };

  it('AUTH-003 the production entry point ignores the headers of the bypass', async () => {
    const client = createApiClient(await start('main').listening, ROBOT);
    expect(await client.refusal('GET', PROFILE)).toBe('token_missing');
    expect(await client.refusal('POST', '/v1/auth/sign-in')).toBe('token_missing');
  });

  it('AUTH-003 the production entry point refuses to start with E2E_TOKEN and logs one line', async () => {
    const { exitCode, lines } = start('main', { E2E_TOKEN });
    expect(await exitCode).toBe(1);
    expect(lines).toHaveLength(1);
    expect(JSON.parse(lines[0] ?? '')).toMatchObject({
      level: 'fatal',
      msg: 'E2E_TOKEN is set, and production has no end-to-end bypass: remove it',
    });
  });

  it('the production entry point serves the metrics of docs/metrics.md', async () => {
    const { listening, operations } = start('main');
    await fetch(`${await listening}/v1/health`);
    const url = `${await operations}/metrics`;
    // Postgres may not have answered in time for the first one.
    const text = await eventually(async () => (await fetch(url)).text(), {
      until: (metrics) => metrics.includes('uswarm_database_up{component="orchestrator"} 1'),
    });
    expect(text).toContain('uswarm_database_up{component="orchestrator"} 1');
    expect(undocumented('orchestrator', text)).toEqual([]);
  });

  it('the production entry point accepts a token of the identity provider', async () => {
    const url = await start('main').listening;
    const token = await issuer.issueToken({ email: 'ada@example.com', name: 'Ada' });
    const client = createApiClient(url, { 'x-token': token });
    await client.post('/v1/auth/sign-up', undefined, 204);
    expect((await client.get(PROFILE)).status).toBe(200);
  });

  it.each(['test', 'local'])(
    'AUTH-003 the bypass works outside production with USWARM_ENV=%s and E2E_TOKEN',
    async (kind) => {
      const url = await start('main.nonproduction', { USWARM_ENV: kind, E2E_TOKEN }).listening;
      expect((await createApiClient(url, ROBOT).get(PROFILE)).status).toBe(200);
    },
  );

  it('AUTH-003 the bypass is disabled outside production without E2E_TOKEN', async () => {
    const url = await start('main.nonproduction', { USWARM_ENV: 'test' }).listening;
    expect(await createApiClient(url, ROBOT).refusal('GET', PROFILE)).toBe('token_missing');
  });

  it.each([[{}], [{ USWARM_ENV: '' }], [{ USWARM_ENV: 'production' }], [{ USWARM_ENV: 'TEST' }]])(
    'AUTH-003 the entry point with the bypass does not start with %j',
    async (env) => {
      const { exitCode, lines } = start('main.nonproduction', { E2E_TOKEN, ...env });
      expect(await exitCode).toBe(1);
      expect(lines.join('\n')).toContain('this entry point starts only with USWARM_ENV=local or USWARM_ENV=test');
    },
  );

  it('a short E2E_TOKEN prevents the start', async () => {
    const { exitCode, lines } = start('main.nonproduction', { USWARM_ENV: 'test', E2E_TOKEN: 'short' });
    expect(await exitCode).toBe(1);
    expect(lines.join('\n')).toContain('E2E_TOKEN needs at least 32 bytes');
  });

  it('missing settings prevent the start, and the message names each of them without values', async () => {
    const { DATABASE_URL: _, CURSOR_KEY: __, ...rest } = environment;
    running = startEntryPoint('main', rest);
    expect(await running.exitCode).toBe(1);
    const { msg } = JSON.parse(running.lines[0] ?? '') as { msg: string };
    expect(msg).toBe('DATABASE_URL is not set\nCURSOR_KEY is not set');
    expect(running.lines.join('')).not.toContain(environment['IDENTITY_HASH_KEY']);
  });

  it('signatures are required by default, and SIGNATURE_SECRET with them', async () => {
    const { SIGNATURE_MODE: _, ...rest } = environment;
    running = startEntryPoint('main', rest);
    expect(await running.exitCode).toBe(1);
    expect(running.lines.join('')).toContain('SIGNATURE_SECRET is not set; SIGNATURE_MODE=required needs it');
  });

  it.each([
    ['an issuer', { issuer: 'http://idp.example.com', audience: 'app' }],
    ['a key set', { issuer: 'https://idp.example.com', audience: 'app', jwks_uri: 'http://idp.example.com/keys' }],
  ])('does not start with %s at a plain http URL, and names the setting', async (_what, entry) => {
    const { exitCode, lines } = start('main', { OIDC_ISSUERS: JSON.stringify([entry]) });
    expect(await exitCode).toBe(1);
    expect(lines.join('\n')).toMatch(/OIDC_ISSUERS: http:\S+ needs https; OIDC_ALLOW_HTTP=true allows/);
  });

  it('the orchestrator exits with 0 after SIGTERM', async () => {
    const program = start('main');
    await program.listening;
    await program.stop();
    expect(await program.exitCode).toBe(0);
  });

  it('an old schema prevents the start with MIGRATE=false, and one message names the missing migrations', async () => {
    const empty = await createTestDatabase();
    const { exitCode, lines } = start('main', { MIGRATE: 'false', DATABASE_URL: empty.url });
    expect(await exitCode).toBe(1);
    await empty.drop();
    expect(JSON.parse(lines.at(-1) ?? '')).toMatchObject({
      level: 'fatal',
      msg: expect.stringMatching(
        /^the database schema is older than this version needs: 0001_initial, .* are missing; /,
      ),
    });
  });

  it('the orchestrator starts on an existing schema with MIGRATE=false', async () => {
    expect(await start('migrate-main').exitCode).toBe(0);
    await expect(start('main', { MIGRATE: 'false' }).listening).resolves.toMatch(/^http/);
  });

  describeWith('valkey', 'starting before its servers', () => {
    let proxy: FaultInjectionProxy | undefined;
    let ops: string;
    let opsPort: string;
    beforeEach(async () => {
      opsPort = String(await freePort());
      ops = `http://127.0.0.1:${opsPort}`;
    });
    afterEach(() => proxy?.close());
    const statusOf = (path: string) =>
      fetch(`${ops}${path}`).then(
        ({ status }) => status,
        () => undefined,
      );

    it('the orchestrator is alive but not ready until the database is available', async () => {
      proxy = await startFaultInjectionProxy(testDatabase.url);
      await proxy.disconnect();
      const program = start('main', { OPS_PORT: opsPort, DATABASE_URL: proxy.redirect(testDatabase.url) });
      expect(await eventually(() => statusOf('/livez'), { until: (status) => status === 200 })).toBe(200);
      expect(await statusOf('/readyz')).toBe(503);
      await proxy.restore();
      await program.listening;
      expect(await eventually(() => statusOf('/readyz'), { until: (status) => status === 200 })).toBe(200);
    });

    it('the orchestrator exits with a message if the database stays unavailable', async () => {
      const { exitCode, lines } = start('main', {
        DATABASE_URL: 'postgres://127.0.0.1:1/uswarm',
        DATABASE_WAIT_S: '1',
      });
      expect(await exitCode).toBe(1);
      expect(lines.at(-1)).toContain('the database did not respond within 1 seconds: ');
    });

    it('the orchestrator is ready without the bus, and a gauge shows when the bus is available', async () => {
      const redis = process.env['TEST_REDIS_URL'] ?? '';
      proxy = await startFaultInjectionProxy(redis);
      await proxy.disconnect();
      const program = start('main', { OPS_PORT: opsPort, REALTIME_REDIS_URL: proxy.redirect(redis) });
      await program.listening;
      const busUp = async (): Promise<string | undefined> =>
        /^uswarm_event_bus_up\{.*\} (\d)$/m.exec(await (await fetch(`${ops}/metrics`)).text())?.[1];
      expect(await busUp()).toBe('0');
      expect(await eventually(() => statusOf('/readyz'), { until: (status) => status === 200 })).toBe(200);
      await proxy.restore();
      expect(await eventually(busUp, { until: (up) => up === '1' })).toBe('1');
      expect(await statusOf('/readyz')).toBe(200);
    });
  });
});
