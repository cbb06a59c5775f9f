import { execFile } from 'node:child_process';
import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { OAuthConfiguration } from '@uswarm/contract';
import { createMetrics, silentLogger, systemClock } from '@uswarm/service-kit';
import { DIRECT } from '@uswarm/service-kit/outgoing';
import { createMigratedDatabase, type MigratedDatabase } from '../../../test/database.js';
import { createJobQueue } from '../../platform/jobs/job-queue.js';
import { AccountNeeded } from '../../turns/tools/platform-tool.js';
import { createIntegrationsModule } from '../integrations/integrations.module.js';
import { createConnectedServers } from './connected-servers.js';
import { connectionKey } from './server-accounts.js';
import { loadToolServers } from './tool-servers-file.js';

const SUITE = path.resolve(
  import.meta.dirname,
  '../../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
);
const REDIRECT = 'https://app.example.com/connected/suite';
const KEY = connectionKey('suite');
const SIGNAL = new AbortController().signal;
/** The suite starts this program as the client; the test does what the client must do. */
const PROGRAM = `
const { MCP_CONFORMANCE_SCENARIO: scenario, MCP_CONFORMANCE_CONTEXT: context = '{}' } = process.env;
const body = JSON.stringify({ url: process.argv.at(-1), scenario, context: JSON.parse(context) });
const { ok } = await fetch(process.env.TEST_DRIVER, { method: 'POST', body });
process.exitCode = ok ? 0 : 1;
`;

const NOT_CONFIGURED = { code: 'integration_not_configured' };
const REFUSED = { code: 'integration_code_invalid' };
const NEWEST = '2026-07-28';

/** With the error that must end the flow. */
const SCENARIOS: { scenario: string; version: string; ends?: object }[] = [
  { scenario: 'auth/metadata-default', version: NEWEST },
  { scenario: 'auth/metadata-var1', version: NEWEST },
  { scenario: 'auth/metadata-var2', version: NEWEST },
  { scenario: 'auth/metadata-var3', version: NEWEST },
  { scenario: 'auth/scope-from-www-authenticate', version: NEWEST },
  { scenario: 'auth/scope-from-scopes-supported', version: NEWEST },
  { scenario: 'auth/scope-omitted-when-undefined', version: NEWEST },
  { scenario: 'auth/scope-step-up', version: NEWEST },
  { scenario: 'auth/scope-retry-limit', version: NEWEST, ends: { status: 403, neededScopes: ['mcp:admin'] } },
  { scenario: 'auth/token-endpoint-auth-basic', version: NEWEST },
  { scenario: 'auth/token-endpoint-auth-post', version: NEWEST },
  { scenario: 'auth/token-endpoint-auth-none', version: NEWEST },
  { scenario: 'auth/pre-registration', version: NEWEST },
  { scenario: 'auth/2025-03-26-oauth-metadata-backcompat', version: '2025-03-26' },
  { scenario: 'auth/2025-03-26-oauth-endpoint-fallback', version: '2025-03-26' },
  { scenario: 'auth/resource-mismatch', version: NEWEST, ends: NOT_CONFIGURED },
  { scenario: 'auth/offline-access-scope', version: NEWEST },
  { scenario: 'auth/offline-access-not-supported', version: NEWEST },
  { scenario: 'auth/authorization-server-migration', version: NEWEST },
  { scenario: 'auth/iss-supported', version: NEWEST },
  { scenario: 'auth/iss-not-advertised', version: NEWEST },
  { scenario: 'auth/iss-supported-missing', version: NEWEST, ends: REFUSED },
  { scenario: 'auth/iss-wrong-issuer', version: NEWEST, ends: REFUSED },
  { scenario: 'auth/iss-unexpected', version: NEWEST, ends: REFUSED },
  { scenario: 'auth/iss-normalized', version: NEWEST, ends: REFUSED },
  { scenario: 'auth/metadata-issuer-mismatch', version: NEWEST, ends: NOT_CONFIGURED },
];

const LEFT_OUT = [
  { scenarios: /^auth\/basic-cimd$/, reason: 'clients are registered; a document would need a public address' },
  { scenarios: /^auth\/(client-credentials|enterprise|wif|dpop)/, reason: 'users give the consent, and hold no key' },
];

interface Run {
  url: string;
  scenario: string;
  context: { client_id?: string; client_secret?: string };
}

interface Check {
  id: string;
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO';
  description: string;
}

/** Acts as the app and as a browser whose user agrees. */
async function consent(configuration: OAuthConfiguration) {
  const { additional_parameters: additional, client_id, redirect_url, scopes } = configuration;
  const codeVerifier = randomBytes(32).toString('base64url');
  const address = new URL(configuration.authorization_endpoint);
  const parameters = {
    ...additional,
    response_type: 'code',
    client_id,
    redirect_uri: redirect_url,
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    code_challenge: createHash('sha256').update(codeVerifier).digest('base64url'),
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  const { headers } = await fetch(address, { redirect: 'manual' });
  const { code = '', state, iss } = Object.fromEntries(new URL(headers.get('location') ?? '').searchParams);
  return { provider: KEY, code, codeVerifier, redirectUrl: redirect_url, state, issuer: iss };
}

describe('accounts of tool servers in the conformance suite of the protocol', () => {
  let folder = '';
  let db: MigratedDatabase;
  let driver: Server;
  let driverUrl = '';

  async function run({ url, context: { client_id: clientId, client_secret: secret } }: Run): Promise<void> {
    const file = path.join(folder, 'tool-servers.json');
    await writeFile(path.join(folder, 'suite'), secret ?? '');
    const own = clientId === undefined ? {} : { client_id: clientId, secret: 'suite' };
    const auth = { type: 'oauth', redirect_urls: [REDIRECT], ...own };
    await writeFile(file, JSON.stringify({ servers: [{ id: 'suite', name: 'Suite', url, auth }] }));
    const operators = loadToolServers(file);
    const servers = { operators, of: async () => operators, find: async () => operators[0] };
    await db.database.deleteFrom('tool_server_clients').execute();
    const integrations = await createIntegrationsModule({
      config: {
        INTEGRATION_PROVIDERS: {},
        INTEGRATION_TOKEN_KEYS: [{ id: 'test', key: randomBytes(32) }],
        INTEGRATION_CATALOG_FILE: undefined,
        CODE_RUNNER_ENABLED: false,
        SCHEDULES_ENABLED: true,
        TOOL_SERVER_SECRETS: folder,
        USER_TOOL_SERVERS_PRIVATE_HOSTS: [],
        proxy: DIRECT,
      },
      assets: { url: (name) => name },
      servers,
      serverItems: async () => [],
      stateSecret: 'secret of the test',
      connections: { ...db, jobs: createJobQueue(db.database) },
      metrics: createMetrics('orchestrator'),
      clock: systemClock,
      logger: silentLogger,
    });
    const { service } = integrations;
    const connected = createConnectedServers({
      servers: operators,
      outgoing: { fetch },
      publicOutgoing: { fetch },
      secrets: folder,
      accessTokens: integrations.accessTokens(db.database),
      database: db.database,
      version: '1.0.0',
      listChanged: () => undefined,
    });
    const userId = randomUUID();
    await db.database.insertInto('users').values({ id: userId, issuer: 'test', subject: userId }).execute();
    const connect = async (): Promise<void> => {
      const callback = await consent(await service.connect(userId, KEY));
      // The suite issues the same code each time, which would be taken for a repeated callback.
      await db.database
        .updateTable('integrations')
        .set({ code_hash: randomBytes(32) })
        .execute();
      await service.complete({ userId, session: { source: null } }, callback);
    };
    /** A user who is asked to connect again does it once. */
    const connecting = <T>(task: () => Promise<T>): Promise<T> =>
      task().catch(async (error: unknown) => {
        if (!(error instanceof AccountNeeded)) throw error;
        await connect();
        return task();
      });
    try {
      await connect();
      const { client } = connected.of(operators[0]!, userId);
      const { tools } = await connecting(() => client.list(SIGNAL));
      for (const { name } of tools) await connecting(() => client.call(userId, { name, arguments: {} }, SIGNAL));
      // Once more, for a server that has changed meanwhile.
      await connecting(() => client.list(SIGNAL));
    } finally {
      await connected.close();
      await integrations.close();
    }
  }

  const failures = new Map<string, unknown>();

  beforeAll(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'uswarm-conformance-'));
    await writeFile(path.join(folder, 'client.mjs'), PROGRAM);
    db = await createMigratedDatabase();
    async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
      const asked = (await json(request)) as Run;
      try {
        await run(asked);
      } catch (error) {
        failures.set(asked.scenario, error);
        response.statusCode = 500;
      }
      response.end();
    }
    driver = createServer((request, response) => {
      answer(request, response).catch(() => response.destroy());
    });
    await new Promise<void>((resolve) => driver.listen(0, '127.0.0.1', resolve));
    driverUrl = `http://127.0.0.1:${(driver.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    driver?.closeAllConnections();
    driver?.close();
    await db?.close();
    await rm(folder, { recursive: true, force: true });
  });

  /** Its commands start `node` by that name. */
  const suite = (...args: string[]) =>
    new Promise<{ failed: boolean; output: string }>((resolve) => {
      const search = `${path.dirname(process.execPath)}${path.delimiter}${process.env['PATH'] ?? ''}`;
      const env = { ...process.env, PATH: search, TEST_DRIVER: driverUrl };
      execFile(process.execPath, [SUITE, ...args], { cwd: folder, env, timeout: 60_000 }, (error, stdout, stderr) =>
        resolve({ failed: error !== null, output: stdout + stderr }),
      );
    });

  it('has no scenario that is neither run nor left out for a reason', async () => {
    const { output } = await suite('list', '--client');
    const listed = [...output.matchAll(/^ {2}- (auth\/\S+) \[(.+)\]/gm)].map(([, scenario = '', versions = '']) => ({
      scenario,
      version: versions.split(',').at(-1),
    }));
    const isLeftOut = (scenario: string) => LEFT_OUT.some(({ scenarios }) => scenarios.test(scenario));
    expect(listed.filter(({ scenario }) => !isLeftOut(scenario))).toEqual(
      SCENARIOS.map(({ scenario, version }) => ({ scenario, version })),
    );
  });

  it.each(SCENARIOS)(
    'finds no fault in $scenario of version $version',
    async ({ scenario, version, ends = { message: 'none' } }) => {
      const results = path.join(folder, scenario.replaceAll('/', '-'));
      const command = ['--command', 'node client.mjs', '--scenario', scenario, '--spec-version', version];
      const { output } = await suite('client', ...command, '-o', results);
      const written = (await readdir(results, { recursive: true })).find((name) => name.endsWith('checks.json'));
      if (written === undefined) throw new Error(output);
      const checks = JSON.parse(await readFile(path.join(results, written), 'utf8')) as Check[];
      const bad = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING');
      expect(bad.map(({ id, description }) => ({ id, description }))).toEqual([]);
      expect(checks.map(({ status }) => status)).toContain('SUCCESS');
      expect(failures.get(scenario) ?? { message: 'none' }).toMatchObject(ends);
    },
  );
});
